//! What a bare-metal build gets: none of the dependencies may ask for `std` or an allocator.
//!
//! Cargo is asked about this crate alone; a build of the whole workspace would unify its features
//! with those of the host's programs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::env;
use std::process::Command;

/// Packages with their features, one a line.
fn packages(features: &[&str]) -> String {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--prefix", "none", "--format", "{p} [{f}]"])
        .args(["--edges", "normal,no-proc-macro", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .args(features)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The line of the package of this name.
fn line<'a>(packages: &'a str, name: &str) -> &'a str {
    packages.lines().find(|line| line.split(' ').next() == Some(name)).unwrap()
}

#[test]
fn no_dependency_asks_for_std_or_an_allocator() {
    let packages = packages(&["--no-default-features"]);
    for line in packages.lines() {
        let (_, features) = line.split_once('[').unwrap();
        let features = features.split_once(']').unwrap().0;
        for feature in features.split(',') {
            assert!(!["alloc", "default", "std", "use-std"].contains(&feature), "{line}");
        }
    }
    assert!(line(&packages, "serde").contains("derive"), "{packages}");
    assert_eq!(packages.lines().filter(|line| line.starts_with("heapless ")).count(), 1);
}

#[test]
fn only_the_writer_needs_an_allocator() {
    assert!(line(&packages(&["--features", "encode"]), "postcard").contains("alloc"));
}

#[test]
fn the_reader_depends_on_four_crates() {
    let manifest = include_str!("../Cargo.toml");
    let (_, dependencies) = manifest.split_once("\n[dependencies]\n").unwrap();
    let (dependencies, _) = dependencies.split_once("\n\n").unwrap();
    let names: Vec<_> =
        dependencies.lines().filter_map(|line| line.split(['.', ' ']).next()).collect();
    assert_eq!(names, ["crc", "heapless", "postcard", "serde"]);
}
