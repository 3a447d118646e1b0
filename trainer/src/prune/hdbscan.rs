//! Cluster the tasks by density, and keep what each cluster favours on average.

use ::hdbscan::{DistanceMetric, Hdbscan, HdbscanHyperParams};
use ndarray::Array2;

use super::groups::Points;
use super::{Performance, Pruned, Pruner, Request, groups};
use crate::normalise::Normalisation;

/// HDBSCAN, which chooses the number of clusters itself: its parameters are swept until that
/// number fits.
pub(super) struct Density;

/// Densities are also taken over up to so many neighbours.
const FEW_NEIGHBOURS: usize = 5;
/// Equal tasks lie this part of the largest distance apart, since a density must be finite.
const LEAST_DISTANCE: f64 = 1e-9;
/// Taken for the largest distance where all tasks are equal.
const TINY: f64 = 1e-100;

impl Pruner for Density {
    fn name(&self) -> &'static str {
        "hdbscan"
    }

    fn about(&self) -> &'static str {
        "the kernel that each cluster of tasks favours, clustered by density"
    }

    fn prune(&self, performance: &Performance, request: &Request) -> Pruned {
        groups::prune(performance, request, |points| {
            let labels = most_clusters(&points.weights, request.count.max(1));
            let one_cluster = || vec![Some(0); points.shapes.len()];
            groups::means(&points.weights, &labels.unwrap_or_else(one_cluster))
        })
    }
}

/// Clusterings of the same tasks by different parameters.
pub(crate) struct Sweep {
    points: Points,
    distances: Vec<Vec<f64>>,
}

/// What HDBSCAN finds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clustering {
    /// Clusters.
    pub clusters: usize,
    /// Tasks in no cluster.
    pub noise: usize,
    /// What the clusters favour: columns, sorted; none without clusters.
    pub kernels: Vec<usize>,
}

impl Sweep {
    /// Tasks to be clustered.
    #[must_use]
    pub(crate) fn of(performance: &Performance, normalisation: Normalisation) -> Self {
        let points = Points::of(performance, normalisation);
        Self { distances: distances(&points.weights), points }
    }

    /// The clusters of at least `smallest` tasks where `samples` neighbours make a density; `None`
    /// where there are too few tasks for that.
    #[must_use]
    pub(crate) fn at(&self, smallest: usize, samples: usize) -> Option<Clustering> {
        let rows = self.points.shapes.len();
        if smallest < 2 || samples == 0 || smallest > rows || samples > rows {
            return None;
        }
        let labels = cluster(&self.distances, smallest, samples);
        let centres = groups::means(&self.points.weights, &labels);
        let favourites = centres.rows().into_iter().filter_map(groups::favourite).collect();
        Some(Clustering {
            clusters: centres.nrows(),
            noise: labels.iter().filter(|label| label.is_none()).count(),
            kernels: Pruned::new(favourites, Vec::new()).kernels,
        })
    }
}

/// The labels with most clusters of those with at most `count`, of equal ones the first of the
/// sweep; `None` where nothing gives any.
fn most_clusters(weights: &Array2<f64>, count: usize) -> Option<Vec<Option<usize>>> {
    let distances = distances(weights);
    let mut best = None;
    let mut most = 0;
    for (smallest, samples) in sweep(weights.nrows()) {
        if most == count {
            break;
        }
        // That many clusters of this size would need more tasks than there are.
        if smallest * (most + 1) > weights.nrows() {
            continue;
        }
        let labels = cluster(&distances, smallest, samples);
        let clusters = labels.iter().flatten().max().map_or(0, |last| last + 1);
        if clusters > most && clusters <= count {
            most = clusters;
            best = Some(labels);
        }
    }
    best
}

/// Sizes of the smallest cluster, from small to large, with how many neighbours make a density:
/// first as many as the cluster has tasks, then few.
fn sweep(rows: usize) -> impl Iterator<Item = (usize, usize)> {
    let sizes = 2..=rows / 2;
    let few = (1..=FEW_NEIGHBOURS).flat_map({
        let sizes = sizes.clone();
        move |samples| sizes.clone().map(move |size| (size, samples.min(size)))
    });
    sizes.map(|size| (size, size)).chain(few)
}

/// The cluster of each task; `None` is noise.
fn cluster(distances: &[Vec<f64>], smallest: usize, samples: usize) -> Vec<Option<usize>> {
    let parameters = HdbscanHyperParams::builder()
        .min_cluster_size(smallest)
        .min_samples(samples)
        .dist_metric(DistanceMetric::Precalculated)
        .build();
    let labels = Hdbscan::new(distances, parameters).cluster().unwrap_or_default();
    labels.into_iter().map(|label| usize::try_from(label).ok()).collect()
}

/// Between rows; 0 between a row and itself alone.
fn distances(weights: &Array2<f64>) -> Vec<Vec<f64>> {
    let distances = groups::squared_distances(weights).mapv(f64::sqrt);
    let largest = distances.iter().fold(TINY, |largest: f64, one| largest.max(*one));
    let mut distances = distances.mapv(|distance| distance.max(largest * LEAST_DISTANCE));
    distances.diag_mut().fill(0.0);
    distances.rows().into_iter().map(|row| row.to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prune::Warning;
    use crate::prune::tests::{asked, performance};

    /// Five tasks around each of three corners, and one far from all.
    fn corners() -> Array2<f64> {
        Array2::from_shape_fn((16, 4), |(row, kernel)| match (row, kernel) {
            (15, 3) => 1.0,
            (15, _) => 0.5,
            _ if row / 5 == kernel => 1.0,
            _ => 0.02 * (row % 5) as f64,
        })
    }

    #[test]
    fn a_task_far_from_all_is_noise_and_gets_no_kernel() {
        let pruned = Density.prune(&performance(corners()), &asked(3));
        assert_eq!((pruned.kernels, pruned.warnings), (vec![0, 1, 2], vec![]));
    }

    #[test]
    fn a_number_of_clusters_that_no_size_gives_comes_with_a_warning() {
        let pruned = Density.prune(&performance(corners()), &asked(4));
        assert_eq!(pruned.kernels, [0, 1, 2]);
        assert_eq!(pruned.warnings, [Warning::FewGroups { asked: 4, found: 3 }]);
    }

    #[test]
    fn tasks_without_any_cluster_are_one() {
        let pruned =
            Density.prune(&performance(corners().slice_move(ndarray::s![..3, ..])), &asked(2));
        assert_eq!(pruned.kernels, [0]);
    }
}
