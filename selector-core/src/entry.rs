//! One entry of a tree, a split or a leaf in 6 bytes (FORMAT.md §6).

use crate::{Feature, Leaf, Loss, NodeError, Samples};

/// Bytes of an entry.
pub(crate) const ENTRY: usize = 6;
/// Set in the first byte of a split, whose other bits are the lane; a leaf has a kernel id there.
const SPLIT_TAG: u8 = 0x80;

/// One entry of a tree: a split or a leaf.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Node {
    /// A question. Its left branch (`feature <= threshold`) is the entry that follows.
    Split {
        /// What is asked for.
        feature: Feature,
        /// The largest value that goes left.
        threshold: u16,
        /// Index of the right branch's first entry.
        right: u16,
    },
    /// An answer.
    Leaf(Leaf),
}

impl Node {
    /// Read an entry; `kernels` is the length of the kernel list.
    pub(crate) fn read(
        entry: &[u8; ENTRY],
        features: &[Feature],
        kernels: usize,
    ) -> Result<Self, NodeError> {
        match Raw::read(entry) {
            Raw::Leaf(leaf) => {
                check_ranking(leaf.ranked_bytes(), kernels)?;
                Ok(Self::Leaf(leaf))
            }
            Raw::Split(Split { lane, threshold, right }) => {
                let [_, reserved, ..] = *entry;
                if reserved != 0 {
                    return Err(NodeError::Reserved);
                }
                let feature = features.get(usize::from(lane)).copied();
                let feature = feature.ok_or(NodeError::Feature(lane))?;
                if threshold >= feature.largest() {
                    return Err(NodeError::Threshold(threshold));
                }
                Ok(Self::Split { feature, threshold, right })
            }
        }
    }

    /// The entry of this node, in a model that uses these features; `None` if its feature is not
    /// among them.
    #[cfg(feature = "encode")]
    pub(crate) fn write(self, features: &[Feature]) -> Option<[u8; ENTRY]> {
        match self {
            Self::Leaf(leaf) => {
                let [a, b, c] = leaf.ranked_bytes();
                Some([a, b, c, leaf.expected.byte(), leaf.worst.byte(), leaf.samples.byte()])
            }
            Self::Split { feature, threshold, right } => {
                let lane = features.iter().position(|one| *one == feature)?;
                let [c, d] = threshold.to_le_bytes();
                let [e, f] = right.to_le_bytes();
                Some([SPLIT_TAG | lane as u8, 0, c, d, e, f])
            }
        }
    }
}

/// An entry as it stands, for the walk down a checked model.
pub(crate) enum Raw {
    Split(Split),
    Leaf(Leaf),
}

pub(crate) struct Split {
    pub(crate) lane: u8,
    pub(crate) threshold: u16,
    pub(crate) right: u16,
}

impl Raw {
    #[inline]
    pub(crate) fn read(entry: &[u8; ENTRY]) -> Self {
        let [a, b, c, d, e, f] = *entry;
        if a & SPLIT_TAG == 0 {
            let [expected, worst] = [d, e].map(Loss::from_byte);
            return Self::Leaf(Leaf::from_parts([a, b, c], expected, worst, Samples::from_byte(f)));
        }
        let [threshold, right] = [[c, d], [e, f]].map(u16::from_le_bytes);
        Self::Split(Split { lane: a & !SPLIT_TAG, threshold, right })
    }
}

fn check_ranking(ranked: [u8; 3], kernels: usize) -> Result<(), NodeError> {
    if let Some(unknown) = ranked.into_iter().find(|id| usize::from(*id) > kernels) {
        return Err(NodeError::Kernel(unknown));
    }
    let [a, b, c] = ranked;
    let gap = (a == 0 && b != 0) || (b == 0 && c != 0);
    let twice = (b != 0 && a == b) || (c != 0 && (a == c || b == c));
    if gap || twice { Err(NodeError::Ranking) } else { Ok(()) }
}

#[cfg(all(test, feature = "encode"))]
mod tests {
    use super::*;
    use crate::KernelId;

    const FEATURES: [Feature; 3] = [Feature::K, Feature::Mnk, Feature::MPerN];

    #[test]
    fn a_split_is_laid_out_as_the_format_says() {
        let split = Node::Split { feature: Feature::Mnk, threshold: 0x0102, right: 0x0304 };
        let bytes = [0x81, 0, 2, 1, 4, 3];
        assert_eq!(split.write(&FEATURES), Some(bytes));
        assert_eq!(Node::read(&bytes, &FEATURES, 0), Ok(split));
        let other = Node::Split { feature: Feature::M, threshold: 1, right: 2 };
        assert_eq!(other.write(&FEATURES), None);
    }

    #[test]
    fn a_leaf_is_laid_out_as_the_format_says() {
        let kernels = [5, 2].map(KernelId);
        let leaf = Leaf::new(&kernels, Loss::from_byte(9), Loss::UNKNOWN, Samples::new(3));
        let bytes = [5, 2, 0, 9, 255, 13];
        assert_eq!(Node::Leaf(leaf).write(&FEATURES), Some(bytes));
        assert_eq!(Node::read(&bytes, &FEATURES, 5), Ok(Node::Leaf(leaf)));
    }

    #[test]
    fn lanes_beyond_the_features_are_refused() {
        for lane in 3..128 {
            let entry = [0x80 | lane, 0, 1, 0, 0, 0];
            assert_eq!(Node::read(&entry, &FEATURES, 63), Err(NodeError::Feature(lane)));
        }
    }

    #[test]
    fn the_reserved_byte_must_be_zero() {
        for reserved in 1..=255 {
            let entry = [0x80, reserved, 2, 0, 0, 0];
            assert_eq!(Node::read(&entry, &FEATURES, 63), Err(NodeError::Reserved));
        }
    }

    #[test]
    fn a_threshold_leaves_something_to_the_right() {
        for (lane, feature) in FEATURES.into_iter().enumerate() {
            let read = |threshold: u16| {
                let [low, high] = threshold.to_le_bytes();
                Node::read(&[0x80 | lane as u8, 0, low, high, 0, 0], &FEATURES, 0)
            };
            let largest = feature.largest();
            assert!(read(0).is_ok() && read(largest - 1).is_ok());
            for threshold in [largest, largest + 1, u16::MAX] {
                assert_eq!(read(threshold), Err(NodeError::Threshold(threshold)));
            }
        }
    }

    #[test]
    fn a_ranking_has_no_gap_no_repetition_and_no_unknown_kernel() {
        let rank = |ranked, kernels| check_ranking(ranked, kernels);
        for good in [[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 1, 2]] {
            assert_eq!(rank(good, 3), Ok(()));
        }
        for bad in [[0, 1, 0], [0, 0, 1], [1, 0, 2], [1, 1, 0], [1, 2, 1], [1, 2, 2], [0, 1, 1]] {
            assert_eq!(rank(bad, 3), Err(NodeError::Ranking), "{bad:?}");
        }
        assert_eq!(rank([3, 0, 0], 2), Err(NodeError::Kernel(3)));
        assert_eq!(rank([1, 2, 127], 63), Err(NodeError::Kernel(127)));
    }
}
