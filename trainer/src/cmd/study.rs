//! `gemmtree study`: every table and figure of both papers, on any data set.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::builder::PossibleValuesParser;
use trainer::study::{self, Context, Part, Study};

use super::splits::SplitArgs;
use super::train;
use crate::output::Output;

/// Measure on a data set what both papers measured on theirs: winners, components, ways to choose
/// the kernels and ways to choose among them
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree study data.csv --part pruning --json")]
pub(crate) struct Args {
    /// The data set: CSV, gzip or not
    dataset: PathBuf,
    #[command(flatten)]
    splits: SplitArgs,
    /// Measure this part alone; may be given several times
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(study::ALL.iter().map(|one| one.name())))]
    part: Vec<String>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let study = args.study(&args.dataset, out)?;
    out.result(&study)
}

impl Args {
    fn study(&self, path: &Path, out: &mut Output) -> anyhow::Result<Study> {
        let dataset = train::open(path, out)?;
        let splits = self.splits.draw(&dataset, self.seed, out)?;
        let context = Context::new(&dataset, &splits, self.seed);
        let parts = self.parts();
        let progress =
            out.progress(parts.iter().map(|part| part.steps(&context)).sum(), "studying");
        let done = AtomicU64::new(0);
        let context = context.watched(|| progress.set(done.fetch_add(1, Ordering::Relaxed) + 1));
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let mut study = Study::new(&name, &context);
        for part in parts {
            let begun = Instant::now();
            study.tables.extend(part.measure(&context)?);
            out.detail(format_args!("{:8.2} s {}", begun.elapsed().as_secs_f64(), part.name()));
        }
        Ok(study)
    }

    /// The parts asked for, in the order of the page; all where none is.
    fn parts(&self) -> Vec<&'static dyn Part> {
        let asked = |part: &&&dyn Part| {
            self.part.is_empty() || self.part.iter().any(|one| one == part.name())
        };
        study::ALL.iter().filter(asked).copied().collect()
    }
}
