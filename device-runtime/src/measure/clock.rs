//! What a device's clock is good for: whether it gives times at all, and how fine they are.
//!
//! What a driver says of its clock is not believed: some say a nanosecond and count in microseconds,
//! others the other way round. The readings tell.

use std::collections::BTreeSet;

use kernels::{Configuration, Problem};
use selector_core::{GemmShape, ProblemClass};
use serde::{Deserialize, Serialize};

use super::filled;
use crate::device::Reading;
use crate::{Arguments, Device, DeviceError, steps};

/// Steps of the clock that a measurement lasts at least.
pub(crate) const STEPS: u64 = 20;
/// Distinct readings that tell enough of a clock.
const READINGS: usize = 64;
/// Launches between two looks at the readings, and most of all.
const BATCH: usize = 32;
const MOST_LAUNCHES: usize = 1 << 13;
/// What takes no time.
const SHAPE: GemmShape = GemmShape::new(8, 8, 8, 1);

/// The clock that tells a device's times.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The device's own, whose steps have so many nanoseconds.
    Device(u64),
    /// The host's, and why the device's is none.
    Host(String),
}

impl Clock {
    /// Look at the clock of `device` while the universal kernel runs.
    ///
    /// # Errors
    /// It does not run.
    pub fn of<D: Device>(device: &D) -> Result<Self, DeviceError> {
        let mut seen = BTreeSet::new();
        let mut readings = Vec::new();
        let mut launches = 0;
        while seen.len() < READINGS && launches < MOST_LAUNCHES {
            match read(device)? {
                Ok(more) => {
                    seen.extend(more.iter().flat_map(|one| [one.start, one.end]));
                    readings.extend(more);
                }
                Err(why) => return Ok(Self::Host(why.to_string())),
            }
            launches += BATCH;
        }
        Ok(match step_of(&readings, device.info().clock_resolution_ns) {
            Some(step) => Self::Device(step),
            None => Self::Host("its clock stands still".to_owned()),
        })
    }
}

/// Whether an error says that the clock is of no use, rather than the device.
pub(crate) fn is_clocks(error: &DeviceError) -> bool {
    match error {
        DeviceError::Clock { .. } => true,
        DeviceError::Call { call, .. } => *call == "clGetEventProfilingInfo",
        _ => false,
    }
}

/// Readings of a batch of launches, or why the clock gives none.
fn read<D: Device>(device: &D) -> Result<Result<Vec<Reading>, DeviceError>, DeviceError> {
    let class = ProblemClass::F32_NN;
    let universal = Configuration::universal();
    let mut kernel = device.build(&universal.program(class))?;
    let elements = vec![1.0_f32; 64];
    let (a, b, c) =
        (filled(device, &elements)?, filled(device, &elements)?, filled(device, &elements)?);
    let arguments = Arguments::new(device, Problem::packed(class, SHAPE), [&a, &b, &c])
        .map_err(|_| DeviceError::TooLarge("the problem"))?;
    let launches = universal.launches(arguments.problem());
    let armed = device.set_arguments(&mut kernel, &arguments)?;
    let mut events = Vec::new();
    for _ in 0..BATCH {
        events.extend(steps::enqueue(device, &armed, &launches, true)?);
    }
    device.finish()?;
    match device.readings(&events) {
        Ok(readings) => Ok(readings.into_iter().map(Reading::check).collect()),
        Err(error) if is_clocks(&error) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

/// Nanoseconds of a step of the clock that these were read from, as [`step`].
pub(crate) fn step_of(readings: &[Reading], told: u64) -> Option<u64> {
    let each: BTreeSet<u64> = readings.iter().flat_map(|one| [one.start, one.end]).collect();
    step(&each.into_iter().collect::<Vec<_>>(), told)
}

/// Nanoseconds of a step of a clock with these readings, in order and each once, that is said to have steps
/// of `told`; `None` if it stands still.
///
/// Readings that are all multiples of a number apart come from a clock whose steps are no longer than that.
/// Where there is none but 1, steps may have a part of a nanosecond more, or be one: then what was
/// told is believed, unless two readings are closer.
fn step(readings: &[u64], told: u64) -> Option<u64> {
    let apart = || readings.iter().zip(readings.iter().skip(1)).map(|(one, next)| next - one);
    let least = apart().min()?;
    Some(match apart().fold(0, greatest_divisor) {
        1 => told.clamp(1, least),
        common => common,
    })
}

fn greatest_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::Mock;

    #[test]
    fn steps_are_as_the_readings_say() {
        // Says 1, counts in milliseconds.
        assert_eq!(step(&[3_000_000, 4_000_000, 7_000_000], 1), Some(1_000_000));
        // Says 1000, counts in 32.
        assert_eq!(step(&[64, 96, 1088, 4096], 1000), Some(32));
        // Steps of 52.08, as said; of what is not said, 52 and 53 apart is what can be seen.
        assert_eq!(step(&[0, 52, 104, 156, 208, 260, 313], 52), Some(52));
        assert_eq!(step(&[0, 52, 104, 156, 208, 260, 313], 1000), Some(52));
        assert_eq!(step(&[5, 6, 108], 1000), Some(1));
        assert_eq!(step(&[0, 50, 101], 0), Some(1));
        assert_eq!(step(&[7], 1), None);
        assert_eq!(step(&[], 1), None);
    }

    #[test]
    fn a_clock_without_times_is_the_hosts() {
        assert!(matches!(Clock::of(&Mock::default()), Ok(Clock::Device(_))));
        let times = [("universal".to_owned(), 0)];
        let still = Mock { times: times.into(), ..Mock::default() };
        assert!(matches!(Clock::of(&still), Ok(Clock::Host(_))));
        let broken = Mock { broken_compiler: true, ..Mock::default() };
        assert!(Clock::of(&broken).is_err());
    }
}
