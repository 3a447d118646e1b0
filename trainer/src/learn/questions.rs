//! Shapes to ask a teacher about: near the measured ones, and made of the sizes that occur.
//!
//! Sizes in real layers are not spread evenly: most are multiples of 8 or more, and the same ones
//! occur again and again. What is best for odd sizes between them is another kernel, so a tree
//! taught by arbitrary sizes learns what nobody will ask.

use selector_core::GemmShape;

use crate::random::Random;

/// How far, in octaves, a dimension of a question typically is from a measured one.
const REACH: f64 = 1.5;
/// Part of the questions whose dimensions all occur in a measured shape. The others are new sizes,
/// multiples of the same power of two as the measured one.
const KNOWN_SIZES: f64 = 0.8;
/// The largest power of two, as an exponent, that new sizes keep.
const ALIGNMENT: u32 = 5;

/// About `count` shapes around the measured ones, as many around each and at least one; not
/// sorted, some more than once.
pub(super) fn around(measured: &[GemmShape], count: usize, seed: u64) -> Vec<GemmShape> {
    let mut random = Random::new(seed);
    let sizes = |of: fn(&GemmShape) -> u32| {
        let mut sizes: Vec<u32> = measured.iter().map(of).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let [ms, ks, ns] = [sizes(|one| one.m), sizes(|one| one.k), sizes(|one| one.n)];
    let each = count.div_ceil(measured.len().max(1));
    let mut near = |shape: &GemmShape| {
        let known = random.unit() < KNOWN_SIZES;
        let mut size = |size: u32, sizes: &[u32]| {
            let near = near(size, &mut random);
            if known { nearest(near, sizes) } else { aligned(near, size) }
        };
        let (m, k, n) = (size(shape.m, &ms), size(shape.k, &ks), size(shape.n, &ns));
        GemmShape { m, k, n, batch: shape.batch }
    };
    (0..each).flat_map(|_| measured).map(&mut near).collect()
}

/// A size some octaves from `size`: the sum of three uniform draws is bell-shaped.
fn near(size: u32, random: &mut Random) -> f64 {
    let bell = random.unit() + random.unit() + random.unit() - 1.5;
    f64::from(size.max(1)) * (2.0 * REACH * bell).exp2()
}

/// The nearest of the sorted `sizes`, as a ratio; of equally near ones the smaller.
fn nearest(size: f64, sizes: &[u32]) -> u32 {
    let above = sizes.partition_point(|one| f64::from(*one) < size);
    match (above.checked_sub(1).map(|below| sizes[below]), sizes.get(above)) {
        (Some(below), Some(above)) => {
            let [low, high] = [below, *above].map(|one| f64::from(one.max(1)));
            if size * size <= low * high { below } else { *above }
        }
        (Some(one), None) => one,
        (None, one) => one.copied().unwrap_or(1),
    }
}

/// `size` rounded to a multiple of the power of two that divides `like`.
fn aligned(size: f64, like: u32) -> u32 {
    let step = f64::from(1_u32 << like.trailing_zeros().min(ALIGNMENT));
    // `as` saturates.
    ((size / step).round() * step).max(step.min(f64::from(like.max(1)))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_made_of_sizes_that_occur_or_are_as_aligned() {
        let measured = [
            GemmShape::new(64, 576, 3136, 1),
            GemmShape::new(512, 27, 49, 16),
            GemmShape::new(7, 96, 1000, 1),
        ];
        let asked = around(&measured, 3000, 1);
        assert_eq!(asked.len(), 3000);
        let known = |one: &&GemmShape| {
            [64, 512, 7].contains(&one.m)
                && [576, 27, 96].contains(&one.k)
                && [3136, 49, 1000].contains(&one.n)
        };
        let known = asked.iter().filter(known).count();
        assert!((2300..2600).contains(&known), "{known}");
        assert!(asked.iter().all(|one| [1, 16].contains(&one.batch)));
        assert_eq!(asked, around(&measured, 3000, 1));
        assert_ne!(asked, around(&measured, 3000, 2));
    }

    #[test]
    fn every_measured_shape_is_asked_about_however_many_there_are() {
        let measured: Vec<_> = (1..500).map(|batch| GemmShape::new(8, 8, 8, batch)).collect();
        let asked = around(&measured, 100, 0);
        assert!(measured.iter().all(|one| asked.iter().any(|asked| asked.batch == one.batch)));
    }

    #[test]
    fn the_nearest_size_is_so_as_a_ratio() {
        for (size, expected) in [(1.0, 2), (2.0, 2), (7.9, 2), (8.1, 32), (32.0, 32), (1e9, 100)] {
            assert_eq!(nearest(size, &[2, 32, 100]), expected, "{size}");
        }
    }

    #[test]
    fn a_new_size_keeps_the_alignment_of_the_old_one() {
        for (size, like, expected) in [
            (70.2, 64, 64),
            (83.0, 64, 96),
            (3.0, 64, 32),
            (3.4, 7, 3),
            (0.2, 5, 1),
            (11.0, 12, 12),
            (9e9, 1, u32::MAX),
        ] {
            assert_eq!(aligned(size, like), expected, "{size} {like}");
        }
    }
}
