//! `gemmtree-board worker`: measures rows for `collect`, which may kill it at any time.

use std::cell::RefCell;
use std::io::{self, BufRead, Write};

use anyhow::{Context, bail};
use device_runtime::Device;
use device_runtime::collect::{Event, Request};
use device_runtime::measure::{Clock, Fault, Measurer, Phase};
use kernels::measurement::Timing;

use super::DeviceArgs;

/// Measure the rows asked for on stdin
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What is timed
    #[arg(long, default_value_t = Timing::Device)]
    timing: Timing,
    /// Nanoseconds of a step of the device's clock, if they are not as the driver says
    #[arg(long, value_name = "NANOSECONDS")]
    step: Option<u64>,
    /// Only say what the device is, and by which clock it can be timed
    #[arg(long)]
    look: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    // A signal to the whole group is for `collect` to answer.
    ctrlc::set_handler(|| {}).context("could not handle signals")?;
    end_with_parent();
    let device = args.device.open()?;
    if args.look {
        say(&Event::About(device.info().into()))?;
        if args.timing != Timing::Device {
            return Ok(());
        }
        // Whose fault it is if there is none, the rows will show.
        return Clock::of(&device).map_or(Ok(()), |clock| say(&Event::Clock(clock)));
    }
    say(&Event::Ready)?;
    let mut measurer = Measurer::new(device).timed(args.timing);
    if let Some(step) = args.step {
        measurer = measurer.stepping(step);
    }
    let failed = RefCell::new(None);
    let send = |event: Event| {
        if let Err(error) = say(&event) {
            failed.replace(Some(error));
        }
    };
    for line in io::stdin().lock().lines() {
        let line = line.context("could not read a request")?;
        let request: Option<Request> = serde_json::from_str(&line).ok();
        let Some(row) = request.and_then(|request| request.row()) else {
            bail!("`{line}` is not a request");
        };
        let phase = |phase| {
            send(match phase {
                Phase::Build => Event::Build,
                Phase::Launch => Event::Launch,
            });
        };
        let event = match measurer.measure(&row, phase, |note| send(Event::Note(note))) {
            Ok(row) => Event::Row(row.line().trim_end().to_owned()),
            Err(fault @ Fault::Lost(_)) => Event::Lost(fault.to_string()),
            Err(fault @ Fault::Wrong) => Event::Wrong(fault.to_string()),
            Err(fault) => Event::Machine(fault.to_string()),
        };
        let goes_on = matches!(event, Event::Row(_));
        send(event);
        if let Some(error) = failed.take() {
            return Err(error);
        }
        if !goes_on {
            return Ok(());
        }
    }
    Ok(())
}

/// A kernel that hangs must not outlive a `collect` that was killed.
pub(super) fn end_with_parent() {
    #[cfg(any(target_os = "android", target_os = "linux"))]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};
        // Where the system refuses, the worker ends when its input does.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
    }
}

fn say(event: &Event) -> anyhow::Result<()> {
    let line = serde_json::to_string(event)?;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("could not answer")
}
