//! Readings of a device's clock.

use super::DeviceError;

/// When a launch began and ended, in nanoseconds of the device's clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reading {
    /// The beginning.
    pub start: u64,
    /// The end.
    pub end: u64,
}

impl Reading {
    /// That it may be one: drivers give zeros, what they never wrote, and ends before beginnings.
    pub(crate) fn check(self) -> Result<Self, DeviceError> {
        let Self { start, end } = self;
        if end > 0 && start <= end { Ok(self) } else { Err(DeviceError::Clock { end, start }) }
    }
}

/// Nanoseconds from the first beginning to the last end, of a clock with steps of `step`: what is shorter
/// counts as one. 0 of no readings.
pub(crate) fn span(readings: &[Reading], step: u64) -> Result<u64, DeviceError> {
    let (mut first, mut last) = (u64::MAX, 0);
    for reading in readings {
        let Reading { start, end } = reading.check()?;
        (first, last) = (first.min(start), last.max(end));
    }
    Ok(last.checked_sub(first).map_or(0, |nanoseconds| nanoseconds.max(step).max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_zero_and_a_clock_that_runs_backwards_is_an_error() {
        let of = |start, end, step| span(&[Reading { start, end }], step);
        assert_eq!(of(1000, 3500, 1), Ok(2500));
        assert_eq!(of(1000, 1000, 1000), Ok(1000));
        assert_eq!(of(1000, 1000, 0), Ok(1));
        assert_eq!(of(1000, 999, 1), Err(DeviceError::Clock { end: 999, start: 1000 }));
        assert_eq!(of(0, 0, 1), Err(DeviceError::Clock { end: 0, start: 0 }));
        assert_eq!(span(&[], 1), Ok(0));
        let two = [Reading { start: 70, end: 90 }, Reading { start: 10, end: 30 }];
        assert_eq!(span(&two, 1), Ok(80));
    }
}
