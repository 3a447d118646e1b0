//! `gemmtree study`: every table and figure of both papers, on any data set.

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

use super::inputs::keep_inputs;
use super::splits::SplitArgs;
use super::train;
use crate::failure::{Hint, Unexpected};
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
    /// Seeds with which methods that have random choices are set in order
    #[arg(long, value_name = "N", default_value_t = study::STANDING_SEEDS, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
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
    let written = match &args.output {
        Some(folder) => args.write(folder, &studies, out),
        None => {
            out.note("nothing written; `-o FOLDER` writes a page and tables");
            Ok(())
        }
    };
    // Told in any case: what took long is not lost with a file.
    out.result(&studies).and(written)
}

impl Args {
    fn study(&self, path: &Path, dataset: &Dataset, out: &mut Output) -> anyhow::Result<Study> {
        let splits = match self.dataset.len() {
            1 => self.splits.draw(dataset, self.seed, out)?,
            _ => self.splits.draw_among(dataset, &name(path), self.seed, out)?,
        };
        let mut context = Context::new(dataset, &splits, self.seed);
        context.standing_seeds = self.seeds;
        let parts = self.parts();
        let progress = out.progress(study::cost(&parts, &context), "studying");
        let done = AtomicU64::new(0);
        let context =
            context.watched(|cost| progress.set(done.fetch_add(cost, Ordering::Relaxed) + cost));
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
        let read: Vec<&Path> = self.dataset.iter().chain(splits).map(PathBuf::as_path).collect();
        files.iter().try_for_each(|(path, _)| keep_inputs(path, &read))?;
        let count = files.len();
        let gone = clear(folder)?;
        if gone > 0 {
            out.note(format_args!("replaces an earlier study: {gone} files"));
        }
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

/// Take away an earlier study, its page first, so that none is left half replaced or with tables
/// that are of other data; says how many files went.
fn clear(folder: &Path) -> anyhow::Result<usize> {
    let old = file::existing(&folder.join(JSON)).ok().flatten().unwrap_or_default();
    let old: serde_json::Value = serde_json::from_slice(&old).unwrap_or_default();
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let studies = list(&old["studies"]);
    let mut files = vec![folder.join(PAGE), folder.join(JSON)];
    let mut tables = |tables: &serde_json::Value, folder: &Path| {
        let ids = list(tables).into_iter().filter_map(|one| Some(one["id"].as_str()?.to_owned()));
        // A file of the folder itself, whatever an edited file says.
        let ids = ids.filter(|id| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
        files.extend(ids.map(|id| folder.join(format!("{id}.csv"))));
    };
    tables(&old["comparison"], folder);
    for (index, study) in studies.iter().enumerate() {
        let name = study["dataset"].as_str().unwrap_or_default();
        tables(&study["tables"], &own_folder(folder, studies.len(), index, name));
    }
    let mut gone = 0;
    for file in files.iter().filter(|file| file.is_file()) {
        fs::remove_file(file).with_context(|| format!("could not replace `{}`", file.display()))?;
        gone += 1;
    }
    Ok(gone)
}

/// The folder of one of so many data sets.
fn own_folder(folder: &Path, studies: usize, index: usize, dataset: &str) -> PathBuf {
    match studies {
        1 => folder.to_owned(),
        _ => folder.join(format!("{}-{}", index + 1, stem(dataset))),
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
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
        let own = own_folder(folder, studies.studies.len(), index, &study.dataset);
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
    if folder.exists() && !folder.is_dir() {
        let refused: anyhow::Result<()> =
            Err(anyhow!("`{shown}` is no folder; nothing was written"));
        return refused.hint("`-o` names a folder for the page and its tables");
    }
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
