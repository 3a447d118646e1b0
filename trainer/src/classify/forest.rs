//! A forest of a hundred trees, each grown on shapes drawn with replacement.

use super::tree::{self, Growth, Tree};
use super::{Classifier, Examples, Fitted};
use crate::performance::first_largest;
use crate::random::Random;

/// scikit-learn's forest: a question looks at as many features as the root of their number, and
/// the mean of the leaves' shares of each label decides.
///
/// By hand, since linfa's ensemble of trees inherits their ties by hash order.
pub(super) struct RandomForest;

const TREES: usize = 100;

impl Classifier for RandomForest {
    fn name(&self) -> &'static str {
        "random-forest"
    }

    fn about(&self) -> &'static str {
        "a hundred decision trees on random shapes and features, that vote"
    }

    fn draws(&self) -> bool {
        true
    }

    fn fit(&self, examples: &Examples, seed: u64) -> Box<dyn Fitted> {
        let columns = tree::columns(examples);
        let growth = Growth { drawn: columns.len().isqrt().max(1), ..tree::UNLIMITED };
        let mut random = Random::new(seed);
        let count = examples.labels.len();
        let trees = (0..TREES).map(|_| {
            let rows = (0..count).map(|_| random.below(count)).collect();
            Tree::grow_on(rows, &columns, examples, growth, &mut random)
        });
        Box::new(Forest { trees: trees.collect(), classes: examples.classes })
    }
}

struct Forest {
    trees: Vec<Tree>,
    classes: usize,
}

impl Fitted for Forest {
    fn predict(&self, features: &[f64]) -> usize {
        let mut votes = vec![0.0; self.classes];
        for tree in &self.trees {
            let counts = tree.counts(features);
            let all: f64 = counts.iter().sum();
            votes.iter_mut().zip(counts).for_each(|(vote, count)| *vote += count / all);
        }
        first_largest(&votes)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::classify::tests::examples;

    #[test]
    fn many_trees_outvote_one_wrong_label() {
        let features = Array2::from_shape_fn((40, 2), |(row, column)| (row * (column + 1)) as f64);
        let mut labels: Vec<usize> = (0..40).map(|row| usize::from(row >= 20)).collect();
        labels[5] = 1;
        let fitted = RandomForest.fit(&examples(features, &labels, 2), 0);
        let near = [4.5, 5.4, 35.0].map(|m| fitted.predict(&[m, 2.0 * m]));
        assert_eq!([near[0], near[2]], [0, 1]);
        assert_eq!(fitted.predict(&[7.0, 14.0]), 0);
    }

    #[test]
    fn another_seed_grows_another_forest() {
        let mut random = Random::new(1);
        let features = Array2::from_shape_fn((30, 3), |_| random.unit());
        let labels: Vec<usize> = (0..30).map(|_| random.below(2)).collect();
        let examples = examples(features, &labels, 2);
        let asked: Vec<[f64; 3]> =
            (0..200).map(|_| [random.unit(), random.unit(), random.unit()]).collect();
        let answers = |seed| -> Vec<usize> {
            let fitted = RandomForest.fit(&examples, seed);
            asked.iter().map(|row| fitted.predict(row)).collect()
        };
        assert_ne!(answers(0), answers(1));
    }
}
