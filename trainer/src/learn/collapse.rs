//! Questions that cost more than they save are not asked.
//!
//! On tiny problems kernels differ by less than the time it takes to choose one. There a subtree
//! gives way to one leaf.

use super::{Grown, LearnError, Learner, Training, ranking, sums};

/// What a question costs, in nanoseconds, unless the user says: a walk asks about one a nanosecond
/// on a desktop's processor.
pub const QUESTION_NS: f64 = 1.0;

/// A learner whose trees are collapsed.
pub struct Collapsed<'a> {
    /// Grows the trees.
    pub learner: &'a dyn Learner,
    /// What a question costs, in nanoseconds.
    pub question_ns: f64,
}

impl Learner for Collapsed<'_> {
    fn name(&self) -> &'static str {
        self.learner.name()
    }

    fn about(&self) -> &'static str {
        self.learner.about()
    }

    fn repeatable(&self) -> bool {
        self.learner.repeatable()
    }

    fn draws(&self) -> bool {
        self.learner.draws()
    }

    fn grow(&self, training: &Training, seed: u64) -> Result<Grown, LearnError> {
        self.grow_telling(training, seed, &|| {})
    }

    fn steps(&self, shapes: usize) -> usize {
        self.learner.steps(shapes)
    }

    fn grow_telling(
        &self,
        training: &Training,
        seed: u64,
        done: &(dyn Fn() + Sync),
    ) -> Result<Grown, LearnError> {
        let grown = self.learner.grow_telling(training, seed, done)?;
        Ok(collapse(grown, training, self.question_ns).0)
    }
}

/// Replace, from the leaves up, each subtree by a leaf where its questions cost more than they can
/// save, and say how many questions went.
///
/// What they can save is what is at stake by the measured times: for each shape that reaches the
/// subtree, the difference between the slowest and the fastest of the kernels that it may pick. What
/// the picks themselves save on these shapes says too little: a learner that generalises splits for
/// shapes between the measured ones, and loses by it if such splits go. A subtree that no shape
/// reaches stays, since nothing is known of it.
#[must_use]
pub fn collapse(tree: Grown, training: &Training, question_ns: f64) -> (Grown, usize) {
    let before = tree.leaves();
    let rows: Vec<usize> = (0..training.shapes.len()).collect();
    let Visited { tree, .. } = Collapsing { training, question_ns }.visit(tree, &rows);
    let after = tree.leaves();
    (tree, before - after)
}

struct Collapsing<'a> {
    training: &'a Training,
    question_ns: f64,
}

/// A subtree after its own subtrees were looked at.
struct Visited {
    tree: Grown,
    /// The kernels that it may pick, sorted.
    kernels: Vec<usize>,
    /// Questions that all its shapes are asked together.
    questions: usize,
}

impl Visited {
    fn leaf(ranking: Vec<usize>) -> Self {
        let kernels = ranking.iter().take(1).copied().collect();
        Self { tree: Grown::Leaf(ranking), kernels, questions: 0 }
    }
}

impl Collapsing<'_> {
    fn visit(&self, tree: Grown, rows: &[usize]) -> Visited {
        let (feature, threshold, left, right) = match tree {
            Grown::Leaf(ranking) => return Visited::leaf(ranking),
            Grown::Split { feature, threshold, left, right } => (feature, threshold, left, right),
        };
        let goes_left = |row: &&usize| feature.of(self.training.shapes[**row]) <= threshold;
        let (below, above): (Vec<usize>, Vec<usize>) = rows.iter().partition(goes_left);
        let (left, right) = (self.visit(*left, &below), self.visit(*right, &above));
        let questions = left.questions + right.questions + rows.len();
        let mut kernels = [left.kernels, right.kernels].concat();
        kernels.sort_unstable();
        kernels.dedup();
        if !rows.is_empty() && self.at_stake(rows, &kernels) < self.question_ns * questions as f64 {
            return Visited::leaf(ranking(&sums(&self.training.loss, rows)));
        }
        let (left, right) = (Box::new(left.tree), Box::new(right.tree));
        Visited { tree: Grown::Split { feature, threshold, left, right }, kernels, questions }
    }

    /// Nanoseconds between the slowest and the fastest of `kernels` on all `rows` together.
    fn at_stake(&self, rows: &[usize], kernels: &[usize]) -> f64 {
        let span = |row: &usize| {
            let times = || kernels.iter().map(|kernel| self.nanoseconds(*row, *kernel));
            times().fold(0.0, f64::max) - times().fold(f64::INFINITY, f64::min)
        };
        rows.iter().map(span).sum()
    }

    fn nanoseconds(&self, row: usize, kernel: usize) -> f64 {
        self.training.best_ns[row] * self.training.loss[(row, kernel)].exp2()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use selector_core::GemmShape;

    use super::*;
    use crate::learn::ALL;

    /// One kernel is a quarter faster on small m, the other on large m; all best times are
    /// `small` nanoseconds for small m and `large` for large.
    fn training(small: f64, large: f64) -> Training {
        let shapes: Vec<_> = (1..=64).map(|m| GemmShape::new(m * 16, 64, 64, 1)).collect();
        let loss = Array2::from_shape_fn((64, 2), |(row, kernel)| {
            if (row < 32) == (kernel == 0) { 0.0 } else { 1.25_f64.log2() }
        });
        let best_ns = (0..64).map(|row| if row < 32 { small } else { large }).collect();
        let kernels = vec![None; loss.ncols()];
        Training { shapes, loss, best_ns, kernels }
    }

    #[test]
    fn tiny_times_leave_no_question_and_large_ones_all() {
        for learner in ALL.iter().filter(|learner| learner.name() != "single-best") {
            let name = learner.name();
            let grown = learner.grow(&training(1e6, 1e6), 0).unwrap();
            let questions = grown.leaves() - 1;
            assert!(questions > 0, "{name}");
            let collapse = |ns: f64, cost| collapse(grown.clone(), &training(ns, ns), cost);
            assert_eq!(collapse(1e6, QUESTION_NS), (grown.clone(), 0), "{name}");
            let (leaf, gone) = collapse(1.0, QUESTION_NS);
            assert_eq!((&leaf, gone), (&Grown::Leaf(vec![0, 1]), questions), "{name}");
            assert_eq!(collapse(1.0, 0.0), (grown.clone(), 0), "{name}");
        }
    }

    #[test]
    fn only_the_part_of_a_tree_that_is_not_worth_it_goes() {
        let split = |threshold, left, right| Grown::Split {
            feature: selector_core::Feature::M,
            threshold,
            left: Box::new(left),
            right: Box::new(right),
        };
        let leaf = |first| Grown::Leaf(vec![first, 1 - first]);
        let key = |m| selector_core::Feature::M.of(GemmShape::new(m, 64, 64, 1));
        // The left part is asked for shapes of 2 ns, the right for shapes of 2 ms.
        let right = || split(key(768), leaf(1), leaf(0));
        let tree = split(key(512) - 1, split(key(256), leaf(0), leaf(1)), right());
        let (tree, gone) = collapse(tree, &training(2.0, 2e6), QUESTION_NS);
        assert_eq!((tree, gone), (split(key(512) - 1, leaf(0), right()), 1));
    }

    #[test]
    fn a_wrapped_learner_keeps_its_name_and_collapses() {
        let learner = ALL[1];
        let collapsed = Collapsed { learner, question_ns: 1e9 };
        assert_eq!(collapsed.name(), learner.name());
        let tree = collapsed.grow(&training(1e6, 1e6), 0).unwrap();
        assert_eq!(tree.leaves(), 1);
    }
}
