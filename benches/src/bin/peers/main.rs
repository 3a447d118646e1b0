//! `peers`: our kernels and other libraries, timed in turn on one device.
//!
//! A program of its own, so that it can be carried to a machine that builds nothing.

mod report;

use std::env;
use std::fmt::Arguments;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use benches::peers::{
    self, BUSY, Header, OPENBLAS, OTHERS, Options, Places, Plan, Progress, Record, Stage, at_work,
};
use clap::Parser;
use device_runtime::{OpenCl, Runtime};
use kernels::bundle::Bundle;
use sha2::{Digest, Sha256};

/// Chosen by OpenBLAS itself if not set; others may have set it for their own reasons.
const OPENBLAS_KERNELS: &str = "OPENBLAS_CORETYPE";
/// Where cuBLAS lies: files or folders, separated as in PATH.
const CUBLAS_PLACES: &str = "GEMMTREE_CUBLAS";

/// For how many cycles, as a power of two, OpenBLAS's threads look for work before they sleep; its own
/// 2²⁸ outlast what comes next. These are longer than what lies between calls one behind another.
const OPENBLAS_LOOKS: (&str, &str) = ("OPENBLAS_THREAD_TIMEOUT", "20");
/// What changes times if it is set: where threads may run, how many there are, how long they look for work.
const SETTINGS: [&str; 5] = [
    "POCL_AFFINITY",
    "POCL_MAX_PTHREAD_COUNT",
    "CL_CONFIG_CPU_TBB_NUM_WORKERS",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_THREAD_TIMEOUT",
];
/// What only OpenBLAS asks for begins so.
const OF_OPENBLAS: &str = "OPENBLAS_";

/// Time our kernels and other libraries in turn on one device
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  peers measure --bundle current.gtb --output peers.csv\n  peers summary peers.csv"
)]
enum Command {
    Measure(Box<MeasureArgs>),
    Summary(SummaryArgs),
}

/// Measure, shape by shape; the same command goes on where it ended
#[derive(clap::Args)]
struct MeasureArgs {
    /// The bundle
    #[arg(long, value_name = "FILE")]
    bundle: PathBuf,
    /// The OpenCL device: its number P:D, or a part of its name or its platform's
    #[arg(long, value_name = "TEXT")]
    device: Option<String>,
    /// Shapes: layers (303), layers-cpu (76 up to 1 GFLOP), quick (6), a network, a grid or a CSV file;
    /// layers-cpu on CPUs and layers on others if not given
    #[arg(long, value_name = "NAME|FILE")]
    shapes: Option<String>,
    /// The CSV file to write or go on with
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Begin no new shape after so many seconds
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Take only these peers and ours: ours-best space-best clblast clblast-tuned cublas openblas
    #[arg(long, value_name = "PEER", num_args = 1..)]
    only: Vec<String>,
    /// Samples of each peer and shape
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Least milliseconds of a sample: 20 on CPUs and 2 on others if not given
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,
    /// Seed of the order in which peers take their turns
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// A data set of this device: the best configurations that it has for a shape are the peer space-best
    #[arg(long, value_name = "FILE")]
    best_of: Option<PathBuf>,
    /// How many of them race for each shape
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..))]
    candidates: u8,
    /// If the output is damaged, or of another device, bundle or peer, move it to OUTPUT.old (or .old-2, …) and begin anew
    #[arg(long)]
    set_aside: bool,
    /// Where CLBlast is: a file or folder
    #[arg(long, value_name = "PATH")]
    clblast: Vec<PathBuf>,
    /// CLBlast's parameters for this device, as benches/peers/tune-clblast.sh writes them
    #[arg(long, value_name = "FILE")]
    clblast_parameters: Option<PathBuf>,
    /// Where cuBLAS is: a file or folder; also the variable GEMMTREE_CUBLAS
    #[arg(long, value_name = "PATH")]
    cublas: Vec<PathBuf>,
    /// Where OpenBLAS is: a file or folder
    #[arg(long, value_name = "PATH")]
    openblas: Vec<PathBuf>,
}

/// Tell what a measured file says
#[derive(clap::Args)]
struct SummaryArgs {
    /// The file, perhaps gzip
    file: PathBuf,
}

fn main() -> ExitCode {
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(error) => {
            // Nothing is left to do when even this cannot be printed.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(1) } else { ExitCode::SUCCESS };
        }
    };
    let done = match &command {
        Command::Measure(args) => {
            prepare_openblas(&args.only);
            measure(args)
        }
        Command::Summary(args) => summary(&args.file),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(format_args!("error: {error}"));
            for cause in error.chain().skip(1) {
                note(format_args!("  caused by: {cause}"));
            }
            ExitCode::from(1)
        }
    }
}

/// Set what OpenBLAS reads when it is loaded, if it takes part; what a user has set is left.
fn prepare_openblas(only: &[String]) {
    if !only.is_empty() && !only.iter().any(|name| name == OPENBLAS) {
        return;
    }
    // SAFETY: no other thread runs yet.
    #[expect(unsafe_code, reason = "OpenBLAS has no other way to be told")]
    unsafe {
        env::remove_var(OPENBLAS_KERNELS);
        if env::var_os(OPENBLAS_LOOKS.0).is_none() {
            env::set_var(OPENBLAS_LOOKS.0, OPENBLAS_LOOKS.1);
        }
    }
}

fn measure(args: &MeasureArgs) -> anyhow::Result<()> {
    let file = args.bundle.display();
    let bytes = std::fs::read(&args.bundle).with_context(|| format!("could not read `{file}`"))?;
    let bundle = Bundle::parse(&bytes).with_context(|| format!("`{file}` cannot be used"))?;
    let device = OpenCl::open(args.device.as_deref())?;
    let runtime =
        Runtime::load(device, &bundle).with_context(|| format!("could not load `{file}`"))?;
    for (program, error) in runtime.left_out() {
        note(format_args!("warning: `{program}` is left out: {error}"));
    }
    let stage = Stage::new(runtime, places(args)?)?;
    let default = if stage.is_cpu() { "layers-cpu" } else { "layers" };
    let list = args.shapes.as_deref().unwrap_or(default);
    let shapes = peers::shapes(list)?;
    let others = at_work();
    if let Some(cores) = others.filter(|cores| stage.is_cpu() && *cores > BUSY) {
        note(format_args!(
            "warning: other programs use {cores:.1} cores here; these times are no good"
        ));
    }
    let options = options(args, stage.is_cpu());
    let header = header(&stage, &bundle, list, &options.plan, others);
    let tell = |progress: Progress<'_>| note(format_args!("{}", report::line(&progress)));
    let outcome = peers::run(&stage, &shapes, &args.output, header, &options, tell)?;
    let output = args.output.display();
    if outcome.done < outcome.total {
        let peers::Outcome { done, total } = outcome;
        note(format_args!("{done} of {total} shapes in `{output}`; the same command goes on"));
    }
    summary(&args.output)
}

/// Which of the variables that change times are set, and to what; OpenBLAS is none but on CPUs.
fn settings(is_cpu: bool, value: impl Fn(&str) -> Option<String>) -> String {
    let names = SETTINGS.iter().filter(|name| is_cpu || !name.starts_with(OF_OPENBLAS));
    let set = names.filter_map(|name| Some(format!("{name}={}", value(name)?)));
    let set: Vec<String> = set.collect();
    if set.is_empty() { "as the drivers come".to_owned() } else { set.join(" ") }
}

fn places(args: &MeasureArgs) -> anyhow::Result<Places> {
    let mut cublas = args.cublas.clone();
    if let Some(more) = env::var_os(CUBLAS_PLACES) {
        cublas.extend(env::split_paths(&more));
    }
    let given = args.clblast.iter().chain(&cublas).chain(&args.openblas);
    for path in given.chain(&args.clblast_parameters).chain(&args.best_of) {
        ensure!(path.exists(), "`{}` is not there", path.display());
    }
    Ok(Places {
        best_of: args.best_of.clone(),
        candidates: usize::from(args.candidates),
        clblast: args.clblast.clone(),
        clblast_parameters: args.clblast_parameters.clone(),
        cublas,
        openblas: args.openblas.clone(),
    })
}

fn options(args: &MeasureArgs, is_cpu: bool) -> Options {
    let sample = args.sample.unwrap_or(if is_cpu { 20 } else { 2 });
    let sample = Duration::from_millis(sample);
    Options {
        plan: Plan { sample, rounds: args.rounds, seed: args.seed },
        only: args.only.clone(),
        limit: args.seconds.map(Duration::from_secs),
        set_aside: args.set_aside,
    }
}

/// On and with what is measured. A driver's binaries of the same kernels need not be the same, so
/// the bundle is known by its model.
fn header(
    stage: &Stage<'_>,
    bundle: &Bundle<'_>,
    list: &str,
    plan: &Plan,
    others: Option<f64>,
) -> Header {
    let info = stage.info();
    let mut header = Header::default();
    header.push("device", &info.name);
    header.push("platform", &info.platform);
    header.push("driver", &info.driver);
    header.push("compute_units", &info.compute_units.to_string());
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let others = others.map_or_else(|| "unknown".to_owned(), |cores| format!("{cores:.2} cores"));
    header.push(OTHERS, &format!("{others} at {now}"));
    header.push("date", &now);
    header.push("settings", &settings(stage.is_cpu(), |name| env::var(name).ok()));
    header.push("queue", "records no times; those on the device are of a second one");
    header.push("shapes", list);
    let Plan { sample, rounds, seed } = plan;
    header.push("timing", &format!("samples of at least {sample:?}, {rounds} rounds, seed {seed}"));
    let hash = Sha256::digest(bundle.model_bytes);
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    header.push("model", &format!("{hash}, {} kernels", bundle.kernels.len() - 1));
    header
}

fn summary(path: &Path) -> anyhow::Result<()> {
    let record = Record::read(path)?;
    let text = report::summary(&record);
    io::stdout().lock().write_all(text.as_bytes()).context("could not print")
}

/// Say something that is no result.
fn note(message: Arguments<'_>) {
    // A closed stderr must not stop the work.
    let _ = writeln!(io::stderr().lock(), "{message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_change_times_are_told() {
        assert_eq!(settings(true, |_| None), "as the drivers come");
        let some = |name: &str| name.starts_with("POCL").then(|| "1".to_owned());
        assert_eq!(settings(true, some), "POCL_AFFINITY=1 POCL_MAX_PTHREAD_COUNT=1");
        let openblas = |name: &str| name.ends_with("TIMEOUT").then(|| "9".to_owned());
        assert_eq!(settings(true, openblas), "OPENBLAS_THREAD_TIMEOUT=9");
        assert_eq!(settings(false, openblas), "as the drivers come");
    }
}
