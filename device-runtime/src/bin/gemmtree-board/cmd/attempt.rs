//! `gemmtree-board attempt`: tries programs for the other verbs, where a driver may do what it likes.

use std::io::{self, BufRead, Write};

use anyhow::Context;
use device_runtime::Device;
use device_runtime::ladder::{Answer, Request};

use super::DeviceArgs;
use super::worker::end_with_parent;

/// Try the programs asked for on stdin
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    device: DeviceArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    end_with_parent();
    let device = args.device.open()?;
    say(&Answer::Ready(device.info().driver_key()))?;
    for line in io::stdin().lock().lines() {
        let line = line.context("could not read a request")?;
        let request: Request =
            serde_json::from_str(&line).with_context(|| format!("`{line}` is not a request"))?;
        say(&request.answer(&device))?;
    }
    Ok(())
}

fn say(answer: &Answer) -> anyhow::Result<()> {
    let line = serde_json::to_string(answer)?;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("could not answer")
}
