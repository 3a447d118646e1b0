//! How the program fails: `error:`, `caused by:`, `hint:`, and the exit code.
//!
//! 0 is success, 1 the user's mistake, 2 anything unexpected.

use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use crate::output::Output;

const MISTAKE: u8 = 1;
const UNEXPECTED: u8 = 2;

/// Adds to an error what the user can do about it.
pub(crate) trait Hint<T> {
    /// The same failure with a line `hint: …` below it.
    fn hint(self, hint: impl fmt::Display) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> Hint<T> for Result<T, E> {
    fn hint(self, hint: impl fmt::Display) -> anyhow::Result<T> {
        self.map_err(|error| hinted(error, hint))
    }
}

/// The error with a line `hint: …` below it.
pub(crate) fn hinted(error: impl Into<anyhow::Error>, hint: impl fmt::Display) -> anyhow::Error {
    Hinted { error: error.into(), hint: hint.to_string() }.into()
}

#[derive(Debug)]
struct Hinted {
    error: anyhow::Error,
    hint: String,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for Hinted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// Marks a failure that is not the user's: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}; this is a fault of gemmtree")]
pub(crate) struct Unexpected(pub(crate) String);

/// Print an error as lines `error:`, `caused by:`, `hint:`; returns the exit code it deserves.
pub(crate) fn report(error: &anyhow::Error, out: &Output) -> ExitCode {
    if error.chain().any(is_broken_pipe) {
        // Whoever read our output has seen enough.
        return ExitCode::SUCCESS;
    }
    let mut chain = error.chain();
    out.error("error", &chain.next().map(ToString::to_string).unwrap_or_default());
    for cause in chain {
        out.error("  caused by", &cause.to_string());
    }
    for hinted in causes(error).into_iter().filter_map(|cause| cause.downcast_ref::<Hinted>()) {
        out.error("  hint", &hinted.hint);
    }
    ExitCode::from(code(error))
}

/// Print what clap found wrong with the command line, or the help that was asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // Nothing is left to do when even this cannot be printed.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(MISTAKE) } else { ExitCode::SUCCESS }
}

/// Run the program; a panic becomes an error message and exit code 2.
pub(crate) fn guarded(program: impl FnOnce() -> ExitCode) -> ExitCode {
    panic::set_hook(Box::new(|panic| {
        let out = Output::plain();
        out.error("error", &Unexpected(format!("stopped: {panic}")).to_string());
        out.error("  hint", "please report it with the command line and the input file");
    }));
    panic::catch_unwind(AssertUnwindSafe(program)).unwrap_or(ExitCode::from(UNEXPECTED))
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let io = cause.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Every cause, those included that have got a hint.
fn causes(error: &anyhow::Error) -> Vec<&(dyn std::error::Error + 'static)> {
    let mut all = Vec::new();
    for mut cause in error.chain() {
        all.push(cause);
        while let Some(hinted) = cause.downcast_ref::<Hinted>() {
            cause = hinted.error.as_ref();
            all.push(cause);
        }
    }
    all
}

fn code(error: &anyhow::Error) -> u8 {
    let causes = causes(error);
    let unexpected = causes.iter().any(|cause| cause.is::<Unexpected>());
    let mut failed_io = causes.iter().filter_map(|cause| cause.downcast_ref::<io::Error>());
    if unexpected || failed_io.any(is_unexpected) { UNEXPECTED } else { MISTAKE }
}

/// Whether a failed read or write is more than a wrong path.
fn is_unexpected(error: &io::Error) -> bool {
    use io::ErrorKind::{
        AlreadyExists, FileTooLarge, InvalidData, InvalidFilename, InvalidInput, IsADirectory,
        NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem, UnexpectedEof,
    };
    !matches!(
        error.kind(),
        AlreadyExists
            | FileTooLarge
            | InvalidData
            | InvalidFilename
            | InvalidInput
            | IsADirectory
            | NotADirectory
            | NotFound
            | PermissionDenied
            | ReadOnlyFilesystem
            | UnexpectedEof
    ) && !names_no_file(error)
}

/// Whether the path leads in circles or to a socket, for which there are no kinds of errors.
fn names_no_file(error: &io::Error) -> bool {
    const NO_DEVICE: i32 = 6;
    const LINKS_IN_CIRCLES: i32 =
        if cfg!(any(target_os = "linux", target_os = "android")) { 40 } else { 62 };
    cfg!(unix) && matches!(error.raw_os_error(), Some(NO_DEVICE | LINKS_IN_CIRCLES))
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    fn failed(kind: io::ErrorKind) -> Result<(), io::Error> {
        Err(kind.into())
    }

    #[test]
    fn a_missing_file_is_the_users_mistake_and_a_full_disk_is_not() {
        let missing = failed(io::ErrorKind::NotFound).context("could not read `x`").unwrap_err();
        assert_eq!(code(&missing), MISTAKE);
        let full = failed(io::ErrorKind::StorageFull).hint("free some space").unwrap_err();
        assert_eq!(code(&full.context("could not write `x`")), UNEXPECTED);
        assert_eq!(code(&Unexpected("no tree".to_owned()).into()), UNEXPECTED);
        let hinted = Err::<(), _>(Unexpected("no tree".to_owned())).hint("one").hint("two");
        let hinted = hinted.unwrap_err();
        assert_eq!(code(&hinted), UNEXPECTED);
        assert_eq!(causes(&hinted).iter().filter(|cause| cause.is::<Hinted>()).count(), 2);
    }

    #[test]
    fn a_hint_survives_what_is_said_above_it_and_repeats_nothing() {
        let error = failed(io::ErrorKind::NotFound).context("could not read `x`").hint("look");
        let error = error.context("could not train").unwrap_err();
        let messages: Vec<_> = error.chain().map(ToString::to_string).collect();
        assert_eq!(messages, ["could not train", "could not read `x`", "entity not found"]);
        assert!(error.chain().any(|cause| cause.is::<Hinted>()));
    }
}
