//! `gemmtree flash`: replace a board's bundle.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::{Context, bail};
use boards::{CURRENT, Digest};
use kernels::bundle::{Bundle, DriverKey};
use selector_core::{Model, Score};
use serde::Serialize;

use crate::failure::Hint;
use crate::on_board::{OnBoard, ReachArgs, hinted};
use crate::output::Output;

/// Put a bundle in the place of a board's current one, which is kept as previous.gtb
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree flash pocl-cpu model.gtb")]
pub(crate) struct Args {
    /// The board: a name from `gemmtree boards`, or the path of a board file
    board: String,
    /// The bundle, `*.gtb`
    bundle: PathBuf,
    /// Go on although the model was not measured with the sources that were compiled
    #[arg(long)]
    allow_foreign_space: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let bytes = fs::read(&args.bundle)
        .with_context(|| format!("could not read bundle `{}`", args.bundle.display()))?;
    let bundle = Bundle::parse(&bytes)
        .with_context(|| format!("`{}` cannot be flashed", args.bundle.display()))?;
    check_space(&bundle.model, bundle.key.space, args.allow_foreign_space, out)?;
    let board = OnBoard::open(&args.board, &ReachArgs::default())?;
    check_device(&board, &bundle.key)?;
    if is_current(&board, &bytes)? {
        // Flashing it again would lose the one before it.
        out.note(format_args!("board `{}` has this very bundle: nothing to do", args.board));
        return Ok(());
    }
    let flashed = flash(&board, &bytes)?;
    out.result(&flashed)
}

fn is_current(board: &OnBoard, bundle: &[u8]) -> anyhow::Result<bool> {
    let there = hinted(board.reach.exists(CURRENT))?;
    Ok(there && hinted(board.reach.digest(CURRENT))? == Digest::of(bundle))
}

/// Whether the driver that made a bundle can be the board's. The board itself knows in full, and uses no
/// binary that it has not tried; this catches the wrong board before anything is sent.
fn check_device(board: &OnBoard, key: &DriverKey) -> anyhow::Result<()> {
    let board = &board.board;
    match board.device.text() {
        Some(wanted) if !board.device.matches(&key.platform, &key.device) => {
            let (made_for, id) = (&key.device, &board.id);
            let refused = Err(anyhow::anyhow!(
                "the bundle was made for `{made_for}`; board `{id}` has `{wanted}`"
            ));
            refused.hint(format!("make one there: gemmtree compile {id} MODEL -o BUNDLE"))
        }
        _ => Ok(()),
    }
}

/// Whether a model was measured with the sources that are compiled for it.
pub(crate) fn check_space(
    model: &Model<'_>,
    sources: u64,
    allow: bool,
    out: &mut Output,
) -> anyhow::Result<()> {
    const FOREIGN: &str = "the model was not measured with these sources";
    if model.space() == Some(sources) {
        return Ok(());
    }
    if !allow {
        let refused = Err(anyhow::anyhow!(FOREIGN));
        return refused.hint("its choices may be poor; go on all the same: --allow-foreign-space");
    }
    out.warn(FOREIGN);
    Ok(())
}

/// What was put where, and what it replaced.
#[derive(Serialize)]
pub(crate) struct Flashed {
    board: String,
    file: PathBuf,
    bytes: usize,
    sha256: String,
    old_score: Option<f64>,
    new_score: Option<f64>,
    replaced: bool,
}

/// Flash `bundle`, which has been checked.
pub(crate) fn flash(board: &OnBoard, bundle: &[u8]) -> anyhow::Result<Flashed> {
    let old = if hinted(board.reach.exists(CURRENT))? {
        Some(hinted(board.reach.get(CURRENT))?)
    } else {
        None
    };
    let done = hinted(boards::flash(&*board.reach, bundle))?;
    if done.previous.is_some() != old.is_some() {
        bail!("the bundle on board `{}` was replaced by someone else as well", board.board.id);
    }
    Ok(Flashed {
        board: board.board.id.clone(),
        file: Path::new(&board.board.folder().to_string()).join(CURRENT),
        bytes: bundle.len(),
        sha256: done.digest.to_string(),
        old_score: old.as_deref().and_then(score),
        new_score: score(bundle),
        replaced: old.is_some(),
    })
}

/// The score that the model in a bundle states; `None` too if this build cannot read it.
fn score(bundle: &[u8]) -> Option<f64> {
    Bundle::parse(bundle).ok()?.model.score().map(Score::share)
}

impl fmt::Display for Flashed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { board, file, bytes, sha256, .. } = self;
        writeln!(f, "flashed {bytes} bytes to `{}` on board {board}", file.display())?;
        writeln!(f, "sha256 {sha256}, read back")?;
        let score = |score: Option<f64>| score.map_or("unknown".to_owned(), |s| format!("{s:.4}"));
        let old = if self.replaced { score(self.old_score) } else { "none".to_owned() };
        write!(f, "share of optimal {old} → {}", score(self.new_score))?;
        if self.replaced { write!(f, "\nthe old bundle is {}", boards::PREVIOUS) } else { Ok(()) }
    }
}
