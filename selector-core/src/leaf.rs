//! What a tree answers: a ranked list of kernels and what the trainer knows about it.

use core::fmt;

use crate::key;

/// Kernels that a leaf ranks before the universal one.
pub const RANKED: usize = 3;

/// A kernel of the model: 0 is the universal kernel, `i` the kernel list's entry `i - 1`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct KernelId(pub u8);

impl KernelId {
    /// The kernel that runs on every device and for every problem.
    pub const UNIVERSAL: Self = Self(0);
}

/// A set of kernels, one bit an id; the universal kernel is always in it.
///
/// ```
/// use selector_core::{KernelId, KernelMask};
///
/// let usable = KernelMask::ALL.without(KernelId(2)).without(KernelId::UNIVERSAL);
/// assert!(usable.contains(KernelId(1)) && !usable.contains(KernelId(2)));
/// assert!(usable.contains(KernelId::UNIVERSAL));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct KernelMask(u128);

impl KernelMask {
    /// Every kernel.
    pub const ALL: Self = Self(u128::MAX);
    /// The universal kernel alone.
    pub const NONE: Self = Self(1);

    /// This set and `kernel`.
    #[must_use]
    pub const fn with(self, kernel: KernelId) -> Self {
        Self(self.0 | bit(kernel))
    }

    /// This set less `kernel`; the universal kernel stays.
    #[must_use]
    pub const fn without(self, kernel: KernelId) -> Self {
        Self((self.0 & !bit(kernel)) | 1)
    }

    /// Whether `kernel` is in the set.
    #[must_use]
    pub const fn contains(self, kernel: KernelId) -> bool {
        self.0 & bit(kernel) != 0
    }
}

const fn bit(kernel: KernelId) -> u128 {
    if kernel.0 < 128 { 1 << kernel.0 } else { 0 }
}

/// How much slower than the best measured configuration, as the base-2 logarithm in steps of
/// 1/64, rounded up (FORMAT.md §6). [`Loss::LARGEST`], about 15 times, stands for all above it.
///
/// ```
/// use selector_core::Loss;
///
/// let twice_as_slow = Loss::from_log2(1.0);
/// assert_eq!(twice_as_slow.byte(), 64);
/// assert_eq!(twice_as_slow.log2(), Some(1.0));
/// assert_eq!(Loss::UNKNOWN.log2(), None);
/// ```
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Loss(u8);

impl Loss {
    /// Nobody measured it.
    pub const UNKNOWN: Self = Self(255);
    /// The largest loss that is told apart.
    pub const LARGEST: Self = Self(254);
    const STEPS: f64 = 64.0;

    /// The loss nearest above `log2_slowdown`; NaN is unknown.
    #[must_use]
    pub fn from_log2(log2_slowdown: f64) -> Self {
        if log2_slowdown.is_nan() {
            return Self::UNKNOWN;
        }
        let steps = log2_slowdown * Self::STEPS;
        // `as` saturates: negative becomes 0, huge becomes the largest.
        let floor = steps as u32;
        let ceiling = if f64::from(floor) < steps { floor.saturating_add(1) } else { floor };
        u8::try_from(ceiling).map_or(Self::LARGEST, |byte| Self(byte).min(Self::LARGEST))
    }

    /// The base-2 logarithm of the slowdown, `None` if unknown.
    #[must_use]
    pub fn log2(self) -> Option<f64> {
        (self != Self::UNKNOWN).then(|| f64::from(self.0) / Self::STEPS)
    }

    /// The byte on the wire (FORMAT.md §6).
    #[must_use]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// The loss of a byte on the wire.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }
}

/// How many training shapes led to a leaf: exact up to 15, then rounded down to an eighth of an
/// octave (FORMAT.md §6).
///
/// ```
/// use selector_core::Samples;
///
/// assert_eq!([0, 1, 16, 17, 245].map(|count| Samples::new(count).at_least()), [0, 1, 16, 16, 240]);
/// ```
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Samples(u8);

impl Samples {
    /// No training shape led here.
    pub const NONE: Self = Self(0);

    /// The step at or below `count`.
    #[must_use]
    pub fn new(count: u32) -> Self {
        match count {
            0 => Self::NONE,
            // The largest key and one do not fit in the byte.
            _ => Self(u8::try_from(key::key(count) + 1).unwrap_or(u8::MAX)),
        }
    }

    /// The smallest count of this step.
    #[must_use]
    pub fn at_least(self) -> u32 {
        let key = self.0.checked_sub(1).map(u16::from);
        key.map_or(0, |key| u32::try_from(key::smallest(key)).unwrap_or(u32::MAX))
    }

    /// Whether [`Self::at_least`] is the very count.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.at_least() < 16
    }

    /// The byte on the wire (FORMAT.md §6).
    #[must_use]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// The count of a byte on the wire.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }
}

/// The answer for a shape.
///
/// ```
/// use selector_core::{KernelId, KernelMask, Leaf, Loss, Samples};
///
/// let leaf = Leaf::new(&[KernelId(3), KernelId(1)], Loss::from_log2(0.1), Loss::UNKNOWN, Samples::new(12));
/// let usable = KernelMask::ALL.without(KernelId(3));
/// assert_eq!(leaf.best_of(usable), KernelId(1));
/// assert_eq!(leaf.best_of(KernelMask::NONE), KernelId::UNIVERSAL);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Leaf {
    ranked: [u8; RANKED],
    /// Mean loss of what a tree chose for the shapes that led here, each held out while it grew.
    pub expected: Loss,
    /// Largest such loss, or of the first kernel on the shapes that led here.
    pub worst: Loss,
    /// Training shapes that led here.
    pub samples: Samples,
}

impl Leaf {
    /// The answer where nothing was learned.
    pub const UNIVERSAL: Self = Self {
        ranked: [0; RANKED],
        expected: Loss::UNKNOWN,
        worst: Loss::UNKNOWN,
        samples: Samples::NONE,
    };

    /// A leaf that ranks `kernels`, best first. The universal kernel, repetitions and what exceeds
    /// [`RANKED`] are left out.
    #[must_use]
    pub fn new(kernels: &[KernelId], expected: Loss, worst: Loss, samples: Samples) -> Self {
        let mut ranked = [0; RANKED];
        let mut count = 0;
        for kernel in kernels {
            if kernel.0 == 0 || ranked.contains(&kernel.0) {
                continue;
            }
            let Some(slot) = ranked.get_mut(count) else { break };
            *slot = kernel.0;
            count += 1;
        }
        Self { ranked, expected, worst, samples }
    }

    pub(crate) const fn from_parts(
        ranked: [u8; RANKED],
        expected: Loss,
        worst: Loss,
        samples: Samples,
    ) -> Self {
        Self { ranked, expected, worst, samples }
    }

    pub(crate) const fn ranked_bytes(self) -> [u8; RANKED] {
        self.ranked
    }

    /// The kernel to run if it can.
    #[must_use]
    pub const fn first(self) -> KernelId {
        KernelId(self.ranked[0])
    }

    /// Every kernel of the leaf, best first, ending in the universal one.
    pub fn kernels(self) -> impl Iterator<Item = KernelId> {
        self.ranked.into_iter().take_while(|id| *id != 0).map(KernelId).chain([KernelId::UNIVERSAL])
    }

    /// The best kernel of the leaf that `usable` allows; the universal one at last.
    #[must_use]
    pub fn best_of(self, usable: KernelMask) -> KernelId {
        self.kernels().find(|id| usable.contains(*id)).unwrap_or(KernelId::UNIVERSAL)
    }
}

impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;

    fn leaf(kernels: &[u8]) -> Leaf {
        let kernels: Vec<_> = kernels.iter().copied().map(KernelId).collect();
        Leaf::new(&kernels, Loss::UNKNOWN, Loss::UNKNOWN, Samples::NONE)
    }

    fn ids(leaf: Leaf) -> Vec<u8> {
        leaf.kernels().map(|id| id.0).collect()
    }

    #[test]
    fn a_leaf_ranks_three_kernels_once_each_and_ends_in_the_universal_one() {
        assert_eq!(ids(leaf(&[])), [0]);
        assert_eq!(ids(leaf(&[0, 0])), [0]);
        assert_eq!(ids(leaf(&[4, 0, 4, 2, 2, 9, 7])), [4, 2, 9, 0]);
        assert_eq!(leaf(&[0, 5]).first(), KernelId(5));
        assert_eq!(leaf(&[]), Leaf::UNIVERSAL);
    }

    #[test]
    fn whatever_cannot_run_the_choice_can() {
        let ranked = [127, 1, 64];
        for unusable in 0..8u8 {
            let mut mask = KernelMask::ALL;
            for (place, id) in ranked.into_iter().enumerate() {
                if unusable >> place & 1 == 1 {
                    mask = mask.without(KernelId(id));
                }
            }
            let free = (0..3).find(|place| unusable >> place & 1 == 0);
            let expected = free.map_or(KernelId::UNIVERSAL, |place| KernelId(ranked[place]));
            assert_eq!(leaf(&ranked).best_of(mask), expected, "{unusable:03b}");
        }
        assert_eq!(leaf(&ranked).best_of(KernelMask::NONE), KernelId::UNIVERSAL);
    }

    #[test]
    fn a_mask_holds_ids_up_to_127_and_always_the_universal_kernel() {
        for id in 1..128 {
            let id = KernelId(id);
            assert!(!KernelMask::NONE.contains(id) && KernelMask::NONE.with(id).contains(id));
            assert!(!KernelMask::ALL.without(id).contains(id));
        }
        assert!(KernelMask::ALL.without(KernelId::UNIVERSAL).contains(KernelId::UNIVERSAL));
        for id in [128, 200, 255] {
            assert!(!KernelMask::ALL.with(KernelId(id)).contains(KernelId(id)));
            assert_eq!(KernelMask::ALL.without(KernelId(id)), KernelMask::ALL);
        }
    }

    #[test]
    fn losses_round_up_and_stay_in_their_byte() {
        for (log2, byte) in [
            (0.0, 0),
            (-3.0, 0),
            (f64::NEG_INFINITY, 0),
            (1e-12, 1),
            (1.0 / 64.0, 1),
            (1.0 / 64.0 + 1e-9, 2),
            (1.0, 64),
            (254.0 / 64.0, 254),
            (3.97, 254),
            (4.0, 254),
            (1e300, 254),
            (f64::INFINITY, 254),
            (f64::NAN, 255),
        ] {
            assert_eq!(Loss::from_log2(log2).byte(), byte, "{log2}");
        }
    }

    #[test]
    fn counts_are_exact_up_to_15_and_never_overstated() {
        for count in (0..5000).chain([1 << 20, u32::MAX - 1, u32::MAX]) {
            let samples = Samples::new(count);
            let told = samples.at_least();
            assert!(told <= count && told >= count - count / 8, "{count}: {told}");
            assert_eq!(samples.is_exact(), count < 16);
            assert!(told == count || !samples.is_exact());
            assert_eq!(Samples::new(told), samples);
            assert_eq!(Samples::from_byte(samples.byte()), samples);
        }
    }

    #[test]
    fn every_loss_but_the_unknown_one_survives_its_logarithm() {
        for byte in 0..255 {
            let loss = Loss::from_byte(byte);
            assert_eq!(Loss::from_log2(loss.log2().unwrap()), loss);
        }
        assert_eq!(Loss::from_byte(255), Loss::UNKNOWN);
        assert_eq!(Loss::UNKNOWN.log2(), None);
    }
}
