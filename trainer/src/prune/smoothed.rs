//! Cover the tasks and what lies between them.
//!
//! A list that suits the measured shapes best suits them too well: chance decides which of several
//! good kernels won. So beside each task its neighbourhood is covered: the mean of what the tasks
//! around it lose, the nearer the more. And since a tree cannot always tell which kernel is best,
//! the second best of the list counts a little.

use selector_core::GemmShape;

use super::budget::Room;
use super::greedy::{Cover, Rule};
use super::{Performance, Pruned, Pruner, Request};

/// Greedy cover of measured and of smoothed losses, refined by swaps.
pub(super) struct Smoothed;

impl Pruner for Smoothed {
    fn name(&self) -> &'static str {
        "smoothed"
    }

    fn about(&self) -> &'static str {
        "a greedy cover of what shapes lose and of what the shapes around them lose"
    }

    fn weighs(&self) -> bool {
        false
    }

    fn prune(&self, performance: &Performance, request: &Request) -> Pruned {
        let room = Room { count: request.count.max(1), budget: None };
        Pruned::new(cover(performance).list(&room, Rule::Gain), Vec::new())
    }
}

/// What a neighbourhood counts against the task in its middle.
const NEIGHBOURHOOD_WEIGHT: f64 = 2.0;
/// How far a neighbourhood reaches: standard deviation of a bell over the distance, in octaves.
const REACH: f64 = 3.0;
/// What the second best kernel's loss counts against the best one's.
const SECOND_WEIGHT: f64 = 0.1;
/// Weights of neighbours are whole multiples of its inverse, so that their sums are exact.
const STEPS: f64 = (1 << 20) as f64;

/// Neighbourhoods that are covered at most: where there are more tasks, those of some of them, which
/// count the more.
const MOST_NEIGHBOURHOODS: usize = 512;

/// What the list has to cover.
pub(super) fn cover(performance: &Performance) -> Cover {
    let Performance { shapes, classes, .. } = performance;
    let rows: Vec<([f64; 4], _)> = shapes.iter().map(octaves).zip(classes).collect();
    let near = |one: &([f64; 4], _), other: &([f64; 4], _)| {
        if one.1 == other.1 { nearness(one.0, other.0) } else { 0.0 }
    };
    // By shape, so that the order of rows does not decide.
    let mut middles: Vec<usize> = (0..rows.len()).collect();
    middles.sort_by_key(|row| (shapes[*row], classes[*row]));
    let every = rows.len().div_ceil(MOST_NEIGHBOURHOODS).max(1);
    let middles: Vec<usize> = middles.into_iter().step_by(every).collect();
    let weights = |one: &usize| rows.iter().map(|other| near(&rows[*one], other)).collect();
    let blends: Vec<Vec<f64>> = middles.iter().map(weights).collect();
    let weight = NEIGHBOURHOOD_WEIGHT * rows.len() as f64 / middles.len().max(1) as f64;
    Cover::of(performance).with_blends(&blends, weight).with_seconds(SECOND_WEIGHT)
}

fn octaves(shape: &GemmShape) -> [f64; 4] {
    [shape.m, shape.k, shape.n, shape.batch].map(|size| f64::from(size.max(1)).log2())
}

/// 1 for the same shape, less the farther apart they are.
fn nearness(one: [f64; 4], other: [f64; 4]) -> f64 {
    let square: f64 = one.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum();
    ((-square / (2.0 * REACH * REACH)).exp() * STEPS).round() / STEPS
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use selector_core::ProblemClass;

    use super::*;
    use crate::prune::tests::asked;

    fn kept(sizes: &[u32], classes: Vec<ProblemClass>, loss: Array2<f64>) -> Vec<usize> {
        let relative = loss.mapv(|loss: f64| (-loss).exp2());
        let shapes = sizes.iter().map(|m| GemmShape::new(*m, 64, 64, 1)).collect();
        Smoothed.prune(&Performance { shapes, classes, relative, loss }, &asked(2)).kernels
    }

    #[test]
    fn a_kernel_that_is_good_all_around_is_preferred_to_one_that_won_once() {
        // Kernel 2 is best of all for the large shape, kernel 1 nearly so there and around it.
        let loss = array![
            [0.0, 2.0, 2.0],
            [2.0, 0.0, 1.0],
            [2.0, 0.1, 0.0],
            [2.0, 0.1, 0.0],
            [2.0, 0.0, 1.0]
        ];
        let sizes = [1, 4000, 4100, 4200, 4300];
        assert_eq!(kept(&sizes, vec![ProblemClass::F32_NN; 5], loss), [0, 1]);
    }

    #[test]
    fn what_another_class_loses_is_no_neighbourhood() {
        let [nn, tn] = [ProblemClass::F32_NN, "f32-tn".parse().unwrap()];
        // In the class of the first two rows kernel 0 is best; by shape alone kernel 1 would be.
        let loss = array![[0.0, 0.3, 3.0], [0.0, 0.3, 3.0], [3.0, 0.0, 0.1], [3.0, 0.0, 0.1]];
        assert_eq!(kept(&[64, 65, 64, 65], vec![nn, nn, tn, tn], loss), [0, 1]);
    }

    #[test]
    fn the_nearer_a_shape_the_more_it_counts() {
        let near = |m, other| nearness(octaves(&GemmShape::new(m, 8, 8, 1)), octaves(&other));
        let other = GemmShape::new(64, 8, 8, 1);
        assert_eq!(near(64, other), 1.0);
        assert!(near(128, other) > near(512, other) && near(512, other) > near(4096, other));
        assert_eq!(near(8, other), near(512, other));
    }
}
