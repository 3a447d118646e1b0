//! What a call costs on the host, part by part, beside its time on the device.

use std::time::{Duration, Instant};

use kernels::Problem;
use serde::Serialize;

use crate::steady::{Steady, ToldBy};
use crate::{Device, HostTimes, Runtime, RuntimeError};

/// Calls that are not timed, after the first.
const WARM_UP: u32 = 3;

/// Median and 99th percentile in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Quantiles {
    /// The middle value.
    pub median_ns: u64,
    /// The value that 99 of 100 do not pass.
    pub p99_ns: u64,
}

impl Quantiles {
    /// The quantiles of some times; zero of none.
    #[must_use]
    pub fn of(mut nanoseconds: Vec<u64>) -> Self {
        nanoseconds.sort_unstable();
        let at = |percent: usize| {
            let last = nanoseconds.len().saturating_sub(1);
            nanoseconds.get(last * percent / 100).copied().unwrap_or(0)
        };
        Self { median_ns: at(50), p99_ns: at(99) }
    }
}

/// The cost of calls with one problem.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Overhead {
    /// Calls measured.
    pub calls: u32,
    /// Check the problem, walk the tree.
    pub select: Quantiles,
    /// Set the kernel's arguments.
    pub arguments: Quantiles,
    /// Enqueue.
    pub enqueue: Quantiles,
    /// On the device, in the steady state.
    pub device: Quantiles,
    /// Whose clock told that.
    pub told_by: ToldBy,
    /// The first call after loading, from call to result: cold start, in nanoseconds.
    pub first_call_ns: u64,
}

impl Overhead {
    /// Median host time as a share of host and device time together, 0…1.
    #[must_use]
    pub fn host_share(&self) -> f64 {
        let host = self.host_ns() as f64;
        host / (host + self.device.median_ns as f64).max(1.0)
    }

    /// Median host time of a call in nanoseconds.
    #[must_use]
    pub fn host_ns(&self) -> u64 {
        self.select.median_ns + self.arguments.median_ns + self.enqueue.median_ns
    }

    /// Make one call that is timed apart, a few that are not timed, `calls` calls each of which is waited
    /// for, and as many again with events, which tell the device's time. Whether calls give events is
    /// afterwards as it was before.
    ///
    /// # Errors
    /// Those of [`Runtime::gemm`].
    pub fn measure<D: Device>(
        runtime: &mut Runtime<'_, D>,
        problem: Problem,
        buffers: [&D::Buffer; 3],
        calls: u32,
    ) -> Result<Self, RuntimeError> {
        let wanted = runtime.want_events(false);
        let timed = runtime.want_host_times(true);
        let times = Times::of(runtime, problem, buffers, calls);
        runtime.want_events(wanted);
        runtime.want_host_times(timed);
        let Times { first_call_ns, host, steady } = times?;
        let part = |part: fn(&HostTimes) -> Duration| {
            Quantiles::of(host.iter().map(|times| nanoseconds(part(times))).collect())
        };
        Ok(Self {
            calls,
            select: part(|times| times.select),
            arguments: part(|times| times.arguments),
            enqueue: part(|times| times.enqueue),
            device: Quantiles::of(steady.samples),
            told_by: steady.told_by,
            first_call_ns,
        })
    }
}

/// What was measured, call by call.
struct Times {
    first_call_ns: u64,
    host: Vec<HostTimes>,
    steady: Steady,
}

impl Times {
    /// Those of calls on a runtime that gives no events; it may give some afterwards.
    fn of<D: Device>(
        runtime: &mut Runtime<'_, D>,
        problem: Problem,
        buffers: [&D::Buffer; 3],
        calls: u32,
    ) -> Result<Self, RuntimeError> {
        let begun = Instant::now();
        runtime.gemm(problem, buffers)?;
        runtime.device().finish()?;
        let first_call_ns = nanoseconds(begun.elapsed());
        for _ in 0..WARM_UP {
            runtime.gemm(problem, buffers)?;
        }
        runtime.device().finish()?;
        let mut host = Vec::new();
        for _ in 0..calls {
            host.push(runtime.gemm(problem, buffers)?.host);
            runtime.device().finish()?;
        }
        // Events take host time that calls need not spend.
        let steady = Steady::measure(runtime, problem, buffers, calls)?;
        Ok(Self { first_call_ns, host, steady })
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_ignore_the_order_and_nothing_is_zero() {
        let times: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(Quantiles::of(times), Quantiles { median_ns: 50, p99_ns: 99 });
        assert_eq!(Quantiles::of(Vec::new()), Quantiles::default());
    }
}
