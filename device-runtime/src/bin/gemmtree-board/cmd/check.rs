//! `gemmtree-board check`: kernels against the reference.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::bail;
use device_runtime::DeviceError;
use device_runtime::check::{KernelReport, SourceUnit, check_bundle, check_sources};
use kernels::families;
use selector_core::ProblemClass;
use serde::Serialize;

use super::DeviceArgs;
use super::standing::{BundleArgs, Told};
use crate::output::Output;

/// Compare kernels with the reference: a bundle's from their binaries, or all from source
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("from").required(true).args(["bundle", "bundles", "sources"]),
    after_help = "Examples:\n  gemmtree-board check --bundle current.gtb\n  \
    gemmtree-board check --bundle current.gtb --refresh\n  \
    gemmtree-board check --sources --seconds 120 --seed 1\n  \
    gemmtree-board check --sources --family tile\n  \
    gemmtree-board check --sources --few")]
pub(crate) struct Args {
    #[command(flatten)]
    from: BundleArgs,
    /// Check the whole kernel space, built from source
    #[arg(long, conflicts_with_all = ["no_build", "refresh"])]
    sources: bool,
    /// With --sources: begin no further program after this long
    #[arg(long, value_name = "SECONDS", requires = "sources", conflicts_with = "all",
        value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// With --sources: everything, in order
    #[arg(long, requires = "sources")]
    all: bool,
    /// With --sources: a few configurations of each family on a few problems, in order; for devices that
    /// are slow, such as simulators
    #[arg(long, requires = "sources", conflicts_with_all = ["all", "seed"])]
    few: bool,
    /// With --sources: only this kernel family, in every class
    #[arg(long, value_name = "NAME", requires = "sources")]
    family: Option<String>,
    /// Decides the order of programs, and the problems of a bundle's kernels
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    device: DeviceArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    if args.from.is_given() { of_bundle(args, out) } else { of_sources(args, out) }
}

fn of_bundle(args: &Args, out: &Output) -> anyhow::Result<()> {
    let classes: Vec<ProblemClass> = ProblemClass::all().collect();
    let (device, standing) = args.from.stand(&args.device, &classes, out)?;
    let mut runtime = standing.load(device)?;
    let (mut kernels, mut wrong) = (0, 0);
    let mut printed = Ok(());
    check_bundle(&mut runtime, args.seed, |report| {
        kernels += 1;
        wrong += usize::from(report.outcome.is_err());
        if printed.is_ok() {
            printed = out.result(&Line::new(report));
        }
    })?;
    printed?;
    // What was wrong in the file does not run, but is not right for that.
    let given = if args.from.refreshes() { Vec::new() } else { standing.report().wrong_binaries() };
    let told = standing.told();
    out.result(&Done { event: "done", kernels, wrong, wrong_binaries: given.len(), told })?;
    if wrong > 0 {
        bail!("{wrong} of {kernels} kernels are wrong");
    }
    if let [first, ..] = given[..] {
        let count = given.len();
        bail!(
            "{count} of the bundle's binaries compute wrong, the first `{first}`; --refresh mends the file"
        );
    }
    Ok(())
}

#[derive(Serialize)]
struct Line {
    kernel: u8,
    configuration: String,
    class: String,
    problems: usize,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_share_of_bound: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<String>,
}

impl Line {
    fn new(report: KernelReport) -> Self {
        let KernelReport { id, configuration, class, problems, outcome } = report;
        let status = match &outcome {
            Ok(_) if problems == 0 => "cannot_run_here",
            Ok(_) => "ok",
            Err(_) => "wrong",
        };
        Self {
            kernel: id.0,
            configuration,
            class: class.to_string(),
            problems,
            status,
            error_share_of_bound: outcome.as_ref().ok().copied(),
            wrong: outcome.err().map(|wrong| wrong.to_string()),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, configuration, class, problems, status, .. } = self;
        write!(f, "{kernel:>3}  {configuration:<22} {class}  {problems:>4} problems  {status}")?;
        if let Some(share) = self.error_share_of_bound {
            write!(f, "  error {:.0} % of its bound", 100.0 * share)?;
        }
        self.wrong.iter().try_for_each(|wrong| write!(f, "\n     {wrong}"))
    }
}

#[derive(Serialize)]
struct Done {
    event: &'static str,
    kernels: usize,
    wrong: usize,
    /// Binaries of this driver that compute something else, and are not used.
    wrong_binaries: usize,
    #[serde(flatten)]
    told: Told,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} kernels checked, {} wrong, {}", self.kernels, self.wrong, self.told)
    }
}

fn of_sources(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let device = args.device.open()?;
    let units = units(args)?;
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut done =
        SourcesDone { event: "done", of_programs: units.len(), ..SourcesDone::default() };
    let mut misfits: BTreeMap<String, usize> = BTreeMap::new();
    for unit in &units {
        if end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
        done.programs += 1;
        let report = match check_sources(&device, unit) {
            Ok(report) => report,
            Err(error @ DeviceError::Build { .. }) => {
                // One program that the driver cannot build does not hide what the others do.
                done.not_built += 1;
                out.note(format_args!("not built: {error}"));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        done.configurations += report.configurations;
        done.ruled_out += report.ruled_out.len();
        for misfit in &report.ruled_out {
            *misfits.entry(misfit.to_string()).or_default() += 1;
        }
        done.problems += report.problems;
        done.worst_share_of_bound = done.worst_share_of_bound.max(report.worst);
        done.wrong += report.wrong.len();
        for wrong in &report.wrong {
            out.note(format_args!("wrong: {wrong}"));
        }
        out.progress(done.programs, units.len(), &report.program);
    }
    for (misfit, count) in misfits {
        out.note(format_args!("{count} configurations ruled out: {misfit}"));
    }
    out.result(&done)?;
    if done.wrong + done.not_built > 0 {
        bail!("{} configurations are wrong, {} programs not built", done.wrong, done.not_built);
    }
    if done.problems == 0 {
        bail!("nothing was checked: the device can run no configuration that was asked for");
    }
    Ok(())
}

fn units(args: &Args) -> anyhow::Result<Vec<SourceUnit>> {
    let seed = (!args.all).then_some(args.seed);
    let Some(name) = &args.family else {
        return Ok(if args.few { SourceUnit::few() } else { SourceUnit::all(seed) });
    };
    let Some(family) = families::by_name(name) else {
        let known: Vec<_> = families::ALL.iter().map(|family| family.name()).collect();
        bail!("no kernel family is called `{name}`; families: {}", known.join(", "));
    };
    Ok(if args.few {
        SourceUnit::few_of_family(family)
    } else {
        SourceUnit::of_family(family, seed)
    })
}

#[derive(Default, Serialize)]
struct SourcesDone {
    event: &'static str,
    programs: usize,
    of_programs: usize,
    configurations: usize,
    ruled_out: usize,
    not_built: usize,
    problems: usize,
    wrong: usize,
    worst_share_of_bound: f64,
}

impl fmt::Display for SourcesDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { programs, of_programs, configurations, ruled_out, problems, wrong, .. } = self;
        let not_built = self.not_built;
        write!(
            f,
            "{programs} of {of_programs} programs ({not_built} not built), {configurations} \
             configurations ({ruled_out} more beyond the device's limits), {problems} problems: \
             {wrong} wrong, largest error {:.0} % of its bound",
            100.0 * self.worst_share_of_bound
        )
    }
}
