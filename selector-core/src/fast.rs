//! One tree unpacked for speed: its upper part as masks, the rest as pairs of words.
//!
//! The questions near the root are answered together. For each feature the thresholds asked there
//! cut the values into ranges; a range knows, as a mask, which of up to 64 subtrees a shape can
//! still end in, and the masks of all features leave just one (bit-interval index). From there a
//! walk without data-dependent branches goes on: a word carries its threshold on top, so that one
//! shift and one comparison answer it, and both branches of a split lie side by side. A leaf leads
//! to itself, so a fixed number of steps does for nearly every shape.

use core::hint::select_unpredictable;

use crate::entry::{ENTRY, Raw};
use crate::lanes::{self, Lanes, VALUES};
use crate::{
    CapacityError, GemmShape, KernelId, KernelMask, Leaf, MAX_DEPTH, MAX_FEATURES, Model,
    ProblemClass, RANKED,
};

mod top;
mod word;

use top::{SUBTREES, Top};
use word::Word;

/// The tree of one problem class, ready to be asked often; `SPLITS` is its capacity.
///
/// It answers as [`Model::select`] does, sooner, for 8 KiB and 16 bytes a split of memory; a tree
/// has one split fewer than leaves. On a device with little stack, keep it in a `static` and
/// [load](Self::load) it there; [`Self::new`] returns it by value, so that it passes through the
/// stack, in an unoptimised build more than once.
///
/// ```
/// use std::sync::Mutex;
///
/// use selector_core::{CapacityError, FastTree, GemmShape, Model, ProblemClass};
///
/// static TREE: Mutex<FastTree<'static, 256>> = Mutex::new(FastTree::empty());
///
/// # fn start(model: &Model<'static>) -> Result<(), CapacityError> {
/// let mut tree = TREE.lock().unwrap();
/// tree.load(model, ProblemClass::F32_NN)?;
/// let shape = GemmShape::new(784, 1152, 256, 1);
/// assert_eq!(tree.select(shape), model.select(ProblemClass::F32_NN, shape));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FastTree<'a, const SPLITS: usize> {
    lanes: Lanes,
    /// For each feature the range that a value lies in.
    ranges: [[u8; VALUES]; MAX_FEATURES],
    /// For each feature and range the subtrees that a shape can end in.
    masks: [[u64; SUBTREES]; MAX_FEATURES],
    subtrees: [Word; SUBTREES],
    /// Steps that bring nearly every training shape from its subtree's root to its leaf.
    steps: usize,
    /// The left branch of each split, and what turns it into the right one by exclusive or.
    pairs: heapless::Vec<[u64; 2], SPLITS>,
    entries: &'a [[u8; ENTRY]],
}

/// The kernels that a tree chose for a shape, best first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Choice(Word);

impl<'a, const SPLITS: usize> FastTree<'a, SPLITS> {
    /// The tree that answers everything with the universal kernel.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            lanes: Lanes::NONE,
            ranges: [[0; VALUES]; MAX_FEATURES],
            masks: [[u64::MAX; SUBTREES]; MAX_FEATURES],
            subtrees: [Word::NOTHING; SUBTREES],
            steps: 0,
            pairs: heapless::Vec::new(),
            entries: &[],
        }
    }

    /// The tree of `class`, unpacked; without one, the universal kernel is the answer to
    /// everything.
    ///
    /// # Errors
    /// [`CapacityError`] says how many splits the tree has.
    pub fn new(model: &Model<'a>, class: ProblemClass) -> Result<Self, CapacityError> {
        let mut tree = Self::empty();
        tree.load(model, class)?;
        Ok(tree)
    }

    /// Unpack the tree of `class` here, in place of the one before.
    ///
    /// # Errors
    /// [`CapacityError`] says how many splits the tree has; the one before is kept then.
    pub fn load(&mut self, model: &Model<'a>, class: ProblemClass) -> Result<(), CapacityError> {
        let need = model.splits(class);
        if need > SPLITS {
            return Err(CapacityError { need, have: SPLITS });
        }
        self.lanes = model.lanes();
        self.entries = model.raw_entries();
        self.pairs.clear();
        let root = model.root(class).map_or(Word::NOTHING, |root| self.unpack(root));
        let top = Top::new(root, &self.pairs);
        top.fill(&mut self.ranges, &mut self.masks);
        top.write_subtrees(&mut self.subtrees);
        self.steps = top.steps(&self.pairs, self.entries);
        for [left, right] in &mut self.pairs {
            *right ^= *left;
        }
        Ok(())
    }

    /// The choice for `shape`, in bounded time.
    #[inline]
    #[must_use]
    pub fn choose(&self, shape: GemmShape) -> Choice {
        let packed = self.lanes.pack(shape);
        // One after another in the source, so that no loop remains.
        let ([r0, r1, r2, r3, r4], [m0, m1, m2, m3, m4]) = (&self.ranges, &self.masks);
        let open = left_open::<0>(packed, r0, m0)
            & left_open::<1>(packed, r1, m1)
            & left_open::<2>(packed, r2, m2)
            & left_open::<3>(packed, r3, m3)
            & left_open::<4>(packed, r4, m4);
        let subtree = self.subtrees.get(open.trailing_zeros() as usize);
        let mut word = subtree.copied().unwrap_or(Word::NOTHING);
        for _ in 0..self.steps {
            word = self.step(packed, word);
        }
        // Branches lie behind their split, so this ends.
        while word.is_split() {
            word = self.step(packed, word);
        }
        Choice(word)
    }

    /// What [`Model::select`] answers for `shape`.
    #[inline]
    #[must_use]
    pub fn select(&self, shape: GemmShape) -> Leaf {
        self.leaf(self.choose(shape))
    }

    /// The leaf of a choice of this tree.
    #[inline]
    #[must_use]
    pub fn leaf(&self, choice: Choice) -> Leaf {
        match self.entries.get(choice.0.entry()).map(Raw::read) {
            Some(Raw::Leaf(leaf)) => leaf,
            _ => Leaf::UNIVERSAL,
        }
    }

    /// One branch down; a leaf stays where it is.
    #[inline]
    fn step(&self, packed: u64, word: Word) -> Word {
        let Some([left, turn]) = self.pairs.get(word.pair()) else { return word.settled() };
        Word(left ^ select_unpredictable(word.goes_right(packed), *turn, 0))
    }

    /// Write the words of the tree at `root` into the pairs, in preorder and each with the number
    /// of training shapes that pass it; returns the root's word.
    fn unpack(&mut self, root: usize) -> Word {
        // Splits whose branches are not complete: their pair, and whether the left one is.
        let mut pending: heapless::Vec<(Word, usize, bool), { MAX_DEPTH + 1 }> =
            heapless::Vec::new();
        for (index, entry) in self.entries.iter().enumerate().skip(root) {
            let (mut done, mut weight) = match Raw::read(entry) {
                Raw::Split(split) => {
                    let pair = self.pairs.len();
                    // There is room for every split.
                    let _ = self.pairs.push([0; 2]);
                    let word = Word::split(split.lane, split.threshold, pair);
                    // A checked model is not deeper than there is room for.
                    let _ = pending.push((word, pair, false));
                    continue;
                }
                Raw::Leaf(leaf) => {
                    let holder = pending.last().map(|(_, pair, right)| (*pair, *right));
                    (Word::leaf(leaf, index, holder.unwrap_or((0, false))), weight_of(leaf))
                }
            };
            // A branch is complete; where it was a right one, so is what holds it.
            loop {
                let Some((split, pair, right)) = pending.pop() else { return done };
                if let Some(branches) = self.pairs.get_mut(pair) {
                    let [left_word, right_word] = branches;
                    *(if right { right_word } else { left_word }) = done.0;
                }
                let split = split.heavier_by(weight);
                if !right {
                    let _ = pending.push((split, pair, true));
                    break;
                }
                (done, weight) = (split, split.weight());
            }
        }
        Word::NOTHING
    }
}

/// The subtrees that the feature in a lane leaves open.
#[inline]
fn left_open<const LANE: u32>(packed: u64, ranges: &[u8; VALUES], masks: &[u64; SUBTREES]) -> u64 {
    let value = usize::from(lanes::value(packed, LANE));
    let range = ranges.get(value).copied().unwrap_or(0);
    masks.get(usize::from(range)).copied().unwrap_or(0)
}

/// Training shapes that led to a leaf, and at least one.
fn weight_of(leaf: Leaf) -> u32 {
    leaf.samples.at_least().max(1)
}

impl Choice {
    /// The best kernel that `usable` allows; the universal one at last.
    #[inline]
    #[must_use]
    pub fn best_of(self, usable: KernelMask) -> KernelId {
        let allowed = self.ranked().into_iter().map(KernelId).find(|id| usable.contains(*id));
        allowed.unwrap_or(KernelId::UNIVERSAL)
    }

    /// The kernel to run if it can.
    #[inline]
    #[must_use]
    pub const fn first(self) -> KernelId {
        KernelId(self.0.kernels()[0])
    }

    /// Every kernel of the choice, best first, ending in the universal one.
    pub fn kernels(self) -> impl Iterator<Item = KernelId> {
        let ranked = self.ranked().into_iter().take_while(|id| *id != 0);
        ranked.map(KernelId).chain([KernelId::UNIVERSAL])
    }

    const fn ranked(self) -> [u8; RANKED] {
        self.0.kernels()
    }
}
