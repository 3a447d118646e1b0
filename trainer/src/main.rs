//! `gemmtree`: measure, train, flash and explain, from the host.

mod cmd;
mod failure;
mod interrupt;
mod on_board;
mod on_bundle;
mod output;
mod version;

use std::process::ExitCode;

use clap::Parser;

use crate::output::{Output, Verbosity};

/// Make matrix multiplication fast on GPUs that nobody hand-tunes.
#[derive(Parser)]
#[command(
    name = "gemmtree",
    version = version::text(),
    after_help = "Example:\n  gemmtree train data.csv -o model.gtm\n  gemmtree explain model.gtm 784 1152 256"
)]
struct Cli {
    #[command(subcommand)]
    command: cmd::Command,
    #[command(flatten)]
    output: Verbosity,
}

fn main() -> ExitCode {
    failure::guarded(|| {
        let cli = match Cli::try_parse() {
            Ok(cli) => cli,
            Err(usage) => return failure::usage(&usage),
        };
        let mut out = Output::new(&cli.output);
        match cmd::run(&cli.command, &mut out).and_then(|()| out.flush()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failure::report(&error, &out),
        }
    })
}
