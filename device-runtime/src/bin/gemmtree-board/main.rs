//! `gemmtree-board`: measure, compile, check and run, on the device.

#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::todo,
        clippy::unimplemented,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod allocations;
mod cmd;
mod guard;
mod output;

use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use clap::Parser;

use crate::output::Output;

/// Measure and run GEMM kernels on this machine's OpenCL device.
#[derive(Parser)]
#[command(
    name = "gemmtree-board",
    version = version(),
    after_help = "Example:\n  gemmtree-board devices\n  gemmtree-board check --bundle current.gtb"
)]
struct Cli {
    #[command(subcommand)]
    command: cmd::Command,
    /// Print results and progress as JSON, one object a line; the default when stdout is no terminal
    #[arg(long, global = true)]
    json: bool,
    /// Print results as text even when stdout is no terminal
    #[arg(long, global = true, conflicts_with = "json")]
    text: bool,
    /// Say nothing on stderr but errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// End with an error when the device has not answered for this long; `collect` has its own --timeout
    /// and waits a minute at most for the device to be opened, and a program on trial is given up after two minutes
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 1800,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    give_up_after: u64,
}

fn version() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(describe)
}

fn describe() -> String {
    let (major, minor) = selector_core::FORMAT_VERSION;
    let (bundle_major, bundle_minor) = kernels::bundle::FORMAT_VERSION;
    format!(
        "{}\nmodel format {major}.{minor}\nbundle format {bundle_major}.{bundle_minor}\nkernel space {:016x}",
        env!("CARGO_PKG_VERSION"),
        kernels::space::hash()
    )
}

fn main() -> ExitCode {
    ExitCode::from(guard::own(output::guarded(work)))
}

/// Do what the command line says; the exit code.
fn work() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing is left to do when even this cannot be printed.
            let _ = error.print();
            return if error.use_stderr() { 1 } else { 0 };
        }
    };
    let mut out = Output::new(cli.json, cli.text, cli.quiet);
    let limit = Duration::from_secs(cli.give_up_after);
    guard::allow(limit);
    if cli.command.is_fragile() {
        match guard::run(limit) {
            None => {}
            Some(Ok(code)) => return code,
            Some(Err(ended)) => return out.failed(&cli.command.blame(ended)),
        }
    }
    match cmd::run(&cli.command, &mut out) {
        Ok(()) => 0,
        Err(error) => out.failed(&error),
    }
}
