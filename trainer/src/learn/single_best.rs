//! No tree: the one kernel that loses least over all shapes.

use super::{Grown, LearnError, Learner, Training, ranking, sums};

/// One leaf for every shape.
pub(super) struct SingleBest;

impl Learner for SingleBest {
    fn name(&self) -> &'static str {
        "single-best"
    }

    fn about(&self) -> &'static str {
        "one kernel for every shape"
    }

    fn grow(&self, training: &Training, _seed: u64) -> Result<Grown, LearnError> {
        let all: Vec<usize> = (0..training.shapes.len()).collect();
        Ok(Grown::Leaf(ranking(&sums(&training.loss, &all))))
    }
}
