//! How long peers take, in turn: in each round all are timed, in another order.

use std::time::{Duration, Instant};

use kernels::reference::Sequence;

use super::{NetworkError, Peer, Stage};

/// Most calls of a sample: some drivers look ahead only so far.
const MOST_CALLS: f64 = 2000.0;
/// A sample of several calls is preceded by one in so many of them.
const WARM_UP: u32 = 4;

/// How peers are timed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    /// Samples of each peer.
    pub rounds: u32,
    /// The least duration of a sample, as far as a few thousand calls fill it.
    pub sample: Duration,
    /// Seed of the orders.
    pub seed: u64,
}

/// Times of one thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Calls of a sample.
    pub calls: u32,
    /// Nanoseconds a call, by round.
    pub nanoseconds: Vec<f64>,
}

/// Times of one peer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// An inference, from the first enqueue to the end of all: each is waited for.
    pub whole: Samples,
    /// Each of `Plan::distinct`: calls one after another, waited for once.
    pub multiplications: Vec<Samples>,
}

/// What is timed.
#[derive(Clone, Copy)]
enum What {
    /// An inference.
    Whole,
    /// A part of a step.
    Multiplication([usize; 2]),
}

/// Time `peers`, which have been checked, and, where the inference is whole, all of it but the
/// multiplications. `progress` is told how much of it is done.
///
/// # Errors
/// A peer or the driver refuses.
pub fn race(
    stage: &mut Stage<'_>,
    peers: &[Peer],
    options: Options,
    mut progress: impl FnMut(usize, usize, &str),
) -> Result<(Vec<Times>, Option<Samples>), NetworkError> {
    let places: Vec<[usize; 2]> = stage.plan().distinct().iter().map(|one| one.place).collect();
    let entrants = peers.len() + usize::from(stage.plan().is_whole());
    let total = entrants * (options.rounds as usize + 1);
    let mut done = 0;
    let mut times = Vec::new();
    for place in 0..entrants {
        let peer = peers.get(place);
        let mut one = Times::default();
        one.whole.calls = calls(stage, peer, What::Whole, options.sample)?;
        if peer.is_some() {
            for place in &places {
                let calls = calls(stage, peer, What::Multiplication(*place), options.sample)?;
                one.multiplications.push(Samples { calls, nanoseconds: Vec::new() });
            }
        }
        times.push(one);
        done += 1;
        progress(done, total, peer.map_or("what is between", Peer::name));
    }
    let mut order: Vec<usize> = (0..entrants).collect();
    let mut sequence = Sequence::new(options.seed);
    for _ in 0..options.rounds {
        shuffle(&mut order, &mut sequence);
        for &place in &order {
            let peer = peers.get(place);
            let Some(one) = times.get_mut(place) else { continue };
            sample(stage, peer, What::Whole, &mut one.whole)?;
            for (place, samples) in places.iter().zip(&mut one.multiplications) {
                sample(stage, peer, What::Multiplication(*place), samples)?;
            }
            done += 1;
            progress(done, total, peer.map_or("what is between", Peer::name));
        }
    }
    let rest = times.split_off(peers.len()).pop().map(|one| one.whole);
    Ok((times, rest))
}

/// Another order, all as likely.
fn shuffle(places: &mut [usize], sequence: &mut Sequence) {
    for place in (1..places.len()).rev() {
        let other = sequence.below(place as u64 + 1) as usize;
        places.swap(place, other);
    }
}

/// Calls of a sample, by what one takes that follows another.
fn calls(
    stage: &mut Stage<'_>,
    peer: Option<&Peer>,
    what: What,
    sample: Duration,
) -> Result<u32, NetworkError> {
    took(stage, peer, what, 1)?;
    let one = took(stage, peer, what, 1)?;
    Ok(filling(one, sample))
}

fn filling(one: Duration, sample: Duration) -> u32 {
    let calls = (sample.as_secs_f64() / one.as_secs_f64().max(1e-9)).ceil();
    calls.clamp(1.0, MOST_CALLS) as u32
}

fn sample(
    stage: &mut Stage<'_>,
    peer: Option<&Peer>,
    what: What,
    samples: &mut Samples,
) -> Result<(), NetworkError> {
    if samples.calls > 1 {
        took(stage, peer, what, samples.calls.div_ceil(WARM_UP))?;
    }
    let took = took(stage, peer, what, samples.calls)?;
    samples.nanoseconds.push(took.as_nanos() as f64 / f64::from(samples.calls.max(1)));
    Ok(())
}

/// What so many calls take.
fn took(
    stage: &mut Stage<'_>,
    peer: Option<&Peer>,
    what: What,
    calls: u32,
) -> Result<Duration, NetworkError> {
    let begun = Instant::now();
    for _ in 0..calls {
        match (what, peer) {
            (What::Multiplication(place), Some(peer)) => {
                stage.multiply(peer, place)?;
            }
            (What::Multiplication(_), None) => {}
            (What::Whole, peer) => {
                stage.enqueue(peer)?;
                stage.finish()?;
            }
        }
    }
    stage.finish()?;
    Ok(begun.elapsed())
}

/// Nanoseconds a call of a multiplication: the lesser of two samples behind a call that is not counted.
pub(super) fn multiplication(
    stage: &mut Stage<'_>,
    peer: &Peer,
    place: [usize; 2],
    least: Duration,
) -> Result<f64, NetworkError> {
    let calls = calls(stage, Some(peer), What::Multiplication(place), least)?;
    let mut samples = Samples { calls, nanoseconds: Vec::new() };
    for _ in 0..2 {
        sample(stage, Some(peer), What::Multiplication(place), &mut samples)?;
    }
    Ok(samples.nanoseconds.into_iter().fold(f64::INFINITY, f64::min))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_all_and_orders_differ() {
        let mut sequence = Sequence::new(1);
        let mut order: Vec<usize> = (0..4).collect();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            shuffle(&mut order, &mut sequence);
            seen.insert(order.clone());
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        assert_eq!(seen.len(), 24);
    }

    #[test]
    fn a_sample_has_as_many_calls_as_fill_it_and_at_least_one() {
        let sample = Duration::from_millis(20);
        assert_eq!(filling(Duration::from_millis(3), sample), 7);
        assert_eq!(filling(Duration::from_secs(3), sample), 1);
        assert_eq!(filling(Duration::ZERO, sample), 2000);
    }
}
