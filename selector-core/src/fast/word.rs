//! A split or a leaf as one word.

use crate::lanes;
use crate::{Leaf, RANKED};

/// Bits of a split, from the top: threshold (10), a one (1), unused, training shapes that pass it
/// (28), its pair (16), unused (2), the shift (6). The packed features, shifted by that, have the
/// feature's value on top and a zero below it; so they are larger than the word just if the value
/// is larger than the threshold.
///
/// Bits of a leaf: zero, ranked kernels (3 × 7), unused, its entry (16), the pair that holds it
/// (16), unused (2), the shift (6): 0 in a right branch, where the packed features have their
/// one on top and are larger, and 63 in a left one, where nothing but their zero is left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Word(pub(super) u64);

const THRESHOLD: u32 = 54;
const ONE: u32 = 53;
const KERNELS: u32 = 40;
const KERNEL_BITS: u32 = 7;
const ENTRY: u32 = 24;
const WEIGHT: u32 = 24;
const WEIGHT_BITS: u32 = 28;
const PAIR: u32 = 8;
const SHIFT: u64 = 63;
const LEFT: u64 = 63;
const RIGHT: u64 = 0;
/// An entry that no leaf has.
const NO_ENTRY: u64 = u16::MAX as u64;

impl Word {
    /// A leaf without kernels that is no entry.
    pub(super) const NOTHING: Self = Self(NO_ENTRY << ENTRY | LEFT);

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
        Self(kernels << KERNELS | (entry as u64) << ENTRY | (pair as u64) << PAIR | shift)
    }

    #[inline]
    pub(super) const fn is_split(self) -> bool {
        // 63 and 0 are neighbours modulo 64.
        self.0.wrapping_add(1) & SHIFT > 1
    }

    /// The split's, or the one that holds the leaf.
    #[inline]
    pub(super) const fn pair(self) -> usize {
        (self.0 as u32 >> PAIR & 0xFFFF) as usize
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
        (self.0 >> ENTRY & 0xFFFF) as usize
    }

    #[inline]
    pub(super) const fn kernels(self) -> [u8; RANKED] {
        let ids = self.0 >> KERNELS;
        let [second, third] = [ids >> KERNEL_BITS, ids >> (2 * KERNEL_BITS)];
        [(ids & 127) as u8, (second & 127) as u8, (third & 127) as u8]
    }
}
