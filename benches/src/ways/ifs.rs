//! What the papers generate: nested ifs, emitted from the same model and compiled here.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use libloading::Library;
use selector_core::Model;
use trainer::emit::{self, Answer, Program};

use super::{Choose, Contexts, Way};

/// The emitted C, compiled with `gcc -O3`.
pub(super) fn c<'a>(model: &'a Model<'a>) -> anyhow::Result<Way<'a>> {
    const ENTRY: &str = "
uint8_t bench_choose(void *context, uint32_t m, uint32_t k, uint32_t n, uint32_t batch);
uint8_t bench_choose(void *context, uint32_t m, uint32_t k, uint32_t n, uint32_t batch)
{
    (void)context;
    return gemmtree_select_f32_nn(m, k, n, batch);
}
";
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c99", "-O3", "-shared", "-fPIC", "-fvisibility=hidden"]);
    let export = "__attribute__((visibility(\"default\")))";
    let entry = ENTRY.replacen("uint8_t bench", &format!("{export} uint8_t bench"), 1);
    compiled("if-else-c", "select.c", source(model, "c")? + &entry, gcc)
}

/// The emitted Rust, optimised likewise.
pub(super) fn rust<'a>(model: &'a Model<'a>) -> anyhow::Result<Way<'a>> {
    const ENTRY: &str = "
#[unsafe(no_mangle)]
pub extern \"C\" fn bench_choose(_: *mut u8, m: u32, k: u32, n: u32, batch: u32) -> u8 {
    gemmtree_select_f32_nn(m, k, n, batch)
}
";
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "-C", "opt-level=3"]);
    compiled("if-else-rust", "select.rs", source(model, "rust")? + ENTRY, rustc)
}

fn source(model: &Model<'_>, language: &str) -> anyhow::Result<String> {
    let language = emit::by_name(language).context("no such language")?;
    Ok(language.source(&Program::new(model, Answer::First, "gemmtree")))
}

/// Compile `source` into a library and load it.
pub(super) fn compiled(
    name: &'static str,
    file: &str,
    source: String,
    mut compiler: Command,
) -> anyhow::Result<Way<'static>> {
    let folder = tempfile::tempdir().context("could not make a temporary folder")?;
    let file = folder.path().join(file);
    fs::write(&file, source).context("could not write the emitted source")?;
    let library = folder.path().join("select.so");
    let output = compiler.arg(&file).arg("-o").arg(&library).output();
    let output = output.with_context(|| format!("could not run {compiler:?}"))?;
    if !output.status.success() {
        bail!("{compiler:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    load(name, &library)
}

fn load(name: &'static str, path: &Path) -> anyhow::Result<Way<'static>> {
    // SAFETY: the library was just compiled from our own source, which has no initialisers, and
    // exports this function with this signature; the way keeps the library.
    #[allow(unsafe_code, reason = "loading emitted code")]
    let (library, choose) = unsafe {
        let library = Library::new(path).context("could not load the emitted code")?;
        let choose = *library.get::<Choose>(b"bench_choose").context("no such function")?;
        (library, choose)
    };
    let contexts = Contexts::One(std::ptr::null_mut());
    Ok(Way { name, exact: true, choose, contexts, _keep: Box::new(library) })
}
