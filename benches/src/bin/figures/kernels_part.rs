//! The kernels beside other libraries: measured here on the CPU, and as kept runs of other devices
//! tell. The run here takes about a quarter of an hour, or as long as `LIMIT` says; a second one
//! goes on where it ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use benches::peers::{
    ALL, CLBLAST, CLBLAST_TUNED, CUBLAS, Class, OPENBLAS, OURS, OURS_BEST, Record, SQUARE, Summary,
};

use crate::figure::{Sheet, Target};
use crate::folder;
use crate::programs::gemmtree;

/// What the kernels that are measured here were chosen on.
const DATA: &str = "trainer/data/pocl-families.csv.gz";
/// Kernels that ship.
const KERNELS: &str = "16";
/// The device here.
const DEVICE: &str = "Portable Computing Language";
/// CLBlast's parameters for it, found by `benches/peers/tune-clblast.sh`.
const TUNED: &str = "benches/peers/clblast-pocl.txt";
/// Seconds after which no new shape is begun here.
const LIMIT: &str = "1200";
const RUNS: &str = "benches/runs";
/// What a kept run of peers is called.
const RUN: &str = "peers.csv";
/// A shape on which we are slower than this is named.
const SLOW: f64 = 0.4;
/// Least number of shapes of a run on a CPU.
const SHAPES: f64 = 60.0;

/// A device that has targets, known by a part of its platform's name.
struct Device {
    name: &'static str,
    platform: &'static str,
    /// Peer, class and the least mean ratio.
    targets: &'static [(&'static str, Class, f64)],
    /// The same of the best kernel of the list on each shape.
    best_targets: &'static [(&'static str, Class, f64)],
}

const DEVICES: [Device; 3] = [
    Device {
        name: "pocl",
        platform: "Portable Computing Language",
        targets: &[
            (CLBLAST, Class::Layers, 9.0),
            (CLBLAST_TUNED, Class::Layers, 4.0),
            (OPENBLAS, Class::Layers, 0.80),
            (CLBLAST, Class::DeepK, 2.0),
            (CLBLAST, Class::FullyConnected, 2.0),
        ],
        best_targets: &[],
    },
    Device {
        name: "intel-cpu",
        platform: "Intel",
        targets: &[
            (CLBLAST, Class::Layers, 15.0),
            (OPENBLAS, Class::Layers, 0.80),
            (CLBLAST, Class::DeepK, 2.0),
            (CLBLAST, Class::FullyConnected, 2.0),
        ],
        best_targets: &[],
    },
    Device {
        name: "nvidia",
        platform: "NVIDIA",
        targets: &[
            (CUBLAS, Class::Layers, 0.72),
            (CUBLAS, Class::Square, 0.75),
            (CLBLAST, Class::Layers, 2.0),
            (CLBLAST, Class::DeepK, 2.0),
            (CLBLAST, Class::FullyConnected, 2.0),
        ],
        best_targets: &[(CUBLAS, Class::Layers, 0.78)],
    },
];

pub(crate) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    match here(sheet) {
        Ok(record) => tell(sheet, "here", &record)?,
        Err(error) => sheet.skipped("kernels.here", &format!("{error:#}")),
    }
    for (run, path) in kept()? {
        let record = Record::read(&path)?;
        let told = |key| record.header.get(key).unwrap_or("unknown");
        let day = told("date").get(..10).unwrap_or("an unknown day");
        sheet.note(&format!("kept run {run}: {} on {day}, not measured now", told("device")));
        tell(sheet, &run, &record)?;
    }
    Ok(())
}

/// Train, compile and measure on this machine.
fn here(sheet: &Sheet) -> anyhow::Result<Record> {
    let folder = folder();
    fs::create_dir_all(&folder)?;
    let path = |file: &str| folder.join(file).display().to_string();
    let (model, bundle, output) = (path("kernels.gtm"), path("kernels.gtb"), path("peers.csv"));
    gemmtree(&["train", DATA, "--kernels", KERNELS, "-o", &model, "--json", "--quiet"])?;
    let device = ["--device", DEVICE];
    // The data set may be older than the sources: a choice made on it still is one.
    let compile = ["compile", "--model", &model, "--output", &bundle, "--allow-foreign-space"];
    run("gemmtree-board", &[&compile[..], &["--class", "f32-nn"], &device].concat())?;
    let mut asked = vec!["measure", "--bundle", &bundle, "--output", &output];
    asked.extend(["--seconds", LIMIT]);
    asked.extend(device);
    if Path::new(TUNED).exists() {
        asked.extend(["--clblast-parameters", TUNED]);
    }
    sheet.note(&format!("measuring; raw numbers in `{output}`"));
    if run("peers", &asked).is_err() {
        // It may be of another bundle or driver.
        let _ = fs::remove_file(&output);
        run("peers", &asked)?;
    }
    Ok(Record::read(Path::new(&output))?)
}

/// A program from beside this one. What it prints is for people and goes to stderr.
fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let this = std::env::current_exe().context("could not find this program")?;
    let program = this.with_file_name(program);
    let shown = program.display();
    let mut command = Command::new(&program);
    command.args(arguments).stdout(std::io::stderr());
    let status = command.status().with_context(|| format!("could not run `{shown}`"))?;
    ensure!(status.success(), "`{shown} {}` failed ({status})", arguments.join(" "));
    Ok(())
}

/// The kept runs, by name.
fn kept() -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut runs = Vec::new();
    for entry in fs::read_dir(RUNS).with_context(|| format!("could not read `{RUNS}`"))? {
        let folder = entry?.path();
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        for file in [RUN.to_owned(), format!("{RUN}.gz")] {
            let path = folder.join(file);
            if path.is_file() {
                runs.push((name.clone().unwrap_or_default(), path));
            }
        }
    }
    runs.sort();
    Ok(runs)
}

fn tell(sheet: &mut Sheet, run: &str, record: &Record) -> anyhow::Result<()> {
    let platform = record.header.get("platform").context("a run without a platform")?;
    let device = DEVICES.iter().find(|device| platform.contains(device.platform));
    let name = device.map_or_else(|| "other".to_owned(), |device| device.name.to_owned());
    let name = format!("kernels.{name}.{run}");
    let summary = Summary::new(record);
    if device.is_some_and(|device| device.targets.iter().any(|(peer, ..)| *peer == OPENBLAS)) {
        let shapes = summary.ratios(OURS, OURS, Class::Layers).map_or(0, |all| all.shapes());
        sheet.figure(&format!("{name}.shapes"), shapes as f64, Target::AtLeast(SHAPES));
    }
    for entry in ALL.iter().filter(|entry| entry.name != OURS) {
        let theirs = entry.name;
        if !summary.has(theirs) {
            let why = record.header.get(theirs).unwrap_or("not asked for");
            let why = why.strip_prefix("skipped: ").unwrap_or(why);
            sheet.skipped(&format!("{name}.{theirs}"), why);
            continue;
        }
        let goals = device.map_or(&[][..], |device| device.targets);
        let best_goals = device.map_or(&[][..], |device| device.best_targets);
        compare(sheet, &name, &summary, OURS, theirs, goals);
        if theirs != OURS_BEST {
            compare(sheet, &name, &summary, OURS_BEST, theirs, best_goals);
        }
        let failed = summary.failures(theirs).count();
        if failed > 0 {
            sheet.figure(&format!("{name}.{theirs}.failed"), failed as f64, Target::None);
        }
    }
    Ok(())
}

/// How many times faster one is than another, by class.
fn compare(
    sheet: &mut Sheet,
    name: &str,
    summary: &Summary<'_>,
    ours: &str,
    theirs: &str,
    goals: &[(&str, Class, f64)],
) {
    let name = format!("{name}.{ours}.to_{theirs}");
    for class in Class::ALL {
        let Some(ratios) = summary.ratios(ours, theirs, class) else { continue };
        let goal = goals.iter().find(|goal| (goal.0, goal.1) == (theirs, class));
        let target = goal.map_or(Target::None, |goal| Target::AtLeast(goal.2));
        sheet.figure(&format!("{name}.{class}"), ratios.mean(), target);
        if class == Class::Layers {
            let (least, shape) = ratios.least();
            sheet.figure(&format!("{name}.least.{shape}"), least, Target::None);
            let (median, range) = (ratios.quantile(0.5), [0.1, 0.9].map(|at| ratios.quantile(at)));
            for (what, value) in [("median", median), ("tenth", range[0]), ("ninth", range[1])] {
                sheet.figure(&format!("{name}.{what}"), value, Target::None);
            }
            let slow: Vec<String> =
                ratios.below(SLOW).map(|(ratio, shape)| format!("{shape} {ratio:.2}")).collect();
            if !slow.is_empty() {
                sheet.note(&format!("{name}: below {SLOW}: {}", slow.join(", ")));
            }
        }
    }
    let square = summary.row(ours, SQUARE).and_then(|row| row.median());
    if let Some(nanoseconds) = square.filter(|_| theirs == CUBLAS) {
        let rate = SQUARE.flop() / nanoseconds / 1e3;
        sheet.figure(&format!("{name}.square_4096.teraflop_per_second"), rate, Target::None);
    }
}
