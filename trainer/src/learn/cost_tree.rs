//! The cost-sensitive tree: a split is good if it lowers what choosing one kernel a side loses.

use ndarray::ArrayView1;
use selector_core::MAX_DEPTH;

use super::{FEATURES, Features, Grown, LearnError, Learner, Training, features, ranking};

/// Exact integer features and summed log-loss.
pub(super) struct CostTree;

const FEWEST_SHAPES: usize = 2;

impl Learner for CostTree {
    fn name(&self) -> &'static str {
        "cost-tree"
    }

    fn about(&self) -> &'static str {
        "splits that minimise the summed loss of one kernel on each side"
    }

    fn grow(&self, training: &Training, _seed: u64) -> Result<Grown, LearnError> {
        let rows = training.shapes.iter().zip(training.loss.rows());
        let rows = rows.map(|(shape, loss)| Row::new(features(*shape), loss, 1.0)).collect();
        Ok(grow(rows, Growth { fewest: FEWEST_SHAPES, foresight: 0.0 }))
    }
}

/// A shape to learn from.
pub(super) struct Row {
    features: Features,
    /// Loss of each kernel, times the row's weight.
    loss: Vec<f64>,
    weight: f64,
}

impl Row {
    pub(super) fn new(features: Features, loss: ArrayView1<'_, f64>, weight: f64) -> Self {
        Self { features, loss: loss.iter().map(|one| one * weight).collect(), weight }
    }
}

/// A fall of the summed loss below this part of it is rounding, not gain.
const LEAST_GAIN: f64 = 1e-9;
/// A leaf ranks its second and third kernel as if this weight of its parent's rows were its own.
const PRIOR: f64 = 2.0;

/// How to grow.
#[derive(Clone, Copy)]
pub(super) struct Growth {
    /// Fewest rows of a leaf.
    pub(super) fewest: usize,
    /// Credit for making losses on a side alike, as a part of the variance removed. It lets a split
    /// prepare a later one that alone would gain nothing.
    pub(super) foresight: f64,
}

/// Grow a tree.
///
/// Of equally good splits the one on the first feature wins, then the one with the lowest
/// threshold; of equally good kernels the first. So the tree depends on nothing but the rows.
pub(super) fn grow(mut rows: Vec<Row>, growth: Growth) -> Grown {
    let count = rows.first().map_or(0, |row| row.loss.len());
    growth.grow(&mut rows, 0, &vec![0.0; count])
}

struct Split {
    feature: usize,
    threshold: u16,
}

impl Growth {
    /// `prior` is the mean loss of each kernel among the rows of the parent.
    fn grow(&self, rows: &mut [Row], depth: usize, prior: &[f64]) -> Grown {
        let sums = sums(rows);
        let weight: f64 = rows.iter().map(|row| row.weight).sum();
        let smooth = sums.iter().zip(prior).map(|(sum, prior)| sum + PRIOR * prior);
        let mean: Vec<f64> = smooth.map(|sum| sum / (weight + PRIOR)).collect();
        let leaf = Grown::Leaf(rank(&sums, &mean));
        let split = (depth < MAX_DEPTH).then(|| self.best_split(rows, &sums, weight)).flatten();
        let Some(Split { feature, threshold }) = split else { return leaf };
        // Stable, so that rows keep their order on each side.
        rows.sort_by_key(|row| row.features[feature] > threshold);
        let middle = rows.partition_point(|row| row.features[feature] <= threshold);
        let (left, right) = rows.split_at_mut(middle);
        let left = self.grow(left, depth + 1, &mean);
        let right = self.grow(right, depth + 1, &mean);
        match (&left, &right) {
            // A question that changes nothing is not asked.
            (Grown::Leaf(one), Grown::Leaf(other)) if one.first() == other.first() => leaf,
            _ => {
                let (left, right) = (Box::new(left), Box::new(right));
                Grown::Split { feature: FEATURES[feature], threshold, left, right }
            }
        }
    }

    /// The split that lowers the cost the most, if any does.
    fn best_split(&self, rows: &[Row], all: &[f64], weight: f64) -> Option<Split> {
        let cost = self.cost(all.iter().copied(), weight);
        let margin = LEAST_GAIN * (1.0 + cost.abs());
        let mut bound = cost - margin;
        let mut best = None;
        for feature in 0..FEATURES.len() {
            let values = rows.iter().map(|row| row.features[feature]);
            let mut sorted: Vec<(u16, usize)> = values.zip(0..).collect();
            sorted.sort_unstable();
            let mut left = vec![0.0; all.len()];
            let mut left_weight = 0.0;
            for (index, pair) in sorted.windows(2).enumerate() {
                let [(below, row), (above, _)] = [pair[0], pair[1]];
                add(&mut left, &rows[row].loss);
                left_weight += rows[row].weight;
                let few = (index + 1).min(rows.len() - index - 1) < self.fewest;
                if below == above || few {
                    continue;
                }
                let right = all.iter().zip(&left).map(|(all, left)| all - left);
                let cost = self.cost(left.iter().copied(), left_weight)
                    + self.cost(right, weight - left_weight);
                if cost < bound {
                    best = Some(Split { feature, threshold: between(below, above) });
                    bound = cost - margin;
                }
            }
        }
        best
    }

    /// What the best kernel loses on rows with these summed losses, less the credit.
    fn cost(&self, sums: impl Iterator<Item = f64>, weight: f64) -> f64 {
        let (mut least, mut squares) = (f64::INFINITY, 0.0);
        for sum in sums {
            least = sum.min(least);
            squares += sum * sum;
        }
        least - self.foresight * squares / weight
    }
}

/// The kernel that loses least among the rows themselves, then the rest by `mean`.
fn rank(sums: &[f64], mean: &[f64]) -> Vec<usize> {
    let first = ranking(sums).into_iter().next().into_iter();
    let rest = ranking(mean).into_iter();
    let mut ranked: Vec<usize> = first.collect();
    ranked.extend(rest.filter(|kernel| Some(kernel) != ranked.first()).collect::<Vec<_>>());
    ranked
}

/// A threshold with `below` on its left and `above` on its right, midway between them.
pub(super) fn between(below: u16, above: u16) -> u16 {
    u16::midpoint(below, above)
}

fn sums(rows: &[Row]) -> Vec<f64> {
    let mut sums = vec![0.0; rows.first().map_or(0, |row| row.loss.len())];
    for row in rows {
        add(&mut sums, &row.loss);
    }
    sums
}

fn add(sums: &mut [f64], row: &[f64]) {
    for (sum, loss) in sums.iter_mut().zip(row) {
        *sum += loss;
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use selector_core::GemmShape;

    use super::*;

    fn rows(losses: &[(u32, [f64; 2])]) -> Vec<Row> {
        let row = |(m, loss): &(u32, [f64; 2])| {
            Row::new(features(GemmShape::new(*m, 1, 1, 1)), ndarray::aview1(loss), 1.0)
        };
        losses.iter().map(row).collect()
    }

    fn at_least(fewest: usize) -> Growth {
        Growth { fewest, foresight: 0.0 }
    }

    #[test]
    fn a_threshold_lies_between_its_neighbours_and_splits_them() {
        for (below, above, expected) in
            [(0, 1, 0), (1, 2, 1), (100, 200, 150), (7, 8, 7), (0, 1020, 510), (1019, 1020, 1019)]
        {
            assert_eq!(between(below, above), expected);
        }
    }

    #[test]
    fn a_large_loss_weighs_more_than_many_small_ones() {
        // By labels kernel 1 wins three of four; it loses far more on the fourth.
        let losses = [(1, [0.1, 0.0]), (2, [0.1, 0.0]), (3, [0.1, 0.0]), (4, [0.0, 9.0])];
        assert_eq!(grow(rows(&losses), at_least(4)), Grown::Leaf(vec![0, 1]));
    }

    #[test]
    fn equal_splits_go_to_the_first_feature_and_equal_sides_to_no_split() {
        let losses = [(1, [0.0, 1.0]), (2, [0.0, 1.0]), (30, [1.0, 0.0]), (31, [1.0, 0.0])];
        let Grown::Split { feature, threshold, .. } = grow(rows(&losses), at_least(2)) else {
            panic!()
        };
        // m, m·n·batch, … all split these rows alike; the keys of 2 and 30 are 8 and 39.
        assert_eq!((feature, threshold), (FEATURES[0], 23));
        assert_eq!(grow(rows(&losses), at_least(3)), Grown::Leaf(vec![0, 1]));
    }

    #[test]
    fn foresight_takes_a_split_that_gains_only_with_a_later_one() {
        // Kernel 0 wins in the middle alone: no single split gains anything.
        let middle = |m: u32| if (20..40).contains(&m) { [0.0, 1.0] } else { [1.0, 0.0] };
        let losses: Vec<_> = (0..60).map(|m| (m, middle(m))).collect();
        assert_eq!(grow(rows(&losses), at_least(2)), Grown::Leaf(vec![1, 0]));
        let far_seeing = grow(rows(&losses), Growth { fewest: 2, foresight: 0.1 });
        let pick = |m| far_seeing.rank(GemmShape::new(m, 1, 1, 1))[0];
        assert_eq!([5, 30, 50].map(pick), [1, 0, 1]);
    }

    #[test]
    fn a_small_leaf_ranks_its_runner_up_by_its_parent_too() {
        let loss = array![[0.0, 0.5, 0.4], [0.0, 0.5, 0.4], [0.0, 0.1, 3.0], [0.0, 0.1, 3.0]];
        assert_eq!(rank(&[0.0, 1.0, 0.8], &[0.0, 0.3, 1.2]), [0, 1, 2]);
        assert_eq!(rank(&[0.2, 0.1, 0.8], &[0.0, 0.3, 1.2]), [1, 0, 2]);
        let rows = loss.rows().into_iter().enumerate();
        let rows = rows.map(|(row, loss)| {
            Row::new(features(GemmShape::new(row as u32 + 1, 1, 1, 1)), loss, 1.0)
        });
        assert_eq!(grow(rows.collect(), at_least(1)), Grown::Leaf(vec![0, 1, 2]));
    }
}
