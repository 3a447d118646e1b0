#!/usr/bin/env bash
# Runs selector-core's tests as a 64-bit ARM program under an emulator of the processor. Those that
# build programs or ask cargo are about the host and left out.
set -euo pipefail
cd "$(dirname "$0")/../.."
. boards/aarch64/toolchain.sh
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64-static
# Static, so that the emulator needs no ARM libraries.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS=-Ctarget-feature=+crt-static
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR-target}/static
cargo test --package selector-core --target "$target" \
    --lib --test answers --test crafted --test damage --test golden --test limits
