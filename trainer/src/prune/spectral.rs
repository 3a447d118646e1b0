//! Cluster the tasks by how they hang together, and keep what each cluster favours on average.

use ndarray::{Array1, Array2, s};

use super::kmeans::{k_means, labels};
use super::{Performance, Pruned, Pruner, Request, groups};
use crate::components::symmetric_eigen;

/// Spectral clustering by a Gaussian of the distance between tasks.
pub(super) struct Spectral;

/// A task whose affinities sum up to less hangs together with no other.
const LEAST_DEGREE: f64 = 1e-200;

impl Pruner for Spectral {
    fn name(&self) -> &'static str {
        "spectral"
    }

    fn about(&self) -> &'static str {
        "the kernel that each cluster of tasks favours, clustered by the spectrum of their affinity"
    }

    fn draws(&self) -> bool {
        true
    }

    fn prune(&self, performance: &Performance, request: &Request) -> Pruned {
        groups::prune(performance, request, |points| {
            let count = request.count.clamp(1, points.distinct);
            let embedding = embed(affinity(&points.weights), count);
            let centroids = k_means(&embedding, count, request.seed);
            let labels = labels(&embedding, &centroids);
            groups::means(&points.weights, &labels.into_iter().map(Some).collect::<Vec<_>>())
        })
    }
}

/// exp(−distance²) between rows; 0 between a row and itself.
fn affinity(weights: &Array2<f64>) -> Array2<f64> {
    let mut affinity = groups::squared_distances(weights).mapv(|squared| (-squared).exp());
    affinity.diag_mut().fill(0.0);
    affinity
}

/// The smoothest `count` eigenvectors of the normalised Laplacian of `affinity`, as columns, scaled
/// back to the random walk and then to largest entry 1.
fn embed(mut affinity: Array2<f64>, count: usize) -> Array2<f64> {
    let rows = affinity.nrows();
    let degrees: Vec<f64> = affinity.rows().into_iter().map(|row| row.sum()).collect();
    let alone = |row: usize| degrees[row] < LEAST_DEGREE;
    let scale =
        Array1::from_shape_fn(rows, |row| if alone(row) { 1.0 } else { 1.0 / degrees[row].sqrt() });
    for ((one, other), value) in affinity.indexed_iter_mut() {
        *value = match one == other {
            true if alone(one) => 1.0,
            _ => *value * scale[one] * scale[other],
        };
    }
    let Some((_, vectors)) = symmetric_eigen(affinity) else {
        return Array2::zeros((rows, 0));
    };
    let mut embedding = vectors.slice_move(s![.., ..count]);
    for (mut row, scale) in embedding.rows_mut().into_iter().zip(scale) {
        row *= scale;
    }
    let largest = embedding.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    if largest > 0.0 {
        embedding /= largest;
    }
    embedding
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, array, concatenate};

    use super::*;

    #[test]
    fn rows_that_hang_together_lie_together() {
        let near = array![[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]];
        let far = &near + 3.0;
        let points = concatenate(Axis(0), &[near.view(), far.view()]).unwrap();
        let embedding = embed(affinity(&points), 2);
        let gap = |one: usize, other: usize| {
            let gap = &embedding.row(one) - &embedding.row(other);
            gap.dot(&gap)
        };
        assert!(gap(0, 1) < 1e-4 && gap(3, 5) < 1e-4 && gap(0, 3) > 1e-2);
    }

    #[test]
    fn rows_that_hang_together_with_none_are_told_apart_all_the_same() {
        let embedding = embed(affinity(&array![[0.0], [100.0], [200.0]]), 3);
        let mut rows: Vec<_> = embedding.rows().into_iter().map(|row| row.to_vec()).collect();
        rows.sort_by(|one, other| one.partial_cmp(other).unwrap());
        rows.dedup();
        assert_eq!(rows.len(), 3);
    }
}
