//! A verb of the board's program, run on a board while its progress is shown here.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use boards::Board;
use boards::reach::{self, Exit, Line, PROGRAM, Reach, ReachError};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::{Hint, Unexpected};
use crate::interrupt;
use crate::output::{Output, Progress};

/// Flags of every command that runs something on a board.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct ReachArgs {
    /// The board's program, if it is neither beside this one nor in PATH
    #[arg(long, value_name = "FILE")]
    pub(crate) board_program: Option<PathBuf>,
    /// Part of the OpenCL device's name, instead of what the board file says
    #[arg(long, value_name = "TEXT")]
    pub(crate) device: Option<String>,
}

impl ReachArgs {
    /// The flags as they are typed.
    pub(crate) fn flags(&self) -> Vec<OsString> {
        let program =
            self.board_program.iter().flat_map(|file| ["--board-program".into(), file.into()]);
        let device = self.device.iter().flat_map(|device| ["--device".into(), device.into()]);
        program.chain(device).collect()
    }
}

/// A board that is ready to be asked.
pub(crate) struct OnBoard {
    pub(crate) board: Board,
    pub(crate) reach: Box<dyn Reach>,
    device: Option<String>,
}

/// How a verb ended that did not fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ended {
    Done,
    /// By Ctrl-C, or since the program was asked to end.
    Interrupted,
}

impl OnBoard {
    /// The board with this name or file.
    pub(crate) fn open(name: &str, args: &ReachArgs) -> anyhow::Result<Self> {
        let board = boards::find(name)?;
        let reach = hinted(reach::open(&board, args.board_program.as_deref()))?;
        let device = args.device.clone().or_else(|| board.device.text());
        Ok(Self { board, reach, device })
    }

    /// Run a verb. Progress goes to a bar, messages to stderr; results are given to `on_result`.
    pub(crate) fn run(
        &self,
        verb: &str,
        arguments: &[String],
        out: &mut Output,
        on_result: &mut dyn FnMut(Report, &mut Output) -> anyhow::Result<()>,
    ) -> anyhow::Result<Ended> {
        let stop = interrupt::flag()?;
        let device = self.device.iter().flat_map(|device| ["--device", device]).map(str::to_owned);
        let all: Vec<String> =
            [verb.to_owned()].into_iter().chain(arguments.iter().cloned()).chain(device).collect();
        let mut stream = Stream { out, on_result, bar: None, verb, failure: None };
        let exit = self.reach.run(&all, stop, &mut |line| stream.take(line, stop));
        let failure = stream.failure.take();
        drop(stream);
        let exit = hinted(exit)?;
        match failure {
            Some(failure) => Err(failure),
            None => self.ended(verb, exit, stop.load(Ordering::Relaxed)),
        }
    }

    /// Run a verb whose results are printed as they come.
    pub(crate) fn stream(
        &self,
        verb: &str,
        arguments: &[String],
        out: &mut Output,
    ) -> anyhow::Result<()> {
        match self.run(verb, arguments, out, &mut |report, out| out.result(&report))? {
            Ended::Done => Ok(()),
            Ended::Interrupted => bail!("interrupted"),
        }
    }

    /// The OpenCL devices of the board.
    pub(crate) fn devices(&self) -> anyhow::Result<Vec<Report>> {
        let never = AtomicBool::new(false);
        let mut found = Vec::new();
        let exit = self.reach.run(&["devices".to_owned()], &never, &mut |line| {
            if let Line::Output(text) = line
                && let Some(Event::Result(report)) = Event::parse(text)
            {
                found.push(report);
            }
        });
        self.ended("devices", hinted(exit)?, false)?;
        Ok(found)
    }

    fn ended(&self, verb: &str, exit: Exit, stopped: bool) -> anyhow::Result<Ended> {
        if stopped || exit.stopped {
            return Ok(Ended::Interrupted);
        }
        let board = &self.board.id;
        match exit.code {
            Some(0) => Ok(Ended::Done),
            Some(1) => bail!("`{PROGRAM} {verb}` failed on board `{board}`, as said above"),
            Some(code) => {
                let what = format!("`{PROGRAM} {verb}` ended with code {code} on board `{board}`");
                Err(Unexpected(what).into())
            }
            None => {
                Err(Unexpected(format!("`{PROGRAM} {verb}` was killed on board `{board}`")).into())
            }
        }
    }
}

/// Lines of the board's program on their way to the user.
struct Stream<'a> {
    out: &'a mut Output,
    on_result: &'a mut dyn FnMut(Report, &mut Output) -> anyhow::Result<()>,
    bar: Option<Progress>,
    verb: &'a str,
    failure: Option<anyhow::Error>,
}

impl Stream<'_> {
    fn take(&mut self, line: Line<'_>, stop: &AtomicBool) {
        match line {
            Line::Message(text) => self.out.error("board", text),
            Line::Output(text) => match Event::parse(text) {
                Some(Event::Progress { done, total }) => self.progress(done, total),
                Some(Event::Result(report)) => {
                    let taken = (self.on_result)(report, self.out);
                    if let (Err(error), None) = (taken, &self.failure) {
                        // Nobody can read the results any more.
                        stop.store(true, Ordering::Relaxed);
                        self.failure = Some(error);
                    }
                }
                None => self.out.detail(format_args!("board: {text}")),
            },
        }
    }

    fn progress(&mut self, done: u64, total: u64) {
        if let Some(bar) = &self.bar {
            return bar.set(done);
        }
        let bar = self.out.progress(total, self.verb);
        bar.begin_at(done);
        self.bar = Some(bar);
    }
}

/// What a line of the board's program says.
#[derive(Debug, PartialEq)]
enum Event {
    Progress { done: u64, total: u64 },
    Result(Report),
}

impl Event {
    /// `None` if the line is no JSON object.
    fn parse(line: &str) -> Option<Self> {
        let Ok(Value::Object(mut fields)) = serde_json::from_str(line) else { return None };
        let number = |key| fields.get(key).and_then(Value::as_u64);
        let event = fields.get("event").and_then(Value::as_str);
        if let (Some("progress"), Some(done), Some(total)) =
            (event, number("done"), number("total"))
        {
            return Some(Self::Progress { done, total });
        }
        if event == Some("done") {
            fields.remove("event");
        }
        let text = match fields.remove("text") {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        Some(Self::Result(Report { fields, text }))
    }
}

/// A result of the board's program: its fields, and the text that the board has for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Report {
    fields: Map<String, Value>,
    #[serde(skip)]
    text: Option<String>,
}

impl Report {
    /// The text in a field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return f.write_str(text);
        }
        for (index, (key, value)) in self.fields.iter().enumerate() {
            let space = if index == 0 { "" } else { "  " };
            match value {
                Value::String(text) => write!(f, "{space}{key} {text}")?,
                other => write!(f, "{space}{key} {other}")?,
            }
        }
        Ok(())
    }
}

/// The same error with what the user can do about the board.
pub(crate) fn hinted<T>(result: Result<T, impl Into<anyhow::Error>>) -> anyhow::Result<T> {
    result.map_err(Into::into).or_else(|error: anyhow::Error| {
        let reach = error.chain().find_map(|cause| cause.downcast_ref::<ReachError>());
        let hints = reach.map_or_else(Vec::new, ReachError::hints).join("\n        ");
        if hints.is_empty() { Err(error) } else { Err(error).hint(hints) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_progress_results_or_neither() {
        let progress = r#"{"event":"progress","done":3,"total":9,"failed":1}"#;
        assert_eq!(Event::parse(progress), Some(Event::Progress { done: 3, total: 9 }));
        let Some(Event::Result(report)) = Event::parse(r#"{"event":"done","rows":9,"x":"y z"}"#)
        else {
            panic!("a result")
        };
        assert_eq!(report.to_string(), "rows 9  x y z");
        assert_eq!(serde_json::to_string(&report).unwrap(), r#"{"rows":9,"x":"y z"}"#);
        for other in ["", "[]", "9", "{\"event\":", "building tile:8x8x8"] {
            assert_eq!(Event::parse(other), None, "{other}");
        }
    }
}
