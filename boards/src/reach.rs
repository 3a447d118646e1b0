//! Ways to reach a board. To add one: write `reach/<way>.rs`, then open it in [`open`].

mod local;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::{Board, Digest, ReachBy};

pub use local::Local;

/// The program on a board that does what touches its device.
pub const PROGRAM: &str = "gemmtree-board";

/// What the host asks of a board, and nothing more. Files are named within the board's folder.
pub trait Reach {
    /// The board's folder, for messages.
    fn place(&self) -> String;

    /// Write a file, on stable storage when this returns. On failure part of it may be there.
    ///
    /// # Errors
    /// [`ReachError`] says what failed.
    fn put(&self, file: &str, bytes: &[u8]) -> Result<(), ReachError>;

    /// A file's bytes.
    ///
    /// # Errors
    /// [`ReachError`] says what failed.
    fn get(&self, file: &str) -> Result<Vec<u8>, ReachError>;

    /// The digest of a file as the board itself reads it.
    ///
    /// # Errors
    /// [`ReachError`] says what failed.
    fn digest(&self, file: &str) -> Result<Digest, ReachError>;

    /// Copy a file on the board; `to` is on stable storage when this returns.
    ///
    /// # Errors
    /// [`ReachError`] says what failed.
    fn copy(&self, from: &str, to: &str) -> Result<(), ReachError>;

    /// Rename a file at once, in place of what `to` was.
    ///
    /// # Errors
    /// [`ReachError`] says what failed.
    fn rename(&self, from: &str, to: &str) -> Result<(), ReachError>;

    /// Remove a file; that there is none is no failure.
    ///
    /// # Errors
    /// [`ReachError`] says what failed.
    fn remove(&self, file: &str) -> Result<(), ReachError>;

    /// Whether there is such a file.
    ///
    /// # Errors
    /// [`ReachError`] says what failed.
    fn exists(&self, file: &str) -> Result<bool, ReachError>;

    /// Run the board's program in the board's folder, handing on what it writes line by line, and
    /// wait for it. Once `stop` is set it is asked to end, and then made to.
    ///
    /// # Errors
    /// [`ReachError`]: it could not be run. That it ran and failed is no error here.
    fn run(
        &self,
        arguments: &[String],
        stop: &AtomicBool,
        on_line: &mut dyn FnMut(Line<'_>),
    ) -> Result<Exit, ReachError>;
}

/// A line that the board's program wrote.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Line<'a> {
    /// For people: from its standard error.
    Message(&'a str),
    /// A result or a progress report: from its standard output.
    Output(&'a str),
}

/// How the board's program ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Exit {
    /// Its exit code; `None` if it was killed.
    pub code: Option<i32>,
    /// Whether it was asked to end.
    pub stopped: bool,
}

impl Exit {
    /// Whether it did all that it was asked to do.
    #[must_use]
    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}

/// Why a board cannot be reached, or did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReachError {
    /// The board did not do it.
    #[error("could not {what} in {place}")]
    Failed {
        /// What was asked.
        what: String,
        /// The board's folder.
        place: String,
        /// Why not.
        source: io::Error,
    },
    /// The board's program is nowhere.
    #[error("found no {PROGRAM}; tried: {}", list(tried))]
    NoProgram {
        /// Every path tried, in order.
        tried: Vec<PathBuf>,
    },
    /// The board file asks for a way that this build does not have.
    #[error("board `{board}` is reached over {over}; this build reaches boards over: local")]
    NotInThisBuild {
        /// The board.
        board: String,
        /// The way it asks for.
        over: &'static str,
        /// Commands that do by hand what the way would do.
        by_hand: Vec<String>,
    },
}

impl ReachError {
    /// What the user can do about it, one line each.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Failed { .. } => Vec::new(),
            Self::NoProgram { .. } => vec![
                format!("build it: cargo build --release --package device-runtime --bin {PROGRAM}"),
                format!("or say where it is: --board-program PATH/{PROGRAM}"),
            ],
            Self::NotInThisBuild { by_hand, .. } => {
                let first = "copy the files by hand and run the board's program there:".to_owned();
                std::iter::once(first).chain(by_hand.iter().cloned()).collect()
            }
        }
    }
}

/// Get ready to reach `board`; `program` is the board's program, if not where it usually is.
///
/// # Errors
/// [`ReachError::NotInThisBuild`] says how to do without.
pub fn open(board: &Board, program: Option<&Path>) -> Result<Box<dyn Reach>, ReachError> {
    let by_hand = match &board.reach {
        ReachBy::Local { folder } => {
            let local = Local::new(folder.path(), program, &board.opencl_library);
            return Ok(Box::new(local));
        }
        ReachBy::Adb { serial, folder } => {
            let which = serial.as_ref().map_or_else(String::new, |serial| format!(" -s {serial}"));
            let folder = folder.quoted();
            vec![
                format!("adb{which} push {PROGRAM} FILES… {folder}/"),
                format!("adb{which} shell \"cd {folder} && ./{PROGRAM} COMMAND…\""),
                format!("adb{which} pull {folder}/FILE ."),
            ]
        }
        ReachBy::Ssh { host, port, folder } => {
            let option = |flag| port.map_or_else(String::new, |port| format!(" {flag} {port}"));
            let (scp, ssh, folder) = (option("-P"), option("-p"), folder.quoted());
            vec![
                format!("scp{scp} {PROGRAM} FILES… {host}:{folder}/"),
                format!("ssh{ssh} {host} \"cd {folder} && ./{PROGRAM} COMMAND…\""),
                format!("scp{scp} {host}:{folder}/FILE ."),
            ]
        }
    };
    Err(ReachError::NotInThisBuild { board: board.id.clone(), over: board.over(), by_hand })
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_is_not_built_in_says_what_to_type() {
        let board = crate::find("hikey960").unwrap();
        let Err(error) = open(&board, None) else { panic!("ssh is not built in") };
        let message = error.to_string();
        assert!(message.ends_with("this build reaches boards over: local"), "{message}");
        let hints = error.hints().join("\n");
        assert!(
            hints.contains("scp gemmtree-board FILES… hikey960.local:/opt/gemmtree/"),
            "{hints}"
        );
        assert!(hints.contains("ssh hikey960.local \"cd /opt/gemmtree && "), "{hints}");
    }

    #[test]
    fn a_phone_is_named_by_its_serial_number() {
        let text = "name = \"Phone\"\ntier = 3\ngpu = \"Mali-G57\"\n\
            reach = { over = \"adb\", serial = \"0123\", folder = \"/data/local/my tmp\" }\n";
        let board = Board::parse("phone", "phone.toml", text).unwrap();
        let Err(error) = open(&board, None) else { panic!("adb is not built in") };
        let hints = error.hints().join("\n");
        assert!(hints.contains("adb -s 0123 push"), "{hints}");
        assert!(hints.contains("'/data/local/my tmp'"), "{hints}");
    }
}
