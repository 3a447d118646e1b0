//! Everything the program prints: results and progress to stdout, the rest to stderr.
//!
//! To a person results are text and progress is a bar on stderr, or a line now and then where that is no
//! terminal; to a program both are JSON objects, one a line, on stdout.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use anyhow::Context;
use device_runtime::clblast::ClblastError;
use device_runtime::collect::{CollectError, LookError};
use device_runtime::ladder::{Fault, LadderError, Report};
use device_runtime::{DeviceError, RuntimeError};
use indicatif::{ProgressBar, ProgressStyle};
use kernels::bundle::BundleError;
use serde::Serialize;

use crate::guard::{self, Ended, Told};

const MISTAKE: u8 = 1;
const UNEXPECTED: u8 = 2;
/// Least time between two lines of progress for a program.
const INTERVAL: Duration = Duration::from_millis(250);
/// The same for a person, in a log; what is done sooner says nothing.
const LINES: Duration = Duration::from_secs(10);

/// Where results, notes and progress go.
pub(crate) struct Output {
    json: bool,
    quiet: bool,
    bar: ProgressBar,
    begun: Instant,
    last: Option<Instant>,
}

#[derive(Serialize)]
struct Progress<'a> {
    event: &'static str,
    done: usize,
    total: usize,
    eta_s: u64,
    what: &'a str,
}

impl Output {
    /// An output as the flags ask for it.
    pub(crate) fn new(json: bool, text: bool, quiet: bool) -> Self {
        let json = json || (!text && !io::stdout().is_terminal());
        let bar = ProgressBar::hidden();
        Self { json, quiet, bar, begun: Instant::now(), last: None }
    }

    /// Print a result. In JSON the text for people goes along as `text`, for whoever shows it.
    pub(crate) fn result(&self, result: &(impl fmt::Display + Serialize)) -> anyhow::Result<()> {
        guard::alive();
        let mut text = printable(&result.to_string());
        if self.json {
            let mut fields =
                serde_json::to_value(result).context("could not write the result as JSON")?;
            if let Some(fields) = fields.as_object_mut() {
                fields.insert("text".to_owned(), text.into());
            }
            text = fields.to_string();
        }
        self.bar.suspend(|| writeln!(io::stdout().lock(), "{text}")).context("could not print")
    }

    /// Tell what was done, or is wrong but does not stop the work.
    pub(crate) fn note(&self, message: impl fmt::Display) {
        guard::alive();
        if !self.quiet {
            self.line(&message.to_string());
        }
    }

    /// `done` of `total` steps are behind us.
    pub(crate) fn progress(&mut self, done: usize, total: usize, what: &str) {
        guard::alive();
        if !self.json {
            return self.draw(done, total, what);
        }
        let due = self.last.is_none_or(|last| last.elapsed() >= INTERVAL) || done == total;
        if !due {
            return;
        }
        self.last = Some(Instant::now());
        let eta_s = eta_s(self.begun.elapsed(), done, total);
        let progress = Progress { event: "progress", done, total, eta_s, what };
        if let Ok(line) = serde_json::to_string(&progress) {
            // Nobody listens any more: the work goes on, its result counts.
            let _ = writeln!(io::stdout().lock(), "{line}");
        }
    }

    fn draw(&mut self, done: usize, total: usize, what: &str) {
        if !io::stderr().is_terminal() {
            return self.tell(done, total, what);
        }
        if self.last.is_none() && !self.quiet {
            self.bar = ProgressBar::new(total as u64);
            let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} ETA {eta}");
            self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        }
        self.last = Some(Instant::now());
        self.bar.set_position(done as u64);
        self.bar.set_message(what.to_owned());
        if done == total {
            self.bar.finish_and_clear();
        }
    }

    /// A line in a log, if it is time for one.
    fn tell(&mut self, done: usize, total: usize, what: &str) {
        let is_due = self.last.unwrap_or(self.begun).elapsed() >= LINES;
        if !self.quiet && is_due && done < total {
            self.last = Some(Instant::now());
            let eta_s = eta_s(self.begun.elapsed(), done, total);
            self.line(&format!("{what}: {done} of {total}, about {eta_s} s left"));
        }
    }

    /// Print an error as lines `error:`, `caused by:`, `hint:`; returns its exit code.
    pub(crate) fn failed(&self, error: &anyhow::Error) -> u8 {
        self.bar.finish_and_clear();
        if error.chain().any(is_broken_pipe) {
            // Whoever read our output has seen enough.
            return 0;
        }
        if let Some(Told(code)) = error.chain().find_map(|cause| cause.downcast_ref()) {
            return *code;
        }
        let mut chain = error.chain().map(ToString::to_string);
        self.line(&format!("error: {}", chain.next().unwrap_or_default()));
        for cause in chain {
            self.line(&format!("  caused by: {cause}"));
        }
        for hint in error.chain().filter_map(hint) {
            self.line(&format!("  hint: {hint}"));
        }
        code(error)
    }

    fn line(&self, line: &str) {
        let line = printable(line);
        // A closed stderr must not stop the work.
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr().lock(), "{line}");
        });
    }
}

/// Nothing in a name or a driver's words moves a terminal's cursor.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '\n' | '\t' => printable.push(one),
            one if one.is_control() => printable.extend(one.escape_default()),
            one => printable.push(one),
        }
    }
    printable
}

/// Seconds that what is left will take, if all steps are alike.
fn eta_s(elapsed: Duration, done: usize, total: usize) -> u64 {
    let left = total.saturating_sub(done) as f64 / done.max(1) as f64;
    elapsed.mul_f64(left).as_secs()
}

/// What the user can do about a cause.
fn hint(cause: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    if let Some(ended) = cause.downcast_ref::<Ended>() {
        return Some(ended.hint());
    }
    match cause.downcast_ref::<DeviceError>() {
        Some(DeviceError::NoPlatform) => {
            return Some("install the device's driver; pocl-opencl-icd runs on any CPU");
        }
        Some(DeviceError::NoLibrary(_) | DeviceError::NotOpenCl(_)) => {
            return Some(
                "install ocl-icd-libopencl1, or name the library: GEMMTREE_OPENCL=NAME_OR_PATH",
            );
        }
        Some(DeviceError::Ambiguous(_)) => return Some("choose by its number: --device P:D"),
        Some(DeviceError::NoDevice { .. }) => {
            return Some("gemmtree-board devices lists what there is");
        }
        _ => {}
    }
    match cause.downcast_ref::<RuntimeError>() {
        Some(RuntimeError::StaleBinary { .. }) => {
            return Some("gemmtree-board compile --model MODEL --output BUNDLE");
        }
        Some(RuntimeError::ClassNotShipped(_)) => {
            return Some("gemmtree-board compile without --class builds every class of the model");
        }
        _ => {}
    }
    if let Some(ClblastError::Library(_)) = cause.downcast_ref::<ClblastError>() {
        return Some(
            "--clblast takes the library's file, or its folder; without it none is needed",
        );
    }
    match cause.downcast_ref::<LadderError>() {
        Some(LadderError::NothingStands(report)) if lacks_space(report) => {
            return Some("free space in TMPDIR, or set it to another folder");
        }
        Some(LadderError::NothingStands(_)) => {
            return Some(
                "without --no-build they are built from source; if that fails too, the driver is at fault",
            );
        }
        Some(LadderError::NoTree) => return Some("train a model from measurements"),
        _ => {}
    }
    match cause.downcast_ref::<BundleError>() {
        Some(BundleError::Magic) => {
            return Some("name a bundle, which gemmtree-board compile makes of a model");
        }
        Some(BundleError::Truncated { .. } | BundleError::TrailingBytes(_)) => {
            return Some("copy it again, whole and byte by byte");
        }
        Some(BundleError::Payload) => {
            return Some("make it anew on the device: gemmtree-board compile");
        }
        _ => {}
    }
    if let Some(hint) = cause.downcast_ref::<io::Error>().and_then(file_hint) {
        return Some(hint);
    }
    if let Some(LookError::Ended(_)) = cause.downcast_ref::<LookError>() {
        return Some("gemmtree-board devices lists what there is");
    }
    match cause.downcast_ref::<CollectError>() {
        Some(CollectError::Interrupted) => Some("run the same command again to go on"),
        Some(CollectError::Machine { .. }) => Some(
            "every row before is kept: free memory or disk, or end what else uses the device, and run \
             the same command again; if it stops at the same row again, leave that out of the plan",
        ),
        Some(CollectError::Worker(_)) => Some(
            "the device could be opened before: end what else uses it, and run the same command again; every \
             row is kept",
        ),
        _ => None,
    }
}

/// The same for a file that cannot be read or written.
fn file_hint(error: &io::Error) -> Option<&'static str> {
    use io::ErrorKind::{
        InvalidData, InvalidInput, NotADirectory, NotFound, PermissionDenied, QuotaExceeded,
        ReadOnlyFilesystem, StorageFull,
    };
    match error.kind() {
        NotFound | NotADirectory => Some("check the name, and that its folder is there"),
        PermissionDenied | ReadOnlyFilesystem => {
            Some("change the permissions of the file and its folder, or name another")
        }
        StorageFull | QuotaExceeded => Some("free space; temporary files lie in TMPDIR"),
        InvalidData | InvalidInput => Some("name another file"),
        _ => None,
    }
}

/// Whether programs could not be tried since there was no space for them, which is no fault of the driver.
fn lacks_space(report: &Report) -> bool {
    let full = io::Error::from(io::ErrorKind::StorageFull).to_string();
    let words = ["os error 28", &full];
    let mut faults =
        report.programs.iter().flat_map(|one| &one.tried).map(|(_, fault)| fault.to_string());
    faults.any(|fault| words.iter().any(|words| fault.contains(words)))
}

/// 1 where the user can mend it, 2 where the system failed.
fn code(error: &anyhow::Error) -> u8 {
    let failed_io = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| {
            use io::ErrorKind::{
                AlreadyExists, InvalidData, InvalidInput, IsADirectory, NotADirectory, NotFound,
                PermissionDenied, ReadOnlyFilesystem, UnexpectedEof,
            };
            !matches!(
                error.kind(),
                AlreadyExists
                    | InvalidData
                    | InvalidInput
                    | IsADirectory
                    | NotADirectory
                    | NotFound
                    | PermissionDenied
                    | ReadOnlyFilesystem
                    | UnexpectedEof
            )
        })
    };
    let failed_machine = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(CollectError::Machine { .. } | CollectError::Worker(_)))
            || cause.is::<LookError>()
    };
    let ended = |cause: &(dyn std::error::Error + 'static)| cause.is::<Ended>();
    let failed_driver = |cause: &(dyn std::error::Error + 'static)| {
        let on_ladder = match cause.downcast_ref() {
            Some(LadderError::NothingStands(report)) => report.is_machines_fault(),
            _ => false,
        };
        on_ladder || cause.downcast_ref().is_some_and(Fault::is_machines)
    };
    let failed = error.chain().any(|cause| {
        failed_io(cause) || failed_machine(cause) || ended(cause) || failed_driver(cause)
    });
    if failed { UNEXPECTED } else { MISTAKE }
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let io = cause.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Run the program; a panic becomes an error message and exit code 2.
pub(crate) fn guarded(program: impl FnOnce() -> u8) -> u8 {
    panic::set_hook(Box::new(|panic| {
        let _ = writeln!(
            io::stderr().lock(),
            "error: stopped: {panic}; this is a fault of gemmtree-board\n  \
             hint: please report it with the command line and the output of gemmtree-board devices"
        );
    }));
    panic::catch_unwind(AssertUnwindSafe(program)).unwrap_or(UNEXPECTED)
}

#[cfg(test)]
mod tests {
    use device_runtime::ladder::{Fault, Rung, Stood};
    use kernels::bundle::DriverKey;

    use super::*;

    fn nothing_stands(why: &str) -> anyhow::Error {
        let here = DriverKey {
            platform: String::new(),
            vendor: String::new(),
            device: String::new(),
            compute_units: 1,
            driver: String::new(),
            space: 0,
        };
        let tried = vec![(Rung::Source, Fault::CannotTry(why.to_owned()))];
        let program =
            Stood { program: "universal/f32-nn".to_owned(), universal: true, rung: None, tried };
        LadderError::NothingStands(Box::new(Report {
            rung: Rung::Universal,
            programs: vec![program],
            made_for: None,
            here,
            trained_on: (String::new(), String::new()),
            space: None,
        }))
        .into()
    }

    #[test]
    fn a_full_disk_is_not_the_drivers_fault() {
        let full = nothing_stands(&io::Error::from_raw_os_error(28).to_string());
        assert_eq!(code(&full), UNEXPECTED);
        assert!(hint(full.root_cause()).unwrap().contains("TMPDIR"));
        let other = nothing_stands("it answers before it is asked");
        assert_eq!(code(&other), UNEXPECTED);
        assert!(!hint(other.root_cause()).unwrap().contains("TMPDIR"));
    }

    #[test]
    fn nothing_moves_the_cursor_of_a_terminal() {
        assert_eq!(printable("a\n\tb\u{1b}[2J\r µ…"), "a\n\tb\\u{1b}[2J\\r µ…");
    }
}
