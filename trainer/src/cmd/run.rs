//! `gemmtree run`: one multiplication through the selector, on a board.

use crate::on_bundle::{self, BundleArgs};
use crate::output::Output;

/// Multiply once with the kernel that the model chooses, on a board, and check the result
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree run pocl-cpu -- --shape 784x1152x256")]
pub(crate) struct Args {
    #[command(flatten)]
    bundle: BundleArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    on_bundle::run("run", &args.bundle, out)
}
