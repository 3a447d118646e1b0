//! Splits that hold out a fifth of the shapes, drawn by seed.

use selector_core::GemmShape;

use super::{Split, Splits};
use crate::random::Random;

/// Splits that [`seeded`] makes.
const COUNT: u64 = 5;

/// Five splits that hold out a fifth of `shapes` each; none where there is only one shape.
#[must_use]
pub fn seeded(shapes: &[GemmShape], seed: u64) -> Vec<Split> {
    let first = seed.wrapping_mul(COUNT);
    draw(shapes, (0..COUNT).map(|index| first.wrapping_add(index)))
}

/// The five splits, or `further` ones that come after them; a warning where there is only one
/// shape.
pub(super) fn splits(further: Option<u16>, shapes: &[GemmShape], seed: u64) -> Splits {
    let after = seed.wrapping_mul(COUNT).wrapping_add(COUNT);
    let splits = match further {
        None => seeded(shapes, seed),
        Some(count) => draw(shapes, (0..count).map(|index| after.wrapping_add(u64::from(index)))),
    };
    let lonely = shapes.first().filter(|_| splits.is_empty());
    let warning = |shape| {
        format!("only one shape, {shape}: one kernel for all, and no score on held-out shapes")
    };
    Splits { splits, warnings: lonely.map(warning).into_iter().collect() }
}

fn draw(shapes: &[GemmShape], seeds: impl Iterator<Item = u64>) -> Vec<Split> {
    if shapes.len() < 2 { Vec::new() } else { seeds.map(|seed| one(shapes, seed)).collect() }
}

fn one(shapes: &[GemmShape], seed: u64) -> Split {
    let mut test = shapes.to_vec();
    Random::new(seed).shuffle(&mut test);
    let held_out = ((shapes.len() + 2) / 5).max(1);
    let mut train = test.split_off(held_out);
    train.sort_unstable();
    test.sort_unstable();
    Split { name: format!("seed{seed}"), train, test }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(count: u32) -> Vec<GemmShape> {
        (1..=count).map(|m| GemmShape::new(m, 1, 1, 1)).collect()
    }

    #[test]
    fn five_seeded_splits_hold_out_a_fifth_and_repeat() {
        let shapes = shapes(50);
        let splits = seeded(&shapes, 3);
        assert_eq!(splits.len(), 5);
        for split in &splits {
            assert_eq!((split.train.len(), split.test.len()), (40, 10));
            let mut both = [&split.train[..], &split.test[..]].concat();
            both.sort_unstable();
            assert_eq!(both, shapes);
        }
        assert_eq!(splits, seeded(&shapes, 3));
        assert_ne!(splits[0].test, splits[1].test);
        assert_ne!(splits[0].test, seeded(&shapes, 4)[0].test);
    }

    #[test]
    fn two_shapes_split_and_one_does_not() {
        assert!(seeded(&shapes(1), 0).is_empty());
        let split = &seeded(&shapes(2), 0)[0];
        assert_eq!((split.train.len(), split.test.len()), (1, 1));
    }

    #[test]
    fn further_splits_are_others_than_the_five() {
        let shapes = shapes(50);
        let names = |splits: &[Split]| -> Vec<_> {
            splits.iter().map(|split| split.name.clone()).collect()
        };
        let [five, further] = [None, Some(20)].map(|count| splits(count, &shapes, 0).splits);
        assert_eq!(names(&five), ["seed0", "seed1", "seed2", "seed3", "seed4"]);
        assert_eq!(further.len(), 20);
        assert_eq!((further[0].name.as_str(), further[19].name.as_str()), ("seed5", "seed24"));
        assert_eq!(further[..5], splits(None, &shapes, 1).splits);
    }

    #[test]
    fn one_shape_is_told() {
        for count in [None, Some(3)] {
            let lonely = splits(count, &shapes(1), 0);
            assert!(lonely.splits.is_empty());
            assert!(lonely.warnings[0].starts_with("only one shape, 1x1x1"));
            assert!(splits(count, &shapes(2), 0).warnings.is_empty());
        }
    }
}
