//! Many random trees that together predict the loss of each kernel on shapes nobody measured.
//!
//! Each tree sees all shapes and draws one random threshold a feature (extremely randomised trees);
//! their mean changes smoothly from shape to shape, as times do.

use rayon::prelude::*;
use selector_core::{Feature, GemmShape};

use super::Training;
use crate::random::Random;

/// Trees that vote.
pub(super) struct Forest {
    trees: Vec<Tree>,
    kernels: usize,
}

/// All features, not only those that a model uses: the forest is not shipped.
type Features = [f64; Feature::ALL.len()];

enum Tree {
    /// Mean loss of each kernel.
    Leaf(Vec<f64>),
    Split {
        feature: usize,
        threshold: f64,
        left: Box<Self>,
        right: Box<Self>,
    },
}

struct Row<'a> {
    features: Features,
    loss: &'a [f64],
}

impl Forest {
    /// Grow `count` trees.
    pub(super) fn grow(training: &Training, count: u64, seed: u64) -> Self {
        let losses: Vec<Vec<f64>> =
            training.loss.rows().into_iter().map(|one| one.to_vec()).collect();
        let tree = |index| {
            let rows = training.shapes.iter().zip(&losses);
            let mut rows: Vec<Row<'_>> =
                rows.map(|(shape, loss)| Row { features: features(*shape), loss }).collect();
            let mut random = Random::new(seed.wrapping_mul(count).wrapping_add(index));
            Tree::grow(&mut rows, &mut random)
        };
        // In order, whatever the number of threads.
        let trees = (0..count).into_par_iter().map(tree).collect();
        Self { trees, kernels: training.loss.ncols() }
    }

    /// Expected loss of each kernel on a shape.
    pub(super) fn predict(&self, shape: GemmShape) -> Vec<f64> {
        let features = features(shape);
        let mut mean = vec![0.0; self.kernels];
        for tree in &self.trees {
            for (mean, loss) in mean.iter_mut().zip(tree.predict(&features)) {
                *mean += loss / self.trees.len() as f64;
            }
        }
        mean
    }
}

impl Tree {
    fn grow(rows: &mut [Row<'_>], random: &mut Random) -> Self {
        let sums = sums(rows);
        let count = rows.len() as f64;
        let Some((feature, threshold)) = best_of_random_splits(rows, &sums, random) else {
            return Self::Leaf(sums.iter().map(|sum| sum / count).collect());
        };
        rows.sort_by_key(|row| row.features[feature] > threshold);
        let middle = rows.partition_point(|row| row.features[feature] <= threshold);
        let (left, right) = rows.split_at_mut(middle);
        let (left, right) = (Self::grow(left, random), Self::grow(right, random));
        Self::Split { feature, threshold, left: Box::new(left), right: Box::new(right) }
    }

    fn predict(&self, features: &Features) -> &[f64] {
        let mut node = self;
        loop {
            match node {
                Self::Leaf(mean) => return mean,
                Self::Split { feature, threshold, left, right } => {
                    node = if features[*feature] <= *threshold { left } else { right };
                }
            }
        }
    }
}

/// One random threshold for each feature; the one that lowers the summed loss of one kernel a side
/// the most, if any does.
fn best_of_random_splits(
    rows: &[Row<'_>],
    all: &[f64],
    random: &mut Random,
) -> Option<(usize, f64)> {
    let mut bound = least(all) - 1e-9;
    let mut best = None;
    for feature in 0..Feature::ALL.len() {
        let values = || rows.iter().map(|row| row.features[feature]);
        let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
        if low >= high {
            continue;
        }
        // Below `high`, so that neither side is empty.
        let threshold = (low + (high - low) * random.unit()).min(high.next_down());
        let mut left = vec![0.0; all.len()];
        for row in rows.iter().filter(|row| row.features[feature] <= threshold) {
            add(&mut left, row.loss);
        }
        let right = all.iter().zip(&left).map(|(all, left)| all - left);
        let cost = least(&left) + right.fold(f64::INFINITY, f64::min);
        if cost < bound {
            best = Some((feature, threshold));
            bound = cost;
        }
    }
    best
}

fn features(shape: GemmShape) -> Features {
    Feature::ALL.map(|feature| feature.of(shape).into())
}

fn sums(rows: &[Row<'_>]) -> Vec<f64> {
    let mut sums = vec![0.0; rows.first().map_or(0, |row| row.loss.len())];
    for row in rows {
        add(&mut sums, row.loss);
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
