//! Proof by linking that nothing in this crate can panic or allocate, and the size of its code.
//!
//! `freestanding/` calls every public function that reads a model. Its panic handler calls a
//! function that nobody defines, and it has no allocator. So where it links with unused sections
//! left out, no panic can be reached. The x86-64 build uses the compiler in use and its `core`;
//! the bare-metal ones compile `core` from source (`.ci/setup --bare-metal` installs what they need).
//!
//! The sizes are compared with `sizes.tsv`. After a change that is meant, write them anew:
//! `SIZES_WRITE=1 cargo test -p selector-core --test freestanding`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::{env, fs};

/// What the panic handler calls.
const PANIC: &str = "gemmtree_panic_is_reachable";
/// Bytes of code for parse and select, tables apart.
const PARSE_AND_SELECT_LIMIT: usize = 4096;

struct Target {
    triple: &'static str,
    /// What the names of its linker and of `size` begin with.
    tools: &'static str,
    bare_metal: bool,
}

const TARGETS: [Target; 3] = [
    Target { triple: "x86_64-unknown-linux-gnu", tools: "", bare_metal: false },
    Target { triple: "aarch64-unknown-none", tools: "aarch64-linux-gnu-", bare_metal: true },
    Target { triple: "thumbv7em-none-eabihf", tools: "arm-none-eabi-", bare_metal: true },
];

/// Rows of the table: what is counted, and the functions that reach it.
const PARTS: [(&str, &[&str]); 6] = [
    ("parse and select", &["gemmtree_parse", "gemmtree_select"]),
    ("explain", &["gemmtree_explain"]),
    ("FastTree::load", &["gemmtree_tree_load"]),
    ("FastTree::choose", &["gemmtree_tree_choose"]),
    ("CallSite::choose", &["gemmtree_site_choose"]),
    (
        "parse, FastTree and CallSite",
        &["gemmtree_parse", "gemmtree_tree_load", "gemmtree_site_choose"],
    ),
];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("freestanding");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Runs to success, or to what was said on the standard error.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().unwrap_or_else(|error| {
        let program = command.get_program().display();
        panic!("{program}: {error}; `bash .ci/setup --bare-metal` installs what this test needs")
    });
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// Cargo, free of what the outer one was told.
fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        let ours = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PROFILE_")
                || name.starts_with("CARGO_BUILD_")
                || name.contains("RUSTFLAGS")
        });
        if ours {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// A compiler that comes with the source of `core`.
fn compiler_with_source() -> &'static str {
    let has_source = |compiler: &&str| {
        let root = Command::new(compiler).args(["--print", "sysroot"]).output();
        root.is_ok_and(|root| {
            let root = String::from_utf8_lossy(&root.stdout).trim().to_owned();
            Path::new(&root).join("lib/rustlib/src/rust/library/core/Cargo.toml").exists()
        })
    };
    ["rustc", "/usr/bin/rustc"].into_iter().find(has_source).unwrap_or_else(|| {
        panic!(
            "no compiler has the source of `core`: run `rustup component add rust-src`, \
             or as root `bash .ci/setup --bare-metal`"
        )
    })
}

/// Cargo for a target; bare metal has no compiled `core`, and building it is unstable.
fn cargo_build(target: &Target) -> Command {
    let mut cargo = cargo();
    cargo.args(["build", "--target", target.triple]);
    if target.bare_metal {
        cargo.env("RUSTC", compiler_with_source()).env("RUSTC_BOOTSTRAP", "1");
        cargo.arg("-Zbuild-std=core");
    }
    cargo
}

/// The static library as its manifest asks for it, with one of the mistakes or none.
fn build(target: &Target, mistake: Option<&str>) -> Result<PathBuf, String> {
    build_with(target, mistake.unwrap_or("right"), |cargo| {
        cargo.args(mistake.map(|mistake| format!("--features={mistake}")));
    })
}

/// The static library of what cargo is asked for on top.
fn build_with(
    target: &Target,
    variant: &str,
    ask: impl FnOnce(&mut Command),
) -> Result<PathBuf, String> {
    // All variants are built under one name, and from the versions that the workspace has.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let lock = here("../Cargo.lock");
    fs::copy(&lock, here("freestanding/Cargo.lock")).unwrap();
    let folder = scratch("target");
    let mut cargo = cargo_build(target);
    cargo.arg("--release").arg("--manifest-path").arg(here("freestanding/Cargo.toml"));
    ask(&mut cargo);
    run(cargo.arg("--target-dir").arg(&folder))?;
    let built = folder.join(target.triple).join("release/libfreestanding.a");
    let copy = scratch(&format!("{}-{variant}.a", target.triple));
    // Another test may be linking it.
    let fresh = copy.with_extension("new");
    fs::copy(built, &fresh).unwrap();
    fs::rename(&fresh, &copy).unwrap();
    Ok(copy)
}

/// A program of these functions and all they reach, and nothing else.
fn link(target: &Target, library: &Path, roots: &[&str]) -> Result<PathBuf, String> {
    let program = library.with_extension(format!("{}-of-{}", roots.first().unwrap(), roots.len()));
    let mut linker = Command::new(format!("{}ld", target.tools));
    linker.args(["-nostdlib", "--gc-sections", "-z", "defs", "--entry", roots.first().unwrap()]);
    linker.args(roots.iter().map(|root| format!("--require-defined={root}")));
    linker.arg("-o").arg(&program).arg(library);
    if !target.bare_metal {
        linker.arg(&*MEMORY_FUNCTIONS);
    }
    run(&mut linker).map(|_| program)
}

/// `memcpy` and its like, which a hosted target expects of its C library.
static MEMORY_FUNCTIONS: LazyLock<PathBuf> = LazyLock::new(|| {
    let object = scratch("memory.o");
    let mut compiler = Command::new("gcc");
    compiler.args(["-Os", "-ffreestanding", "-fno-builtin", "-fno-tree-loop-distribute-patterns"]);
    compiler.args(["-ffunction-sections", "-Wall", "-Wextra", "-Werror", "-c"]);
    run(compiler.arg(here("freestanding/memory.c")).arg("-o").arg(&object)).unwrap();
    object
});

/// The sources of a crate, less what only a writer of models needs.
fn sources(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push_str(&sources(&path));
        } else if !path.ends_with("encode.rs") && !path.ends_with("mistakes.rs") {
            all.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    all
}

/// The names of the functions that `source` declares with `public` before them.
fn functions<'s>(source: &'s str, public: &str) -> Vec<&'s str> {
    let declared = source.lines().filter_map(|line| line.trim_start().strip_prefix(public));
    let names = declared.filter_map(|rest| rest.split(['(', '<']).next());
    names.collect()
}

/// Everything that `freestanding/` exports.
fn exports(source: &str) -> Vec<&str> {
    let mut exports = functions(source, "pub extern \"C\" fn ");
    exports.extend(functions(source, "pub unsafe extern \"C\" fn "));
    exports
}

/// Bytes of code and of tables.
fn size(target: &Target, program: &Path) -> (usize, usize) {
    let sections = run(Command::new(format!("{}size", target.tools)).arg("-A").arg(program));
    let (mut code, mut tables) = (0, 0);
    for line in sections.unwrap().lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(Ok(bytes))) = (words.next(), words.next().map(str::parse::<usize>))
        else {
            continue;
        };
        match name {
            ".text" => code += bytes,
            ".rodata" | ".data.rel.ro" | ".got" => tables += bytes,
            ".data" | ".bss" => assert_eq!(bytes, 0, "the crate keeps no state: {line}"),
            // Notes, and how to unwind, which nothing here does.
            _ => {}
        }
    }
    (code, tables)
}

#[test]
fn no_function_reaches_a_panic() {
    let source = sources(&here("freestanding/src"));
    let roots = exports(&source);
    assert!(roots.len() > 30, "{roots:?}");
    for target in &TARGETS {
        let library = build(target, None).unwrap();
        let program = link(target, &library, &roots).unwrap();
        let (code, _) = size(target, &program);
        assert!(code > PARSE_AND_SELECT_LIMIT, "{}: only {code} bytes linked", target.triple);
    }
}

#[test]
fn no_function_reaches_a_panic_when_built_for_speed() {
    let [target, ..] = &TARGETS;
    let source = sources(&here("freestanding/src"));
    let library = build_with(target, "fast", |cargo| {
        cargo.args(["--config", "profile.release.opt-level=3"]);
    });
    link(target, &library.unwrap(), &exports(&source)).unwrap();
}

#[test]
fn a_panicking_index_does_not_link() {
    for target in &TARGETS {
        let library = build(target, Some("panicking-index")).unwrap();
        let error = link(target, &library, &["gemmtree_mistake"]).unwrap_err();
        assert!(error.contains(PANIC), "{error}");
        // It is the mistake that does it: the rest of the same library links.
        link(target, &library, &["gemmtree_parse"]).unwrap();
    }
}

#[test]
fn a_vector_does_not_build() {
    let [target, ..] = &TARGETS;
    let error = build(target, Some("with-vec")).unwrap_err();
    assert!(error.contains("no global memory allocator found"), "{error}");
}

#[test]
fn every_public_function_is_in_the_proof() {
    let (all, proof) = (sources(&here("src")), sources(&here("freestanding/src")));
    let mut names = functions(&all, "pub fn ");
    names.extend(functions(&all, "pub const fn "));
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        // The last is handed over as a value.
        let ways = [format!(".{name}("), format!("::{name}("), format!("::{name})")];
        let called = ways.iter().any(|way| proof.contains(way));
        assert!(called, "`{name}` is not called in freestanding/src");
    }
}

#[test]
fn the_code_is_as_large_as_the_table_says() {
    let mut table = String::from(
        "# Bytes at opt-level s, counted by tests/freestanding.rs; tables are constant data.\n\
         target\tpart\tcode\ttables\n",
    );
    for target in &TARGETS {
        let library = build(target, None).unwrap();
        for (part, roots) in PARTS {
            let (code, tables) = size(target, &link(target, &library, roots).unwrap());
            writeln!(table, "{}\t{part}\t{code}\t{tables}", target.triple).unwrap();
            if part == "parse and select" && target.triple.starts_with("thumb") {
                assert!(code <= PARSE_AND_SELECT_LIMIT, "{part}: {code} bytes");
            }
        }
    }
    let file = here("sizes.tsv");
    if env::var_os("SIZES_WRITE").is_some() {
        let fresh = file.with_extension("new");
        fs::write(&fresh, &table).unwrap();
        fs::rename(&fresh, &file).unwrap();
    }
    let known = fs::read_to_string(&file).unwrap();
    assert_eq!(known.lines().count(), table.lines().count());
    for (known, now) in known.lines().zip(table.lines()) {
        assert!(alike(known, now), "sizes.tsv: {known}\nnow: {now}\nif meant, set SIZES_WRITE=1");
    }
}

/// Whether two rows of the table agree: to 16 bytes and 3 %, as compilers' versions differ a little.
fn alike(known: &str, now: &str) -> bool {
    let words = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let (known, now) = (words(known), words(now));
    let close = |(known, now): (&String, &String)| {
        known == now
            || match (known.parse::<usize>(), now.parse::<usize>()) {
                (Ok(known), Ok(now)) => known.abs_diff(now) <= 16 + known * 3 / 100,
                _ => false,
            }
    };
    known.len() == now.len() && known.iter().zip(&now).all(close)
}

#[test]
fn rows_agree_only_if_they_are_close() {
    assert!(alike("t\tp\t1000\t0", "t\tp\t1046\t0") && !alike("t\tp\t1000\t0", "t\tp\t1047\t0"));
    assert!(!alike("t\tp\t1000\t0", "t\tq\t1000\t0") && !alike("t\tp\t1000", "t\tp\t1000\t0"));
}

#[test]
fn the_workspace_builds_it_for_bare_metal() {
    // A workspace whose programs use `std` must not lend it their features.
    for target in TARGETS.iter().filter(|target| target.bare_metal) {
        let mut cargo = cargo_build(target);
        cargo.args(["--package", "selector-core", "--no-default-features"]);
        cargo.arg("--manifest-path").arg(here("../Cargo.toml"));
        // Whether it builds does not depend on these, but how long it takes does.
        for optimization in ["profile.dev", "profile.dev.package.\"*\""] {
            cargo.arg("--config").arg(format!("{optimization}.opt-level=0"));
        }
        run(cargo.arg("--target-dir").arg(scratch("workspace"))).unwrap();
    }
}
