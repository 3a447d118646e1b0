#!/usr/bin/env bash
# Builds gemmtree-board for 64-bit ARM Linux, with the toolchain at hand if it has the target's
# standard library (rustup target add aarch64-unknown-linux-gnu), else with Debian's rustc-web.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=aarch64-unknown-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
    export RUSTC=/usr/bin/rustc
    # Two compilers do not share build files.
    export CARGO_TARGET_DIR=target/aarch64
fi
cargo build --release --package device-runtime --target "$target"
mkdir -p build/aarch64
install --mode 755 "${CARGO_TARGET_DIR-target}/$target/release/gemmtree-board" build/aarch64/gemmtree-board

# The board's own OpenCL is loaded at run time, whatever its name: nothing of it may be linked.
needed=$(aarch64-linux-gnu-readelf --dynamic build/aarch64/gemmtree-board | grep NEEDED)
if grep -qiE 'opencl|mali' <<<"$needed"; then
    echo "error: build/aarch64/gemmtree-board needs an OpenCL library at link time:" >&2
    echo "$needed" >&2
    exit 1
fi
echo "build/aarch64/gemmtree-board needs no OpenCL library:"
echo "$needed"
