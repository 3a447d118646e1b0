//! Drivers crash and hang: what works on a device does so in a child process, whose end is told in words.

use std::env;
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Tells the child that it is one.
const INSIDE: &str = "GEMMTREE_BOARD_INSIDE";

/// How the child ended, other than by its own will.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// By a signal that means a fault, nearly always the driver's.
    #[error("the driver crashed (signal {0})")]
    Crashed(i32),
    /// By an exit that was not this program's.
    #[error("the driver ended the program before it was done (exit code {0})")]
    Left(i32),
    /// By this program, since nothing moved any more.
    #[error("the device did not answer for {0:?}")]
    Silent(Duration),
    /// By someone else: the system, or a user.
    #[error("ended by signal {0}")]
    Stopped(i32),
}

impl Ended {
    /// What the user can do.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Crashed(_) | Self::Left(_) => {
                "update the device's driver, or choose another device; gemmtree-board devices lists them"
            }
            Self::Silent(_) => {
                "end what else uses the device, or restart it; --give-up-after SECONDS waits longer"
            }
            Self::Stopped(_) => "free memory, if it was the system that was short of it",
        }
    }
}

/// A child ended with this exit code, and has told why.
#[derive(Debug, thiserror::Error)]
#[error("exit code {0}")]
pub(crate) struct Told(pub(crate) u8);

/// The exit codes of a child are its own from here on, so that a driver's exit is told apart.
const OWN: u8 = 0x60;
/// Whether this process is a child that is watched.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// The exit code to end with: a child's parent sees that it is the child's own.
pub(crate) fn own(code: u8) -> u8 {
    if IS_CHILD.load(Ordering::Relaxed) { OWN.saturating_add(code) } else { code }
}

/// This process is a child: its exit codes are [its own](own).
pub(crate) fn is_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
}

/// What a child meant by the exit code it ended with.
fn meant(code: i32) -> Result<u8, Ended> {
    let own = u8::try_from(code).ok().and_then(|code| code.checked_sub(OWN));
    own.filter(|code| *code <= 2).ok_or(Ended::Left(code))
}

/// Run this very command in a child process; its exit code. `None` if this is the child, or there can be
/// none: then the work is to be done here.
pub(crate) fn run(limit: Duration) -> Option<Result<u8, Ended>> {
    if env::var_os(INSIDE).is_some() {
        is_child();
        watch(limit);
        return None;
    }
    let mut command = Command::new(env::current_exe().ok()?);
    let status = command.args(env::args_os().skip(1)).env(INSIDE, "1").status().ok()?;
    Some(code_of(status, limit))
}

/// The exit code that a child meant which had `limit` to answer.
pub(crate) fn code_of(status: ExitStatus, limit: Duration) -> Result<u8, Ended> {
    if let Some(code) = status.code() {
        return meant(code);
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        // ILL, TRAP, ABRT, BUS, FPE, SEGV, SYS; the numbers of Linux.
        const FAULTS: [i32; 7] = [4, 5, 6, 7, 8, 11, 31];
        const ALARM: i32 = 14;
        Err(match status.signal().unwrap_or_default() {
            ALARM => Ended::Silent(limit),
            signal if FAULTS.contains(&signal) => Ended::Crashed(signal),
            signal => Ended::Stopped(signal),
        })
    }
    #[cfg(not(unix))]
    Err(Ended::Stopped(0))
}

/// Milliseconds from the beginning to the last sign of life.
static LAST: AtomicU64 = AtomicU64::new(0);
/// Whether what is waited for is watched otherwise.
static PAUSED: AtomicBool = AtomicBool::new(false);
/// How long the device may be silent.
static LIMIT: OnceLock<Duration> = OnceLock::new();

fn begun() -> Instant {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    *BEGUN.get_or_init(Instant::now)
}

fn now() -> u64 {
    u64::try_from(begun().elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Something was done: the device answers.
pub(crate) fn alive() {
    LAST.store(now(), Ordering::Relaxed);
}

/// Do what ends by a limit of its own.
pub(crate) fn paused<T>(work: impl FnOnce() -> T) -> T {
    PAUSED.store(true, Ordering::Relaxed);
    let done = work();
    alive();
    PAUSED.store(false, Ordering::Relaxed);
    done
}

/// So long the device may be silent.
pub(crate) fn allow(limit: Duration) {
    LIMIT.get_or_init(|| limit);
}

/// How long the device may be silent, but no longer than `most`.
pub(crate) fn limit(most: Duration) -> Duration {
    LIMIT.get().map_or(most, |limit| most.min(*limit))
}

/// End with the parent, and when there was no sign of life for so long.
#[cfg_attr(
    not(any(target_os = "android", target_os = "linux")),
    expect(unused_variables, reason = "no signals to end by")
)]
fn watch(limit: Duration) {
    alive();
    #[cfg(any(target_os = "android", target_os = "linux"))]
    {
        use rustix::process::{Signal, getpid, kill_process, set_parent_process_death_signal};
        // Where the system refuses, the parent's end is not noticed.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        // A driver's library that hangs while it is loaded holds a lock that a thread needs to begin: it has
        // begun when this returns.
        let begun = std::sync::Arc::new(std::sync::Barrier::new(2));
        let has_begun = begun.clone();
        std::thread::spawn(move || {
            has_begun.wait();
            let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            while now().saturating_sub(LAST.load(Ordering::Relaxed)) < limit {
                std::thread::sleep(Duration::from_millis(50));
                if PAUSED.load(Ordering::Relaxed) {
                    alive();
                }
            }
            // Not by an exit: what a driver does at one may hang too.
            let _ = kill_process(getpid(), Signal::ALARM);
        });
        begun.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_crash_a_silence_and_a_stop_are_told_apart() {
        let limit = Duration::from_secs(3);
        let ended = |wait| code_of(ExitStatus::from_raw(wait), limit);
        assert!(matches!(ended(i32::from(OWN + 2) << 8), Ok(2)));
        assert!(matches!(ended(11), Err(Ended::Crashed(11))));
        assert!(matches!(ended(14), Err(Ended::Silent(one)) if one == limit));
        assert!(matches!(ended(9), Err(Ended::Stopped(9))));
        assert!((0..=2).all(|code| matches!(meant((OWN + code).into()), Ok(it) if it == code)));
        for code in [0, 1, 2, 0x5f, 0x63, 255] {
            assert!(matches!(meant(code), Err(Ended::Left(it)) if it == code));
        }
    }
}
