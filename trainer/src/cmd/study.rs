//! `gemmtree study`: every table and figure of both papers, on any data set.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use clap::builder::PossibleValuesParser;
use trainer::dataset::Dataset;
use trainer::file;
use trainer::split::Protocol;
use trainer::study::{self, Context, Part, Studies, Study};

use super::splits::SplitArgs;
use super::train;
use crate::failure::{Hint, Unexpected, hinted};
use crate::output::Output;

/// Measure on a data set what both papers measured on theirs: winners, components, ways to choose
/// the kernels and ways to choose among them
#[derive(clap::Args)]
#[command(
    after_help = "With several data sets the orderings of all methods are compared as well; a \
        file of splits serves those of which it names every shape, the others have seeded splits.\n\nExamples:\n  \
        gemmtree study data.csv -o study\n  gemmtree study data.csv --part pruning --json\n  \
        gemmtree study gpu.csv cpu.csv --part orderings"
)]
pub(crate) struct Args {
    /// The data sets: CSV, gzip or not
    #[arg(required = true)]
    dataset: Vec<PathBuf>,
    #[command(flatten)]
    splits: SplitArgs,
    /// Where to write `study.html`, `study.json` and each table as CSV
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Measure this part alone; may be given several times
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(study::ALL.iter().map(|one| one.name())))]
    part: Vec<String>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Replace files that no `gemmtree study` made
    #[arg(long, requires = "output")]
    force: bool,
}

/// The page's file.
const PAGE: &str = "study.html";
/// All tables in one file.
const JSON: &str = "study.json";

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    if let Some(folder) = &args.output {
        check_target(folder, args.force)?;
    }
    // All are read before time is spent on any.
    let datasets = args.dataset.iter().map(|path| train::open(path, out));
    let datasets = datasets.collect::<anyhow::Result<Vec<_>>>()?;
    let mut studies = Vec::new();
    for (path, dataset) in args.dataset.iter().zip(&datasets) {
        studies.push(args.study(path, dataset, out)?);
    }
    let studies = Studies::new(studies);
    match &args.output {
        Some(folder) => args.write(folder, &studies, out)?,
        None => out.note("nothing written; `-o FOLDER` writes a page and tables"),
    }
    out.result(&studies)
}

impl Args {
    fn study(&self, path: &Path, dataset: &Dataset, out: &mut Output) -> anyhow::Result<Study> {
        let splits = match self.dataset.len() {
            1 => self.splits.draw(dataset, self.seed, out)?,
            _ => self.splits.draw_among(dataset, &name(path), self.seed, out)?,
        };
        let context = Context::new(dataset, &splits, self.seed);
        let parts = self.parts();
        let steps = parts.iter().map(|part| part.steps(&context)).sum();
        let progress = out.progress(steps, "studying");
        let done = AtomicU64::new(0);
        let context = context.watched(|| progress.set(done.fetch_add(1, Ordering::Relaxed) + 1));
        let mut study = Study::new(&name(path), &context);
        for part in parts {
            let begun = Instant::now();
            let tables = part.measure(&context);
            study.tables.extend(tables.with_context(|| format!("part `{}`", part.name()))?);
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

    fn write(&self, folder: &Path, studies: &Studies, out: &Output) -> anyhow::Result<()> {
        let files = files(folder, studies)?;
        let splits = match &self.splits.protocol {
            Protocol::File(path) => Some(path),
            _ => None,
        };
        let read = self.dataset.iter().chain(splits).filter_map(|path| canonical(path));
        let read: BTreeSet<PathBuf> = read.collect();
        if let Some((path, _)) =
            files.iter().find(|(path, _)| canonical(path).is_some_and(|one| read.contains(&one)))
        {
            let refused = anyhow!("`{}` was just read; nothing was written", path.display());
            return Err(hinted(refused, "choose another folder"));
        }
        let count = files.len();
        for (path, bytes) in files {
            let failed = || format!("could not write `{}`", path.display());
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).with_context(failed)?;
            }
            file::write_atomically(&path, &bytes).with_context(failed)?;
        }
        out.note(format_args!("wrote {count} files to `{}`", folder.display()));
        Ok(())
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn canonical(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// All files of the studies. The tables of each data set have a folder of their own if there are
/// several.
fn files(folder: &Path, studies: &Studies) -> anyhow::Result<Vec<(PathBuf, Vec<u8>)>> {
    let json = serde_json::to_vec(studies)
        .map_err(|error| anyhow!(Unexpected(format!("no JSON: {error}"))))?;
    let mut files = vec![(folder.join(JSON), json)];
    let of = |table: &study::Table, folder: &Path| {
        (folder.join(format!("{}.csv", table.id)), table.csv())
    };
    files.extend(studies.comparison.iter().map(|table| of(table, folder)));
    for (index, study) in studies.studies.iter().enumerate() {
        let own = match studies.studies.len() {
            1 => folder.to_owned(),
            _ => folder.join(format!("{}-{}", index + 1, stem(&study.dataset))),
        };
        files.extend(study.tables.iter().map(|table| of(table, &own)));
    }
    // The page is last: where it is, all others are.
    files.push((folder.join(PAGE), studies.html().into_bytes()));
    Ok(files)
}

/// The data set's name as part of a folder's.
fn stem(name: &str) -> String {
    let stem = name.split('.').next().unwrap_or_default();
    stem.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// Only a folder that a study was written to, or an empty one, is written to without being asked.
fn check_target(folder: &Path, force: bool) -> anyhow::Result<()> {
    let shown = folder.display();
    let failed = || format!("could not write to `{shown}`");
    if force || !folder.try_exists().with_context(failed)? {
        return Ok(());
    }
    if fs::read_dir(folder).with_context(failed)?.next().is_none() {
        return Ok(());
    }
    let page = file::existing(&folder.join(PAGE)).with_context(failed)?.unwrap_or_default();
    if String::from_utf8_lossy(&page).contains(study::MADE_BY) {
        return Ok(());
    }
    let refused: anyhow::Result<()> =
        Err(anyhow!("`{shown}` has files in it, but no study; nothing was written"));
    refused.hint("choose another folder, or write to it with `--force`")
}
