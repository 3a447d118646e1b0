//! Everything the program prints: results to stdout, the rest to stderr.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// Without a terminal, how often progress is told.
const LINES_EVERY: Duration = Duration::from_secs(10);

/// Flags of every command that say how much is printed, and how.
#[derive(clap::Args)]
pub(crate) struct Verbosity {
    /// Print results as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Say more on stderr
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// Say nothing on stderr but errors
    #[arg(short, long, global = true)]
    quiet: bool,
}

/// Where results, notes and progress go.
pub(crate) struct Output {
    json: bool,
    verbose: bool,
    quiet: bool,
    colour: bool,
    bar: ProgressBar,
}

impl Output {
    /// An output that does what the flags and `NO_COLOR` ask for.
    pub(crate) fn new(flags: &Verbosity) -> Self {
        let Verbosity { json, verbose, quiet } = *flags;
        Self { json, verbose, quiet, ..Self::plain() }
    }

    /// The output before any flag is known.
    pub(crate) fn plain() -> Self {
        let colour = io::stderr().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let bar = ProgressBar::hidden();
        Self { json: false, verbose: false, quiet: false, colour, bar }
    }

    /// Print a result: its `Display` for people, or one line of JSON with `--json`.
    ///
    /// # Errors
    /// Stdout is closed or full.
    pub(crate) fn result(
        &mut self,
        result: &(impl fmt::Display + Serialize),
    ) -> anyhow::Result<()> {
        let text = if self.json {
            serde_json::to_string(result).context("could not write the result as JSON")?
        } else {
            harmless(&result.to_string())
        };
        let line = text.trim_end_matches('\n');
        self.bar.suspend(|| writeln!(io::stdout().lock(), "{line}")).context("could not print")
    }

    /// Finish what was printed.
    ///
    /// # Errors
    /// Stdout is closed or full.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        io::stdout().lock().flush().context("could not print")
    }

    /// Tell what was done; silent with `--quiet`.
    pub(crate) fn note(&self, message: impl fmt::Display) {
        if !self.quiet {
            self.error_line(&harmless(&message.to_string()));
        }
    }

    /// Tell a detail; only with `--verbose`.
    pub(crate) fn detail(&self, message: impl fmt::Display) {
        if self.verbose {
            self.error_line(&harmless(&message.to_string()));
        }
    }

    /// Whether details are told.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Tell what may be wrong; silent with `--quiet`.
    pub(crate) fn warn(&self, message: impl fmt::Display) {
        if !self.quiet {
            self.labelled("warning", "33", &message.to_string());
        }
    }

    /// Tell what went wrong, always, after a label.
    pub(crate) fn error(&self, label: &str, message: &str) {
        self.labelled(label, "31", message);
    }

    /// A bar over `total` steps with an ETA, drawn on stderr if that is a terminal. Notes and
    /// results printed meanwhile appear above it.
    pub(crate) fn progress(&mut self, total: u64, what: &str) -> Progress {
        let terminal = io::stderr().is_terminal();
        let hidden = self.quiet || !terminal;
        self.bar = if hidden { ProgressBar::hidden() } else { ProgressBar::new(total) };
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} ETA {eta}");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.bar.set_message(what.to_owned());
        if !hidden {
            self.bar.enable_steady_tick(Duration::from_millis(200));
        }
        let lines = !self.quiet && !terminal;
        let begun = Instant::now();
        let state = Mutex::new(LinesState { begun_at: 0, last: begun });
        let lines = lines.then(|| Lines { what: what.to_owned(), total, begun, state });
        Progress { bar: self.bar.clone(), lines }
    }

    fn labelled(&self, label: &str, colour: &str, message: &str) {
        let message = harmless(message);
        if self.colour {
            let indent = label.len() - label.trim_start().len();
            let (space, word) = label.split_at(indent);
            self.error_line(&format!("{space}\x1b[1;{colour}m{word}:\x1b[0m {message}"));
        } else {
            self.error_line(&format!("{label}: {message}"));
        }
    }

    fn error_line(&self, line: &str) {
        // A closed stderr must not stop the work.
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr().lock(), "{line}");
        });
    }
}

/// A count with its noun, which takes an `s` for more: `1 row`, `2 rows`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {}", plural(noun)) }
}

fn plural(noun: &str) -> String {
    match noun {
        "leaf" => "leaves".to_owned(),
        _ => format!("{noun}s"),
    }
}

/// The text without what a terminal would obey: names come from files and devices.
fn harmless(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let obeyed = |c: char| c != '\n' && (c.is_control() || turns(c));
    text.chars().map(|c| if obeyed(c) { '\u{FFFD}' } else { c }).collect()
}

/// A progress bar, cleared when dropped; without a terminal, a line now and then.
pub(crate) struct Progress {
    bar: ProgressBar,
    lines: Option<Lines>,
}

struct Lines {
    what: String,
    total: u64,
    begun: Instant,
    state: Mutex<LinesState>,
}

struct LinesState {
    begun_at: u64,
    last: Instant,
}

impl Progress {
    /// `done` of all steps were behind us before we began: the ETA does not count them.
    pub(crate) fn begin_at(&self, done: u64) {
        self.bar.set_position(done);
        self.bar.reset_eta();
        if let Some(lines) = &self.lines {
            lines.state().begun_at = done;
        }
    }

    /// One more step is behind us.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
        if let Some(lines) = &self.lines {
            lines.tell(self.bar.position());
        }
    }

    /// `done` of all steps are behind us.
    pub(crate) fn set(&self, done: u64) {
        self.bar.set_position(done);
        if let Some(lines) = &self.lines {
            lines.tell(done);
        }
    }
}

impl Lines {
    fn state(&self) -> MutexGuard<'_, LinesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, done: u64) {
        let mut state = self.state();
        if state.last.elapsed() < LINES_EVERY {
            return;
        }
        state.last = Instant::now();
        let Self { what, total, .. } = self;
        let done_here = done.saturating_sub(state.begun_at).max(1);
        let left = total.saturating_sub(done) as f64 / done_here as f64;
        let eta = self.begun.elapsed().mul_f64(left).as_secs();
        // A closed stderr must not stop the work.
        let _ = writeln!(io::stderr().lock(), "{what}: {done} of {total}, about {eta} s left");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        let shown = [0, 1, 2].map(|count| counted(count, "row"));
        assert_eq!(shown, ["0 rows", "1 row", "2 rows"]);
        assert_eq!([1, 3].map(|count| counted(count, "leaf")), ["1 leaf", "3 leaves"]);
    }

    #[test]
    fn names_cannot_command_a_terminal() {
        assert_eq!(
            harmless("a\x1b[31mb\u{7}\u{202E}c\r\nd"),
            "a\u{FFFD}[31mb\u{FFFD}\u{FFFD}c\u{FFFD}\nd"
        );
        assert_eq!(harmless("Grafikgerät №1 × 2"), "Grafikgerät №1 × 2");
    }
}
