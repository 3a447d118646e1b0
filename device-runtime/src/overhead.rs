//! What a call costs on the host, part by part, beside its time on the device.

use std::time::{Duration, Instant};

use kernels::Problem;
use serde::Serialize;

use crate::steady::{Steady, ToldBy};
use crate::{Device, HostTimes, Runtime, RuntimeError};

/// Calls that are not timed, after the first.
const WARM_UP: u32 = 3;
/// Calls made in a row take the device about so long, within this number.
const ROW: Duration = Duration::from_millis(4);
const ROW_CALLS: u32 = 64;

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
    /// The driver's enqueue alone, all arguments set before.
    pub bare: Quantiles,
    /// [`Runtime::gemm`] with the problem of the call before; the clock is read around it only.
    pub call: Quantiles,
    /// The same with a problem that differs from the call before, and from more than are remembered.
    pub changing: Quantiles,
}

impl Overhead {
    /// Median host time as a share of host and device time together, 0…1.
    #[must_use]
    pub fn host_share(&self) -> f64 {
        let host = self.call.median_ns as f64;
        host / (host + self.device.median_ns as f64).max(1.0)
    }

    /// What a call takes beyond the driver's enqueue: medians, in nanoseconds.
    #[must_use]
    pub fn over_bare_ns(&self) -> i64 {
        beyond(self.call.median_ns, self.bare.median_ns)
    }

    /// The same of calls whose problem changes.
    #[must_use]
    pub fn changing_over_bare_ns(&self) -> i64 {
        beyond(self.changing.median_ns, self.bare.median_ns)
    }

    /// Make one call that is timed apart, a few that are not timed, then `calls` calls of each kind: with
    /// events, which tell the device's time; with the host's time by part; bare ones, calls that repeat
    /// `problem`, and calls that change it, in turn. The last kinds are enqueued many in a row and then
    /// waited for. What calls give is afterwards as it was before.
    ///
    /// # Errors
    /// Those of [`Runtime::gemm`].
    pub fn measure<D: Device>(
        runtime: &mut Runtime<'_, D>,
        problem: Problem,
        buffers: [&D::Buffer; 3],
        calls: u32,
    ) -> Result<Self, RuntimeError> {
        let (events, times) = (runtime.want_events(false), runtime.want_host_times(false));
        let measured = Self::of(runtime, problem, buffers, calls);
        runtime.want_events(events);
        runtime.want_host_times(times);
        measured
    }

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
        // Events take host time that calls need not spend.
        let Steady { samples, told_by } = Steady::measure(runtime, problem, buffers, calls)?;
        let device = Quantiles::of(samples);
        let row = row(device, calls);
        let host = host_times(runtime, problem, buffers, calls, row)?;
        let part = |part: fn(&HostTimes) -> Duration| {
            Quantiles::of(host.iter().map(|times| nanoseconds(part(times))).collect())
        };
        let [bare, call, changing] = in_turn(runtime, problem, buffers, calls, row)?;
        Ok(Self {
            calls,
            select: part(|times| times.select),
            arguments: part(|times| times.arguments),
            enqueue: part(|times| times.enqueue),
            device,
            told_by,
            first_call_ns,
            bare,
            call,
            changing,
        })
    }
}

/// How often a call of a library is made in a row before it is waited for, where it takes as long on the
/// device as `device` tells: a longer row would fill the driver's queue.
#[must_use]
pub fn row(device: Quantiles, calls: u32) -> u32 {
    let fits = ROW.as_nanos() / u128::from(device.median_ns.max(1));
    let most = ROW_CALLS.min(calls.max(1));
    u32::try_from(fits).unwrap_or(u32::MAX).clamp(most.min(4), most)
}

/// Host times of `calls` calls, `row` in a row, which are waited for by `finish`.
///
/// # Errors
/// That of a call.
pub fn rows<E>(
    calls: u32,
    row: u32,
    mut call: impl FnMut() -> Result<(), E>,
    mut finish: impl FnMut() -> Result<(), E>,
) -> Result<Quantiles, E> {
    let mut times = Vec::with_capacity(calls as usize);
    while times.len() < calls as usize {
        timed(row, &mut times, &mut call)?;
        finish()?;
    }
    Ok(Quantiles::of(times))
}

/// The host's times of calls by part.
fn host_times<D: Device>(
    runtime: &mut Runtime<'_, D>,
    problem: Problem,
    buffers: [&D::Buffer; 3],
    calls: u32,
    row: u32,
) -> Result<Vec<HostTimes>, RuntimeError> {
    runtime.want_host_times(true);
    let mut host = Vec::with_capacity(calls as usize);
    while host.len() < calls as usize {
        for _ in 0..row {
            host.push(runtime.gemm(problem, buffers)?.host);
        }
        runtime.device().finish()?;
    }
    runtime.want_host_times(false);
    Ok(host)
}

/// Bare enqueues, calls that repeat a problem and calls that change it, a row of each in turn, so that
/// whatever else happens on the machine meets them alike.
fn in_turn<D: Device>(
    runtime: &mut Runtime<'_, D>,
    problem: Problem,
    buffers: [&D::Buffer; 3],
    calls: u32,
    row: u32,
) -> Result<[Quantiles; 3], RuntimeError> {
    let mut times = [(); 3].map(|()| Vec::with_capacity((calls + row) as usize));
    let [bare, same, changing] = &mut times;
    let mut others = (0..).map(|number| changed(problem, number));
    while bare.len() < calls as usize {
        if let Some(mut enqueue) = runtime.bare(problem, buffers)? {
            timed(row, bare, &mut enqueue)?;
        } else {
            bare.extend((0..row).map(|_| 0));
        }
        runtime.device().finish()?;
        timed(row, same, || runtime.gemm(problem, buffers).map(|_| ()))?;
        runtime.device().finish()?;
        let mut each = || {
            let problem = others.next().unwrap_or(problem);
            runtime.gemm(problem, buffers).map(|_| ())
        };
        timed(row, changing, &mut each)?;
        runtime.device().finish()?;
    }
    Ok(times.map(Quantiles::of))
}

/// A problem that fits the same buffers: 140 in turn, each unlike the one before.
fn changed(problem: Problem, number: u32) -> Problem {
    let mut shape = problem.shape;
    let less = |size: u32, by: u32| if size > by { size - by } else { size };
    shape.m = less(shape.m, number % 4);
    shape.k = less(shape.k, number % 5);
    shape.n = less(shape.n, number % 7);
    Problem { shape, ..problem }
}

/// Make `calls` calls and keep the host time of each.
fn timed<E>(
    calls: u32,
    times: &mut Vec<u64>,
    mut call: impl FnMut() -> Result<(), E>,
) -> Result<(), E> {
    for _ in 0..calls {
        let begun = Instant::now();
        call()?;
        times.push(nanoseconds(begun.elapsed()));
    }
    Ok(())
}

fn beyond(one: u64, other: u64) -> i64 {
    i64::try_from(one).unwrap_or(i64::MAX).saturating_sub_unsigned(other)
}

/// The side of the square product where the device takes as long as the host, interpolated between
/// neighbours by the logarithms of work and times; `None` if one is the slower throughout. Each point is
/// the work in flop, the host's time and the device's.
#[must_use]
pub fn break_even(points: &[(f64, f64, f64)]) -> Option<f64> {
    let mut points = points.to_vec();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    // Above 0 the device takes longer.
    let lead = |(_, host, device): &(f64, f64, f64)| (device.max(1.0) / host.max(1.0)).ln();
    points.windows(2).find_map(|pair| {
        let [before, after] = pair else { return None };
        let (from, to) = (lead(before), lead(after));
        if from > 0.0 || to <= 0.0 {
            return None;
        }
        let share = -from / (to - from);
        let flop = before.0.ln() + share * (after.0.ln() - before.0.ln());
        Some((flop.exp() / 2.0).cbrt())
    })
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

    #[test]
    fn the_break_even_lies_between_the_sizes_where_the_device_falls_behind() {
        let cube = |side: f64| 2.0 * side.powi(3);
        // The device's time grows as the work; it takes 1000 ns at side 20.
        let points = [40.0, 10.0, 80.0].map(|side| (cube(side), 1000.0, cube(side) / 16.0));
        assert!((break_even(&points).unwrap() - 20.0).abs() < 1e-9);
        assert_eq!(break_even(&points[..1]), None);
        assert_eq!(break_even(&[points[0], points[2]]), None);
        assert_eq!(break_even(&[]), None);
    }

    #[test]
    fn a_row_fits_the_devices_queue_and_the_calls_there_are() {
        let of = |median_ns, calls| row(Quantiles { median_ns, p99_ns: 0 }, calls);
        assert_eq!([of(0, 1000), of(1000, 1000), of(100_000, 1000)], [64, 64, 40]);
        assert_eq!([of(10_000_000, 1000), of(1000, 2), of(10_000_000, 0)], [4, 2, 1]);
    }

    #[test]
    fn changed_problems_fit_the_buffers_and_differ_from_the_one_before() {
        let shape = selector_core::GemmShape::new(16, 16, 16, 1);
        let problem = Problem::packed(selector_core::ProblemClass::F32_NN, shape);
        let shapes: Vec<_> = (0..140).map(|number| changed(problem, number)).collect();
        let lengths = |one: &Problem| one.check(256, 256, 256).is_ok();
        assert!(shapes.iter().all(lengths));
        let mut distinct: Vec<_> = shapes.iter().map(|one| format!("{}", one.shape)).collect();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 140);
        let small = Problem { shape: selector_core::GemmShape::new(1, 1, 1, 1), ..problem };
        assert_eq!(changed(small, 3).shape, small.shape);
    }
}
