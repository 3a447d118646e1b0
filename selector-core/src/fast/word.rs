//! A split or a leaf as one word.

use crate::lanes;
use crate::{Leaf, RANKED};

/// Bits of a split, from the top: threshold (10), a one (1), training shapes that pass it (21), its
/// pair (16), unused (10), the shift (6). The packed features, shifted by that, have the feature's
/// value on top and a zero below it; so they are larger than the word just if the value is larger
/// than the threshold.
///
/// Bits of a leaf: zero (5), the upper part of its entry (6), ranked kernels (3 × 7), the pair that
/// holds it (16), the lower part of its entry (10), the shift (6): 0 in a right branch, where the
/// packed features have their one on top and are larger, and 63 in a left one, where nothing but
/// their zero is left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Word(pub(super) u64);

const THRESHOLD: u32 = 54;
const ONE: u32 = 53;
const WEIGHT: u32 = 32;
const WEIGHT_BITS: u32 = 21;
const ENTRY_HIGH: u32 = 53;
const KERNELS: u32 = 32;
const KERNEL_BITS: u32 = 7;
/// On top of the lower half, so that one shift of that is all it takes.
const PAIR: u32 = 16;
const ENTRY_LOW: u32 = 6;
const ENTRY_LOW_BITS: u32 = 10;
const SHIFT: u64 = 63;
const LEFT: u64 = 63;
const RIGHT: u64 = 0;
/// An entry that no leaf has.
const NO_ENTRY: usize = u16::MAX as usize;

impl Word {
    /// A leaf without kernels that is no entry.
    pub(super) const NOTHING: Self = Self(entry_bits(NO_ENTRY) | LEFT);

    pub(super) fn split(lane: u8, threshold: u16, pair: usize) -> Self {
        let shift = u64::from(lanes::shift_to_top(lane.into()));
        Self(u64::from(threshold) << THRESHOLD | 1 << ONE | (pair as u64) << PAIR | shift)
    }

    /// This split, passed by `more` training shapes more.
    pub(super) const fn heavier_by(self, more: u32) -> Self {
        let most = (1 << WEIGHT_BITS) - 1;
        let sum = self.weight().saturating_add(more);
        let added = if sum > most { most } else { sum } - self.weight();
        Self(self.0 + ((added as u64) << WEIGHT))
    }

    /// Training shapes that pass the split; nothing of use for a leaf.
    pub(super) const fn weight(self) -> u32 {
        (self.0 >> WEIGHT) as u32 & ((1 << WEIGHT_BITS) - 1)
    }

    /// The split's lane.
    pub(super) const fn lane(self) -> usize {
        lanes::lane_of_shift((self.0 & SHIFT) as u32)
    }

    /// The split's threshold.
    pub(super) const fn threshold(self) -> u16 {
        (self.0 >> THRESHOLD) as u16
    }

    /// The leaf at `entry`, a branch of the split with this pair, and whether it is the right one.
    pub(super) fn leaf(leaf: Leaf, entry: usize, (pair, right): (usize, bool)) -> Self {
        let kernels = leaf.ranked_bytes().into_iter().rev();
        let kernels = kernels.fold(0, |all, id| all << KERNEL_BITS | u64::from(id));
        let shift = if right { RIGHT } else { LEFT };
        Self(kernels << KERNELS | entry_bits(entry) | (pair as u64) << PAIR | shift)
    }

    #[inline]
    pub(super) const fn is_split(self) -> bool {
        // 63 and 0 are neighbours modulo 64.
        self.0.wrapping_add(1) & SHIFT > 1
    }

    /// The split's, or the one that holds the leaf.
    #[inline]
    pub(super) const fn pair(self) -> usize {
        (self.0 as u32 >> PAIR) as usize
    }

    #[inline]
    pub(super) const fn goes_right(self, packed: u64) -> bool {
        packed.wrapping_shl(self.0 as u32) > self.0
    }

    /// Not reached where the pairs are whole; ends any walk.
    #[inline]
    pub(super) const fn settled(self) -> Self {
        if self.is_split() { Self::NOTHING } else { self }
    }

    #[inline]
    pub(super) const fn entry(self) -> usize {
        let low = self.0 >> ENTRY_LOW & ((1 << ENTRY_LOW_BITS) - 1);
        (self.0 >> ENTRY_HIGH << ENTRY_LOW_BITS | low) as usize
    }

    #[inline]
    pub(super) const fn kernels(self) -> [u8; RANKED] {
        let ids = self.0 >> KERNELS;
        let [second, third] = [ids >> KERNEL_BITS, ids >> (2 * KERNEL_BITS)];
        [(ids & 127) as u8, (second & 127) as u8, (third & 127) as u8]
    }
}

/// An entry's index, below 2¹⁶, where a leaf has it.
const fn entry_bits(entry: usize) -> u64 {
    let (high, low) = (entry as u64 >> ENTRY_LOW_BITS, entry as u64 & ((1 << ENTRY_LOW_BITS) - 1));
    high << ENTRY_HIGH | low << ENTRY_LOW
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KernelId, Loss, Samples};

    #[test]
    fn a_leaf_keeps_its_kernels_its_entry_and_its_holder() {
        let leaf = |ids: [u8; 3]| {
            Leaf::new(&ids.map(KernelId), Loss::UNKNOWN, Loss::UNKNOWN, Samples::NONE)
        };
        for ids in [[127, 126, 125], [1, 0, 0], [0, 0, 0], [64, 2, 127]] {
            for entry in [0, 1, 1023, 1024, 65_534] {
                for (pair, right) in [(0, false), (32_766, true), (5, false)] {
                    let word = Word::leaf(leaf(ids), entry, (pair, right));
                    assert_eq!((word.kernels(), word.entry(), word.pair()), (ids, entry, pair));
                    assert!(!word.is_split());
                    // The highest and the lowest packed features there can be.
                    for packed in [1 << 63, u64::MAX >> 9 << 1 | 1 << 63] {
                        assert_eq!(word.goes_right(packed), right);
                    }
                }
            }
        }
        assert_eq!((Word::NOTHING.kernels(), Word::NOTHING.entry()), ([0; 3], NO_ENTRY));
    }

    #[test]
    fn a_split_keeps_its_question_and_a_weight_that_stops_growing() {
        for (lane, threshold, pair) in [(0, 0, 0), (4, 1019, 32_766), (2, 512, 77)] {
            let split = Word::split(lane, threshold, pair);
            let heavy = split.heavier_by(5).heavier_by(u32::MAX).heavier_by(u32::MAX);
            assert_eq!((split.weight(), split.heavier_by(5).weight()), (0, 5));
            assert_eq!(heavy.weight(), (1 << WEIGHT_BITS) - 1);
            for word in [split, heavy] {
                assert!(word.is_split());
                assert_eq!((word.lane(), word.threshold()), (lane.into(), threshold));
                assert_eq!(word.pair(), pair);
                let value = |value: u64| 1 << 63 | value << (1 + 11 * lane);
                assert!(!word.goes_right(value(threshold.into())));
                assert!(word.goes_right(value(u64::from(threshold) + 1)));
            }
        }
    }
}
