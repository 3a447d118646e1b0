//! Where the time goes.

use std::time::{Duration, Instant};

use crate::output::Output;

/// Times the steps of a command.
pub(super) struct Clock {
    begun: Instant,
    laps: Vec<(&'static str, Duration)>,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { begun: Instant::now(), laps: Vec::new() }
    }

    /// The step called `what` ends now, and the next one begins.
    pub(super) fn lap(&mut self, what: &'static str) {
        let now = Instant::now();
        self.laps.push((what, now - self.begun));
        self.begun = now;
    }

    /// Tell how long each step took, with `--verbose`.
    pub(super) fn tell(&self, out: &Output) {
        let sum: Duration = self.laps.iter().map(|(_, time)| *time).sum();
        for (what, time) in &self.laps {
            out.detail(format_args!("{:>8.2} s  {what}", time.as_secs_f64()));
        }
        out.detail(format_args!("{:>8.2} s  together", sum.as_secs_f64()));
    }
}
