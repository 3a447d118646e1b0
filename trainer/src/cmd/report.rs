//! `gemmtree report`: what a model does on a data set, as a page.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use trainer::dataset::Dataset;
use trainer::report::{self, Report, ReportError};
use trainer::{file, model_file};

use super::inputs::keep_inputs;
use crate::failure::{Hint, hinted};
use crate::output::Output;

/// Show what a model does on a data set: one HTML page with the kernels, the tree, where each
/// kernel is chosen, what is lost and why
#[derive(clap::Args)]
#[command(
    after_help = "The page needs nothing else: no network, no script. Numbers are printed as well.\n\n\
        Example:\n  gemmtree report model.gtm data.csv -o report.html"
)]
pub(crate) struct Args {
    /// The model, `*.gtm`
    model: PathBuf,
    /// The data set: CSV, gzip or not
    dataset: PathBuf,
    /// Where to write the page
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that no `gemmtree report` made
    #[arg(long, requires = "output")]
    force: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    if let Some(path) = &args.output {
        keep_inputs(path, &[&args.model, &args.dataset])?;
        check_target(path, args.force)?;
    }
    let blob = model_file::read(&args.model)?;
    let model = model_file::parse(&args.model, &blob)?;
    let dataset = Dataset::open(&args.dataset)?;
    let (model_name, dataset_name) = (name(&args.model), name(&args.dataset));
    let report = Report::of((&model_name, &model), (&dataset_name, &dataset)).map_err(unrelated)?;
    let Some(path) = &args.output else {
        out.note("no page written; `-o report.html` writes it");
        return out.result(report.numbers());
    };
    let html = report.html();
    let written = file::write_atomically(path, html.as_bytes())
        .with_context(|| format!("could not write `{}`", path.display()));
    if written.is_ok() {
        out.note(format_args!("wrote {} bytes to `{}`", html.len(), path.display()));
    }
    out.result(report.numbers()).and(written)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn unrelated(error: ReportError) -> anyhow::Error {
    hinted(error, "give the data set that the model was trained on, or one with the same kernels")
}

/// Only what was reported before is replaced without being asked to.
fn check_target(path: &Path, force: bool) -> anyhow::Result<()> {
    let there = file::existing(path);
    let there = there.with_context(|| format!("could not write `{}`", path.display()))?;
    let Some(there) = there.filter(|_| !force) else { return Ok(()) };
    if String::from_utf8_lossy(&there).contains(report::MADE_BY) {
        return Ok(());
    }
    let refused: anyhow::Result<()> =
        Err(anyhow!("`{}` exists and is no report; nothing was written", path.display()));
    refused.hint("choose another name, or replace it with `--force`")
}
