//! A second kernel for each shape: what runs when the first fails on the device.

use selector_core::GemmShape;

use crate::dataset::Dataset;
use crate::learn::Grown;
use crate::train::Fitted;

/// The share of optimal that a second kernel must reach to be acceptable.
pub const ACCEPTABLE_SHARE: f64 = 0.5;
/// The same as a loss: base-2 logarithm of the slowdown.
pub(crate) const LARGEST_ACCEPTABLE_LOSS: f64 = 1.0;

/// Which shapes have an acceptable second kernel in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Redundancy {
    /// Shapes trained on, once for each class.
    pub shapes: usize,
    /// Those with at most one acceptable kernel, sorted by class, then by shape.
    pub bare: Vec<GemmShape>,
}

impl Redundancy {
    /// The redundancy of a list on all that was measured. A kernel that was not measured on a
    /// shape, or failed there, is not acceptable.
    #[must_use]
    pub fn of(dataset: &Dataset, fitted: &Fitted) -> Self {
        let acceptable = |task: usize| {
            let times = (0..dataset.configurations().len()).map(|one| dataset.time(task, one));
            let best = times.fold(f64::INFINITY, f64::min);
            let shares = fitted.kernels.iter().map(|kernel| best / dataset.time(task, *kernel));
            shares.filter(|share| *share >= ACCEPTABLE_SHARE).count()
        };
        let tasks = dataset.tasks().iter().enumerate();
        let bare = tasks.filter(|(task, _)| acceptable(*task) < 2).map(|(_, task)| task.shape);
        Self { shapes: dataset.tasks().len(), bare: bare.collect() }
    }
}

/// Rank, behind the first kernel of each leaf, those that work on all of its shapes before those
/// that do not. A leaf without shapes goes by those of the smallest subtree around it that has some.
///
/// `works` says of a row of `shapes` and a place in the kernel list whether that was measured.
pub(crate) fn put_working_seconds_first(
    tree: Grown,
    shapes: &[GemmShape],
    works: &dyn Fn(usize, usize) -> bool,
) -> Grown {
    let rows: Vec<usize> = (0..shapes.len()).collect();
    Ranking { shapes, works }.visit(tree, &rows)
}

struct Ranking<'a> {
    shapes: &'a [GemmShape],
    works: &'a dyn Fn(usize, usize) -> bool,
}

impl Ranking<'_> {
    fn visit(&self, tree: Grown, rows: &[usize]) -> Grown {
        match tree {
            Grown::Leaf(mut ranking) => {
                let fails = |place: &usize| !rows.iter().all(|row| (self.works)(*row, *place));
                if let Some((_, rest)) = ranking.split_first_mut() {
                    // Stable: otherwise they stay in their order.
                    rest.sort_by_key(fails);
                }
                Grown::Leaf(ranking)
            }
            Grown::Split { feature, threshold, left, right } => {
                let goes_left = |row: &&usize| feature.of(self.shapes[**row]) <= threshold;
                let (below, above): (Vec<usize>, Vec<usize>) = rows.iter().partition(goes_left);
                let or_all = |part: Vec<usize>| if part.is_empty() { rows.to_vec() } else { part };
                let left = Box::new(self.visit(*left, &or_all(below)));
                let right = Box::new(self.visit(*right, &or_all(above)));
                Grown::Split { feature, threshold, left, right }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use selector_core::Feature;

    use super::*;

    #[test]
    fn a_kernel_that_failed_on_a_shape_of_the_leaf_is_second_only_if_all_did() {
        let shapes = [1, 2, 1000].map(|m| GemmShape::new(m, 8, 8, 1));
        let leaf = || Box::new(Grown::Leaf(vec![2, 0, 1]));
        let split = |left, right| Grown::Split { feature: Feature::M, threshold: 40, left, right };
        // The first kernel fails on the second shape, the last one everywhere.
        let works = |row: usize, place: usize| place != 2 && (row, place) != (1, 0);
        let tree = split(leaf(), leaf());
        let tree = put_working_seconds_first(tree, &shapes, &works);
        assert_eq!(tree.rank(shapes[0]), [2, 1, 0]);
        assert_eq!(tree.rank(shapes[2]), [2, 0, 1]);
        let none = |_: usize, _: usize| false;
        assert_eq!(put_working_seconds_first(tree, &shapes, &none).rank(shapes[0]), [2, 1, 0]);
        // Nothing reaches the right side: it goes by the left one's shapes.
        let tree = put_working_seconds_first(split(leaf(), leaf()), &shapes[..2], &works);
        assert_eq!(tree.rank(shapes[2]), [2, 1, 0]);
    }
}
