//! Gives the shared library the name that programs linked with it ask for.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let for_elf = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system != "macos");
    if for_elf && std::env::var("CARGO_CFG_UNIX").is_ok() {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libgemmtree.so.0");
    }
}
