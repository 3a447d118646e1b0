//! The numbers that a tree may ask for: logarithms of dimensions, products and ratios.

use core::fmt;
use core::str::FromStr;

use crate::key::{self, FRACTION_BITS, OCTAVE};
use crate::{GemmShape, ParseTextError};

/// Most features that one model can use.
pub const MAX_FEATURES: usize = 5;

/// A number computed from a shape (FORMAT.md §5), in eighths of an octave.
///
/// Each dimension counts by its key, eight times its base-2 logarithm rounded down; a product is
/// the sum of its factors' keys and a ratio their difference, moved up by 256 to stay positive. So
/// every feature is a whole number below 1024, for every shape and on every machine.
///
/// ```
/// use selector_core::{Feature, GemmShape};
///
/// let shape = GemmShape::new(8, 4, 2, 1);
/// assert_eq!(Feature::M.of(shape), 3 * 8);
/// assert_eq!(Feature::Mnk.of(shape), (3 + 2 + 1) * 8);
/// assert_eq!(Feature::KPerN.of(shape), 256 + 8);
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

/// Name and the sign of m, k, n and batch in the sum of keys, by the feature's number.
const TABLE: [(&str, [i8; 4]); 14] = [
    ("m", [1, 0, 0, 0]),
    ("k", [0, 1, 0, 0]),
    ("n", [0, 0, 1, 0]),
    ("batch", [0, 0, 0, 1]),
    ("m*n", [1, 0, 1, 0]),
    ("m*k", [1, 1, 0, 0]),
    ("k*n", [0, 1, 1, 0]),
    ("m*n*k", [1, 1, 1, 0]),
    ("m*n*batch", [1, 0, 1, 1]),
    ("m*n*k*batch", [1, 1, 1, 1]),
    ("m/n", [1, 0, -1, 0]),
    ("m/k", [1, -1, 0, 0]),
    ("k/n", [0, 1, -1, 0]),
    ("m*n/k", [1, -1, 1, 0]),
];

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

    /// The feature's value for `shape`, at most [`Self::largest`].
    #[must_use]
    pub fn of(self, shape: GemmShape) -> u16 {
        let keys = [shape.m, shape.k, shape.n, shape.batch].map(|one| key::key(one) as u16);
        self.signs().into_iter().zip(keys).fold(self.offset(), |sum, (sign, key)| match sign {
            0 => sum,
            1 => sum.wrapping_add(key),
            _ => sum.wrapping_sub(key),
        })
    }

    /// The largest value of any shape.
    #[must_use]
    pub fn largest(self) -> u16 {
        let factors = self.signs().into_iter().filter(|sign| *sign > 0).count() as u16;
        self.offset() + factors * key::LARGEST
    }

    /// What `value` stands for, for people to read: the least dimension that has it, or about the
    /// product or the ratio. `value <= t` is about `readable(value) < readable(t + 1)`, and just
    /// that for a single dimension.
    #[must_use]
    pub fn readable(self, value: u16) -> f64 {
        if self.dimension().is_some() {
            return key::smallest(value) as f64;
        }
        let eighths = i32::from(value) - i32::from(self.offset());
        let (octave, rest) = (eighths >> FRACTION_BITS, eighths & i32::from(OCTAVE - 1));
        let power = f64::from_bits(((1023 + octave) as u64) << (f64::MANTISSA_DIGITS - 1));
        power * (1.0 + f64::from(rest) / f64::from(OCTAVE))
    }

    /// Which of m, k, n and batch (0 to 3) the feature is, if it is just one of them.
    #[must_use]
    pub const fn dimension(self) -> Option<usize> {
        match self {
            Self::M => Some(0),
            Self::K => Some(1),
            Self::N => Some(2),
            Self::Batch => Some(3),
            _ => None,
        }
    }

    /// The sign with which the keys of m, k, n and batch enter the sum.
    #[must_use]
    pub fn signs(self) -> [i8; 4] {
        TABLE.get(usize::from(self.index())).map_or([0; 4], |(_, signs)| *signs)
    }

    /// What is added to the sum of keys: 256 for a ratio, else 0.
    #[must_use]
    pub const fn offset(self) -> u16 {
        match self {
            Self::MPerN | Self::MPerK | Self::KPerN | Self::MnPerK => key::LARGEST + 1,
            _ => 0,
        }
    }

    fn name(self) -> &'static str {
        TABLE.get(usize::from(self.index())).map_or("", |(name, _)| name)
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
        let shape = GemmShape::new(1 << 4, 1 << 3, 1 << 2, 1 << 1);
        let octaves = [4, 3, 2, 1, 6, 7, 5, 9, 7, 10, 32 + 2, 32 + 1, 32 + 1, 32 + 3];
        assert_eq!(Feature::ALL.map(|feature| feature.of(shape)), octaves.map(|one| one * 8));
    }

    #[test]
    fn the_largest_value_is_reached_and_no_shape_wraps() {
        let ends = [0, 1, MOST];
        for feature in Feature::ALL {
            let mut most = 0;
            for shape in ends.into_iter().flat_map(|m| {
                let rest = ends.into_iter().flat_map(move |k| ends.map(move |n| (k, n)));
                rest.flat_map(move |(k, n)| ends.map(move |b| GemmShape::new(m, k, n, b)))
            }) {
                assert!(feature.of(shape) <= feature.largest(), "{feature} of {shape}");
                most = most.max(feature.of(shape));
            }
            assert_eq!(most, feature.largest(), "{feature}");
            assert!(feature.largest() < 1024, "{feature}");
        }
    }

    #[test]
    fn large_dimensions_do_not_wrap_at_sixteen_bits() {
        let m = |m| Feature::M.of(GemmShape::new(m, 1, 1, 1));
        let threshold = m(32_767);
        assert!(m(0) <= threshold && m(30_720) <= threshold);
        for beyond in [32_768, 65_535, 65_536, 1 << 31, MOST] {
            assert!(m(beyond) > threshold, "{beyond}");
        }
    }

    #[test]
    fn ratios_of_equals_are_equal_and_zero_counts_as_one() {
        let ratio = |m, n| Feature::MPerN.of(GemmShape::new(m, 1, n, 1));
        for side in [0, 1, 3, 1000, MOST] {
            assert_eq!(ratio(side, side), 256);
        }
        let half = ratio(1, 2);
        assert_eq!(half, 248);
        assert!(ratio(1, 3) < half && ratio(2, 3) > half && ratio((1 << 24) + 1, 1 << 25) == half);
        assert_eq!(ratio(0, MOST), 1);
        assert_eq!(ratio(MOST, 0), 511);
    }

    #[test]
    fn values_read_as_what_they_stand_for() {
        assert_eq!(Feature::M.readable(Feature::M.of(GemmShape::new(784, 1, 1, 1))), 768.0);
        assert_eq!(Feature::M.readable(0), 1.0);
        assert_eq!(Feature::Mnk.readable(80), 1024.0);
        assert_eq!(Feature::Mnk.readable(84), 1536.0);
        assert_eq!(Feature::MPerN.readable(256), 1.0);
        assert_eq!(Feature::MPerN.readable(252), 0.75);
        assert_eq!(Feature::MnPerK.readable(0), f64::from_bits((1023 - 32) << 52));
        assert!(Feature::ALL.iter().all(|one| one.readable(one.largest() + 1).is_finite()));
    }
}
