//! How busy other programs keep the machine. Its mean load would tell of what this project itself did
//! a minute ago.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The header's key: cores that others used when a run began, and each time that it went on.
pub const OTHERS: &str = "others";
/// A machine on which others use that many cores is not idle.
pub const BUSY: f64 = 0.5;
/// How long they are watched.
const WATCH: Duration = Duration::from_secs(1);
/// Fields of a line of `/proc/stat` that are times of rest: idle, and idle while a disk is at work.
const AT_REST: [usize; 2] = [3, 4];
/// Fields that add up to all of the time; those behind them are parts of these.
const FIELDS: usize = 8;

/// Cores that all but this process use now, over a second; what a virtual machine's host takes away
/// counts. `None` where the system does not tell.
#[must_use]
pub fn at_work() -> Option<f64> {
    let stat = || fs::read_to_string("/proc/stat").ok();
    let clock = || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).ok();
    let (before, ours_before, watched) = (stat()?, clock()?, Instant::now());
    thread::sleep(WATCH);
    let (after, ours) = (stat()?, clock()?.saturating_sub(ours_before));
    let ours = ours.as_secs_f64() / watched.elapsed().as_secs_f64();
    Some((used(&before, &after)? - ours).max(0.0))
}

/// The most cores that a header's value of [`OTHERS`] tells of.
#[must_use]
pub fn most_at_work(told: &str) -> Option<f64> {
    let cores = told.split("; ").filter_map(|one| one.split_whitespace().next()?.parse().ok());
    cores.max_by(f64::total_cmp)
}

/// Cores that were used between two readings of `/proc/stat`.
fn used(before: &str, after: &str) -> Option<f64> {
    let cores = after.lines().filter(|line| {
        let number = line.strip_prefix("cpu").and_then(|line| line.split(' ').next());
        number.is_some_and(|number| !number.is_empty())
    });
    let cores = cores.count() as f64;
    let [before, after] = [before, after].map(ticks);
    let passed: Vec<u64> =
        after?.iter().zip(before?).map(|(after, before)| after.saturating_sub(before)).collect();
    let all: u64 = passed.iter().sum();
    let rest: u64 = AT_REST.iter().filter_map(|field| passed.get(*field)).sum();
    (all > 0).then(|| cores * (all - rest) as f64 / all as f64)
}

/// The times of all cores together.
fn ticks(stat: &str) -> Option<Vec<u64>> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    line.split_whitespace().take(FIELDS).map(|field| field.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  10 0 10 100 0 0 0 0 7 7\ncpu0 5 0 5 50 0\ncpu1 5 0 5 50 0\nintr 1\n";

    #[test]
    fn used_cores_are_what_is_not_rest() {
        // Of 200 ticks on two cores 120 were idle, 20 waited for a disk; 10 the host took.
        let after = BEFORE.replace("10 0 10 100 0 0 0 0 7 7", "50 0 20 220 20 0 0 10 47 7");
        let cores = used(BEFORE, &after).unwrap();
        assert!((cores - 0.6).abs() < 1e-12, "{cores}");
        assert_eq!(used(BEFORE, BEFORE), None);
        assert_eq!(used("no such file", "no such file"), None);
    }

    #[test]
    fn the_busiest_time_is_what_counts() {
        assert_eq!(most_at_work("0.02 at noon; 1.25 at one; 0.10 at two"), Some(1.25));
        assert_eq!(most_at_work("unknown at noon; 0.5 at one"), Some(0.5));
        assert_eq!(most_at_work("unknown"), None);
    }
}
