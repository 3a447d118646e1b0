//! Which of several kernels is fastest for a problem: single calls leave out what is far behind, the
//! others race in rounds, as peers do.

use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::Stage;
use super::summary::quantile;
use super::timing::shuffle;

/// Who takes more than so many times the least single call does not race.
const NEAR: f64 = 1.5;
/// A single call that takes so many times the least before it is not repeated.
const FAR: f64 = 3.0;
/// Rounds of a race.
const ROUNDS: u32 = 5;
/// Least duration of a sample on CPUs and on others.
const SAMPLE: [Duration; 2] = [Duration::from_millis(8), Duration::from_millis(1)];
/// Most calls of a sample.
const MOST_CALLS: f64 = 500.0;
/// A sample is preceded by one in so many of its calls.
const WARM_UP: u32 = 4;

/// The fastest of `count` kernels by median time; on a tie the first. `call` enqueues one by its
/// place. Those whose calls fail are left out; `None` if all do. The `favourite` races in any case.
pub(super) fn fastest(
    stage: &Stage<'_>,
    count: usize,
    favourite: Option<usize>,
    mut call: impl FnMut(usize) -> anyhow::Result<()>,
) -> Option<usize> {
    let sample = SAMPLE[usize::from(!stage.is_cpu())];
    race(count, favourite, sample, |place, calls| {
        let begun = Instant::now();
        for _ in 0..calls {
            call(place)?;
        }
        stage.finish()?;
        Ok(begun.elapsed().as_secs_f64() / f64::from(calls))
    })
}

/// The race itself: `seconds` makes so many calls of a place and tells what one takes.
fn race(
    count: usize,
    favourite: Option<usize>,
    sample: Duration,
    mut seconds: impl FnMut(usize, u32) -> anyhow::Result<f64>,
) -> Option<usize> {
    let singles = singles(count, |place| seconds(place, 1));
    let mut racing = near(&singles, favourite);
    let [_, _, ..] = racing[..] else { return racing.first().copied() };
    let least = singles.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let calls = (sample.as_secs_f64() / least.max(1e-9)).ceil().clamp(1.0, MOST_CALLS) as u32;
    let mut samples = vec![Vec::new(); count];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
    for _ in 0..ROUNDS {
        shuffle(&mut racing, &mut random);
        // Whose calls fail now is out as well.
        racing.retain(|&place| {
            let is_warm = calls == 1 || seconds(place, calls.div_ceil(WARM_UP)).is_ok();
            let sample = is_warm.then(|| seconds(place, calls).ok()).flatten();
            samples[place].extend(sample);
            sample.is_some()
        });
    }
    racing.sort_unstable();
    winner(&racing, &mut samples)
}

/// The time of a single call of each: the lesser of two behind one that is not counted, since the
/// first pays for what the driver does late.
fn singles(
    count: usize,
    mut seconds: impl FnMut(usize) -> anyhow::Result<f64>,
) -> Vec<Option<f64>> {
    let mut least = f64::INFINITY;
    let mut single = |place| -> anyhow::Result<f64> {
        seconds(place)?;
        let mut time = seconds(place)?;
        if time < FAR * least {
            time = time.min(seconds(place)?);
        }
        least = least.min(time);
        Ok(time)
    };
    (0..count).map(|place| single(place).ok()).collect()
}

/// The places that race.
fn near(singles: &[Option<f64>], favourite: Option<usize>) -> Vec<usize> {
    let least = singles.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let races = |place: &usize| {
        singles[*place].is_some_and(|time| time <= NEAR * least || favourite == Some(*place))
    };
    (0..singles.len()).filter(races).collect()
}

/// The place with the least median.
fn winner(places: &[usize], samples: &mut [Vec<f64>]) -> Option<usize> {
    let medians = places.iter().filter_map(|place| {
        samples[*place].sort_by(f64::total_cmp);
        Some((quantile(&samples[*place], 0.5)?, *place))
    });
    let best = medians.min_by(|(one, _), (other, _)| one.total_cmp(other));
    best.map(|(_, place)| place)
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_first_call_does_not_count_and_one_that_is_far_behind_is_called_twice() {
        let mut called = [0; 4];
        let times = singles(4, |place| {
            called[place] += 1;
            match (place, called[place]) {
                (3, _) => bail!("it cannot run"),
                (_, 1) => Ok(100.0),
                (0, 2) => Ok(3.0),
                (0, _) => Ok(2.0),
                (1, _) => Ok(6.0),
                _ => Ok(5.9),
            }
        });
        assert_eq!(times, [Some(2.0), Some(6.0), Some(5.9), None]);
        assert_eq!(called, [3, 2, 3, 1]);
    }

    #[test]
    fn who_fails_in_the_race_is_out_and_the_others_go_on() {
        // Places 0 and 3 are the fastest as long as they run.
        let times = [1.0, 1.2, 1.1, 1.0];
        let fastest = |fails: fn(usize, u32) -> bool| {
            race(4, None, Duration::from_secs(8), |place, calls| {
                if fails(place, calls) {
                    bail!("it no longer runs");
                }
                Ok(times[place])
            })
        };
        assert_eq!(fastest(|_, _| false), Some(0));
        // Calls that warm up are two, a sample's eight.
        assert_eq!(fastest(|place, calls| place == 0 && calls == 2), Some(3));
        assert_eq!(fastest(|place, calls| place % 3 == 0 && calls == 8), Some(2));
        assert_eq!(fastest(|_, calls| calls > 1), None);
        assert_eq!(fastest(|place, calls| place != 1 && calls == 1), Some(1));
    }

    #[test]
    fn who_is_near_the_least_races_and_so_does_the_favourite() {
        let singles = [Some(3.1), Some(2.0), None, Some(3.0), Some(9.0)];
        assert_eq!(near(&singles, None), [1, 3]);
        assert_eq!(near(&singles, Some(4)), [1, 3, 4]);
        assert_eq!(near(&singles, Some(2)), [1, 3]);
        assert!(near(&[None], Some(0)).is_empty());
    }

    #[test]
    fn the_least_median_wins_and_on_a_tie_the_first() {
        let mut samples = vec![vec![1.0, 9.0, 9.0], vec![4.0, 5.0, 6.0], vec![5.0; 3], vec![]];
        assert_eq!(winner(&[0, 1, 2, 3], &mut samples), Some(1));
        assert_eq!(winner(&[2, 1], &mut samples), Some(2));
        assert_eq!(winner(&[3], &mut samples), None);
    }
}
