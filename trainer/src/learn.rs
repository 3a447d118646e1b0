//! Ways to grow a tree from shapes to kernels. To add one: write its file, then list it in [`ALL`].

mod boosted;
mod cart;
mod collapse;
mod cost_tree;
mod distilled;
mod forest;
mod questions;
mod single_best;
mod surrogate;

use std::collections::BTreeMap;

use kernels::Configuration;
use ndarray::Array2;
use selector_core::{Feature, GemmShape, MAX_FEATURES};

pub use collapse::{Collapsed, QUESTION_NS, collapse};

/// A way to grow a tree.
pub trait Learner: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it does, in a line.
    fn about(&self) -> &'static str;

    /// Whether the same training always gives the same tree; only then may a model ship it.
    fn repeatable(&self) -> bool {
        true
    }

    /// Whether the seed makes a difference.
    fn draws(&self) -> bool {
        false
    }

    /// Grow a tree of at most [`MAX_DEPTH`](selector_core::MAX_DEPTH) questions on a path.
    ///
    /// # Errors
    /// [`LearnError`] says what the method cannot do.
    fn grow(&self, training: &Training, seed: u64) -> Result<Grown, LearnError>;

    /// Steps of [`grow_telling`](Self::grow_telling) for so many shapes.
    fn steps(&self, shapes: usize) -> usize {
        usize::from(shapes > 0)
    }

    /// As [`grow`](Self::grow); `done` is told after each step, [`steps`](Self::steps) times in
    /// all.
    ///
    /// # Errors
    /// As [`grow`](Self::grow).
    fn grow_telling(
        &self,
        training: &Training,
        seed: u64,
        done: &(dyn Fn() + Sync),
    ) -> Result<Grown, LearnError> {
        let grown = self.grow(training, seed)?;
        done();
        Ok(grown)
    }
}

/// What a tree is grown from: for each shape the loss of each kernel.
#[derive(Clone, Debug)]
pub struct Training {
    /// One row a shape, sorted and none twice, so that the order of a file's rows cannot matter;
    /// at least one.
    pub shapes: Vec<GemmShape>,
    /// Shapes × kernels: base-2 logarithm of the slowdown against the best measured.
    pub loss: Array2<f64>,
    /// The best time measured for each shape, in nanoseconds.
    pub best_ns: Vec<f64>,
    /// The kernels, one a column; `None` is one that is of no family of ours.
    pub kernels: Vec<Option<Configuration>>,
}

/// A tree whose leaves rank kernels.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Grown {
    /// Columns of [`Training::loss`], best first; at least one.
    Leaf(Vec<usize>),
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
}

/// Why no tree could be grown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// linfa refused.
    #[error("linfa's tree could not be fitted: {0}")]
    Linfa(#[from] linfa::Error),
}

/// Every learner; the first is the default.
pub static ALL: &[&dyn Learner] =
    &[&distilled::Distilled, &cost_tree::CostTree, &cart::Cart, &single_best::SingleBest];

/// The learner called `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Learner> {
    ALL.iter().copied().find(|learner| learner.name() == name)
}

impl Training {
    /// Some of the rows, in rising order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let shapes = rows.iter().map(|row| self.shapes[*row]).collect();
        let best_ns = rows.iter().map(|row| self.best_ns[*row]).collect();
        let loss = self.loss.select(ndarray::Axis(0), rows);
        Self { shapes, loss, best_ns, kernels: self.kernels.clone() }
    }
}

impl Grown {
    /// How many leaves there are.
    #[must_use]
    pub fn leaves(&self) -> usize {
        match self {
            Self::Leaf(_) => 1,
            Self::Split { left, right, .. } => left.leaves() + right.leaves(),
        }
    }

    /// Questions on the longest path.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Self::Leaf(_) => 0,
            Self::Split { left, right, .. } => 1 + left.depth().max(right.depth()),
        }
    }

    /// The ranking for `shape`.
    #[must_use]
    pub fn rank(&self, shape: GemmShape) -> &[usize] {
        let mut node = self;
        loop {
            match node {
                Self::Leaf(ranking) => return ranking,
                Self::Split { feature, threshold, left, right } => {
                    node = if feature.of(shape) <= *threshold { left } else { right };
                }
            }
        }
    }
}

/// What the trees ask for; a model uses no more than five.
pub(crate) const FEATURES: [Feature; MAX_FEATURES] =
    [Feature::M, Feature::K, Feature::N, Feature::Bmn, Feature::Bmnk];

/// Values of [`FEATURES`] for a shape.
type Features = [u16; MAX_FEATURES];

fn features(shape: GemmShape) -> Features {
    FEATURES.map(|feature| feature.of(shape))
}

/// Groups of shapes that no tree can tell apart, since all their features are equal.
pub(crate) fn indistinct(shapes: &[GemmShape]) -> Vec<Vec<GemmShape>> {
    let mut groups: BTreeMap<Features, Vec<GemmShape>> = BTreeMap::new();
    for shape in shapes {
        groups.entry(features(*shape)).or_default().push(*shape);
    }
    groups.into_values().filter(|group| group.len() > 1).collect()
}

/// Kernels by loss, the least first; equal ones in their order.
fn ranking(losses: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..losses.len()).collect();
    order.sort_by(|one, other| losses[*one].total_cmp(&losses[*other]));
    order
}

/// Columns summed over `rows`.
fn sums(loss: &Array2<f64>, rows: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; loss.ncols()];
    for row in rows {
        for (sum, loss) in sums.iter_mut().zip(loss.row(*row)) {
            *sum += loss;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn grow(learner: &dyn Learner, shapes: &[GemmShape], loss: Array2<f64>) -> Grown {
        let best_ns = vec![1e6; shapes.len()];
        let kernels = vec![None; loss.ncols()];
        let training = Training { shapes: shapes.to_vec(), loss, best_ns, kernels };
        learner.grow(&training, 0).unwrap()
    }

    #[test]
    fn names_lead_to_learners_and_the_first_one_ships() {
        for learner in ALL {
            assert_eq!(by_name(learner.name()).map(|one| one.name()), Some(learner.name()));
        }
        assert!(ALL[0].repeatable());
        assert!(by_name("forest").is_none());
    }

    #[test]
    fn one_shape_makes_one_leaf_for_every_learner() {
        for learner in ALL {
            let tree = grow(*learner, &[GemmShape::new(8, 9, 10, 1)], array![[2.0, 0.0, 1.0]]);
            assert_eq!(tree.rank(GemmShape::new(u32::MAX, 1, 0, 7))[0], 1, "{}", learner.name());
            assert!(matches!(tree, Grown::Leaf(_)), "{}", learner.name());
        }
    }

    #[test]
    fn every_step_of_growing_is_told() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        for count in [1, 2, 12, 45] {
            let shapes: Vec<_> = (1..=count).map(|m| GemmShape::new(8 * m, 9, 10, 1)).collect();
            let count = shapes.len();
            let loss = Array2::from_shape_fn((count, 2), |(row, at)| ((row + at) % 3) as f64);
            let (best_ns, kernels) = (vec![1e6; count], vec![None; 2]);
            let training = Training { shapes, loss, best_ns, kernels };
            for learner in ALL {
                let told = AtomicUsize::new(0);
                let done = || {
                    told.fetch_add(1, Ordering::Relaxed);
                };
                let collapsed = Collapsed { learner: *learner, question_ns: 0.0 };
                let tree = collapsed.grow_telling(&training, 0, &done).unwrap();
                assert_eq!(told.into_inner(), collapsed.steps(count), "{}", learner.name());
                if learner.repeatable() {
                    assert_eq!(tree, collapsed.grow(&training, 0).unwrap(), "{}", learner.name());
                }
            }
        }
    }

    #[test]
    fn a_kernel_that_always_wins_needs_no_question() {
        let shapes: Vec<_> = (1..40).map(|m| GemmShape::new(m, 9, 10, 1)).collect();
        let loss = Array2::from_shape_fn(
            (39, 2),
            |(row, kernel)| {
                if kernel == 1 { 0.0 } else { 1.0 + row as f64 }
            },
        );
        for learner in ALL {
            let tree = grow(*learner, &shapes, loss.clone());
            assert_eq!(tree.rank(shapes[0])[0], 1, "{}", learner.name());
            assert!(matches!(tree, Grown::Leaf(_)), "{}", learner.name());
        }
    }

    #[test]
    fn shapes_an_eighth_of_an_octave_apart_are_told_apart() {
        let at = |m| GemmShape::new(m, 1_000_000, 1_000_000, 1);
        let sizes = [[960, 980, 1000, 1020], [1024, 1040, 1100, 1150]].concat();
        let shapes: Vec<_> = sizes.iter().map(|m| at(*m)).collect();
        let loss =
            Array2::from_shape_fn(
                (8, 2),
                |(row, kernel)| {
                    if (row < 4) == (kernel == 0) { 0.0 } else { 3.0 }
                },
            );
        for learner in ALL.iter().filter(|learner| learner.name() != "single-best") {
            let tree = grow(*learner, &shapes, loss.clone());
            let picks = [960, 1023, 1024, 1150].map(|m| tree.rank(at(m))[0]);
            assert_eq!(picks, [0, 0, 1, 1], "{}", learner.name());
        }
    }

    #[test]
    fn shapes_that_no_tree_can_tell_apart_are_found() {
        let at = |m| GemmShape::new(m, 64, 64, 1);
        let shapes = [8, 960, 1000, 1020, 1024].map(at);
        assert_eq!(indistinct(&shapes), [vec![at(960), at(1000), at(1020)]]);
        assert_eq!(indistinct(&shapes[..2]), Vec::<Vec<GemmShape>>::new());
    }

    #[test]
    fn one_kernel_for_thin_shapes_and_another_for_square_ones() {
        let mut shapes = Vec::new();
        for size in [256, 512, 768, 1024, 1536, 2048, 3072, 4096] {
            shapes.push(GemmShape::new(size, size, size, 1));
            shapes.extend([1, 2, 4, 8].map(|m| GemmShape::new(m, size, size, 1)));
        }
        shapes.sort_unstable();
        let loss = Array2::from_shape_fn((shapes.len(), 2), |(row, kernel)| {
            if (shapes[row].m <= 8) == (kernel == 1) { 0.0 } else { 1.0 }
        });
        for learner in ALL.iter().filter(|learner| learner.name() != "single-best") {
            let tree = grow(*learner, &shapes, loss.clone());
            let (thin, square) =
                (GemmShape::new(8, 3200, 3200, 1), GemmShape::new(2500, 2500, 2500, 1));
            assert_eq!(tree.rank(thin)[0], 1, "{}", learner.name());
            assert_eq!(tree.rank(square)[0], 0, "{}", learner.name());
        }
    }

    #[test]
    fn equal_kernels_go_to_the_first() {
        assert_eq!(ranking(&[1.0, 0.5, 0.5, 2.0]), [1, 2, 0, 3]);
    }
}
