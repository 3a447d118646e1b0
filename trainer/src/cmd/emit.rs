//! `gemmtree emit`: a model's trees as source code.

use std::fmt;
use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;
use trainer::emit::{self, Answer, Program};
use trainer::{file, model_file};

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
    /// Write to this file instead of printing
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct Source {
    language: String,
    source: String,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let blob = model_file::read(&args.model)?;
    let model = model_file::parse(&args.model, &blob)?;
    let answer = if args.first { Answer::First } else { Answer::Leaf };
    let language = emit::by_name(&args.language).context("no such language")?;
    let source = language.source(&Program::new(&model, answer, &args.prefix));
    let Some(path) = &args.output else {
        return out.result(&Source { language: args.language.clone(), source });
    };
    file::write_atomically(path, source.as_bytes())
        .with_context(|| format!("could not write `{}`", path.display()))?;
    out.note(format_args!("wrote {} lines to `{}`", source.lines().count(), path.display()));
    Ok(())
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
