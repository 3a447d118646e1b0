//! What the pruners that group tasks share: the tasks as points, and a kernel for each group.

use std::cmp::Ordering;

use ndarray::{Array1, Array2, ArrayView1, Axis};
use selector_core::GemmShape;

use super::{Performance, Pruned, Request, Warning};
use crate::normalise::Normalisation;
use crate::performance::first_largest;

/// Tasks where at least one configuration counts, in an order that does not depend on the order in
/// which they came.
pub(super) struct Points {
    /// Tasks × configurations, all finite.
    pub weights: Array2<f64>,
    /// The shape of each task.
    pub shapes: Vec<GemmShape>,
    /// Rows that differ from all others.
    pub distinct: usize,
}

/// Keep the kernel that each group of tasks favours: the largest entry of each row of what
/// `centres_of` returns, of equal ones the first. `centres_of` gets at least one point.
pub(super) fn prune(
    performance: &Performance,
    request: &Request,
    centres_of: impl FnOnce(&Points) -> Array2<f64>,
) -> Pruned {
    let not_finite = performance.relative.iter().filter(|share| !share.is_finite()).count();
    let mut warnings = Vec::new();
    if not_finite > 0 {
        warnings.push(Warning::NotFinite { count: not_finite });
    }
    let points = Points::of(performance, request.normalisation);
    if points.shapes.is_empty() {
        let nothing = Pruned::nothing_known(performance);
        warnings.extend(nothing.warnings);
        return Pruned { warnings, ..nothing };
    }
    let centres = centres_of(&points);
    let mut kernels: Vec<usize> = centres.rows().into_iter().filter_map(favourite).collect();
    let groups = kernels.len();
    if kernels.is_empty() {
        kernels.extend(favourite(points.weights.sum_axis(Axis(0)).view()));
    }
    let pruned = Pruned::new(kernels, Vec::new());
    warnings.extend(few(request.count, groups, points.distinct));
    if pruned.kernels.len() < groups {
        warnings.push(Warning::SharedKernels { groups, kernels: pruned.kernels.len() });
    }
    Pruned { warnings, ..pruned }
}

/// What to say of fewer groups than `asked`.
fn few(asked: usize, found: usize, distinct: usize) -> Option<Warning> {
    match found {
        found if found >= asked => None,
        found if found == distinct => Some(Warning::FewTasks { count: found }),
        found => Some(Warning::FewGroups { asked, found }),
    }
}

/// The first of the largest entries, if any is above zero.
pub(super) fn favourite(centre: ArrayView1<'_, f64>) -> Option<usize> {
    let kernel = first_largest(centre);
    centre.get(kernel).is_some_and(|weight| *weight > 0.0).then_some(kernel)
}

/// The arithmetic mean of the rows with each label; a row labelled `None` is in no group.
pub(super) fn means(weights: &Array2<f64>, labels: &[Option<usize>]) -> Array2<f64> {
    let groups = labels.iter().flatten().max().map_or(0, |last| last + 1);
    let mut means = Array2::zeros((groups, weights.ncols()));
    let mut counts: Array1<f64> = Array1::zeros(groups);
    for (row, label) in weights.rows().into_iter().zip(labels) {
        if let Some(label) = *label {
            let mut mean = means.row_mut(label);
            mean += &row;
            counts[label] += 1.0;
        }
    }
    for (mut mean, count) in means.rows_mut().into_iter().zip(counts) {
        mean /= count.max(1.0);
    }
    means
}

/// Between each two rows.
pub(super) fn squared_distances(points: &Array2<f64>) -> Array2<f64> {
    let mut distances = Array2::zeros((points.nrows(), points.nrows()));
    for one in 0..points.nrows() {
        for other in 0..one {
            distances[(one, other)] = squared_distance(points.row(one), points.row(other));
            distances[(other, one)] = distances[(one, other)];
        }
    }
    distances
}

pub(super) fn squared_distance(one: ArrayView1<'_, f64>, other: ArrayView1<'_, f64>) -> f64 {
    one.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum()
}

impl Points {
    pub(super) fn of(performance: &Performance, normalisation: Normalisation) -> Self {
        let finite = performance.relative.mapv(|share| if share.is_finite() { share } else { 0.0 });
        let weights = normalisation.apply(&finite);
        let counts = |row: &usize| weights.row(*row).iter().any(|weight| *weight > 0.0);
        let mut order: Vec<usize> = (0..weights.nrows()).filter(counts).collect();
        let by_weights = |one: usize, other: usize| by_values(weights.row(one), weights.row(other));
        order.sort_by(|one, other| {
            let by_shape = performance.shapes[*one].cmp(&performance.shapes[*other]);
            by_weights(*one, *other).then(by_shape)
        });
        let changes = order.windows(2).filter(|pair| by_weights(pair[0], pair[1]).is_ne());
        Self {
            distinct: changes.count() + usize::from(!order.is_empty()),
            shapes: order.iter().map(|row| performance.shapes[*row]).collect(),
            weights: weights.select(Axis(0), &order),
        }
    }
}

fn by_values(one: ArrayView1<'_, f64>, other: ArrayView1<'_, f64>) -> Ordering {
    let mut pairs = one.iter().zip(other);
    pairs
        .find_map(|(a, b)| Some(a.total_cmp(b)).filter(|order| order.is_ne()))
        .unwrap_or(Ordering::Equal)
}
