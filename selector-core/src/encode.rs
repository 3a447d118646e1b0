//! Writing a model, for hosts.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::{fmt, mem};

use crate::header::{self, Minor};
use crate::payload::{Head, TreeHead};
use crate::{
    Feature, Leaf, Loss, MAX_DEPTH, MAX_ENTRIES, MAX_FEATURES, MAX_KERNELS, Model, ModelError,
    Node, NodeError, PackedConfig, ProblemClass, Samples, Score,
};

/// A tree as the trainer grows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Tree {
    /// A question.
    Split {
        /// What is asked for.
        feature: Feature,
        /// The largest value that goes left.
        threshold: u16,
        /// Where `feature <= threshold` leads.
        left: Box<Self>,
        /// Where the rest goes.
        right: Box<Self>,
    },
    /// An answer.
    Leaf(Leaf),
}

impl Tree {
    /// Splits between the root and the farthest leaf.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.visit().map(|(depth, _)| depth).max().unwrap_or(0)
    }

    /// Number of leaves.
    #[must_use]
    pub fn leaves(&self) -> usize {
        self.visit().filter(|(_, tree)| matches!(tree, Self::Leaf(_))).count()
    }

    /// What the root asks for; `None` for a leaf.
    const fn feature(&self) -> Option<Feature> {
        match self {
            Self::Split { feature, .. } => Some(*feature),
            Self::Leaf(_) => None,
        }
    }

    /// Every subtree in preorder with the number of splits above it; without recursion, so that
    /// no depth is too deep.
    fn visit(&self) -> impl Iterator<Item = (usize, &Self)> {
        let mut pending = vec![(0, self)];
        core::iter::from_fn(move || {
            let (depth, tree) = pending.pop()?;
            if let Self::Split { left, right, .. } = tree {
                pending.push((depth + 1, &**right));
                pending.push((depth + 1, &**left));
            }
            Some((depth, tree))
        })
    }
}

impl Drop for Tree {
    /// Without recursion, so that no depth is too deep.
    fn drop(&mut self) {
        let mut pending = Vec::new();
        self.take_children(&mut pending);
        while let Some(mut tree) = pending.pop() {
            tree.take_children(&mut pending);
        }
    }
}

impl Tree {
    /// Move both sides of a split to `pending`, and leave leaves in their place.
    fn take_children(&mut self, pending: &mut Vec<Self>) {
        if let Self::Split { left, right, .. } = self {
            for side in [left, right] {
                if matches!(**side, Self::Split { .. }) {
                    let leaf = Leaf::new(&[], Loss::UNKNOWN, Loss::UNKNOWN, Samples::NONE);
                    pending.push(mem::replace(side, Self::Leaf(leaf)));
                }
            }
        }
    }
}

/// Which tree serves a problem class.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TreeSource {
    /// The class served.
    pub class: ProblemClass,
    /// The class whose measurements grew the tree.
    pub measured_as: ProblemClass,
    /// Index into [`ModelSource::trees`].
    pub tree: usize,
}

/// Everything in a model.
#[derive(Clone, Debug)]
pub struct ModelSource<'a> {
    /// Name of the device that was measured.
    pub device: &'a str,
    /// Its driver version.
    pub driver: &'a str,
    /// How the kernels were chosen and the trees grown.
    pub method: &'a str,
    /// Hash of the kernel space that was measured, if it was ours.
    pub space: Option<u64>,
    /// Share of optimal on held-out shapes.
    pub score: Option<Score>,
    /// The kernel list.
    pub kernels: Vec<PackedConfig>,
    /// The trees; each must serve a class.
    pub trees: Vec<Tree>,
    /// Which tree serves which class.
    pub classes: Vec<TreeSource>,
}

/// Why a model cannot be written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EncodeError {
    /// A class names a tree that is not there.
    NoSuchTree(usize),
    /// What would be written is not a valid model.
    Invalid(ModelError),
    /// Longer than a length field can say, or postcard refused it.
    TooLarge,
    /// A path longer than the format allows.
    TooDeep {
        /// Splits on the longest path.
        actual: usize,
        /// The most splits on a path.
        limit: usize,
    },
    /// More entries than indices can name.
    TooManyEntries {
        /// Entries in the trees.
        actual: usize,
        /// The most the format holds.
        limit: usize,
    },
    /// More features than a model can use.
    TooManyFeatures {
        /// Features that the trees ask for.
        actual: usize,
        /// The most the format holds.
        limit: usize,
    },
    /// More kernels than a model can list.
    TooManyKernels {
        /// Kernels in the list.
        actual: usize,
        /// The most the format holds.
        limit: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchTree(tree) => write!(f, "a class names tree {tree}, which is not there"),
            Self::Invalid(error) => write!(f, "the model would not be valid: {error}"),
            Self::TooDeep { actual, limit } => {
                write!(
                    f,
                    "a tree is {actual} splits deep, but a model holds {limit}; limit its depth"
                )
            }
            Self::TooLarge => f.write_str("the model is too large to encode"),
            Self::TooManyEntries { actual, limit } => {
                write!(f, "{actual} tree entries, but a model holds {limit}; limit the leaves")
            }
            Self::TooManyFeatures { actual, limit } => {
                write!(f, "{actual} features, but a model uses {limit}; ask for fewer")
            }
            Self::TooManyKernels { actual, limit } => {
                write!(f, "{actual} kernels, but a model holds {limit}; ask for fewer")
            }
        }
    }
}

impl core::error::Error for EncodeError {}

impl ModelSource<'_> {
    /// The model's bytes; the same source gives the same bytes.
    ///
    /// # Errors
    /// [`EncodeError`] names the limit that was passed and by how much.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let actual = self.kernels.len();
        if actual > MAX_KERNELS {
            return Err(EncodeError::TooManyKernels { actual, limit: MAX_KERNELS });
        }
        let features = self.features();
        let actual = features.len();
        if actual > MAX_FEATURES {
            return Err(EncodeError::TooManyFeatures { actual, limit: MAX_FEATURES });
        }
        let mut nodes = Vec::new();
        let mut roots = Vec::new();
        for tree in &self.trees {
            let actual = tree.depth();
            if actual > MAX_DEPTH {
                return Err(EncodeError::TooDeep { actual, limit: MAX_DEPTH });
            }
            roots.push(nodes.len());
            flatten(tree, &mut nodes);
        }
        if nodes.len() > MAX_ENTRIES {
            return Err(EncodeError::TooManyEntries { actual: nodes.len(), limit: MAX_ENTRIES });
        }
        self.check_kernels(&nodes)?;
        let heads = self.classes.iter().map(|class| head(class, &roots));
        let heads = heads.collect::<Result<Vec<_>, _>>()?;
        let payload = self.payload(&features, &heads, &nodes).map_err(|_| EncodeError::TooLarge)?;
        let length = u32::try_from(payload.len()).map_err(|_| EncodeError::TooLarge)?;
        let numbers = heads.iter().flat_map(|head| [head.class, head.measured_as]);
        let mut blob = Vec::from(header::write(Minor::of_classes(numbers), &payload, length));
        blob.extend(payload);
        Model::parse(&blob).map_err(EncodeError::Invalid)?;
        Ok(blob)
    }

    /// An id above 127 would be read as a split, so it must not be written.
    fn check_kernels(&self, nodes: &[Node]) -> Result<(), EncodeError> {
        for (index, node) in nodes.iter().enumerate() {
            let Node::Leaf(leaf) = node else { continue };
            if let Some(id) = leaf.kernels().find(|id| usize::from(id.0) > self.kernels.len()) {
                let error = NodeError::Kernel(id.0);
                return Err(EncodeError::Invalid(ModelError::Node { index, error }));
            }
        }
        Ok(())
    }

    /// The features that the trees ask for, by number.
    fn features(&self) -> Vec<Feature> {
        let nodes = self.trees.iter().flat_map(Tree::visit);
        let asked: Vec<_> = nodes.filter_map(|(_, tree)| tree.feature()).collect();
        Feature::ALL.into_iter().filter(|feature| asked.contains(feature)).collect()
    }

    fn payload(
        &self,
        features: &[Feature],
        heads: &[TreeHead],
        nodes: &[Node],
    ) -> postcard::Result<Vec<u8>> {
        let numbers: Vec<u8> = features.iter().map(|feature| feature.index()).collect();
        let head = Head {
            device: self.device,
            driver: self.driver,
            method: self.method,
            space: self.space,
            score: self.score.map(|score| score.0),
            features: &numbers,
            kernels: self.kernels.len() as u16,
        };
        let mut payload = postcard::to_allocvec(&head)?;
        for kernel in &self.kernels {
            payload = postcard::to_extend(kernel, payload)?;
        }
        payload = postcard::to_extend(heads, payload)?;
        let entries = nodes.iter().filter_map(|node| node.write(features));
        let entries: Vec<u8> = entries.flatten().collect();
        postcard::to_extend(&entries[..], payload)
    }
}

fn head(class: &TreeSource, roots: &[usize]) -> Result<TreeHead, EncodeError> {
    let root = *roots.get(class.tree).ok_or(EncodeError::NoSuchTree(class.tree))?;
    Ok(TreeHead {
        class: class.class.index(),
        measured_as: class.measured_as.index(),
        root: u16::try_from(root).map_err(|_| EncodeError::TooLarge)?,
    })
}

/// Append a tree in preorder; it is at most [`MAX_DEPTH`] deep.
fn flatten(tree: &Tree, nodes: &mut Vec<Node>) {
    match tree {
        Tree::Leaf(leaf) => nodes.push(Node::Leaf(*leaf)),
        Tree::Split { feature, threshold, left, right } => {
            let index = nodes.len();
            nodes.push(Node::Split { feature: *feature, threshold: *threshold, right: 0 });
            flatten(left, nodes);
            // Past the limit the index is wrong, but then `encode` refuses the model.
            let after = u16::try_from(nodes.len()).unwrap_or(u16::MAX);
            if let Some(Node::Split { right, .. }) = nodes.get_mut(index) {
                *right = after;
            }
            flatten(right, nodes);
        }
    }
}
