//! A verb of the board's program that takes a bundle: one from here, or the board's current one.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use boards::{CURRENT, deliver};
use kernels::bundle::Bundle;

use crate::failure::Hint;
use crate::on_board::{OnBoard, ReachArgs, hinted};
use crate::output::Output;

/// A bundle on a board.
#[derive(clap::Args)]
pub(crate) struct BundleArgs {
    /// The board: a name from `gemmtree boards`, or the path of a board file
    board: String,
    /// A bundle to send, `*.gtb`; without it, the one that was flashed
    bundle: Option<PathBuf>,
    #[command(flatten)]
    reach: ReachArgs,
    /// More arguments for the board's program, after `--`
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Run `verb` and print its results as they come.
pub(crate) fn run(verb: &str, args: &BundleArgs, out: &mut Output) -> anyhow::Result<()> {
    run_with(verb, args, &[], out)
}

/// Run `verb` with arguments of its own, and print its results as they come.
pub(crate) fn run_with(
    verb: &str,
    args: &BundleArgs,
    own: &[String],
    out: &mut Output,
) -> anyhow::Result<()> {
    let arguments = [own, &args.arguments].concat();
    let board = OnBoard::open(&args.board, &args.reach)?;
    let Some(path) = &args.bundle else {
        if !hinted(board.reach.exists(CURRENT))? {
            let (board, place) = (&args.board, board.reach.place());
            let none = Err(anyhow::anyhow!("no bundle was flashed to board `{board}`, in {place}"));
            return none.hint(format!("gemmtree flash {} BUNDLE", args.board));
        }
        return on(&board, verb, CURRENT, &arguments, out);
    };
    let bytes =
        fs::read(path).with_context(|| format!("could not read bundle `{}`", path.display()))?;
    Bundle::parse(&bytes).with_context(|| format!("`{}` cannot be used", path.display()))?;
    let sent = format!("{verb}.gtb");
    hinted(deliver(&*board.reach, &sent, &bytes)).context("could not send the bundle")?;
    let result = on(&board, verb, &sent, &arguments, out);
    hinted(board.reach.remove(&sent))?;
    result
}

fn on(
    board: &OnBoard,
    verb: &str,
    bundle: &str,
    more: &[String],
    out: &mut Output,
) -> anyhow::Result<()> {
    let bundle = ["--bundle", bundle].map(str::to_owned);
    let arguments: Vec<String> = bundle.into_iter().chain(more.iter().cloned()).collect();
    board.stream(verb, &arguments, out)
}
