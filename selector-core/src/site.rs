//! A place in a program that asks for one shape again and again.

use crate::{Choice, FastTree, GemmShape, Leaf};

/// Remembers the last shape and its answer, for one call site.
///
/// A layer of a network multiplies the same shape at each inference; its call site then compares
/// two words and is done. It is asked through `&mut self`, so threads cannot share one: give each
/// its own.
///
/// ```
/// use selector_core::{CallSite, FastTree, GemmShape};
///
/// # fn layer(tree: &FastTree<'_, 256>) {
/// let mut site = CallSite::new(tree);
/// let shape = GemmShape::new(784, 1152, 256, 1);
/// for _inference in 0..1000 {
///     let kernel = site.choose(shape).first();
///     # let _ = kernel;
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CallSite<'t, 'a, const SPLITS: usize> {
    tree: &'t FastTree<'a, SPLITS>,
    shape: GemmShape,
    choice: Choice,
}

impl<'t, 'a, const SPLITS: usize> CallSite<'t, 'a, SPLITS> {
    /// A call site of `tree`.
    #[must_use]
    pub fn new(tree: &'t FastTree<'a, SPLITS>) -> Self {
        let shape = GemmShape::new(1, 1, 1, 1);
        Self { tree, shape, choice: tree.choose(shape) }
    }

    /// What [`FastTree::choose`] answers for `shape`.
    #[inline]
    pub fn choose(&mut self, shape: GemmShape) -> Choice {
        if shape != self.shape {
            self.choice = self.tree.choose(shape);
            self.shape = shape;
        }
        self.choice
    }

    /// What [`FastTree::select`] answers for `shape`.
    #[inline]
    pub fn select(&mut self, shape: GemmShape) -> Leaf {
        let choice = self.choose(shape);
        self.tree.leaf(choice)
    }
}
