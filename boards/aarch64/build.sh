#!/usr/bin/env bash
# Builds gemmtree-board for 64-bit ARM Linux.
set -euo pipefail
cd "$(dirname "$0")/../.."

. boards/aarch64/toolchain.sh
cargo build --release --package device-runtime --target "$target"
mkdir -p build/aarch64
install --mode 755 "$built/release/gemmtree-board" build/aarch64/gemmtree-board

# The board's own OpenCL is loaded at run time, whatever its name: nothing of it may be linked.
needed=$(aarch64-linux-gnu-readelf --dynamic build/aarch64/gemmtree-board | grep NEEDED)
if grep -qiE 'opencl|mali' <<<"$needed"; then
    echo "error: build/aarch64/gemmtree-board needs an OpenCL library at link time:" >&2
    echo "$needed" >&2
    exit 1
fi
echo "build/aarch64/gemmtree-board needs no OpenCL library:"
echo "$needed"
