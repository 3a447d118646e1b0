//! Kinds of shapes that are told apart, since a mean over all hides where a library is slow.

use std::fmt;

use selector_core::GemmShape;

use super::{FULLY_CONNECTED, SQUARE};

/// A kind of shape; a shape may be of several.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Class {
    /// Every shape of the first paper's list: what is measured beside it is not.
    Layers,
    /// Matrix times vector, or nearly: the lesser of m and n is at most 8.
    Gemv,
    /// The lesser of m and n is above 8, and at most 64.
    Skinny,
    /// k is at least four times the greater of m and n.
    DeepK,
    /// Below 0.2 GFLOP.
    Tiny,
    /// From there to 4 GFLOP.
    Middle,
    /// From there on.
    Big,
    /// The fully connected layers of VGG16.
    FullyConnected,
    /// 4096×4096×4096.
    Square,
}

impl Class {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 9] = [
        Self::Layers,
        Self::Gemv,
        Self::Skinny,
        Self::DeepK,
        Self::Tiny,
        Self::Middle,
        Self::Big,
        Self::FullyConnected,
        Self::Square,
    ];

    /// Whether `shape` is of this class. What stands beside the list is of its own class, and of
    /// [`Self::DeepK`]: these are asked about together.
    #[must_use]
    pub fn contains(self, shape: GemmShape) -> bool {
        let GemmShape { m, k, n, .. } = shape;
        let (lesser, greater, gflop) = (m.min(n), m.max(n), shape.flop() / 1e9);
        let is_beside = FULLY_CONNECTED.contains(&shape) || shape == SQUARE;
        match self {
            Self::FullyConnected => FULLY_CONNECTED.contains(&shape),
            Self::Square => shape == SQUARE,
            Self::DeepK => u64::from(k) >= 4 * u64::from(greater),
            _ if is_beside => false,
            Self::Layers => true,
            Self::Gemv => lesser <= 8,
            Self::Skinny => lesser > 8 && lesser <= 64,
            Self::Tiny => gflop < 0.2,
            Self::Middle => (0.2..4.0).contains(&gflop),
            Self::Big => gflop >= 4.0,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Layers => "layers",
            Self::Gemv => "gemv",
            Self::Skinny => "skinny",
            Self::DeepK => "deep_k",
            Self::Tiny => "tiny",
            Self::Middle => "middle",
            Self::Big => "big",
            Self::FullyConnected => "fully_connected",
            Self::Square => "square_4096",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(m: u32, k: u32, n: u32, batch: u32) -> Vec<String> {
        let shape = GemmShape::new(m, k, n, batch);
        let classes = Class::ALL.iter().filter(|class| class.contains(shape));
        classes.map(ToString::to_string).collect()
    }

    #[test]
    fn shapes_are_of_the_classes_that_their_sizes_say() {
        assert_eq!(of(8, 32, 100, 1), ["layers", "gemv", "tiny"]);
        assert_eq!(of(9, 256, 64, 1), ["layers", "skinny", "deep_k", "tiny"]);
        assert_eq!(of(64, 64, 65, 1), ["layers", "skinny", "tiny"]);
        assert_eq!(of(65, 260, 65, 1), ["layers", "deep_k", "tiny"]);
        assert_eq!(of(65, 259, 65, 1), ["layers", "tiny"]);
        assert_eq!(of(1000, 1000, 100, 1), ["layers", "middle"]);
        assert_eq!(of(1000, 1000, 1000, 2), ["layers", "big"]);
        assert_eq!(of(u32::MAX, u32::MAX, u32::MAX, 2), ["layers", "big"]);
        assert_eq!(of(1, 25088, 4096, 1), ["deep_k", "fully_connected"]);
        assert_eq!(of(1, 4096, 1000, 1), ["deep_k", "fully_connected"]);
        assert_eq!(of(4096, 4096, 4096, 1), ["square_4096"]);
    }
}
