# To be sourced: lets cargo build for 64-bit ARM Linux, with the toolchain at hand if it has the
# target's standard library (rustup target add aarch64-unknown-linux-gnu), else with Debian's
# rustc-web. What is built lies in $built.
target=aarch64-unknown-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
    export RUSTC=/usr/bin/rustc
    # Two compilers do not share build files.
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR-target}/aarch64
fi
built=${CARGO_TARGET_DIR-target}/$target
