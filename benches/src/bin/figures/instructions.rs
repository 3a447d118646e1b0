//! Instructions a call, which repeat exactly where times do not: by callgrind on this machine, and
//! by an emulator's log for 64-bit ARM.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use benches::{repeating, shuffled};
use selector_core::{GemmShape, Model};
use trainer::emit::{self, Answer, Program};

use crate::figure::{Sheet, Target};

/// Shapes in a pass; the mean of so many differs little from that of all.
const SHAPES: usize = 512;
const ARM: &str = "aarch64-unknown-linux-gnu";

/// Reads shapes and asks for each, as `selector-core/examples/pass.rs` does.
const C_MAIN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static uint8_t choose(const uint32_t *shape)
{
    return gemmtree_select_f32_nn(shape[0], shape[1], shape[2], shape[3]);
}
int main(int argc, char **argv)
{
    static uint32_t shapes[512][4];
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    volatile uint64_t sum = 0;
    if (!file || fread(shapes, sizeof shapes, 1, file) != 1) {
        return 1;
    }
    for (int pass = atoi(argv[2]); pass > 0; pass--) {
        for (int place = 0; place < 512; place++) {
            sum += choose(shapes[place]);
        }
    }
    printf("%lu\n", (unsigned long)sum);
    return 0;
}
"#;

/// How instructions are counted.
enum Counter {
    Callgrind,
    Emulator,
}

/// Print the counts of a model.
pub(crate) fn tell(sheet: &mut Sheet, model: &str, blob: &[u8]) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    fs::write(path("model.gtm"), blob)?;
    fs::write(path("repeating"), bytes(&repeating(1)[..SHAPES]))?;
    fs::write(path("unpredictable"), bytes(&shuffled(1)()[..SHAPES]))?;
    let parsed = Model::parse(blob)?;
    let c = emit::by_name("c").context("no C")?;
    let source = c.source(&Program::new(&parsed, Answer::First, "gemmtree")) + C_MAIN;
    fs::write(path("ifs.c"), source)?;
    for (machine, counter) in [("x86_64", Counter::Callgrind), ("aarch64", Counter::Emulator)] {
        let name = format!("selector.{model}.instructions.{machine}");
        if let Some(tool) = counter.tools().into_iter().find(|tool| !is_there(tool)) {
            sheet.skipped(&name, &format!("`{tool}` is not installed"));
            continue;
        }
        let (ours, ifs) = programs(&counter, folder.path())?;
        let model = path("model.gtm");
        for (way, stream) in
            [("walk", "unpredictable"), ("fast", "unpredictable"), ("fast-site", "repeating")]
        {
            let (model, shapes) = (model.clone(), path(stream));
            let count = counter.a_call(&ours, &[&model, &shapes, Path::new(way)])?;
            sheet.figure(&format!("{name}.{way}.{stream}"), count, Target::None);
        }
        let count = counter.a_call(&ifs, &[&path("unpredictable")])?;
        sheet.figure(&format!("{name}.if-else-c.unpredictable"), count, Target::None);
    }
    Ok(())
}

fn bytes(shapes: &[GemmShape]) -> Vec<u8> {
    let sides = shapes.iter().flat_map(|shape| [shape.m, shape.k, shape.n, shape.batch]);
    sides.flat_map(u32::to_le_bytes).collect()
}

/// The program that asks our ways, and the one of nested ifs.
fn programs(counter: &Counter, folder: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let [_, gcc] = counter.tools();
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--release", "--package", "selector-core"]);
    cargo.args(["--example", "pass", "--target-dir"]);
    let target = super::folder().join("build");
    cargo.arg(&target);
    let built = match counter {
        Counter::Callgrind => target.join("release"),
        Counter::Emulator => {
            if !sysroot()?.join("lib/rustlib").join(ARM).exists() {
                // Debian's compiler, which the set-up installs with this target.
                cargo.env("RUSTC", "/usr/bin/rustc");
            }
            cargo.args(["--target", ARM]);
            cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", gcc);
            cargo.env(
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
                "-Ctarget-feature=+crt-static",
            );
            target.join(ARM).join("release")
        }
    };
    quiet(&mut cargo)?;
    let ifs = folder.join("ifs");
    let arguments = ["-std=gnu99", "-O3", "-static", "-o"];
    quiet(Command::new(gcc).args(arguments).arg(&ifs).arg(folder.join("ifs.c")))?;
    Ok((built.join("examples/pass"), ifs))
}

fn sysroot() -> anyhow::Result<PathBuf> {
    let printed = Command::new("rustc").args(["--print", "sysroot"]).output()?.stdout;
    Ok(PathBuf::from(String::from_utf8(printed)?.trim()))
}

fn is_there(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|ran| ran.status.success())
}

fn quiet(command: &mut Command) -> anyhow::Result<()> {
    let ran = command.stdout(Stdio::null()).output();
    let ran = ran.with_context(|| format!("could not run {:?}", command.get_program()))?;
    let said = String::from_utf8_lossy(&ran.stderr);
    ensure!(ran.status.success(), "{:?} failed: {}", command.get_program(), said.trim());
    Ok(())
}

impl Counter {
    /// What counts, and the compiler for its machine.
    fn tools(&self) -> [&'static str; 2] {
        match self {
            Self::Callgrind => ["valgrind", "gcc"],
            Self::Emulator => ["qemu-aarch64-static", "aarch64-linux-gnu-gcc"],
        }
    }

    /// Instructions a call: the difference between three passes and one, so that starting up
    /// counts nothing. The loop around the call is in it.
    fn a_call(&self, program: &Path, arguments: &[&Path]) -> anyhow::Result<f64> {
        let [one, three] = ["1", "3"].map(|passes| self.count(program, arguments, passes));
        Ok((three? - one?) / (2.0 * SHAPES as f64))
    }

    fn count(&self, program: &Path, arguments: &[&Path], passes: &str) -> anyhow::Result<f64> {
        match self {
            Self::Callgrind => {
                let mut valgrind = Command::new("valgrind");
                valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
                let ran = valgrind.arg(program).args(arguments).arg(passes).output()?;
                let said = String::from_utf8_lossy(&ran.stderr);
                ensure!(ran.status.success(), "{said}");
                let count = said.lines().find_map(|line| line.split_once("Collected :"));
                let (_, count) = count.context("callgrind counted nothing")?;
                Ok(count.trim().parse()?)
            }
            Self::Emulator => {
                let mut qemu = Command::new("qemu-aarch64-static");
                qemu.args(["-singlestep", "-d", "exec,nochain", "-D", "/dev/stderr"]);
                let ran = qemu.arg(program).args(arguments).arg(passes).output()?;
                let said = String::from_utf8_lossy(&ran.stderr);
                if !ran.status.success() {
                    bail!("the emulator failed");
                }
                Ok(said.lines().filter(|line| line.starts_with("Trace")).count() as f64)
            }
        }
    }
}
