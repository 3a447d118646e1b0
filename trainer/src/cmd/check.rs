//! `gemmtree check`: compare every kernel of a bundle with the reference, on a board.

use crate::on_bundle::{self, BundleArgs};
use crate::output::Output;

/// Compare every kernel of a bundle with the reference, on a board
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree check pocl-cpu model.gtb")]
pub(crate) struct Args {
    #[command(flatten)]
    bundle: BundleArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    on_bundle::run("check", &args.bundle, out)
}
