//! Seeded streams of shapes: one that a branch predictor learns, one that it cannot.

use std::collections::HashSet;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use selector_core::GemmShape;

/// Shapes in a stream: enough that one pass over it is never measured as zero.
pub const SHAPES: usize = 4096;
/// Distinct shapes of a repeating stream, about the layers of a small network.
pub(crate) const LAYERS: usize = 16;

/// A stream of [`SHAPES`] shapes in which 16 distinct ones repeat in a fixed order.
#[must_use]
pub fn repeating(seed: u64) -> Vec<GemmShape> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    distinct(LAYERS, &mut random).into_iter().cycle().take(SHAPES).collect()
}

/// Endless streams of the same [`SHAPES`] distinct shapes, each in another seeded order.
pub fn shuffled(seed: u64) -> impl FnMut() -> Vec<GemmShape> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut shapes = distinct(SHAPES, &mut random);
    move || {
        for place in (1..shapes.len()).rev() {
            shapes.swap(place, below(place + 1, &mut random));
        }
        shapes.clone()
    }
}

/// `count` distinct shapes, in the order drawn.
pub(crate) fn distinct(count: usize, random: &mut impl Rng) -> Vec<GemmShape> {
    let mut seen = HashSet::new();
    let drawn = std::iter::repeat_with(|| draw(random));
    drawn.filter(|shape| seen.insert(*shape)).take(count).collect()
}

/// A number below `limit`, which is small enough that the bias of a remainder is nothing.
pub(crate) fn below(limit: usize, random: &mut impl Rng) -> usize {
    (random.next_u64() >> 32) as usize % limit.max(1)
}

/// A shape as networks have them: every dimension as often between 1 and 2 as between 2048 and
/// 4096, and three times of four a single product.
fn draw(random: &mut impl Rng) -> GemmShape {
    let mut dimension = || {
        let octave = 1 << below(12, random);
        (octave + below(octave, random)) as u32
    };
    let (m, k, n) = (dimension(), dimension(), dimension());
    let batch = if below(4, random) == 0 { 1 + below(36, random) as u32 } else { 1 };
    GemmShape::new(m, k, n, batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(shapes: &[GemmShape]) -> usize {
        shapes.iter().collect::<HashSet<_>>().len()
    }

    #[test]
    fn sixteen_shapes_repeat_in_their_order() {
        let shapes = repeating(1);
        assert_eq!((shapes.len(), count(&shapes)), (SHAPES, 16));
        assert!(shapes.chunks(16).all(|loop_of| loop_of == &shapes[..16]));
        assert_eq!(shapes, repeating(1));
        assert_ne!(shapes, repeating(2));
    }

    #[test]
    fn shuffled_streams_hold_the_same_distinct_shapes_in_other_orders() {
        let (mut stream, mut again) = (shuffled(1), shuffled(1));
        let orders: HashSet<_> = (0..20).map(|_| stream()).collect();
        assert_eq!(orders.len(), 20);
        let mut sorted = orders.iter().map(|order| {
            let mut order = order.clone();
            order.sort();
            order
        });
        let first = sorted.next().unwrap();
        assert_eq!(count(&first), SHAPES);
        assert!(sorted.all(|order| order == first));
        assert!(orders.contains(&again()));
    }

    #[test]
    fn dimensions_reach_from_1_to_4095() {
        let shapes = shuffled(3)();
        for place in 0..3 {
            let of = |shape: &GemmShape| [shape.m, shape.k, shape.n][place];
            assert_eq!(shapes.iter().map(of).min(), Some(1));
            let most = shapes.iter().map(of).max().unwrap();
            assert!((4000..4096).contains(&most), "{most}");
        }
        assert!(shapes.iter().any(|shape| shape.batch > 30));
    }
}
