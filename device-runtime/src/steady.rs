//! How long a call takes in the steady state, by a clock that can tell.

use std::time::Instant;

use kernels::Problem;
use serde::Serialize;

use crate::device::{Reading, span};
use crate::measure::{STEPS, is_clocks, step_of};
use crate::{Device, DeviceError, Runtime, RuntimeError};

/// Samples where each takes many calls.
const FEW: u32 = 5;
/// Calls of a sample by the host's clock, and most of one by a coarse clock of the device.
const BATCH: u32 = 32;
const MOST: u64 = 1 << 14;

/// Whose clock told a time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToldBy {
    /// The device's.
    Device,
    /// The host's, around a batch of calls.
    Host,
}

/// Times of calls that follow others like them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Steady {
    /// Nanoseconds of a call, several times.
    pub samples: Vec<u64>,
    /// By whose clock.
    pub told_by: ToldBy,
}

impl Steady {
    /// Make `calls` calls or a few more. The device's clock counts, each call alone; calls shorter than a few
    /// steps of it are timed in a row, and where it gives no times the host's clock times batches. Whether
    /// calls give events is afterwards as it was before.
    ///
    /// # Errors
    /// Those of [`Runtime::gemm`], or the device's.
    pub fn measure<D: Device>(
        runtime: &mut Runtime<'_, D>,
        problem: Problem,
        buffers: [&D::Buffer; 3],
        calls: u32,
    ) -> Result<Self, RuntimeError> {
        let wanted = runtime.want_events(true);
        let told = by_device(runtime, problem, buffers, calls);
        runtime.want_events(false);
        let told = match told {
            Ok(samples) => Ok(Self { samples, told_by: ToldBy::Device }),
            Err(RuntimeError::Device(error)) if is_clocks(&error) => {
                let samples = by_host(runtime, problem, buffers);
                samples.map(|samples| Self { samples, told_by: ToldBy::Host })
            }
            Err(error) => Err(error),
        };
        runtime.want_events(wanted);
        told
    }
}

fn by_device<D: Device>(
    runtime: &mut Runtime<'_, D>,
    problem: Problem,
    buffers: [&D::Buffer; 3],
    calls: u32,
) -> Result<Vec<u64>, RuntimeError> {
    let (mut readings, mut samples) = (Vec::new(), Vec::new());
    for _ in 0..calls.max(1) {
        let those = readings_of(runtime, problem, buffers, 1)?;
        samples.push(span(&those, 1)?);
        readings.extend(those);
    }
    let Some(last) = readings.last().map(|reading| reading.end) else { return Ok(samples) };
    let still = DeviceError::Clock { end: last, start: last };
    let step = step_of(&readings, runtime.device().info().clock_resolution_ns).ok_or(still)?;
    let wanted = step.saturating_mul(STEPS);
    let shortest = samples.iter().min().copied().unwrap_or(0);
    if shortest >= wanted {
        return Ok(samples);
    }
    let mut row = 2;
    loop {
        let took = span(&readings_of(runtime, problem, buffers, row)?, 1)?;
        if took >= wanted || row >= MOST {
            break;
        }
        let enough = row.saturating_mul(wanted) / took.max(1) + 1;
        row = enough.clamp(row * 2, row * 8).min(MOST);
    }
    let mut sample = || -> Result<u64, RuntimeError> {
        Ok((span(&readings_of(runtime, problem, buffers, row)?, 1)? / row).max(1))
    };
    (0..FEW).map(|_| sample()).collect()
}

fn readings_of<D: Device>(
    runtime: &mut Runtime<'_, D>,
    problem: Problem,
    buffers: [&D::Buffer; 3],
    calls: u64,
) -> Result<Vec<Reading>, RuntimeError> {
    let mut events = Vec::new();
    for _ in 0..calls {
        events.extend(runtime.gemm(problem, buffers)?.events);
    }
    runtime.device().finish()?;
    Ok(runtime.device().readings(&events)?)
}

fn by_host<D: Device>(
    runtime: &mut Runtime<'_, D>,
    problem: Problem,
    buffers: [&D::Buffer; 3],
) -> Result<Vec<u64>, RuntimeError> {
    let mut samples = Vec::new();
    for _ in 0..FEW {
        let begun = Instant::now();
        for _ in 0..BATCH {
            runtime.gemm(problem, buffers)?;
        }
        runtime.device().finish()?;
        let each = begun.elapsed() / BATCH;
        samples.push(u64::try_from(each.as_nanos()).unwrap_or(u64::MAX).max(1));
    }
    Ok(samples)
}
