//! `gemmtree run`: one multiplication through the selector, on a board.

use selector_core::GemmShape;

use crate::on_bundle::{self, BundleArgs};
use crate::output::Output;

/// Multiply once with the kernel that the model chooses, on a board, and check the result
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree run pocl-cpu --shape 784x1152x256")]
pub(crate) struct Args {
    #[command(flatten)]
    bundle: BundleArgs,
    /// Sizes of the multiplication
    #[arg(long, value_name = "MxKxN[xBATCH]")]
    shape: GemmShape,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let shape = ["--shape".to_owned(), args.shape.to_string()];
    on_bundle::run_with("run", &args.bundle, &shape, out)
}
