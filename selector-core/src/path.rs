//! The way from a tree's root to the answer, for tools that explain it.

use core::iter;

use crate::{Feature, GemmShape, Model, Node, ProblemClass};

/// One question on the way to a leaf, and how the shape answered it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step {
    /// The split's index among the entries.
    pub index: usize,
    /// What is asked for.
    pub feature: Feature,
    /// Its value for the shape.
    pub value: u64,
    /// The largest value that goes left.
    pub threshold: u64,
    /// Whether the shape goes left: `value <= threshold`.
    pub left: bool,
}

impl Model<'_> {
    /// The splits that [`Model::select`] meets for `shape`, from the root down; none where the
    /// tree is a single leaf or no tree knows the class.
    pub fn path(&self, class: ProblemClass, shape: GemmShape) -> impl Iterator<Item = Step> {
        let mut next = self.root(class);
        iter::from_fn(move || {
            let index = next?;
            let Some(Node::Split { feature, threshold, right }) = self.node(index) else {
                return None;
            };
            let value = feature.of(shape);
            let left = value <= threshold;
            next = Some(if left { index + 1 } else { usize::from(right) });
            Some(Step { index, feature, value, threshold, left })
        })
    }
}
