//! `gemmtree emit`: a model's trees as source code.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use serde::Serialize;
use trainer::emit::{self, Answer, Program};
use trainer::{file, model_file};

use crate::failure::Hint;
use crate::output::Output;

/// Write a model's trees as C or Rust source, nested ifs that need no library
#[derive(clap::Args)]
#[command(
    after_help = "The code answers as the model does; a test compares both on a million shapes.\n\n\
        Example:\n  gemmtree emit model.gtm --language c -o select.c"
)]
pub(crate) struct Args {
    /// The model, `*.gtm`
    model: PathBuf,
    /// Which language
    #[arg(long, short, default_value = "c", value_parser = languages())]
    language: String,
    /// Answer the first kernel's id alone, a byte, instead of the whole leaf
    #[arg(long)]
    first: bool,
    /// What the names of functions begin with
    #[arg(long, default_value = "gemmtree", value_parser = identifier)]
    prefix: String,
    /// Write to this file instead of printing; with C also a header beside it, ending in `.h`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that no `gemmtree emit` made
    #[arg(long, requires = "output")]
    force: bool,
}

#[derive(Serialize)]
struct Source {
    language: String,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let blob = model_file::read(&args.model)?;
    let model = model_file::parse(&args.model, &blob)?;
    let answer = if args.first { Answer::First } else { Answer::Leaf };
    let language = emit::by_name(&args.language).context("no such language")?;
    let program = Program::new(&model, answer, &args.prefix);
    let (source, header) = (language.source(&program), language.header(&program));
    let Some(path) = &args.output else {
        return out.result(&Source { language: args.language.clone(), source, header });
    };
    let header = header.map(|text| (path.with_extension("h"), text));
    let mut files = vec![(path.clone(), source)];
    if let Some((path, _)) = &header {
        ensure!(
            *path != files[0].0,
            "`{}` would be its own header; choose another name",
            path.display()
        );
    }
    files.extend(header);
    for (path, _) in &files {
        check_target(path, args.force)?;
    }
    for (path, text) in files {
        file::write_atomically(&path, text.as_bytes())
            .with_context(|| format!("could not write `{}`", path.display()))?;
        out.note(format_args!("wrote {} lines to `{}`", text.lines().count(), path.display()));
    }
    Ok(())
}

/// Only what was emitted before is replaced without being asked to.
fn check_target(path: &Path, force: bool) -> anyhow::Result<()> {
    let there = file::existing(path);
    let there = there.with_context(|| format!("could not write `{}`", path.display()))?;
    let Some(there) = there.filter(|_| !force) else { return Ok(()) };
    let ours = String::from_utf8_lossy(&there).contains(emit::MADE_BY);
    let other: anyhow::Result<()> = match ours {
        true => return Ok(()),
        false => {
            Err(anyhow!("`{}` exists and was not emitted; nothing was written", path.display()))
        }
    };
    other.hint("choose another name, or replace it with `--force`")
}

fn languages() -> clap::builder::PossibleValuesParser {
    emit::ALL.iter().map(|one| one.name()).collect::<Vec<_>>().into()
}

fn identifier(text: &str) -> Result<String, String> {
    let starts = text.starts_with(|c: char| c.is_ascii_lowercase());
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match starts && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("expected lower-case letters, digits and `_`, a letter first".to_owned()),
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}
