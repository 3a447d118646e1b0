//! Why a shape gets its kernel, as a value that needs no allocator.

use crate::{Feature, GemmShape, KernelId, Leaf, MAX_DEPTH, Model, Node, ProblemClass};

/// One question on the way to a leaf, and how the shape answered it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step {
    /// The split's index among the entries.
    pub index: usize,
    /// What is asked for.
    pub feature: Feature,
    /// Its value for the shape, in eighths of an octave.
    pub value: u16,
    /// The largest value that goes left.
    pub threshold: u16,
    /// Whether the shape goes left: `value <= threshold`.
    pub left: bool,
}

impl Step {
    /// By how many eighths of an octave the feature would have to change for the other answer;
    /// at least 1.
    #[must_use]
    pub const fn margin(self) -> u16 {
        if self.left { self.threshold - self.value + 1 } else { self.value - self.threshold }
    }
}

/// The way to a choice and what it is worth; see [`Model::explain`].
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The class asked for.
    pub class: ProblemClass,
    /// The class whose measurements grew the tree; `None` if no tree knows the class.
    pub measured_as: Option<ProblemClass>,
    /// The shape asked for.
    pub shape: GemmShape,
    /// The questions, from the root down.
    pub path: heapless::Vec<Step, MAX_DEPTH>,
    /// The answer, with its expected and worst loss.
    pub leaf: Leaf,
}

impl Explanation {
    /// The kernel that runs if the first one cannot.
    #[must_use]
    pub fn runner_up(&self) -> KernelId {
        self.leaf.kernels().nth(1).unwrap_or(KernelId::UNIVERSAL)
    }

    /// The question that the shape answered most narrowly, the first of several.
    #[must_use]
    pub fn closest(&self) -> Option<Step> {
        self.path.iter().copied().min_by_key(|step| step.margin())
    }
}

impl Model<'_> {
    /// Why [`Self::select`] answers as it does.
    #[must_use]
    pub fn explain(&self, class: ProblemClass, shape: GemmShape) -> Explanation {
        let measured_as = self.measured_as(class);
        let mut path = heapless::Vec::new();
        for step in self.path(class, shape) {
            // A checked model is not deeper than there is room for.
            let _ = path.push(step);
        }
        Explanation { class, measured_as, shape, path, leaf: self.select(class, shape) }
    }

    /// The splits that [`Model::select`] meets for `shape`, from the root down; none where the
    /// tree is a single leaf or no tree knows the class.
    pub fn path(&self, class: ProblemClass, shape: GemmShape) -> impl Iterator<Item = Step> {
        let mut next = self.root(class);
        core::iter::from_fn(move || {
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
