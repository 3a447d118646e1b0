//! All features of a model side by side in one word, so that a walk needs no memory for them.

use crate::key;
use crate::{Feature, GemmShape, MAX_FEATURES};

/// Bits from one lane to the next: ten for the value and a zero above it.
const STRIDE: u32 = 11;
/// Bits of a value.
const VALUE_BITS: u32 = 10;
/// Every value fits below this.
pub(crate) const VALUES: usize = 1 << VALUE_BITS;

/// What a shape's keys are multiplied by to get its packed features.
///
/// Bit 0 of a packed word is 0 and bit 63 is 1; lane `i` begins at bit `1 + 11 i`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    /// For m, k, n and batch; those of k and batch are negated.
    factors: [u64; 4],
    constant: u64,
}

impl Lanes {
    /// No features.
    pub(crate) const NONE: Self = Self { factors: [0; 4], constant: 1 << 63 };

    /// The lanes of these features, of which there are at most [`MAX_FEATURES`].
    pub(crate) fn new(features: &[Feature]) -> Self {
        let mut factors = [0u64; 4];
        let mut constant = 1u64 << 63;
        for (feature, lane) in features.iter().zip(0..MAX_FEATURES as u32) {
            let one = 1u64 << (1 + STRIDE * lane);
            for (factor, sign) in factors.iter_mut().zip(feature.signs()) {
                let step = one.wrapping_mul(i64::from(sign) as u64);
                *factor = factor.wrapping_add(step);
                constant = constant.wrapping_sub(step.wrapping_mul(key::RAW_BIAS));
            }
            constant = constant.wrapping_add(one.wrapping_mul(u64::from(feature.offset())));
        }
        let [m, k, n, batch] = factors;
        Self { factors: [m, k.wrapping_neg(), n, batch.wrapping_neg()], constant }
    }

    /// All features of `shape`. Negative terms borrow from no other lane, since every sum is
    /// positive in the end.
    #[inline]
    pub(crate) fn pack(&self, shape: GemmShape) -> u64 {
        let [m, k, n, batch] = self.factors;
        let term = |dimension, factor: u64| key::raw(dimension).wrapping_mul(factor);
        // Two sums and a difference: one sum of four would be vectorised, with conversions that
        // take longer than all the rest.
        let plus = self.constant.wrapping_add(term(shape.m, m)).wrapping_add(term(shape.n, n));
        plus.wrapping_sub(term(shape.k, k).wrapping_add(term(shape.batch, batch)))
    }
}

/// The value in a lane of a packed word, below [`VALUES`].
#[inline]
pub(crate) const fn value(packed: u64, lane: u32) -> u16 {
    (packed.wrapping_shr(1 + STRIDE * lane) & (VALUES as u64 - 1)) as u16
}

/// How far to shift a packed word to the left until a lane's value is on top.
pub(crate) const fn shift_to_top(lane: u32) -> u32 {
    64 - VALUE_BITS - 1 - STRIDE * lane
}

/// The lane that a shift brings to the top.
pub(crate) const fn lane_of_shift(shift: u32) -> usize {
    (shift_to_top(0).saturating_sub(shift) / STRIDE) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_holds_its_feature() {
        let sides = [0, 1, 2, 7, 100, 784, 65_535, 1 << 31, u32::MAX];
        for first in 0..Feature::ALL.len() {
            let features: [Feature; MAX_FEATURES] =
                core::array::from_fn(|lane| Feature::ALL[(first + 3 * lane) % Feature::ALL.len()]);
            let lanes = Lanes::new(&features);
            for m in sides {
                for k in sides {
                    for shape in sides.map(|n| GemmShape::new(m, k, n, k ^ n)) {
                        let packed = lanes.pack(shape);
                        assert_eq!((packed & 1, packed >> 56), (0, 128), "{shape}");
                        for (feature, lane) in features.iter().zip(0..) {
                            assert_eq!(value(packed, lane), feature.of(shape));
                            assert_eq!(lane_of_shift(shift_to_top(lane)), lane as usize);
                            let guard = packed >> (11 + STRIDE * lane) & 1;
                            assert_eq!(guard, 0, "above lane {lane}");
                            let top = packed << shift_to_top(lane) >> 54;
                            assert_eq!(top, u64::from(feature.of(shape)));
                        }
                    }
                }
            }
        }
    }
}
