//! linfa's classification tree on the same features.
//!
//! linfa breaks ties by hash order, so it may grow another tree from the same rows the next time.
//! It is here to compare with.

use linfa::Dataset;
use linfa::traits::Fit;
use linfa_trees::{DecisionTree, TreeNode};
use ndarray::{Array1, Array2};
use selector_core::{Feature, GemmShape, MAX_DEPTH};

use super::cost_tree;
use super::{FEATURES, Grown, LearnError, Learner, Training, ranking, sums};
use crate::performance::first_least;

/// The classic: predict which kernel wins.
pub(super) struct Cart;

impl Learner for Cart {
    fn name(&self) -> &'static str {
        "linfa"
    }

    fn about(&self) -> &'static str {
        "linfa's CART on the label of the winner; ties by hash order, so never shipped"
    }

    fn repeatable(&self) -> bool {
        false
    }

    fn grow(&self, training: &Training, _seed: u64) -> Result<Grown, LearnError> {
        let labels: Array1<usize> = training.loss.rows().into_iter().map(first_least).collect();
        let fitted = DecisionTree::params()
            .max_depth(Some(MAX_DEPTH))
            .fit(&Dataset::new(features(&training.shapes), labels))?;
        let rows: Vec<usize> = (0..training.shapes.len()).collect();
        Ok(convert(fitted.root_node(), training, &rows))
    }
}

/// Whole numbers, so that no two of them are among what linfa takes as equal, 1e-5; and neither an
/// infinity nor a NaN, of which it dies.
fn features(shapes: &[GemmShape]) -> Array2<f64> {
    Array2::from_shape_fn((shapes.len(), FEATURES.len()), |(row, column)| {
        FEATURES[column].of(shapes[row]).into()
    })
}

/// Take over the questions; the leaves rank by the rows that reach them.
fn convert(node: &TreeNode<f64, usize>, training: &Training, rows: &[usize]) -> Grown {
    let (feature, value, _) = node.split();
    let children: Vec<_> = node.children().into_iter().flatten().collect();
    if let (false, [left, right]) = (node.is_leaf(), &children[..]) {
        let feature = FEATURES[feature];
        let threshold = threshold(feature, value, training, rows);
        let goes_left = |row: &&usize| feature.of(training.shapes[**row]) <= threshold;
        let (below, above): (Vec<_>, Vec<_>) = rows.iter().partition(goes_left);
        return Grown::Split {
            feature,
            threshold,
            left: Box::new(convert(left, training, &below)),
            right: Box::new(convert(right, training, &above)),
        };
    }
    Grown::Leaf(ranking(&sums(&training.loss, rows)))
}

/// The integer between the values that linfa told apart.
fn threshold(feature: Feature, split: f64, training: &Training, rows: &[usize]) -> u16 {
    let values = || rows.iter().map(|row| feature.of(training.shapes[*row]));
    let below = values().filter(|value| f64::from(*value) <= split).max().unwrap_or(0);
    let above = values().filter(|value| f64::from(*value) > split).min();
    above.map_or(below, |above| cost_tree::between(below, above))
}
