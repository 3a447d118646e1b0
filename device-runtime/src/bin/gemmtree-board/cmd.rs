//! The commands. To add one: write `cmd/<verb>.rs`, then name it here.

mod attempt;
mod bench;
mod check;
mod collect;
mod compile;
mod devices;
mod file;
mod half;
mod network;
mod run;
mod standing;
mod worker;

use std::ffi::OsString;

use device_runtime::OpenCl;

use crate::guard::{self, Ended};
use crate::output::Output;

/// What to do.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    #[command(hide = true)]
    Attempt(attempt::Args),
    Bench(bench::Args),
    Check(check::Args),
    Collect(collect::Args),
    Compile(compile::Args),
    Devices(devices::Args),
    Run(run::Args),
    #[command(hide = true)]
    Worker(worker::Args),
}

impl Command {
    /// Whether a driver can end or stop it with nobody to tell. `collect` has children of its own.
    pub(crate) fn is_fragile(&self) -> bool {
        match self {
            Self::Bench(_)
            | Self::Check(_)
            | Self::Compile(_)
            | Self::Devices(_)
            | Self::Run(_) => true,
            // The ladder watches the one, `collect` the other.
            Self::Attempt(_) | Self::Worker(_) | Self::Collect(_) => false,
        }
    }
}

impl Command {
    /// What an end is told with: a library that was named may be at fault in the driver's place.
    pub(crate) fn blame(&self, ended: Ended) -> anyhow::Error {
        let named = if let Self::Bench(args) = self { args.library() } else { None };
        let error = anyhow::Error::from(ended);
        match named {
            Some(path) => error.context(format!("`{}`, or the driver, failed", path.display())),
            None => error,
        }
    }
}

/// Do it.
pub(crate) fn run(command: &Command, out: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Attempt(args) => attempt::run(args),
        Command::Bench(args) => bench::run(args, out),
        Command::Check(args) => check::run(args, out),
        Command::Collect(args) => collect::run(args, out),
        Command::Compile(args) => compile::run(args, out),
        Command::Devices(args) => devices::run(args, out),
        Command::Run(args) => run::run(args, out),
        Command::Worker(args) => {
            guard::is_child();
            worker::run(args)
        }
    }
}

/// The choice of a device.
#[derive(clap::Args)]
pub(crate) struct DeviceArgs {
    /// The OpenCL device: its number P:D, or a part of its name or its platform's
    #[arg(long, value_name = "TEXT")]
    device: Option<String>,
}

impl DeviceArgs {
    fn open(&self) -> anyhow::Result<OpenCl> {
        Ok(OpenCl::open(self.device.as_deref())?)
    }

    /// The arguments of a child process that tries programs on the same device.
    fn for_child(&self) -> Vec<OsString> {
        let device = self.device.iter().flat_map(|device| ["--device".into(), device.into()]);
        [OsString::from("attempt")].into_iter().chain(device).collect()
    }
}
