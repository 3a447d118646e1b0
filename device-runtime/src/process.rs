//! A child process that is spoken to in lines of JSON, for work that a driver may not survive.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A running child whose lines are `E`s; killed when it is dropped.
pub(crate) struct Process<E> {
    child: Child,
    input: ChildStdin,
    /// What it says; disconnected once it has ended.
    pub(crate) events: Receiver<E>,
}

impl<E: DeserializeOwned + Send + 'static> Process<E> {
    /// Start `program arguments`.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(program: &Path, arguments: &[OsString]) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        let (sender, events) = mpsc::channel();
        thread::spawn(move || {
            // A line that is no event comes from the driver, which prints where and what it likes.
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let Ok(event) = serde_json::from_slice(&line) else { continue };
                if sender.send(event).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, input, events })
    }
}

impl<E> Process<E> {
    /// Tell it something.
    ///
    /// # Errors
    /// It has ended.
    pub(crate) fn tell(&mut self, line: &impl Serialize) -> io::Result<()> {
        let line = serde_json::to_string(line)?;
        writeln!(self.input, "{line}")?;
        self.input.flush()
    }

    /// How it ended, in words, if it has closed its output.
    pub(crate) fn ended(&mut self) -> String {
        self.status().map_or_else(|| "it closed its output".to_owned(), |status| status.to_string())
    }

    /// How it ended, if it has closed its output; `None` if it goes on all the same.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        // Between the end of its output and its own there is a moment.
        let patience = Instant::now() + Duration::from_secs(1);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < patience => thread::sleep(Duration::from_millis(5)),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl<E> Drop for Process<E> {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_driver_prints_between_the_lines_is_passed_over_be_it_text_or_not() {
        let script = r"printf 'text\n\377\376\n\n'; echo '[1, 2]'; printf '\377'";
        let arguments = ["-c", script].map(Into::into);
        let process = Process::<[u8; 2]>::start(Path::new("/bin/sh"), &arguments).unwrap();
        let patience = Duration::from_secs(60);
        assert_eq!(process.events.recv_timeout(patience), Ok([1, 2]));
        assert!(process.events.recv_timeout(patience).is_err());
    }
}
