//! The host's clock, read only if it is wanted.

use std::mem;
use std::time::{Duration, Instant};

use super::HostTimes;

/// Where the time of a call goes.
pub(super) struct Laps {
    last: Option<Instant>,
    times: HostTimes,
}

impl Laps {
    pub(super) fn new(wanted: bool) -> Self {
        Self { last: wanted.then(Instant::now), times: HostTimes::default() }
    }

    #[inline]
    fn lap(last: &mut Option<Instant>) -> Duration {
        last.as_mut().map_or(Duration::ZERO, |last| {
            let now = Instant::now();
            now.duration_since(mem::replace(last, now))
        })
    }

    pub(super) fn selected(&mut self) {
        self.times.select = Self::lap(&mut self.last);
    }

    pub(super) fn select(mut self) -> HostTimes {
        self.selected();
        self.times
    }

    pub(super) fn set(&mut self) {
        self.times.arguments = Self::lap(&mut self.last);
    }

    pub(super) fn enqueued(mut self) -> HostTimes {
        self.times.enqueue = Self::lap(&mut self.last);
        self.times
    }
}
