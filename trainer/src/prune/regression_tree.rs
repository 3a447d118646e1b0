//! Grow a small tree from shapes to the performance of all configurations, and keep what each leaf
//! favours on average.

use ndarray::Array2;
use selector_core::GemmShape;

use super::groups::{self, Points};
use super::{Performance, Pruned, Pruner, Request};
use crate::division;

/// A regression tree on m, k, n and batch with as many leaves as kernels.
pub(super) struct RegressionTree;

/// Fewest tasks in a leaf.
const LEAF: usize = 3;
/// Gains below this part of the spread of all tasks are rounding.
const LEAST_GAIN: f64 = 1e-12;

impl Pruner for RegressionTree {
    fn name(&self) -> &'static str {
        "regression-tree"
    }

    fn about(&self) -> &'static str {
        "the kernel that each leaf of a small regression tree favours"
    }

    fn prune(&self, performance: &Performance, request: &Request) -> Pruned {
        groups::prune(performance, request, |points| {
            groups::means(&points.weights, &leaves(points, request.count))
        })
    }
}

/// The leaf of each point, of at most `count` grown best first.
fn leaves(points: &Points, count: usize) -> Vec<Option<usize>> {
    let all = Node::of(points, (0..points.shapes.len()).collect());
    let least = all.spread(points) * LEAST_GAIN;
    let mut nodes = vec![all];
    while nodes.len() < count {
        // Of equal gains the node that was made first.
        let gains: Vec<f64> = nodes.iter().map(|node| node.gain).collect();
        let best = crate::performance::first_largest(&gains);
        if nodes[best].gain <= least {
            break;
        }
        let Node { left, right, .. } = nodes.remove(best);
        nodes.extend([left, right].map(|rows| Node::of(points, rows)));
    }
    let mut leaves = vec![None; points.shapes.len()];
    for (leaf, node) in nodes.iter().enumerate() {
        for row in node.rows() {
            leaves[*row] = Some(leaf);
        }
    }
    leaves
}

/// Points and their best division in two; all are in `left` where there is none.
struct Node {
    left: Vec<usize>,
    right: Vec<usize>,
    /// By how much the division lowers the sum of squared distances from the mean.
    gain: f64,
}

impl Node {
    fn of(points: &Points, rows: Vec<usize>) -> Self {
        let mut best = Self { left: rows.clone(), right: Vec::new(), gain: 0.0 };
        for feature in FEATURES {
            let mut sorted = rows.clone();
            sorted.sort_by_key(|row| (feature(points.shapes[*row]), *row));
            let add = |sums: &mut [f64], row, sign| add(sums, &points.weights, row, sign);
            for (size, gain) in division::gains(&sorted, points.weights.ncols(), LEAF, add) {
                let [last, next] = [size - 1, size].map(|at| feature(points.shapes[sorted[at]]));
                if last < next && gain > best.gain {
                    let (left, right) = sorted.split_at(size);
                    best = Self { left: left.to_vec(), right: right.to_vec(), gain };
                }
            }
        }
        best
    }

    fn rows(&self) -> impl Iterator<Item = &usize> {
        self.left.iter().chain(&self.right)
    }

    /// The sum of squared distances from the mean.
    fn spread(&self, points: &Points) -> f64 {
        let mut mean = vec![0.0; points.weights.ncols()];
        self.rows().for_each(|row| add(&mut mean, &points.weights, *row, 1.0));
        let count = self.rows().count().max(1) as f64;
        let squares: f64 = self
            .rows()
            .flat_map(|row| points.weights.row(*row))
            .map(|weight| weight * weight)
            .sum();
        squares - division::squared(&mean) / count
    }
}

const FEATURES: [fn(GemmShape) -> u32; 4] =
    [|shape| shape.m, |shape| shape.k, |shape| shape.n, |shape| shape.batch];

fn add(sums: &mut [f64], weights: &Array2<f64>, row: usize, sign: f64) {
    for (sum, weight) in sums.iter_mut().zip(weights.row(row)) {
        *sum += sign * weight;
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::prune::tests::asked;

    fn prune(shapes: Vec<GemmShape>, best: impl Fn(GemmShape) -> usize, count: usize) -> Pruned {
        let relative = Array2::from_shape_fn((shapes.len(), 4), |(row, kernel)| {
            if best(shapes[row]) == kernel { 1.0 } else { 0.1 }
        });
        let loss = relative.mapv(|share: f64| -share.log2());
        let classes = vec![selector_core::ProblemClass::F32_NN; shapes.len()];
        RegressionTree.prune(&Performance { shapes, classes, relative, loss }, &asked(count))
    }

    fn shapes(sizes: impl Iterator<Item = (u32, u32)>) -> Vec<GemmShape> {
        sizes.map(|(m, n)| GemmShape::new(m, 64, n, 1)).collect()
    }

    #[test]
    fn leaves_follow_the_shape() {
        let grid = (0..64).map(|at| (1 + at % 8, 1 + at / 8));
        let best = |shape: GemmShape| match (shape.m > 4, shape.n > 6) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 3,
        };
        let pruned = prune(shapes(grid), best, 3);
        assert_eq!((pruned.kernels, pruned.warnings), (vec![0, 1, 3], vec![]));
    }

    #[test]
    fn a_leaf_has_three_tasks_or_more() {
        // One odd shape never gets a leaf of its own.
        let rare = |count| {
            let best = |shape: GemmShape| usize::from(shape.m > 10);
            prune(
                shapes((0..10).map(|m| (m + 1, 1)).chain((0..count).map(|m| (m + 11, 1)))),
                best,
                2,
            )
        };
        assert_eq!(rare(3).kernels, [0, 1]);
        assert_eq!(rare(1).kernels, [0]);
    }

    #[test]
    fn shapes_that_are_equal_are_never_divided() {
        let pruned = prune(shapes((0..12).map(|_| (8, 8))), |_| 2, 4);
        assert_eq!((pruned.kernels, pruned.warnings.len()), (vec![2], 1));
    }
}
