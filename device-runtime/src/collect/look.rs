//! What a child process finds out about the device, so that the collector itself never calls its driver.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::worker::{Event, SLICE};
use crate::DeviceInfo;
use crate::measure::Clock;
use crate::process::Process;

/// A child that has not opened the device after this long never will.
pub const OPENING: Duration = Duration::from_secs(60);

/// What a data set says of its device.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct About {
    /// Name of the platform.
    pub platform: String,
    /// Name of the device.
    pub name: String,
    /// Driver version.
    pub driver: String,
    /// Nanoseconds of a step of its clock, as the driver says.
    pub clock_resolution_ns: u64,
    /// Whether it multiplies and adds in 16 bits.
    pub half_arithmetic: bool,
}

impl From<&DeviceInfo> for About {
    fn from(info: &DeviceInfo) -> Self {
        Self {
            platform: info.platform.clone(),
            name: info.name.clone(),
            driver: info.driver.clone(),
            clock_resolution_ns: info.clock_resolution_ns,
            half_arithmetic: info.half_arithmetic(),
        }
    }
}

/// What was found out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Look {
    /// The device.
    pub about: About,
    /// By which clock it can be timed, if the child came so far: whose fault it is if not, rows will show.
    pub clock: Option<Clock>,
}

/// Why nothing was found out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookError {
    /// There is no child.
    #[error("the process that opens the device cannot be started")]
    CannotStart(#[from] io::Error),
    /// It ended before it had opened the device; by an exit code other than 0 it has told why.
    #[error("the process that opens the device ended too early ({0})")]
    Ended(ExitStatus),
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// The driver does not come back.
    #[error("the device was not open after {0:?}")]
    Silent(Duration),
}

/// Run `program arguments`, which opens the device and says what it is, within `opening`, and then by which
/// clock it can be timed, within `timing`; it is killed then, and once `stop` is true.
///
/// # Errors
/// It did not say what the device is.
pub fn look(
    program: &Path,
    arguments: &[OsString],
    [opening, timing]: [Duration; 2],
    stop: &AtomicBool,
) -> Result<Look, LookError> {
    let mut child = Process::start(program, arguments)?;
    let about = match next(&child, opening, stop, |event| match event {
        Event::About(about) => Some(about),
        _ => None,
    })? {
        Next::Said(about) => about,
        Next::Silent => return Err(LookError::Silent(opening)),
        Next::Ended => {
            // A signal to the whole group reaches the child too, and may reach it first.
            let status = child.status();
            if stop.load(Ordering::Relaxed) {
                return Err(LookError::Interrupted);
            }
            return Err(status.map_or(LookError::Silent(opening), LookError::Ended));
        }
    };
    let clock = match next(&child, timing, stop, |event| match event {
        Event::Clock(clock) => Some(clock),
        _ => None,
    })? {
        Next::Said(clock) => Some(clock),
        Next::Silent | Next::Ended => None,
    };
    Ok(Look { about, clock })
}

enum Next<T> {
    Ended,
    Said(T),
    Silent,
}

fn next<T>(
    child: &Process<Event>,
    limit: Duration,
    stop: &AtomicBool,
    wanted: impl Fn(Event) -> Option<T>,
) -> Result<Next<T>, LookError> {
    let end = Instant::now() + limit;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(LookError::Interrupted);
        }
        match child.events.recv_timeout(SLICE) {
            Ok(event) => {
                if let Some(said) = wanted(event) {
                    return Ok(Next::Said(said));
                }
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() >= end => return Ok(Next::Silent),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Next::Ended),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn of(script: &str, stop: bool) -> Result<Look, LookError> {
        let arguments = ["-c", script].map(OsString::from);
        let limits = [Duration::from_millis(300); 2];
        look(Path::new("/bin/sh"), &arguments, limits, &AtomicBool::new(stop))
    }

    #[test]
    fn a_device_is_known_as_soon_as_it_is_told_of_and_its_clock_if_it_is() {
        let about = About {
            platform: "p".to_owned(),
            name: "d".to_owned(),
            driver: "1".to_owned(),
            clock_resolution_ns: 80,
            half_arithmetic: false,
        };
        let said = serde_json::to_string(&Event::About(about.clone())).unwrap();
        for (then, clock) in [
            (r#"echo '{"clock":{"device":5}}'; kill -11 $$"#, Some(Clock::Device(5))),
            ("exec sleep 60", None),
            ("kill -11 $$", None),
        ] {
            let found = of(&format!("echo noise; echo '{said}'; {then}"), false).unwrap();
            assert_eq!(found, Look { about: about.clone(), clock }, "{then}");
        }
    }

    #[test]
    fn a_crash_a_hang_an_error_and_a_wish_to_stop_are_told_apart() {
        use std::os::unix::process::ExitStatusExt;
        let by = |script| match of(script, false) {
            Err(LookError::Ended(status)) => (status.code(), status.signal()),
            other => panic!("{other:?}"),
        };
        assert_eq!(by("kill -11 $$"), (None, Some(11)));
        assert_eq!(by("exit 1"), (Some(1), None));
        assert!(matches!(of("exec sleep 60", false), Err(LookError::Silent(_))));
        assert!(matches!(of("exec sleep 60", true), Err(LookError::Interrupted)));
        let nothing = look(Path::new("/no/such"), &[], [OPENING; 2], &AtomicBool::new(false));
        assert!(matches!(nothing, Err(LookError::CannotStart(_))));
    }
}
