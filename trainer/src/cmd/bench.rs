//! `gemmtree bench`: time a bundle through its selector, on a board.

use crate::on_bundle::{self, BundleArgs};
use crate::output::Output;

/// Time the calls of a bundle, split into their parts, on a board
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree bench pocl-cpu")]
pub(crate) struct Args {
    #[command(flatten)]
    bundle: BundleArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    on_bundle::run("bench", &args.bundle, out)
}
