//! What becomes of everything that the pretend driver can let go wrong, in every command of `gemmtree-board`: a test
//! goes over it and says how each run ended.

use std::env;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::figure::{Line, Sheet, Target};

pub(super) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    let ends = ends(&told()?);
    if ends.is_empty() {
        bail!("the test of every fault told nothing");
    }
    let runs: u64 = ends.iter().map(Ends::runs).sum();
    let right: u64 = ends.iter().map(|one| one.right).sum();
    let in_words: u64 = ends.iter().map(|one| one.in_words).sum();
    let each = ends.iter().map(|one| format!("{} {}/{}", one.command, one.sound(), one.runs()));
    let name = |name: &str| format!("runtime.faults.{name}");
    let sound = Target::Exactly(runs as f64);
    let sound = Line::figure(name("typed_or_right"), (right + in_words) as f64, sound);
    sheet.tell(&sound.remarked(&each.collect::<Vec<_>>().join(", ")));
    sheet.figure(&name("right"), right as f64, Target::None);
    sheet.figure(&name("typed"), in_words as f64, Target::None);
    Ok(())
}

/// What the test prints, whether it passes or not.
fn told() -> anyhow::Result<String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--release", "--quiet", "--package", "device-runtime"]);
    command.args(["--test", "every_fault", "--", "--nocapture"]);
    let output = command.stderr(Stdio::inherit()).output().context("could not run cargo")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// How the runs of a command ended.
#[derive(Debug, Eq, PartialEq)]
struct Ends {
    command: String,
    right: u64,
    in_words: u64,
    neither: u64,
}

impl Ends {
    fn sound(&self) -> u64 {
        self.right + self.in_words
    }

    fn runs(&self) -> u64 {
        self.sound() + self.neither
    }
}

/// The lines `faults: COMMAND: N right, N errors in words, N neither`; the harness may print before them.
fn ends(text: &str) -> Vec<Ends> {
    let read = |line: &str| {
        let (_, line) = line.split_once("faults: ")?;
        let (command, counts) = line.split_once(": ")?;
        let mut counts = counts.split(", ");
        let mut next = |words: &str| -> Option<u64> {
            counts.next()?.strip_suffix(words)?.trim_end().parse().ok()
        };
        let (right, in_words) = (next("right")?, next("errors in words")?);
        Some(Ends { command: command.to_owned(), right, in_words, neither: next("neither")? })
    };
    text.lines().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_test_tells_is_read_whatever_stands_around_it() {
        let text =
            "..faults: run: 104 right, 107 errors in words, 1 neither\nfaults: no\ntest result";
        let run = Ends { command: "run".to_owned(), right: 104, in_words: 107, neither: 1 };
        assert_eq!(run.runs(), 212);
        assert_eq!(ends(text), [run]);
    }
}
