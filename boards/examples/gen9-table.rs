//! Writes `devices/gen9.tsv`: what Intel's offline compiler (`ocloc`, of Debian's `intel-opencl-icd`)
//! makes of every program that the Gen9 board could be offered. Run by `make gen9-table`.
//!
//! Lines whose program has not changed are kept, the rest is compiled on all cores, the starter set
//! first; what is done is written every few seconds, so that an interrupted run goes on. With the
//! argument `starter` only the starter set is compiled.
#![expect(clippy::print_stderr, reason = "a program for people")]

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, bail, ensure};
use boards::Board;
use boards::compiled::{Compiled, Table, hash_of};
use kernels::{Configuration, Program, space};
use object::{Object, ObjectSection};
use selector_core::ProblemClass;

const DEVICE: &str = "skl";
const SAVE_EVERY: Duration = Duration::from_secs(10);

fn main() -> anyhow::Result<()> {
    let only_starter = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("starter") => true,
        Some(other) => bail!("unknown argument `{other}`: there is only `starter`"),
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("devices/gen9.tsv");
    let board = boards::find("nuc-gen9")?;
    let scratch = tempfile::tempdir()?;
    let compiler = compiler(scratch.path())?;
    let wanted = wanted(&board, only_starter)?;
    let table = kept(&path, compiler);
    let mut missing = wanted.clone();
    missing.retain(|program| table.of(program).is_none());
    eprintln!("{} of {} programs are to be compiled", missing.len(), wanted.len());
    let run = Run {
        started: Instant::now(),
        path: &path,
        missing: &missing,
        state: Mutex::new(State { table, next: 0, done: 0, failed: Vec::new() }),
        saved: Mutex::new(Instant::now()),
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let work = |number: usize| {
            let folder = scratch.path().join(number.to_string());
            let run = &run;
            scope.spawn(move || run.work(&folder))
        };
        let workers: Vec<_> = (0..threads).map(work).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(ended) => ended,
            Err(_) => bail!("a worker panicked"),
        })
    })?;
    let State { table, failed, .. } =
        run.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    save(&path, &table)?;
    eprintln!("wrote {} programs to `{}`", table.programs.len(), path.display());
    ensure!(failed.is_empty(), "{} programs do not compile:\n{}", failed.len(), failed.join("\n"));
    Ok(())
}

/// What is to be compiled: the starter set in f32 and f16, then the whole space in f32.
fn wanted(board: &Board, only_starter: bool) -> anyhow::Result<Vec<Program>> {
    let half: ProblemClass = "f16-nn".parse().context("class f16-nn")?;
    let native: ProblemClass = "f16h-nn".parse().context("class f16h-nn")?;
    let with = |configurations: Vec<Configuration>, class| {
        let universal = std::iter::once(Configuration::universal());
        universal.chain(configurations).map(move |one| (one, class))
    };
    let all = if only_starter { Vec::new() } else { space::all() };
    // The others compute the same in both classes of halves.
    let mut multiplies_halves = space::starter();
    multiplies_halves.retain(|one| one.program(native).source.contains("NATIVE &&"));
    let wanted = with(space::starter(), ProblemClass::F32_NN)
        .chain(with(space::starter(), half))
        .chain(with(multiplies_halves, native))
        .chain(with(all, ProblemClass::F32_NN));
    let mut seen = BTreeSet::new();
    Ok(wanted
        .filter(|(one, _)| board.allows(one).is_ok())
        .map(|(one, class)| one.program(class))
        .filter(|program| seen.insert(program.name.clone()))
        .collect())
}

/// What the table at `path` has of this compiler, as far as sources are still the same.
fn kept(path: &Path, compiler: String) -> Table {
    let old = fs::read_to_string(path).ok().and_then(|text| Table::parse(&text).ok());
    let mut programs = old.filter(|old| old.compiler == compiler).unwrap_or_default().programs;
    let all = space::all().into_iter().chain([Configuration::universal()]);
    let now: BTreeSet<_> = all
        .flat_map(|one| ProblemClass::all().map(move |class| one.program(class)))
        .map(|program| (program.name.clone(), hash_of(&program)))
        .collect();
    programs.retain(|name, compiled| now.contains(&(name.clone(), compiled.hash)));
    Table { compiler, programs }
}

/// The compiler's name and version.
fn compiler(folder: &Path) -> anyhow::Result<String> {
    let file = "OCL_DRIVER_VERSION";
    Command::new("ocloc")
        .args(["query", file])
        .current_dir(folder)
        .output()
        .context("could not run `ocloc`; install Debian's intel-opencl-icd")?;
    let version = fs::read_to_string(folder.join(file)).context("`ocloc` tells no version")?;
    // It may end with a zero byte.
    let version: String = version.chars().filter(char::is_ascii_graphic).collect();
    Ok(format!("ocloc {version}, -device {DEVICE}"))
}

struct Run<'a> {
    started: Instant,
    path: &'a Path,
    missing: &'a [Program],
    state: Mutex<State>,
    saved: Mutex<Instant>,
}

struct State {
    table: Table,
    next: usize,
    done: usize,
    failed: Vec<String>,
}

impl Run<'_> {
    /// Compile programs in `folder` until none is left.
    fn work(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir(folder)?;
        while let Some(program) = self.next() {
            let compiled = compile(program, folder);
            let mut state = self.state();
            state.done += 1;
            match compiled {
                Ok(compiled) => {
                    state.table.programs.insert(program.name.clone(), compiled);
                }
                Err(error) => {
                    let line = format!("{}: {error:#}", program.name);
                    eprintln!("error: {line}");
                    state.failed.push(line);
                }
            }
            self.tell(state.done, &program.name);
            let table = self.is_time_to_save().then(|| state.table.clone());
            drop(state);
            table.map_or(Ok(()), |table| save(self.path, &table))?;
        }
        Ok(())
    }

    fn next(&self) -> Option<&Program> {
        let mut state = self.state();
        state.next += 1;
        self.missing.get(state.next - 1)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_time_to_save(&self) -> bool {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = saved.elapsed() >= SAVE_EVERY;
        if is_time {
            *saved = Instant::now();
        }
        is_time
    }

    /// A line that is written over on a terminal, and now and then one elsewhere.
    fn tell(&self, done: usize, name: &str) {
        let total = self.missing.len();
        let left = self.started.elapsed().mul_f64((total - done) as f64 / done as f64).as_secs();
        let line = format!("{done} of {total}, {}:{:02} left, {name}", left / 60, left % 60);
        if std::io::stderr().is_terminal() {
            eprint!("\r{line:<70}{}", if done == total { "\n" } else { "" });
        } else if done.is_multiple_of(20) || done == total {
            eprintln!("{line}");
        }
    }
}

fn save(path: &Path, table: &Table) -> anyhow::Result<()> {
    let folder = path.parent().context("the table has no folder")?;
    let mut file =
        tempfile::Builder::new().permissions(Permissions::from_mode(0o644)).tempfile_in(folder)?;
    file.write_all(table.write().as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).with_context(|| format!("could not write `{}`", path.display()))?;
    Ok(())
}

fn compile(program: &Program, folder: &Path) -> anyhow::Result<Compiled> {
    fs::write(folder.join("program.cl"), program.source)?;
    let binary = folder.join("program");
    // Not the one of the program before.
    if binary.exists() {
        fs::remove_file(&binary)?;
    }
    let output = Command::new("ocloc")
        .args(["compile", "-file", "program.cl", "-device", DEVICE, "-options", &program.options])
        .args(["--format", "zebin", "-exclude_ir", "-output_no_suffix", "-output", "program"])
        .current_dir(folder)
        .output()
        .context("could not run `ocloc`")?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    ensure!(output.status.success(), "{}", said.trim());
    let binary = fs::read(&binary).context("`ocloc` wrote no binary")?;
    let elf = object::File::parse(&*binary)?;
    let about = elf.section_by_name(".ze_info").context("no section `.ze_info`")?.data()?;
    let numbers = numbers(&String::from_utf8_lossy(about));
    let code = elf.sections().filter(|one| one.name().is_ok_and(|name| name.starts_with(".text.")));
    let largest = |key: &str| {
        let of_key = numbers.iter().filter(|(one, _)| one == key);
        of_key.map(|(_, number)| *number).max().unwrap_or(0)
    };
    let simd = numbers.iter().filter(|(key, _)| key == "simd_size").map(|(_, number)| *number);
    Ok(Compiled {
        hash: hash_of(program),
        simd: simd.min().context("`.ze_info` tells no SIMD width")?,
        spilled: spilled(&said),
        scratch: largest("scratch"),
        local: largest("slm_size"),
        code: code.map(|section| section.size()).max().unwrap_or(0),
    })
}

/// The largest number of registers that `said` reports as spilled.
fn spilled(said: &str) -> u64 {
    let after = said.split("and spilled around ").skip(1);
    let number = after.filter_map(|text| text.split_whitespace().next()?.parse().ok());
    number.max().unwrap_or(0)
}

/// The numbers that the binary tells of its functions, by key; the size of a buffer that each thread
/// has to itself is called `scratch`.
fn numbers(about: &str) -> Vec<(String, u64)> {
    let mut is_buffer = false;
    let mut numbers = Vec::new();
    for line in about.lines() {
        let Some((key, value)) = line.trim().trim_start_matches("- ").split_once(':') else {
            continue;
        };
        match (key, value.trim().parse()) {
            ("type", _) => is_buffer = true,
            ("arg_type", _) => is_buffer = false,
            ("size", Ok(number)) if is_buffer => numbers.push(("scratch".to_owned(), number)),
            ("simd_size" | "slm_size", Ok(number)) => numbers.push((key.to_owned(), number)),
            _ => {}
        }
    }
    numbers
}
