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
