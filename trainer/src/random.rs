//! Random choices that a seed repeats, on every machine and with every version of every crate.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A seeded source of random choices.
#[derive(Clone)]
pub(crate) struct Random(Xoshiro256PlusPlus);

/// The seed of the stream called `name`: choices for different purposes are not the same ones.
pub(crate) fn stream(seed: u64, name: &str) -> u64 {
    // FNV-1a, a fixed function of the bytes.
    let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    Xoshiro256PlusPlus::seed_from_u64(seed ^ hash).next_u64()
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number below `limit`, which is above zero; the bias is below 2⁻³².
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.0.next_u64()) * limit as u128) >> 64) as usize
    }

    /// A number in 0…1, 1 excluded.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Put `items` in a random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_every_draw() {
        let draws = |seed| {
            let mut random = Random::new(seed);
            let mut items = [0, 1, 2, 3, 4, 5, 6, 7];
            random.shuffle(&mut items);
            (random.below(1000), items)
        };
        assert_eq!(draws(0), draws(0));
        assert_ne!(draws(0), draws(1));
        let (_, mut items) = draws(7);
        items.sort_unstable();
        assert_eq!(items, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn streams_are_apart_by_seed_and_by_name() {
        let mut all: Vec<u64> = (0..20)
            .flat_map(|seed| ["", "a", "b", "mlp"].map(|name| stream(seed, name)))
            .chain(0..20)
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 100);
        assert_eq!(stream(3, "a"), stream(3, "a"));
    }

    #[test]
    fn draws_stay_within_their_limits() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            assert!(random.below(3) < 3 && random.below(1) == 0);
            assert!((0.0..1.0).contains(&random.unit()));
        }
    }
}
