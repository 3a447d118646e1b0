//! `gemmtree import`: a data set from what other programs measured, or from several data sets.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::builder::PossibleValue;
use selector_core::{GemmShape, ProblemClass};
use serde::Serialize;
use trainer::dataset::{DatasetError, RowCounts};
use trainer::file;
use trainer::import::{self, Import, ImportError, Told};

use super::device;
use crate::failure::hinted;
use crate::output::{Output, counted};

/// Make a data set of what other programs measured, or merge several data sets
#[derive(clap::Args)]
#[command(
    after_help = "Files that do not say their device, shape or class need the option that does.\n\n\
        Example:\n  gemmtree import cache.json --shape 4096x4096x4096 -o data.csv\n  \
        gemmtree import clblast_xgemm_*.json -o data.csv"
)]
pub(crate) struct Args {
    /// Files of one device, gzip or not
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where to write the data set
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What the files are, if their content does not tell
    #[arg(long, value_parser = formats())]
    format: Option<String>,
    /// Name of the device, for files that do not say; chooses one in a data base of several
    #[arg(long, value_name = "NAME", value_parser = device::name)]
    device: Option<String>,
    /// The shape, for files that do not say
    #[arg(long, value_name = "MxKxN[xBATCH]")]
    shape: Option<GemmShape>,
    /// Precision (f32, f16, or f16h) and transposes, for files that do not say
    #[arg(long)]
    class: Option<ProblemClass>,
    /// Value of a parameter where a result lacks it; may be given more than once
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    default: Vec<(String, String)>,
    /// Replace the output if it is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    check_target(&args.output, args.force)?;
    let told = args.told()?;
    let format = args.format.as_deref().and_then(import::by_name);
    let (mut read, mut parts, mut assumed) = (Vec::new(), Vec::new(), Vec::new());
    for path in &args.files {
        let (format, part) = import::read(path, format, &told).map_err(|error| match error {
            ImportError::Device { .. } | ImportError::Dataset(DatasetError::Device { .. }) => {
                hinted(error, format_args!("correct it in the file; {}", device::HINT))
            }
            _ => error.into(),
        })?;
        let (file, rows) = (path.display().to_string(), part.counts.read);
        out.detail(format_args!("`{file}`: {}, {}", format.about(), part.counts));
        read.push(ReadFile { file, format: format.name(), rows });
        if args.class.is_none() && part.class_is_assumed {
            assumed.push(format!("`{}`", path.display()));
        }
        parts.push((path.clone(), part));
    }
    let import = import::merge(parts, &told)?;
    for note in &import.notes {
        out.warn(note);
    }
    if !assumed.is_empty() {
        let classes: Vec<_> = import.classes().iter().map(ToString::to_string).collect();
        out.note(format_args!(
            "note: recorded as class {}, since {} {}",
            classes.join(", "),
            assumed.join(", "),
            if assumed.len() == 1 { "does not say it in full" } else { "do not say it in full" }
        ));
    }
    let csv = import.csv().context("could not make the data set")?;
    let shown = args.output.display();
    file::write_atomically(&args.output, &csv)
        .with_context(|| format!("could not write `{shown}`"))?;
    out.note(format_args!("wrote {} to `{shown}`", counted(import.rows(), "row")));
    out.result(&Summary::of(read, &import))
}

impl Args {
    fn told(&self) -> anyhow::Result<Told> {
        if self.device.as_deref().is_some_and(|device| device.trim().is_empty()) {
            bail!("`--device` is empty");
        }
        let mut defaults = BTreeMap::new();
        for (name, value) in &self.default {
            if defaults.insert(name.clone(), value.clone()).is_some() {
                bail!("`--default` gives `{name}` twice");
            }
        }
        Ok(Told { device: self.device.clone(), shape: self.shape, class: self.class, defaults })
    }
}

/// Refuse what cannot be written before the time is spent.
fn check_target(path: &Path, force: bool) -> anyhow::Result<()> {
    let shown = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        bail!("could not write `{shown}`: no folder `{}`", folder.display());
    }
    if path.is_dir() {
        bail!("could not write `{shown}`: it is a folder");
    }
    if path.exists() && !force {
        return Err(hinted(anyhow!("`{shown}` exists"), "`--force` replaces it"));
    }
    Ok(())
}

fn formats() -> impl clap::builder::TypedValueParser<Value = String> {
    clap::builder::PossibleValuesParser::new(
        import::ALL.iter().map(|one| PossibleValue::new(one.name()).help(one.about())),
    )
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// What was imported.
#[derive(Serialize)]
struct Summary {
    device: String,
    space: String,
    files: Vec<ReadFile>,
    read: usize,
    dropped: BTreeMap<&'static str, usize>,
    merged: usize,
    written: BTreeMap<&'static str, usize>,
    classes: Vec<String>,
    shapes: usize,
    configurations: usize,
}

#[derive(Serialize)]
struct ReadFile {
    file: String,
    format: &'static str,
    rows: usize,
}

impl Summary {
    fn of(files: Vec<ReadFile>, import: &Import) -> Self {
        let RowCounts { read, dropped, merged } = import.counts.clone();
        let space = import.header.space;
        Self {
            device: import.header.device.clone(),
            space: space.map_or_else(|| "none".to_owned(), |space| format!("{space:016x}")),
            files,
            read,
            dropped,
            merged,
            written: import.statuses(),
            classes: import.classes().iter().map(ToString::to_string).collect(),
            shapes: import.shapes(),
            configurations: import.configurations(),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "device   {} (kernel space {})", self.device, self.space)?;
        for (index, ReadFile { file, format, rows }) in self.files.iter().enumerate() {
            let label = if index == 0 { "files" } else { "" };
            writeln!(f, "{label:<8} {file}: {format}, {}", counted(*rows, "row"))?;
        }
        let counts =
            RowCounts { read: self.read, dropped: self.dropped.clone(), merged: self.merged };
        writeln!(f, "rows     {counts}")?;
        let written: Vec<_> =
            self.written.iter().map(|(status, count)| format!("{count} {status}")).collect();
        writeln!(f, "written  {}", written.join(", "))?;
        writeln!(
            f,
            "data     {}, {}; classes {}",
            counted(self.shapes, "shape"),
            counted(self.configurations, "configuration"),
            self.classes.join(", ")
        )
    }
}
