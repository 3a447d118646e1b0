//! `gemmtree-board collect`: measure a plan into a data set.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, fmt, fs, io, thread};

use anyhow::Context;
use device_runtime::collect::{
    About, Child, CollectError, Journal, Look, LookError, OPENING, Tally, collect, look,
};
use device_runtime::measure::Clock;
use kernels::measurement::{Header, Timing};
use kernels::{plan, space};
use serde::Serialize;

use super::{DeviceArgs, half};
use crate::guard::{self, Ended, Told};
use crate::output::Output;

/// Most of a plan that is read: 256 MiB, millions of rows.
const LARGEST_PLAN: u64 = 1 << 28;

static STOP: AtomicBool = AtomicBool::new(false);

/// Measure a plan into a data set, or go on with one that was begun
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  gemmtree-board collect --plan plan.csv --output measurements.csv"
)]
pub(crate) struct Args {
    /// What to measure: CSV with columns m,k,n,batch,class,configuration,repetitions
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// The data set to write, or to go on with
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Give a measurement up after this long
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// End when stdin does: whoever asked for this is gone
    #[arg(long, hide = true)]
    attended: bool,
    /// What is timed: `device`, a call alone by the device's clock; or `stream`, calls enqueued one
    /// after another without events
    #[arg(long, default_value_t = Timing::Device)]
    timing: Timing,
    #[command(flatten)]
    device: DeviceArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let path = args.plan.display();
    let file = fs::File::open(&args.plan).with_context(|| format!("could not read `{path}`"))?;
    let plan =
        plan::read(file.take(LARGEST_PLAN)).with_context(|| format!("`{path}` cannot be used"))?;
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))
        .context("could not handle signals")?;
    if args.attended {
        thread::spawn(|| {
            // A failed read means the same as an end.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            STOP.store(true, Ordering::Relaxed);
        });
    }
    let program = env::current_exe().context("could not find this program")?;
    let timeout = Duration::from_secs(args.timeout);
    let Look { about, clock } = look_at(args, &program, timeout)?;
    let classes = plan.iter().map(|row| row.class);
    if let Some(warning) = half::warning(&about, classes) {
        out.note(warning);
    }
    let (timing, step) = match &clock {
        None => (args.timing, about.clock_resolution_ns),
        Some(Clock::Device(step)) => (args.timing, *step),
        Some(Clock::Host(why)) => {
            out.note(format_args!(
                "the device's clock gives no times ({why}): calls are timed in a row by the host's, as with \
                 --timing stream"
            ));
            (Timing::Stream, about.clock_resolution_ns)
        }
    };
    let mut journal = Journal::open(&args.output, &header(about, timing, step))?;
    let notes = std::sync::mpsc::channel();
    let sender = notes.0;
    let mut worker =
        Child::new(program, arguments(args, timing, step), timeout, &STOP, move |note| {
            // The receiver lives as long as the worker.
            let _ = sender.send(note);
        });
    let tally = collect(&plan, &mut journal, &mut worker, |tally| {
        for note in notes.1.try_iter() {
            out.note(note);
        }
        out.progress(tally.done, tally.total, "measuring");
    })?;
    out.result(&Done {
        event: "done",
        clock: clock_of(timing),
        tally: tally.into(),
        output: &args.output,
    })
}

/// What the device is, as a child finds out: no driver is called in this process.
fn look_at(args: &Args, program: &Path, timeout: Duration) -> anyhow::Result<Look> {
    let arguments = child(args, &["--look", "--timing", args.timing.name()].map(ToOwned::to_owned));
    let opening = guard::limit(OPENING);
    match look(program, &arguments, [opening, timeout], &STOP) {
        Ok(look) => Ok(look),
        Err(LookError::Interrupted) => Err(CollectError::Interrupted.into()),
        Err(LookError::Silent(limit)) => Err(Ended::Silent(limit).into()),
        Err(LookError::Ended(status)) => Err(match guard::code_of(status, opening) {
            Ok(0) | Err(Ended::Silent(_)) => LookError::Ended(status).into(),
            Ok(code) => Told(code).into(),
            Err(ended) => ended.into(),
        }),
        Err(error) => Err(error.into()),
    }
}

fn arguments(args: &Args, timing: Timing, step: u64) -> Vec<OsString> {
    let [timing, step] = [timing.name().to_owned(), step.to_string()];
    child(args, &["--timing".to_owned(), timing, "--step".to_owned(), step])
}

/// Arguments of a worker on the device that was asked for.
fn child(args: &Args, more: &[String]) -> Vec<OsString> {
    let device = args.device.device.iter().flat_map(|device| ["--device", device]);
    let more = more.iter().map(String::as_str);
    ["worker"].into_iter().chain(more).chain(device).map(OsString::from).collect()
}

fn clock_of(timing: Timing) -> &'static str {
    match timing {
        Timing::Device => "device",
        Timing::Stream => "host",
    }
}

fn header(about: About, timing: Timing, step: u64) -> Header {
    Header {
        device: about.name,
        driver: about.driver,
        platform: about.platform,
        space: Some(space::hash()),
        clock_resolution_ns: Some(step),
        timing,
        half_arithmetic: Some(about.half_arithmetic),
        date: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        tool: concat!("gemmtree-board ", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

#[derive(Serialize)]
struct Done<'a> {
    event: &'static str,
    /// Whose clock told the times.
    clock: &'static str,
    #[serde(flatten)]
    tally: Counts,
    output: &'a PathBuf,
}

#[derive(Serialize)]
struct Counts {
    rows: usize,
    reused: usize,
    failed: usize,
    throttled: usize,
}

impl From<Tally> for Counts {
    fn from(tally: Tally) -> Self {
        let Tally { done, reused, failed, throttled, .. } = tally;
        Self { rows: done, reused, failed, throttled }
    }
}

impl fmt::Display for Done<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { rows, reused, failed, throttled } = &self.tally;
        write!(f, "{rows} rows in `{}`: {reused} there before", self.output.display())?;
        write!(f, ", {failed} failed, {throttled} throttled")?;
        if *throttled > 0 {
            f.write_str(" (the device's speed was unsteady; run again to try those once more)")?;
        }
        Ok(())
    }
}
