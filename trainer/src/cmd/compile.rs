//! `gemmtree compile`: make a bundle of a model, on the board whose driver will load it.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::{Context, bail};
use boards::deliver;
use kernels::bundle::{Bundle, BundleError};
use selector_core::ProblemClass;
use serde::Serialize;
use trainer::{file, model_file};

use super::flash;
use crate::failure::Hint;
use crate::on_board::{Ended, OnBoard, ReachArgs, hinted};
use crate::output::Output;

/// Names of the files on a board.
const MODEL: &str = "compile.gtm";
const BUNDLE: &str = "compile.gtb";

/// Compile a model's kernels on a board, with its own driver, and fetch the bundle
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree compile pocl-cpu model.gtm -o model.gtb")]
pub(crate) struct Args {
    /// The board: a name from `gemmtree boards`, or the path of a board file
    board: String,
    /// The model, `*.gtm`
    model: PathBuf,
    /// The bundle to write, `*.gtb`
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Compile for this precision and these transposes only (f32-nn, f16h-nt, …); may be given more than once
    #[arg(long)]
    class: Vec<ProblemClass>,
    /// Go on although the model was not measured with the sources that are compiled
    #[arg(long)]
    allow_foreign_space: bool,
    #[command(flatten)]
    reach: ReachArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    check_target(&args.output)?;
    let model = model_file::read(&args.model)?;
    let checked = model_file::parse(&args.model, &model)?;
    let sources = kernels::space::hash();
    flash::check_space(&checked, sources, args.allow_foreign_space, out)?;
    let board = OnBoard::open(&args.board, &args.reach)?;
    let mut options = Vec::new();
    if args.allow_foreign_space {
        options.push("--allow-foreign-space".to_owned());
    }
    options.extend(args.class.iter().flat_map(|class| ["--class".to_owned(), class.to_string()]));
    let bytes = compile(&board, &model, &options, out)?;
    file::write_atomically(&args.output, &bytes)
        .with_context(|| format!("could not write `{}`", args.output.display()))?;
    let bundle = Bundle::parse(&bytes).context("the board's bundle cannot be used")?;
    out.result(&Compiled {
        programs: bundle.programs.len(),
        device: &bundle.key.device,
        driver: &bundle.key.driver,
        bundle: &args.output,
        bytes: fs::metadata(&args.output)?.len(),
    })
}

/// A bundle may be replaced; anything else that is there may be worth more than a bundle.
fn check_target(path: &Path) -> anyhow::Result<()> {
    let there = file::existing(path);
    let there = there.with_context(|| format!("could not write `{}`", path.display()))?;
    let Some(there) = there else { return Ok(()) };
    match Bundle::parse(&there) {
        Err(BundleError::Magic | BundleError::ModelNotBundle) => {
            let refused = anyhow::anyhow!("`{}` is there, but is not a bundle", path.display());
            Err(refused).hint("name another file")
        }
        _ => Ok(()),
    }
}

/// The bundle that the board makes of `model`, checked.
pub(crate) fn compile(
    board: &OnBoard,
    model: &[u8],
    options: &[String],
    out: &mut Output,
) -> anyhow::Result<Vec<u8>> {
    let reach = &*board.reach;
    hinted(deliver(reach, MODEL, model)).context("could not send the model")?;
    let arguments: Vec<String> = ["--model", MODEL, "--output", BUNDLE]
        .into_iter()
        .map(str::to_owned)
        .chain(options.iter().cloned())
        .collect();
    let ended = board.run("compile", &arguments, out, &mut |report, out| {
        out.detail(report);
        Ok(())
    })?;
    if ended == Ended::Interrupted {
        bail!("interrupted; nothing was compiled");
    }
    let bytes = hinted(reach.get(BUNDLE))?;
    Bundle::parse(&bytes).context("the board's bundle cannot be used")?;
    for file in [MODEL, BUNDLE] {
        hinted(reach.remove(file))?;
    }
    Ok(bytes)
}

#[derive(Serialize)]
struct Compiled<'a> {
    bundle: &'a PathBuf,
    bytes: u64,
    programs: usize,
    device: &'a str,
    driver: &'a str,
}

impl fmt::Display for Compiled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bundle, bytes, programs, device, driver } = self;
        let bundle = bundle.display();
        write!(f, "wrote `{bundle}`: {bytes} bytes, {programs} programs for {device}, {driver}")
    }
}
