//! One entry of a tree, a split or a leaf in 12 bytes (FORMAT.md §6).

use crate::{Feature, GemmShape, Leaf, Loss, NodeError};

/// Bytes of an entry.
pub(crate) const ENTRY: usize = 12;
/// First byte of a leaf, where a split has its feature.
const LEAF_TAG: u8 = 0xFF;

/// One entry of a tree: a split or a leaf.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Node {
    /// A question. Its left branch (`feature <= threshold`) is the entry that follows.
    Split {
        /// What is asked for.
        feature: Feature,
        /// The largest value that goes left.
        threshold: u64,
        /// Index of the right branch's first entry.
        right: u16,
    },
    /// An answer.
    Leaf(Leaf),
}

impl Node {
    /// Read an entry; `kernels` is the length of the kernel list.
    pub(crate) fn read(entry: &[u8; ENTRY], kernels: usize) -> Result<Self, NodeError> {
        let [tag, a, b, c, d, e, f, g, h, i, j, k] = *entry;
        if tag == LEAF_TAG {
            let ranked = [a, b, c];
            check_ranking(ranked, kernels)?;
            if [f, g] != [0, 0] {
                return Err(NodeError::Reserved);
            }
            let samples = u32::from_le_bytes([h, i, j, k]);
            let (expected, worst) = (Loss::from_byte(d), Loss::from_byte(e));
            return Ok(Self::Leaf(Leaf::from_parts(ranked, expected, worst, samples)));
        }
        let Split { feature, threshold, right } =
            Split::read(entry).ok_or(NodeError::Feature(tag))?;
        if a != 0 {
            return Err(NodeError::Reserved);
        }
        Ok(Self::Split { feature, threshold, right })
    }

    #[cfg(feature = "encode")]
    pub(crate) fn write(self) -> [u8; ENTRY] {
        match self {
            Self::Leaf(leaf) => {
                let [a, b, c] = leaf.ranked_bytes();
                let [h, i, j, k] = leaf.samples.to_le_bytes();
                [LEAF_TAG, a, b, c, leaf.expected.byte(), leaf.worst.byte(), 0, 0, h, i, j, k]
            }
            Self::Split { feature, threshold, right } => {
                let [b, c] = right.to_le_bytes();
                let [d, e, f, g, h, i, j, k] = threshold.to_le_bytes();
                [feature.index(), 0, b, c, d, e, f, g, h, i, j, k]
            }
        }
    }
}

/// A split alone, for the walk down a checked model.
pub(crate) struct Split {
    feature: Feature,
    threshold: u64,
    pub(crate) right: u16,
}

impl Split {
    /// The split in an entry; `None` for a leaf.
    pub(crate) fn read(entry: &[u8; ENTRY]) -> Option<Self> {
        let [tag, _, b, c, d, e, f, g, h, i, j, k] = *entry;
        Some(Self {
            feature: Feature::from_index(tag)?,
            threshold: u64::from_le_bytes([d, e, f, g, h, i, j, k]),
            right: u16::from_le_bytes([b, c]),
        })
    }

    /// Whether `shape` is answered in the left branch.
    pub(crate) fn goes_left(&self, shape: GemmShape) -> bool {
        self.feature.at_most(shape, self.threshold)
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

    #[test]
    fn a_split_is_laid_out_as_the_format_says() {
        let split = Node::Split { feature: Feature::Mnk, threshold: 0x0102, right: 0x0304 };
        let bytes = [7, 0, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0];
        assert_eq!(split.write(), bytes);
        assert_eq!(Node::read(&bytes, 0), Ok(split));
    }

    #[test]
    fn a_leaf_is_laid_out_as_the_format_says() {
        let kernels = [5, 2].map(KernelId);
        let leaf = Node::Leaf(Leaf::new(&kernels, Loss::from_byte(9), Loss::UNKNOWN, 0x0102));
        let bytes = [255, 5, 2, 0, 9, 255, 0, 0, 2, 1, 0, 0];
        assert_eq!(leaf.write(), bytes);
        assert_eq!(Node::read(&bytes, 5), Ok(leaf));
    }

    #[test]
    fn features_beyond_the_last_are_refused_and_255_is_a_leaf() {
        for tag in 14..255 {
            let entry = [tag, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            assert_eq!(Node::read(&entry, 63), Err(NodeError::Feature(tag)));
        }
    }

    #[test]
    fn reserved_bytes_must_be_zero() {
        let split = [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(Node::read(&split, 63), Err(NodeError::Reserved));
        for place in [6, 7] {
            let mut leaf = [255, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            leaf[place] = 128;
            assert_eq!(Node::read(&leaf, 63), Err(NodeError::Reserved));
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
        assert_eq!(rank([1, 2, 255], 63), Err(NodeError::Kernel(255)));
    }
}
