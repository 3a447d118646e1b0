//! How long a call takes: calls made back to back and waited for once, in turn with the other
//! peers'.

use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::{Peer, Stage, Task};
use crate::shapes::below;

/// Most calls of a sample: some drivers only so far look ahead.
const MOST_CALLS: u32 = 2000;
/// A call that takes as long as so many samples is slow: it needs no warming up, and is sampled in
/// the first rounds only.
const SLOW: u32 = 10;
/// How many rounds those are.
const ROUNDS_OF_SLOW: u32 = 3;
/// A sample is preceded by calls that take about this share of it.
const WARM_UP: u32 = 4;

/// How peers are timed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The least duration of a sample.
    pub sample: Duration,
    /// Samples of each peer. In each round all take their turns, in another seeded order.
    pub rounds: u32,
    /// Seed of these orders.
    pub seed: u64,
}

/// Times of one peer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Times {
    /// Calls of a sample, the last one if they differ.
    pub(super) calls: u32,
    /// Nanoseconds a call, by sample.
    pub(super) samples: Vec<f64>,
    /// Nanoseconds of a call on the device.
    pub(super) device: Option<u64>,
}

/// A peer that takes part, and its times or why it has none.
pub(super) struct Contestant<'a> {
    pub(super) peer: &'a mut dyn Peer,
    pub(super) times: anyhow::Result<Times>,
}

impl Plan {
    /// Time all `contestants` that have not failed.
    pub(super) fn time(&self, stage: &Stage<'_>, task: &Task, contestants: &mut [Contestant<'_>]) {
        for one in contestants.iter_mut().filter(|one| one.times.is_ok()) {
            one.times = self.calls(stage, task, one.peer);
            stage.settle();
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut order: Vec<usize> = (0..contestants.len()).collect();
        for round in 0..self.rounds {
            shuffle(&mut order, &mut random);
            for &place in &order {
                let Contestant { peer, times } = &mut contestants[place];
                if let Ok(known) = times
                    && let Err(error) = self.sample(stage, task, *peer, known, round)
                {
                    *times = Err(error);
                }
                stage.settle();
            }
        }
        for Contestant { peer, times } in contestants {
            if let Ok(times) = times {
                // A device without a clock is no reason to lose the other times.
                times.device = peer.device_nanoseconds(stage, task).ok().flatten();
                stage.settle();
            }
        }
    }

    /// How many calls a sample needs. The first call is not counted: others were at work before.
    fn calls(&self, stage: &Stage<'_>, task: &Task, peer: &mut dyn Peer) -> anyhow::Result<Times> {
        back_to_back(stage, task, peer, 1)?;
        let mut calls = 1;
        loop {
            let took = back_to_back(stage, task, peer, calls)?;
            let needed = needed(calls, took, self.sample);
            // The first calls are slower than many at once: a sample as it will be is what counts.
            if took >= self.sample || calls == MOST_CALLS {
                return Ok(Times { calls: needed, ..Times::default() });
            }
            calls = needed.max(calls + 1).min(calls * 8).min(MOST_CALLS);
        }
    }

    fn sample(
        &self,
        stage: &Stage<'_>,
        task: &Task,
        peer: &mut dyn Peer,
        times: &mut Times,
        round: u32,
    ) -> anyhow::Result<()> {
        let last = times.samples.last().copied().unwrap_or(0.0);
        let is_slow = last > self.sample.as_nanos() as f64 * f64::from(SLOW);
        if is_slow && round >= ROUNDS_OF_SLOW {
            return Ok(());
        }
        if !is_slow {
            back_to_back(stage, task, peer, times.calls.div_ceil(WARM_UP))?;
        }
        let took = loop {
            let took = back_to_back(stage, task, peer, times.calls)?;
            // They were counted while something was in their way.
            if took >= self.sample / 2 || times.calls == MOST_CALLS {
                break took;
            }
            times.calls = needed(times.calls, took, self.sample).max(times.calls + 1);
        };
        times.samples.push(took.as_nanos() as f64 / f64::from(times.calls));
        Ok(())
    }
}

/// Another order of `places`, all as likely.
pub(super) fn shuffle(places: &mut [usize], random: &mut Xoshiro256PlusPlus) {
    for place in (1..places.len()).rev() {
        places.swap(place, below(place + 1, random));
    }
}

/// Calls that take at least `sample`, where `calls` took so long.
fn needed(calls: u32, took: Duration, sample: Duration) -> u32 {
    let each = took.as_secs_f64() / f64::from(calls);
    let needed = (sample.as_secs_f64() / each.max(1e-9)).ceil();
    (needed as u32).clamp(1, MOST_CALLS)
}

fn back_to_back(
    stage: &Stage<'_>,
    task: &Task,
    peer: &mut dyn Peer,
    calls: u32,
) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    for _ in 0..calls {
        peer.enqueue(stage, task)?;
    }
    peer.finish(stage)?;
    Ok(begun.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_hold_every_place_once_and_differ() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut orders = std::collections::BTreeSet::new();
        let mut places: Vec<usize> = (0..5).collect();
        for _ in 0..20 {
            shuffle(&mut places, &mut random);
            let mut sorted = places.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
            orders.insert(places.clone());
        }
        assert!(orders.len() > 10, "{orders:?}");
    }

    #[test]
    fn a_sample_has_as_many_calls_as_fill_it() {
        let [tick, sample] = [Duration::from_micros(10), Duration::from_millis(2)];
        assert_eq!(needed(1, tick, sample), 200);
        assert_eq!(needed(4, 4 * tick, sample), 200);
        assert_eq!(needed(3, tick * 10, sample), 60);
        assert_eq!(needed(1, 2 * sample, sample), 1);
        assert_eq!(needed(1, Duration::ZERO, sample), MOST_CALLS);
    }
}
