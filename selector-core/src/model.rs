//! A checked model: parse once, then select without failing.

use crate::entry::{ENTRY, Raw};
use crate::header::Minor;
use crate::lanes::{self, Lanes};
use crate::payload::{Features, Payload, TreeHead};
use crate::{
    Feature, GemmShape, KernelId, Kernels, Leaf, ModelError, Node, NodeError, PackedConfig,
    ProblemClass, header,
};

/// Most kernels in a model's list, the universal one not counted.
pub const MAX_KERNELS: usize = 127;
/// Most splits between a root and a leaf.
pub const MAX_DEPTH: usize = 64;
/// Most entries (splits and leaves) of all trees together.
pub const MAX_ENTRIES: usize = u16::MAX as usize;

/// Share of optimal on held-out shapes, in steps of 1/10,000.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Score(pub u16);

impl Score {
    /// Every choice as good as the best that was measured.
    pub const PERFECT: Self = Self(10_000);

    /// The step nearest to `share`, which is cut to 0…1; NaN is 0.
    #[must_use]
    pub fn from_share(share: f64) -> Self {
        // `as` saturates and takes NaN to 0; adding a half rounds.
        Self((share * 10_000.0 + 0.5) as u16).min(Self::PERFECT)
    }

    /// The share, 0…1.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.0) / 10_000.0
    }
}

/// The kernel list and the trees, borrowed from a checked blob.
#[derive(Clone, Debug)]
pub struct Model<'a> {
    device: &'a str,
    driver: &'a str,
    method: &'a str,
    space: Option<u64>,
    score: Option<Score>,
    features: Features,
    lanes: Lanes,
    kernels: Kernels<'a>,
    roots: [Option<Root>; ProblemClass::COUNT],
    entries: &'a [[u8; ENTRY]],
}

#[derive(Clone, Copy, Debug)]
struct Root {
    entry: u16,
    measured_as: ProblemClass,
}

impl<'a> Model<'a> {
    /// Check a blob in full and borrow it, in one pass over its entries (FORMAT.md §7).
    ///
    /// # Errors
    /// [`ModelError`] says what is wrong; nothing is half-loaded.
    pub fn parse(blob: &'a [u8]) -> Result<Self, ModelError> {
        let (version, payload) = header::payload(blob)?;
        let Payload { head, features, kernels, trees, entries } = Payload::read(payload)?;
        let score = head.score.map(Score);
        if let Some(wrong) = score.filter(|score| *score > Score::PERFECT) {
            return Err(ModelError::Score(wrong.0));
        }
        let roots = check_trees(version, entries, &trees, &features, kernels.len())?;
        let (device, driver, method) = (head.device, head.driver, head.method);
        let (space, lanes) = (head.space, Lanes::new(&features));
        Ok(Self { device, driver, method, space, score, features, lanes, kernels, roots, entries })
    }

    /// The answer for `shape`; where no tree knows the class, the universal kernel.
    ///
    /// Total and bounded: it takes at most [`MAX_DEPTH`] steps and never panics.
    #[must_use]
    pub fn select(&self, class: ProblemClass, shape: GemmShape) -> Leaf {
        let packed = self.lanes.pack(shape);
        let mut next = self.root(class);
        // Branches lie behind their split, so this ends.
        while let Some(entry) = next.and_then(|index| self.entries.get(index)) {
            match Raw::read(entry) {
                Raw::Leaf(leaf) => return leaf,
                Raw::Split(split) => {
                    let left = lanes::value(packed, split.lane.into()) <= split.threshold;
                    next =
                        if left { next.map(|index| index + 1) } else { Some(split.right.into()) };
                }
            }
        }
        // No tree for the class; after `parse` there is no other way here.
        Leaf::UNIVERSAL
    }

    /// Index of the first entry of the class's tree.
    #[must_use]
    pub fn root(&self, class: ProblemClass) -> Option<usize> {
        self.tree(class).map(|root| usize::from(root.entry))
    }

    /// Splits of the class's tree; what a [`FastTree`](crate::FastTree) needs room for.
    #[must_use]
    pub fn splits(&self, class: ProblemClass) -> usize {
        let Some(root) = self.root(class) else { return 0 };
        let (mut open, mut splits) = (1usize, 0);
        for entry in self.entries.iter().skip(root) {
            match Raw::read(entry) {
                Raw::Split(_) => (open, splits) = (open + 1, splits + 1),
                Raw::Leaf(_) => open = open.saturating_sub(1),
            }
            if open == 0 {
                break;
            }
        }
        splits
    }

    /// The class whose measurements grew the tree of `class`: another one where it was not
    /// measured itself.
    #[must_use]
    pub fn measured_as(&self, class: ProblemClass) -> Option<ProblemClass> {
        self.tree(class).map(|root| root.measured_as)
    }

    /// The entry at `index`. A split's left branch is the next entry.
    #[must_use]
    pub fn node(&self, index: usize) -> Option<Node> {
        let entry = self.entries.get(index)?;
        Node::read(entry, &self.features, self.kernels.len()).ok()
    }

    /// Entries of all trees.
    #[must_use]
    pub const fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The kernel list, from kernel id 1 on.
    #[must_use]
    pub fn kernels(&self) -> Kernels<'a> {
        self.kernels.clone()
    }

    /// The configuration of a kernel; `None` for the universal kernel and beyond the list.
    #[must_use]
    pub fn kernel(&self, kernel: KernelId) -> Option<PackedConfig> {
        self.kernels().nth(usize::from(kernel.0).checked_sub(1)?)
    }

    /// What the trees ask for.
    #[must_use]
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    pub(crate) const fn lanes(&self) -> Lanes {
        self.lanes
    }

    pub(crate) const fn raw_entries(&self) -> &'a [[u8; ENTRY]] {
        self.entries
    }

    /// Name of the device whose measurements trained the model.
    #[must_use]
    pub const fn device(&self) -> &'a str {
        self.device
    }

    /// Driver version of that device.
    #[must_use]
    pub const fn driver(&self) -> &'a str {
        self.driver
    }

    /// How the kernels were chosen and the trees grown.
    #[must_use]
    pub const fn method(&self) -> &'a str {
        self.method
    }

    /// Hash of the kernel space that was measured; `None` if it was foreign.
    #[must_use]
    pub const fn space(&self) -> Option<u64> {
        self.space
    }

    /// Share of optimal on held-out shapes, if it was measured.
    #[must_use]
    pub const fn score(&self) -> Option<Score> {
        self.score
    }

    fn tree(&self, class: ProblemClass) -> Option<Root> {
        self.roots.get(usize::from(class.index())).copied().flatten()
    }
}

/// Check that the entries are whole trees, each begun by a head, and that every head begins one.
fn check_trees(
    version: Minor,
    entries: &[[u8; ENTRY]],
    heads: &[TreeHead],
    features: &[Feature],
    kernels: usize,
) -> Result<[Option<Root>; ProblemClass::COUNT], ModelError> {
    let mut begun: heapless::Vec<usize, { ProblemClass::COUNT }> = heapless::Vec::new();
    let mut position = 0;
    while position < entries.len() {
        let unreachable = ModelError::UnreachableEntries { first: position };
        if !heads.iter().any(|head| usize::from(head.root) == position) {
            return Err(unreachable);
        }
        begun.push(position).map_err(|_| unreachable)?;
        position = check_tree(entries, position, features, kernels)?;
    }
    let mut roots = [None; ProblemClass::COUNT];
    for head in heads {
        let known = |class| version.class(class).ok_or(ModelError::ClassUnknown(class));
        let class = known(head.class)?;
        if !begun.contains(&usize::from(head.root)) {
            return Err(ModelError::Root { class: head.class, root: head.root });
        }
        let root = Root { entry: head.root, measured_as: known(head.measured_as)? };
        match roots.get_mut(usize::from(class.index())) {
            Some(slot @ None) => *slot = Some(root),
            _ => return Err(ModelError::ClassTwice(head.class)),
        }
    }
    Ok(roots)
}

/// Walk the tree that begins at `root` in its preorder; returns where it ends.
fn check_tree(
    entries: &[[u8; ENTRY]],
    root: usize,
    features: &[Feature],
    kernels: usize,
) -> Result<usize, ModelError> {
    // Right branches to come, each with the number of splits above it.
    let mut pending: heapless::Vec<(u16, usize), MAX_DEPTH> = heapless::Vec::new();
    let mut depth = 0;
    let mut index = root;
    loop {
        let wrong = |error| ModelError::Node { index, error };
        let entry = entries.get(index).ok_or(wrong(NodeError::Unfinished))?;
        match Node::read(entry, features, kernels).map_err(wrong)? {
            Node::Split { right, .. } => {
                depth += 1;
                if depth > MAX_DEPTH || pending.push((right, depth)).is_err() {
                    return Err(wrong(NodeError::TooDeep));
                }
                index += 1;
            }
            Node::Leaf(_) => {
                index += 1;
                let Some((right, above)) = pending.pop() else { return Ok(index) };
                if usize::from(right) != index {
                    return Err(ModelError::Node { index, error: NodeError::Branch });
                }
                depth = above;
            }
        }
    }
}
