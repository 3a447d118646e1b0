//! Cluster the tasks by how kernels do on them, and keep what the centre of each cluster favours.

use linfa::DatasetBase;
use linfa::traits::Fit;
use linfa_clustering::{KMeans, KMeansInit};
use ndarray::{Array2, ArrayView1, Axis};

use super::groups::{self, squared_distance};
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

    fn draws(&self) -> bool {
        true
    }

    fn prune(&self, performance: &Performance, request: &Request) -> Pruned {
        groups::prune(performance, request, |points| {
            k_means(&points.weights, request.count, request.seed)
        })
    }
}

/// The centroids of at most `count` clusters of rows, all finite; none is empty.
pub(super) fn k_means(points: &Array2<f64>, count: usize, seed: u64) -> Array2<f64> {
    let distinct = distinct_rows(points);
    if distinct.len() < 2 {
        // linfa panics without rows, and without columns, where all rows are equal.
        return points.select(Axis(0), &distinct);
    }
    let centroids = best_of_several(points, &distinct, count.clamp(1, distinct.len()), seed);
    let mut occupied = labels(points, &centroids);
    occupied.sort_unstable();
    occupied.dedup();
    centroids.select(Axis(0), &occupied)
}

/// The nearest of `centroids` for each row.
pub(super) fn labels(points: &Array2<f64>, centroids: &Array2<f64>) -> Vec<usize> {
    points.rows().into_iter().map(|row| nearest(row, centroids).0).collect()
}

/// Rows that differ from all before them; linfa must never be asked for more clusters.
fn distinct_rows(points: &Array2<f64>) -> Vec<usize> {
    let mut distinct: Vec<usize> = Vec::new();
    for (index, row) in points.rows().into_iter().enumerate() {
        if !distinct.iter().any(|other| points.row(*other) == row) {
            distinct.push(index);
        }
    }
    distinct
}

/// The centroids of the best of several runs.
fn best_of_several(
    points: &Array2<f64>,
    distinct: &[usize],
    count: usize,
    seed: u64,
) -> Array2<f64> {
    let candidates = points.select(Axis(0), distinct);
    let distances = groups::squared_distances(&candidates);
    let mut random = Random::new(seed);
    let mut best: Option<(f64, Array2<f64>)> = None;
    for _ in 0..INITIALISATIONS {
        let start = candidates.select(Axis(0), &spread_out(&distances, count, &mut random));
        let centroids = refine(points, start);
        let inertia = inertia(points, &centroids);
        if best.as_ref().is_none_or(|(least, _)| inertia < *least) {
            best = Some((inertia, centroids));
        }
    }
    best.map(|(_, centroids)| centroids).unwrap_or_default()
}

/// Rows to start from: each is the best of a few, drawn in proportion to their squared distances
/// from those before.
fn spread_out(between: &Array2<f64>, count: usize, random: &mut Random) -> Vec<usize> {
    let nearer = |distances: &[f64], start: usize| -> Vec<f64> {
        between.row(start).iter().zip(distances).map(|(new, old)| new.min(*old)).collect()
    };
    let mut chosen = vec![random.below(between.nrows())];
    let mut distances = between.row(chosen[0]).to_vec();
    while chosen.len() < count {
        let mut best = draw(&distances, random);
        let mut with_best = nearer(&distances, best);
        for _ in 1..2 + count.ilog2() {
            let start = draw(&distances, random);
            let with = nearer(&distances, start);
            if with.iter().sum::<f64>() < with_best.iter().sum() {
                (best, with_best) = (start, with);
            }
        }
        chosen.push(best);
        distances = with_best;
    }
    chosen
}

/// An index, drawn in proportion to its distance.
fn draw(distances: &[f64], random: &mut Random) -> usize {
    let mut left = random.unit() * distances.iter().sum::<f64>();
    let drawn = distances.iter().position(|distance| {
        left -= distance;
        *distance > 0.0 && left <= 0.0
    });
    // Rounding may leave the draw past the end: then the farthest.
    drawn.unwrap_or_else(|| first_largest(distances))
}

/// Let linfa move the centroids; where it fails they stay.
fn refine(points: &Array2<f64>, start: Array2<f64>) -> Array2<f64> {
    let data = DatasetBase::from(points.view());
    let fitted = KMeans::params(start.nrows())
        .init_method(KMeansInit::Precomputed(start.clone()))
        .n_runs(1)
        .tolerance(TOLERANCE)
        .max_n_iterations(ITERATIONS)
        .fit(&data);
    fitted.map_or(start, |model| model.centroids().clone())
}

fn inertia(points: &Array2<f64>, centroids: &Array2<f64>) -> f64 {
    points.rows().into_iter().map(|row| nearest(row, centroids).1).sum()
}

/// The nearest row of `centroids` and its squared distance.
fn nearest(row: ArrayView1<'_, f64>, centroids: &Array2<f64>) -> (usize, f64) {
    let rows = centroids.rows().into_iter();
    let distances: Vec<f64> = rows.map(|centroid| squared_distance(row, centroid)).collect();
    let index = first_least(&distances);
    (index, distances[index])
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::prune::Warning;
    use crate::prune::tests::{asked, performance};

    fn prune(relative: Array2<f64>, count: usize) -> Pruned {
        KMeansRepresentatives.prune(&performance(relative), &asked(count))
    }

    #[test]
    fn more_clusters_than_tasks_are_cut_with_a_warning() {
        let pruned = prune(array![[1.0, 0.2], [0.2, 1.0]], 3);
        assert_eq!(pruned.kernels, [0, 1]);
        let said: Vec<_> = pruned.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["only 2 tasks differ, so there are 2 clusters"]);
    }

    #[test]
    fn equal_tasks_make_one_cluster_and_no_kernel_out_of_nothing() {
        let pruned = prune(array![[0.5, 1.0], [0.5, 1.0], [0.5, 1.0]], 2);
        assert_eq!(pruned.kernels, [1]);
        assert_eq!(pruned.warnings, [Warning::FewTasks { count: 1 }]);
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
        assert_eq!(pruned.kernels, [0]);
        assert_eq!(pruned.warnings, [Warning::SharedKernels { groups: 2, kernels: 1 }]);
    }
}
