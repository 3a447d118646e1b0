//! Ways to grow a tree from shapes to kernels. To add one: write its file, then list it in [`ALL`].

mod cart;
mod cost_tree;
mod distilled;
mod forest;
mod single_best;

use ndarray::Array2;
use selector_core::{Feature, GemmShape};

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

    /// Grow a tree.
    ///
    /// # Errors
    /// [`LearnError`] says what the method cannot do.
    fn grow(&self, training: &Training, seed: u64) -> Result<Grown, LearnError>;
}

/// What a tree is grown from: for each shape the loss of each kernel.
#[derive(Clone, Debug)]
pub struct Training {
    /// One row a shape, sorted and none twice, so that the order of a file's rows cannot matter;
    /// at least one.
    pub shapes: Vec<GemmShape>,
    /// Shapes × kernels: base-2 logarithm of the slowdown against the best measured.
    pub loss: Array2<f64>,
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
        threshold: u64,
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
        Self { shapes, loss: self.loss.select(ndarray::Axis(0), rows) }
    }
}

impl Grown {
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

/// Values of all features of a shape.
type Features = [u64; Feature::ALL.len()];

fn features(shape: GemmShape) -> Features {
    Feature::ALL.map(|feature| feature.of(shape))
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
