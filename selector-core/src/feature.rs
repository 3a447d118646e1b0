//! The numbers a tree may ask for: dimensions, products and ratios, all exact integers.

use core::fmt;
use core::str::FromStr;

use crate::{GemmShape, ParseTextError};

/// Binary places kept of a ratio.
const RATIO_BITS: u32 = 16;

/// A number computed from a shape (FORMAT.md §5).
///
/// Products saturate at `u64::MAX`; a ratio a/b is ⌊a·2¹⁶/b⌋, saturating too, and `u64::MAX` when
/// b is zero. So every feature is total for every shape, and the same on every machine.
///
/// ```
/// use selector_core::{Feature, GemmShape};
///
/// let shape = GemmShape::new(3, 5, 2, 1);
/// assert_eq!(Feature::Mnk.of(shape), 30);
/// assert_eq!(Feature::MPerN.of(shape), 3 * 65536 / 2);
/// assert_eq!("m/n".parse(), Ok(Feature::MPerN));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Feature {
    /// m
    M = 0,
    /// k
    K = 1,
    /// n
    N = 2,
    /// batch
    Batch = 3,
    /// m·n, the size of C
    Mn = 4,
    /// m·k, the size of A
    Mk = 5,
    /// k·n, the size of B
    Kn = 6,
    /// m·n·k, half the operations of one product
    Mnk = 7,
    /// m·n·batch, the size of all of C
    Bmn = 8,
    /// m·n·k·batch, half the operations
    Bmnk = 9,
    /// m/n
    MPerN = 10,
    /// m/k
    MPerK = 11,
    /// k/n
    KPerN = 12,
    /// m·n/k
    MnPerK = 13,
}

impl Feature {
    /// Every feature, in the order of the wire format.
    pub const ALL: [Self; 14] = [
        Self::M,
        Self::K,
        Self::N,
        Self::Batch,
        Self::Mn,
        Self::Mk,
        Self::Kn,
        Self::Mnk,
        Self::Bmn,
        Self::Bmnk,
        Self::MPerN,
        Self::MPerK,
        Self::KPerN,
        Self::MnPerK,
    ];

    /// The feature's number on the wire.
    #[must_use]
    pub const fn index(self) -> u8 {
        self as u8
    }

    /// The feature with this number.
    #[must_use]
    pub fn from_index(index: u8) -> Option<Self> {
        Self::ALL.get(usize::from(index)).copied()
    }

    /// The feature's value for `shape`.
    #[must_use]
    pub fn of(self, shape: GemmShape) -> u64 {
        match self.parts(shape) {
            (value, None) => value,
            (_, Some(0)) => u64::MAX,
            (above, Some(below)) => {
                let scaled = (u128::from(above) << RATIO_BITS) / u128::from(below);
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
        }
    }

    /// Whether `self.of(shape) <= threshold`, found without a division.
    #[must_use]
    pub fn at_most(self, shape: GemmShape, threshold: u64) -> bool {
        match self.parts(shape) {
            (value, None) => value <= threshold,
            // ⌊a·2¹⁶/b⌋ ≤ t ⇔ a·2¹⁶ < (t+1)·b; both sides fit 128 bits.
            (above, Some(below)) => {
                threshold == u64::MAX
                    || (u128::from(above) << RATIO_BITS)
                        < (u128::from(threshold) + 1) * u128::from(below)
            }
        }
    }

    /// The feature as a number with a fraction, for people to read: a ratio unscaled.
    #[must_use]
    pub fn readable(self, value: u64) -> f64 {
        let value = value as f64;
        match self {
            Self::MPerN | Self::MPerK | Self::KPerN | Self::MnPerK => {
                value / f64::from(1u32 << RATIO_BITS)
            }
            _ => value,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::M => "m",
            Self::K => "k",
            Self::N => "n",
            Self::Batch => "batch",
            Self::Mn => "m*n",
            Self::Mk => "m*k",
            Self::Kn => "k*n",
            Self::Mnk => "m*n*k",
            Self::Bmn => "m*n*batch",
            Self::Bmnk => "m*n*k*batch",
            Self::MPerN => "m/n",
            Self::MPerK => "m/k",
            Self::KPerN => "k/n",
            Self::MnPerK => "m*n/k",
        }
    }

    /// Numerator and, for a ratio, denominator.
    fn parts(self, shape: GemmShape) -> (u64, Option<u64>) {
        let [m, k, n, batch] = [shape.m, shape.k, shape.n, shape.batch].map(u64::from);
        match self {
            Self::M => (m, None),
            Self::K => (k, None),
            Self::N => (n, None),
            Self::Batch => (batch, None),
            Self::Mn => (m.saturating_mul(n), None),
            Self::Mk => (m.saturating_mul(k), None),
            Self::Kn => (k.saturating_mul(n), None),
            Self::Mnk => (m.saturating_mul(n).saturating_mul(k), None),
            Self::Bmn => (m.saturating_mul(n).saturating_mul(batch), None),
            Self::Bmnk => (m.saturating_mul(n).saturating_mul(k).saturating_mul(batch), None),
            Self::MPerN => (m, Some(n)),
            Self::MPerK => (m, Some(k)),
            Self::KPerN => (k, Some(n)),
            Self::MnPerK => (m.saturating_mul(n), Some(k)),
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Feature {
    type Err = ParseTextError;

    fn from_str(text: &str) -> Result<Self, ParseTextError> {
        Self::ALL.into_iter().find(|one| one.name() == text).ok_or(ParseTextError::Feature)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    const MOST: u32 = u32::MAX;

    #[test]
    fn numbers_and_names_lead_back_to_their_feature() {
        for (index, feature) in Feature::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(feature.index()), index);
            assert_eq!(Feature::from_index(feature.index()), Some(feature));
            assert_eq!(feature.to_string().parse(), Ok(feature));
        }
        assert_eq!(Feature::from_index(14), None);
        for text in ["", "M", "n*m", "m *n", "k/m"] {
            assert_eq!(text.parse::<Feature>(), Err(ParseTextError::Feature));
        }
    }

    #[test]
    fn each_feature_is_what_its_name_says() {
        let shape = GemmShape::new(8, 4, 2, 3);
        let values = [8, 4, 2, 3, 16, 32, 8, 64, 48, 192, 4 << 16, 2 << 16, 2 << 16, 4 << 16];
        assert_eq!(Feature::ALL.map(|feature| feature.of(shape)), values);
        assert_eq!(Feature::MPerN.readable(4 << 16), 4.0);
        assert_eq!(Feature::Mnk.readable(64), 64.0);
    }

    #[test]
    fn products_saturate_and_do_not_wrap() {
        let all = GemmShape::new(MOST, MOST, MOST, MOST);
        assert_eq!(Feature::Mn.of(all), u64::from(MOST) * u64::from(MOST));
        for feature in [Feature::Mnk, Feature::Bmn, Feature::Bmnk] {
            assert_eq!(feature.of(all), u64::MAX);
            assert!(!feature.at_most(all, u64::MAX - 1) && feature.at_most(all, u64::MAX));
        }
        let empty = GemmShape::new(MOST, MOST, MOST, 0);
        assert_eq!(Feature::Bmnk.of(empty), 0);
        let odd = GemmShape::new(1, 1, 16_777_217, 1);
        assert_eq!(Feature::Mnk.of(odd), 16_777_217);
        assert!(!Feature::Mnk.at_most(odd, 16_777_216));
    }

    #[test]
    fn large_dimensions_meet_a_threshold_near_sixteen_bits_exactly() {
        let left = |m| Feature::M.at_most(GemmShape::new(m, 1, 1, 1), 32767);
        assert!(left(0) && left(32767));
        for m in [32768, 65535, 65536, 1 << 31, MOST] {
            assert!(!left(m), "{m}");
        }
    }

    #[test]
    fn ratios_keep_sixteen_binary_places() {
        let half = |m, n| Feature::MPerN.at_most(GemmShape::new(m, 1, n, 1), 1 << 15);
        assert!(half(1, 2) && half(1, 3) && !half(2, 3));
        // Above a half by less than the last place.
        assert!(half((1 << 24) + 1, 1 << 25));
        assert!(!half((1 << 24) + 1024, 1 << 25));
    }

    #[test]
    fn a_ratio_to_zero_is_the_largest_number() {
        for shape in [GemmShape::new(0, 0, 0, 0), GemmShape::new(MOST, 0, 0, 1)] {
            for feature in [Feature::MPerN, Feature::MPerK, Feature::KPerN, Feature::MnPerK] {
                assert_eq!(feature.of(shape), u64::MAX);
                assert!(!feature.at_most(shape, u64::MAX - 1) && feature.at_most(shape, u64::MAX));
            }
        }
    }

    #[test]
    fn the_largest_ratio_saturates() {
        let shape = GemmShape::new(MOST, 1, MOST, 1);
        assert_eq!(Feature::MnPerK.of(shape), u64::MAX);
        assert_eq!(Feature::MPerK.of(shape), u64::from(MOST) << 16);
    }
}
