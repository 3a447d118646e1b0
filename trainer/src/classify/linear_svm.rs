//! A linear support vector machine for each label against the rest.

use linfa_linalg::cholesky::SolveC;
use ndarray::{Array1, Array2, Axis, s};

use super::{Classifier, Examples, Fitted};
use crate::performance::first_largest;

/// A weight for each feature and one alone, that minimise half their squares plus [`COST`] times
/// the squared shortfall of each row from its margin, as scikit-learn's `LinearSVC` does.
///
/// By hand, since linfa's solver takes steps along two rows at a time and on features as unlike as
/// a batch and a product of four sizes uses up its ten million, which cannot be set lower. Newton's
/// method on scaled weights finds the optimum in some tens; scikit-learn's own solver stops short
/// of it on such features, unless its tolerance is set far lower.
pub(super) struct LinearSvm;

/// C of the first paper's protocol.
const COST: f64 = 0.25;
const STEPS: usize = 100;
/// A fall of the objective below this part of it ends the search.
const LEAST_GAIN: f64 = 1e-10;
/// Added to the curvature, as a part of the largest, so that it can be inverted.
const RIDGE: f64 = 1e-12;

impl Classifier for LinearSvm {
    fn name(&self) -> &'static str {
        "linear-svm"
    }

    fn about(&self) -> &'static str {
        "a linear support vector machine for each label against the rest"
    }

    fn fit(&self, examples: &Examples, _seed: u64) -> Box<dyn Fitted> {
        let rows = Rows::of(&examples.features);
        let planes = examples.counts().into_iter().enumerate().map(|(label, count)| {
            let sign = |other: &usize| if *other == label { 1.0 } else { -1.0 };
            (count > 0).then(|| rows.plane(&examples.labels.iter().map(sign).collect()))
        });
        Box::new(Planes { planes: planes.collect(), scale: rows.scale.clone() })
    }
}

struct Planes {
    /// For each label with rows: weights of scaled features, the last alone.
    planes: Vec<Option<Array1<f64>>>,
    scale: Array1<f64>,
}

impl Fitted for Planes {
    fn predict(&self, features: &[f64]) -> usize {
        let height = |plane: &Array1<f64>| -> f64 {
            let weighed = features.iter().zip(&self.scale).zip(plane);
            let sum: f64 = weighed.map(|((value, scale), weight)| value / scale * weight).sum();
            sum + plane[plane.len() - 1]
        };
        let heights: Vec<f64> =
            self.planes.iter().map(|one| one.as_ref().map_or(f64::NEG_INFINITY, height)).collect();
        first_largest(&heights)
    }
}

/// Features divided by their largest, and a column of ones.
struct Rows {
    scaled: Array2<f64>,
    /// What each was divided by; the last is 1.
    scale: Array1<f64>,
}

impl Rows {
    fn of(features: &Array2<f64>) -> Self {
        let largest = |column: ndarray::ArrayView1<'_, f64>| {
            let largest = column.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            if largest > 0.0 { largest } else { 1.0 }
        };
        let width = features.ncols();
        let mut scale = Array1::ones(width + 1);
        scale.slice_mut(s![..width]).assign(&features.map_axis(Axis(0), largest));
        let mut scaled = Array2::ones((features.nrows(), width + 1));
        scaled.slice_mut(s![.., ..width]).assign(features);
        Self { scaled: scaled / &scale, scale }
    }

    /// The best weights for signs, 1 or -1 a row.
    fn plane(&self, signs: &Array1<f64>) -> Array1<f64> {
        // A weight of a scaled feature counts as that of the feature itself.
        let penalty = self.scale.mapv(|scale| 1.0 / (scale * scale));
        let short = |plane: &Array1<f64>| {
            let margins = self.scaled.dot(plane) * signs;
            margins.mapv(|margin| (1.0 - margin).max(0.0))
        };
        let objective = |plane: &Array1<f64>, short: &Array1<f64>| {
            0.5 * (plane * plane * &penalty).sum() + COST * short.dot(short)
        };
        let mut plane = Array1::zeros(self.scale.len());
        let mut lacks = short(&plane);
        let mut value = objective(&plane, &lacks);
        for _ in 0..STEPS {
            let gradient = &plane * &penalty - self.scaled.t().dot(&(&lacks * signs)) * 2.0 * COST;
            let Some(step) = self.newton(&penalty, &lacks, &gradient) else { break };
            let slope = gradient.dot(&step);
            let tried = (0..30).map(|halvings| {
                let part = 0.5_f64.powi(halvings);
                let moved = &plane - &(&step * part);
                let lacks = short(&moved);
                (part, objective(&moved, &lacks), moved, lacks)
            });
            let better = |one: &(f64, f64, _, _)| one.1 <= value - 1e-4 * one.0 * slope;
            let Some((_, lower, moved, lacking)) = { tried }.find(better) else { break };
            let gain = value - lower;
            (plane, lacks, value) = (moved, lacking, lower);
            if gain <= LEAST_GAIN * value {
                break;
            }
        }
        plane
    }

    /// The step to where the objective would be least if the same rows stayed short.
    fn newton(
        &self,
        penalty: &Array1<f64>,
        lacks: &Array1<f64>,
        gradient: &Array1<f64>,
    ) -> Option<Array1<f64>> {
        let short: Vec<usize> = (0..lacks.len()).filter(|row| lacks[*row] > 0.0).collect();
        let rows = self.scaled.select(Axis(0), &short);
        let mut curvature = rows.t().dot(&rows) * 2.0 * COST;
        let mut diagonal = curvature.diag_mut();
        diagonal += penalty;
        let largest = diagonal.iter().copied().fold(0.0, f64::max);
        diagonal += largest * RIDGE;
        let right = gradient.clone().insert_axis(Axis(1));
        let step = curvature.solvec(&right).ok()?.remove_axis(Axis(1));
        step.iter().all(|one| one.is_finite()).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::classify::tests::examples;

    #[test]
    fn the_plane_is_where_the_objective_says() {
        // One feature at ±1: by symmetry no weight alone; w + 2·2C(w - 1) = 0 with C = 1/4.
        let rows = Rows::of(&array![[1.0], [-1.0]]);
        let plane = rows.plane(&array![1.0, -1.0]);
        assert!((plane[0] - 0.5).abs() < 1e-9 && plane[1].abs() < 1e-9, "{plane}");
    }

    #[test]
    fn a_large_feature_is_weighed_as_itself() {
        // At ±1000 the weight costs next to nothing: the margin is nearly kept.
        let rows = Rows::of(&array![[1000.0], [-1000.0]]);
        let plane = rows.plane(&array![1.0, -1.0]);
        assert!((plane[0] - 1.0).abs() < 1e-5, "{plane}");
    }

    #[test]
    fn labels_on_a_line_are_parted_at_their_ends_only() {
        let rows = ndarray::Array2::from_shape_fn((30, 1), |(row, _)| row as f64 - 15.0);
        let labels: Vec<usize> = (0..30).map(|row| usize::from(row >= 15)).collect();
        let fitted = LinearSvm.fit(&examples(rows, &labels, 2), 0);
        let found = [-15.0, -3.0, 3.0, 14.0, 1e12, -1e12].map(|value| fitted.predict(&[value]));
        assert_eq!(found, [0, 0, 1, 1, 1, 0]);
    }
}
