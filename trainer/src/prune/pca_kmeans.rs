//! Cluster the tasks by their principal components, and keep what the centre of each cluster
//! favours.

use super::kmeans::k_means;
use super::{Performance, Pruned, Pruner, Request, groups};
use crate::components::Components;

/// k-means among few components; a cluster's kernel is the largest entry of its centroid, seen
/// among the configurations again.
pub(super) struct ComponentsThenKMeans;

/// As many as the first paper's authors keep.
const COMPONENTS: usize = 25;

impl Pruner for ComponentsThenKMeans {
    fn name(&self) -> &'static str {
        "pca-k-means"
    }

    fn about(&self) -> &'static str {
        "the kernel that each cluster of tasks favours, clustered by principal components"
    }

    fn draws(&self) -> bool {
        true
    }

    fn prune(&self, performance: &Performance, request: &Request) -> Pruned {
        groups::prune(performance, request, |points| {
            let components = Components::of(&points.weights, COMPONENTS);
            components.back(&k_means(&components.coordinates, request.count, request.seed))
        })
    }
}
