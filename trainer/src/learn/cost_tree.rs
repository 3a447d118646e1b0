//! The cost-sensitive tree: a split is good if it lowers what choosing one kernel a side loses.

use ndarray::ArrayView1;
use selector_core::{Feature, MAX_DEPTH};

use super::{Features, Grown, LearnError, Learner, Training, features, ranking};

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
        Ok(grow(rows, FEWEST_SHAPES))
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

/// Grow a tree whose leaves have at least `fewest` rows each.
///
/// Of equally good splits the one on the first feature wins, then the one with the lowest
/// threshold; of equally good kernels the first. So the tree depends on nothing but the rows.
pub(super) fn grow(mut rows: Vec<Row>, fewest: usize) -> Grown {
    let count = rows.first().map_or(0, |row| row.loss.len());
    Growth { fewest }.grow(&mut rows, 0, &vec![0.0; count])
}

struct Growth {
    fewest: usize,
}

struct Split {
    feature: usize,
    threshold: u64,
    cost: f64,
}

impl Growth {
    /// `prior` is the mean loss of each kernel among the rows of the parent.
    fn grow(&self, rows: &mut [Row], depth: usize, prior: &[f64]) -> Grown {
        let sums = sums(rows);
        let weight: f64 = rows.iter().map(|row| row.weight).sum();
        let smooth = sums.iter().zip(prior).map(|(sum, prior)| sum + PRIOR * prior);
        let mean: Vec<f64> = smooth.map(|sum| sum / (weight + PRIOR)).collect();
        let leaf = Grown::Leaf(rank(&sums, &mean));
        let split = (depth < MAX_DEPTH).then(|| self.best_split(rows, &sums)).flatten();
        let Some(Split { feature, threshold, .. }) = split else { return leaf };
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
                Grown::Split { feature: Feature::ALL[feature], threshold, left, right }
            }
        }
    }

    /// The split that lowers the cost the most, if any does.
    fn best_split(&self, rows: &[Row], all: &[f64]) -> Option<Split> {
        let margin = LEAST_GAIN * (1.0 + least(all));
        let mut bound = least(all) - margin;
        let mut best = None;
        for feature in 0..Feature::ALL.len() {
            if let Some(split) = self.best_threshold(rows, all, feature, bound, margin) {
                bound = split.cost - margin;
                best = Some(split);
            }
        }
        best
    }

    /// The threshold of one feature that brings the cost furthest below `bound`.
    fn best_threshold(
        &self,
        rows: &[Row],
        all: &[f64],
        feature: usize,
        mut bound: f64,
        margin: f64,
    ) -> Option<Split> {
        let mut sorted: Vec<&Row> = rows.iter().collect();
        sorted.sort_by_key(|row| row.features[feature]);
        let mut left = vec![0.0; all.len()];
        let mut best = None;
        for (index, pair) in sorted.windows(2).enumerate() {
            add(&mut left, &pair[0].loss);
            let (below, above) = (pair[0].features[feature], pair[1].features[feature]);
            let few = (index + 1).min(rows.len() - index - 1) < self.fewest;
            if below == above || few {
                continue;
            }
            let right = all.iter().zip(&left).map(|(all, left)| all - left);
            let cost = least(&left) + right.fold(f64::INFINITY, f64::min);
            if cost < bound {
                best = Some(Split { feature, threshold: between(below, above), cost });
                bound = cost - margin;
            }
        }
        best
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

/// A threshold with `below` on its left and `above` on its right: their geometric mean, since
/// sizes matter by their ratio.
pub(super) fn between(below: u64, above: u64) -> u64 {
    let product = u128::from(below) * u128::from(above);
    (product.isqrt() as u64).clamp(below, above - 1)
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

fn least(sums: &[f64]) -> f64 {
    sums.iter().copied().fold(f64::INFINITY, f64::min)
}
