//! Cluster the tasks by how kernels do on them, and keep what the centre of each cluster favours.

use linfa::DatasetBase;
use linfa::traits::Fit;
use linfa_clustering::{KMeans, KMeansInit};
use ndarray::{Array2, ArrayView1, Axis};

use super::{Performance, Pruned, Pruner, Request};
use crate::performance::{first_largest, first_least};
use crate::random::Random;

/// linfa's k-means; a cluster's kernel is the largest entry of its centroid.
pub(super) struct KMeansRepresentatives;

const INITIALISATIONS: usize = 10;
const TOLERANCE: f64 = 1e-6;
const ITERATIONS: u64 = 300;

impl Pruner for KMeansRepresentatives {
    fn name(&self) -> &'static str {
        "k-means"
    }

    fn about(&self) -> &'static str {
        "the kernel that each cluster of tasks favours"
    }

    fn prune(&self, performance: &Performance, request: &Request) -> Pruned {
        let weights = request.normalisation.apply(&performance.relative);
        let distinct = distinct_rows(&weights);
        let count = request.count.clamp(1, distinct.len().max(1));
        let mut warnings = Vec::new();
        if count < request.count {
            warnings.push(format!("only {count} tasks differ, so there are {count} clusters"));
        }
        let centroids = cluster(&weights, &distinct, count, request.seed);
        let kernels: Vec<usize> = occupied(&weights, &centroids)
            .into_iter()
            .map(|cluster| first_largest(centroids.row(cluster)))
            .collect();
        Pruned::new(kernels, warnings)
    }
}

/// Rows that differ from all before them; linfa must never be asked for more clusters.
fn distinct_rows(weights: &Array2<f64>) -> Vec<usize> {
    let mut distinct: Vec<usize> = Vec::new();
    for (index, row) in weights.rows().into_iter().enumerate() {
        if !distinct.iter().any(|other| weights.row(*other) == row) {
            distinct.push(index);
        }
    }
    distinct
}

/// The centroids of the best of several runs.
fn cluster(weights: &Array2<f64>, distinct: &[usize], count: usize, seed: u64) -> Array2<f64> {
    let mut random = Random::new(seed);
    let mut best: Option<(f64, Array2<f64>)> = None;
    for _ in 0..INITIALISATIONS {
        let start = weights.select(Axis(0), &spread_out(weights, distinct, count, &mut random));
        let centroids = refine(weights, start);
        let inertia = inertia(weights, &centroids);
        if best.as_ref().is_none_or(|(least, _)| inertia < *least) {
            best = Some((inertia, centroids));
        }
    }
    best.map(|(_, centroids)| centroids).unwrap_or_default()
}

/// Rows to start from, each drawn in proportion to its squared distance from those before.
fn spread_out(
    weights: &Array2<f64>,
    distinct: &[usize],
    count: usize,
    random: &mut Random,
) -> Vec<usize> {
    let mut chosen = vec![distinct[random.below(distinct.len())]];
    while chosen.len() < count {
        let distances: Vec<f64> = distinct
            .iter()
            .map(|row| nearest(weights.row(*row), &weights.select(Axis(0), &chosen)).1)
            .collect();
        let mut left = random.unit() * distances.iter().sum::<f64>();
        let drawn = distances.iter().position(|distance| {
            left -= distance;
            *distance > 0.0 && left <= 0.0
        });
        // Rounding may leave the draw past the end: then the farthest.
        chosen.push(distinct[drawn.unwrap_or_else(|| first_largest(&distances))]);
    }
    chosen
}

/// Let linfa move the centroids; where it fails they stay.
fn refine(weights: &Array2<f64>, start: Array2<f64>) -> Array2<f64> {
    let data = DatasetBase::from(weights.view());
    let fitted = KMeans::params(start.nrows())
        .init_method(KMeansInit::Precomputed(start.clone()))
        .n_runs(1)
        .tolerance(TOLERANCE)
        .max_n_iterations(ITERATIONS)
        .fit(&data);
    fitted.map_or(start, |model| model.centroids().clone())
}

fn inertia(weights: &Array2<f64>, centroids: &Array2<f64>) -> f64 {
    weights.rows().into_iter().map(|row| nearest(row, centroids).1).sum()
}

/// Clusters that have a task.
fn occupied(weights: &Array2<f64>, centroids: &Array2<f64>) -> Vec<usize> {
    let rows = weights.rows().into_iter();
    let mut occupied: Vec<usize> = rows.map(|row| nearest(row, centroids).0).collect();
    occupied.sort_unstable();
    occupied.dedup();
    occupied
}

/// The nearest row of `centroids` and its squared distance.
fn nearest(row: ArrayView1<'_, f64>, centroids: &Array2<f64>) -> (usize, f64) {
    let squared = |centroid: ArrayView1<'_, f64>| -> f64 {
        row.iter().zip(centroid).map(|(a, b)| (a - b) * (a - b)).sum()
    };
    let distances: Vec<f64> = centroids.rows().into_iter().map(squared).collect();
    let index = first_least(&distances);
    (index, distances[index])
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::normalise::Normalisation;

    fn prune(relative: Array2<f64>, count: usize) -> Pruned {
        let loss = relative.mapv(|share| 1.0 - share);
        let request = Request { count, normalisation: Normalisation::Scaled, seed: 0 };
        KMeansRepresentatives.prune(&Performance { relative, loss }, &request)
    }

    #[test]
    fn more_clusters_than_tasks_are_cut_with_a_warning() {
        let pruned = prune(array![[1.0, 0.2], [0.2, 1.0]], 3);
        assert_eq!(pruned.kernels, [0, 1]);
        assert_eq!(pruned.warnings, ["only 2 tasks differ, so there are 2 clusters"]);
    }

    #[test]
    fn equal_tasks_make_one_cluster_and_no_kernel_out_of_nothing() {
        let pruned = prune(array![[0.5, 1.0], [0.5, 1.0], [0.5, 1.0]], 2);
        assert_eq!(pruned.kernels, [1]);
        assert_eq!(pruned.warnings.len(), 1);
    }

    #[test]
    fn one_task_and_a_thousand_kernels_are_one_cluster() {
        let mut relative = Array2::from_elem((1, 1000), 0.1);
        relative[(0, 700)] = 1.0;
        assert_eq!(prune(relative, 8).kernels, [700]);
    }

    #[test]
    fn a_kernel_stands_in_the_list_once_though_two_clusters_favour_it() {
        let pruned = prune(array![[1.0, 0.0], [1.0, 0.9], [1.0, 0.1], [1.0, 0.8]], 2);
        assert_eq!((pruned.kernels, pruned.warnings.len()), (vec![0], 0));
    }
}
