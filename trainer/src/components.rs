//! Principal components: the few directions in which points differ the most.

use linfa_linalg::eigh::{EigSort, Eigh};
use ndarray::{Array1, Array2, Axis, s};

/// Variance below this part of the largest is rounding.
const LEAST_VARIANCE: f64 = 1e-12;

/// Points seen from their principal components, of which the first tell the most apart.
#[derive(Clone, Debug)]
pub struct Components {
    /// Points × components.
    pub coordinates: Array2<f64>,
    axes: Array2<f64>,
    mean: Array1<f64>,
    variances: Vec<f64>,
}

impl Components {
    /// At most `most` components of the rows of `points`; a value that is not finite counts as 0.
    #[must_use]
    pub fn of(points: &Array2<f64>, most: usize) -> Self {
        let points = points.mapv(|value| if value.is_finite() { value } else { 0.0 });
        let mean = points.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(points.ncols()));
        let centred = points - &mean;
        let (variances, mut axes) = axes(&centred);
        axes.slice_collapse(s![..most.min(variances.len()), ..]);
        Self { coordinates: centred.dot(&axes.t()), axes, mean, variances }
    }

    /// The part of the variance along each component, 0…1, the largest first; those left out of
    /// the coordinates are here.
    #[must_use]
    pub fn explained(&self) -> Vec<f64> {
        let total: f64 = self.variances.iter().sum();
        self.variances.iter().map(|variance| variance / total).collect()
    }

    /// The fewest components that explain more than `share` of the variance, 0…1.
    #[must_use]
    pub fn enough_for(&self, share: f64) -> usize {
        let total: f64 = self.variances.iter().sum();
        let mut explained = 0.0;
        let enough = self.variances.iter().position(|variance| {
            explained += variance;
            explained > share * total
        });
        enough.map_or(self.variances.len(), |index| index + 1)
    }

    /// Where `coordinates` lie among the points.
    #[must_use]
    pub fn back(&self, coordinates: &Array2<f64>) -> Array2<f64> {
        coordinates.dot(&self.axes) + &self.mean
    }
}

/// The variance along each axis, up to a common factor, the largest first; and the axes as rows of
/// length 1. There is none where points do not differ.
fn axes(centred: &Array2<f64>) -> (Vec<f64>, Array2<f64>) {
    let (rows, columns) = centred.dim();
    let wide = rows < columns;
    // The smaller of the two products has the same eigenvalues above zero.
    let product = if wide { centred.dot(&centred.t()) } else { centred.t().dot(centred) };
    let Some((values, vectors)) = symmetric_eigen(product) else {
        return (Vec::new(), Array2::zeros((0, columns)));
    };
    let least = values.first().map_or(0.0, |largest| largest * LEAST_VARIANCE);
    let kept = values.iter().take_while(|value| **value > least && **value > 0.0).count();
    let vectors = vectors.slice_move(s![.., ..kept]).reversed_axes();
    let mut axes = if wide { vectors.dot(centred) } else { vectors };
    if wide {
        for (mut axis, value) in axes.rows_mut().into_iter().zip(&values) {
            axis /= value.sqrt();
        }
    }
    (values.iter().take(kept).copied().collect(), axes)
}

/// Eigenvalues of a symmetric matrix, the largest first, and its eigenvectors as columns; `None`
/// if it is empty or not finite.
pub(crate) fn symmetric_eigen(matrix: Array2<f64>) -> Option<(Array1<f64>, Array2<f64>)> {
    if matrix.is_empty() || !matrix.iter().all(|value| value.is_finite()) {
        return None;
    }
    matrix.eigh().ok().map(EigSort::sort_eig_desc)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn points_on_a_line_have_one_component_and_come_back() {
        let points = array![[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [3.0, 6.0, 0.0], [5.0, 10.0, 0.0]];
        for points in [points.clone(), points.slice(s![..2, ..]).to_owned()] {
            let components = Components::of(&points, 3);
            assert_eq!(components.coordinates.ncols(), 1);
            let back = components.back(&components.coordinates);
            assert!((back - points).iter().all(|gap| gap.abs() < 1e-12));
        }
    }

    #[test]
    fn components_are_counted_up_to_a_share_of_the_variance() {
        let points = array![[3.0, 0.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]];
        let components = Components::of(&points, 1);
        assert_eq!(components.coordinates.ncols(), 1);
        assert_eq!([0.5, 0.89, 0.91, 1.0].map(|share| components.enough_for(share)), [1, 1, 2, 2]);
    }

    #[test]
    fn points_that_do_not_differ_have_no_component() {
        for points in [Array2::ones((3, 2)), Array2::zeros((0, 2)), Array2::zeros((2, 0))] {
            let components = Components::of(&points, 5);
            assert_eq!((components.coordinates.ncols(), components.enough_for(0.8)), (0, 0));
            assert_eq!(components.back(&Array2::zeros((1, 0))).ncols(), points.ncols());
        }
    }

    #[test]
    fn a_value_that_is_not_finite_counts_as_nothing() {
        let components = Components::of(&array![[f64::NAN, 1.0], [f64::INFINITY, 3.0]], 2);
        assert_eq!(components.coordinates.mapv(f64::abs), array![[1.0], [1.0]]);
    }
}
