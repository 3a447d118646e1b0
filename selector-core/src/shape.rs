//! The size of a multiplication.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ParseTextError;

/// `batch` products C\[m×n\] = A\[m×k\] · B\[k×n\].
///
/// As text: `MxKxN`, or `MxKxNxBATCH` when there is more than one.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct GemmShape {
    /// Rows of op(A) and of C.
    pub m: u32,
    /// Columns of op(A) and rows of op(B).
    pub k: u32,
    /// Columns of op(B) and of C.
    pub n: u32,
    /// Number of products.
    pub batch: u32,
}

impl GemmShape {
    /// The shape of `batch` products of m×k by k×n.
    #[must_use]
    pub const fn new(m: u32, k: u32, n: u32, batch: u32) -> Self {
        Self { m, k, n, batch }
    }

    /// Floating-point operations, 2·m·k·n·batch; `f64` since four `u32` need 128 bits.
    #[must_use]
    pub fn flop(self) -> f64 {
        2.0 * f64::from(self.m) * f64::from(self.k) * f64::from(self.n) * f64::from(self.batch)
    }
}

impl fmt::Display for GemmShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.k, self.n)?;
        if self.batch == 1 { Ok(()) } else { write!(f, "x{}", self.batch) }
    }
}

impl FromStr for GemmShape {
    type Err = ParseTextError;

    fn from_str(text: &str) -> Result<Self, ParseTextError> {
        let mut parts = text.split(['x']).map(dimension);
        let mut next = || parts.next().unwrap_or(Err(ParseTextError::Shape));
        let (m, k, n) = (next()?, next()?, next()?);
        let batch = parts.next().unwrap_or(Ok(1))?;
        match parts.next() {
            None => Ok(Self { m, k, n, batch }),
            Some(_) => Err(ParseTextError::Shape),
        }
    }
}

/// Digits only: `parse` alone would take a sign.
fn dimension(text: &str) -> Result<u32, ParseTextError> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or(ParseTextError::Shape)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    #[test]
    fn text_and_shape_agree() {
        for (text, shape) in [
            ("1x2x3", GemmShape::new(1, 2, 3, 1)),
            ("784x1152x256x16", GemmShape::new(784, 1152, 256, 16)),
            ("0x0x0x0", GemmShape::new(0, 0, 0, 0)),
            ("4294967295x1x1", GemmShape::new(u32::MAX, 1, 1, 1)),
        ] {
            assert_eq!(text.parse(), Ok(shape));
            assert_eq!(shape.to_string(), text);
        }
        assert_eq!("1x2x3x1".parse(), Ok(GemmShape::new(1, 2, 3, 1)));
    }

    #[test]
    fn anything_but_three_or_four_whole_numbers_is_refused() {
        for text in [
            "",
            "x",
            "1",
            "1x2",
            "1x2x",
            "x1x2x3",
            "1x2x3x",
            "1x2x3x4x",
            "1x2x3x4x5",
            "+5x1x1",
            "1x-2x3",
            "1x2x3.0",
            "1x2x1e3",
            " 1x2x3",
            "1x2x3\n",
            "1X2X3",
            "4294967296x1x1",
            "1x2x３",
        ] {
            assert_eq!(text.parse::<GemmShape>(), Err(ParseTextError::Shape), "{text:?}");
        }
    }

    #[test]
    fn flops_of_the_largest_shape_are_finite() {
        let side = u32::MAX;
        assert!(GemmShape::new(side, side, side, side).flop().is_finite());
        assert_eq!(GemmShape::new(2, 3, 4, 5).flop(), 240.0);
    }
}
