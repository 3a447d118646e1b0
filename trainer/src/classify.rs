//! Ways to predict which of a few kernels wins on a shape (first paper, section 6). To add one:
//! write its file, then list it in [`ALL`].

mod features;
mod forest;
mod linear_svm;
mod mlp;
mod nearest;
mod radial_svm;
pub(crate) mod tree;

use ndarray::Array2;

pub use features::FeatureSet;

/// A way to predict labels.
pub trait Classifier: Sync {
    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// What it does, in a line.
    fn about(&self) -> &'static str;

    /// Whether the seed does nothing but break ties, so that only a mean over seeds says how good
    /// the method is.
    fn breaks_ties(&self) -> bool {
        false
    }

    /// Whether the seed makes a difference.
    fn draws(&self) -> bool {
        self.breaks_ties()
    }

    /// Learn from `examples`. The same examples and seed always give the same predictions.
    fn fit(&self, examples: &Examples, seed: u64) -> Box<dyn Fitted>;
}

/// What a classifier has learnt.
pub trait Fitted: Send + Sync {
    /// The label for one row of features, as many as it was fitted on; below the number of classes.
    fn predict(&self, features: &[f64]) -> usize;
}

/// Rows of features, each with a label.
#[derive(Clone, Debug)]
pub struct Examples {
    /// Rows × features, all finite and none beyond [`LARGEST`]; at least one row.
    features: Array2<f64>,
    /// Of each row, below `classes`.
    labels: Vec<usize>,
    classes: usize,
}

/// Why rows and labels do not make examples.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExamplesError {
    /// A label is not below the number of classes.
    #[error("label {label} is not below the number of classes, {classes}")]
    Label {
        /// The label.
        label: usize,
        /// Number of classes.
        classes: usize,
    },
    /// Not one label a row.
    #[error("{rows} rows have {labels} labels; each row needs one")]
    LabelCount {
        /// Rows.
        rows: usize,
        /// Labels.
        labels: usize,
    },
    /// There is nothing to learn from.
    #[error("no rows to learn from")]
    NoRows,
}

/// Features count as no larger than this, so that products of them stay finite.
pub const LARGEST: f64 = 1e50;

/// Every classifier, in the order of the first paper's tables.
pub static ALL: &[&dyn Classifier] = &[
    &tree::A,
    &tree::B,
    &tree::C,
    &nearest::Nearest::<1>,
    &nearest::Nearest::<3>,
    &nearest::Nearest::<7>,
    &linear_svm::LinearSvm,
    &radial_svm::RadialSvm,
    &forest::RandomForest,
    &mlp::Mlp,
];

impl Examples {
    /// Rows × features and a label a row, below `classes`. A feature that is no number counts as 0,
    /// one beyond [`LARGEST`] as that.
    ///
    /// # Errors
    /// [`ExamplesError`] says what does not fit.
    pub fn new(
        features: &Array2<f64>,
        labels: Vec<usize>,
        classes: usize,
    ) -> Result<Self, ExamplesError> {
        let rows = features.nrows();
        if labels.len() != rows {
            return Err(ExamplesError::LabelCount { rows, labels: labels.len() });
        }
        if let Some(label) = labels.iter().copied().find(|label| *label >= classes) {
            return Err(ExamplesError::Label { label, classes });
        }
        if rows == 0 {
            return Err(ExamplesError::NoRows);
        }
        Ok(Self { features: features.mapv(finite), labels, classes })
    }

    /// Rows of each label.
    fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes];
        self.labels.iter().for_each(|label| counts[*label] += 1);
        counts
    }
}

/// A feature as classifiers take it.
fn finite(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(-LARGEST, LARGEST) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ndarray::array;

    use super::*;

    pub(super) fn examples(features: Array2<f64>, labels: &[usize], classes: usize) -> Examples {
        Examples::new(&features, labels.to_vec(), classes).unwrap()
    }

    fn predictions(classifier: &dyn Classifier, examples: &Examples, seed: u64) -> Vec<usize> {
        let fitted = classifier.fit(examples, seed);
        examples.features.rows().into_iter().map(|row| fitted.predict(&row.to_vec())).collect()
    }

    /// Three groups of points, far apart and of small extent.
    fn groups() -> Examples {
        let at = |row: usize| [(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)][row % 3];
        let features = Array2::from_shape_fn((30, 2), |(row, column)| {
            let (x, y) = at(row);
            let off = (row / 3) as f64 / 10.0;
            if column == 0 { x + off } else { y - off * off }
        });
        examples(features, &(0..30).map(|row| row % 3).collect::<Vec<_>>(), 3)
    }

    #[test]
    fn ten_classifiers_have_a_name_of_their_own_each() {
        let names: BTreeSet<_> = ALL.iter().map(|classifier| classifier.name()).collect();
        assert_eq!((ALL.len(), names.len()), (10, 10));
        assert!(ALL.iter().all(|classifier| !classifier.about().is_empty()));
    }

    #[test]
    fn every_classifier_tells_groups_apart_that_are_far_apart() {
        let groups = groups();
        for classifier in ALL {
            let right = predictions(*classifier, &groups, 0) == groups.labels;
            assert!(right, "{}", classifier.name());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_predictions_on_any_thread() {
        let mut random = crate::random::Random::new(5);
        let features = Array2::from_shape_fn((60, 4), |_| (1000.0 * random.unit()).floor());
        let labels: Vec<usize> = (0..60).map(|_| random.below(4)).collect();
        let noise = examples(features, &labels, 4);
        for classifier in ALL {
            let first = predictions(*classifier, &noise, 3);
            let elsewhere = std::thread::scope(|scope| {
                scope.spawn(|| predictions(*classifier, &noise, 3)).join().unwrap()
            });
            assert_eq!(first, elsewhere, "{}", classifier.name());
        }
    }

    #[test]
    fn one_class_is_predicted_everywhere() {
        for rows in [1, 2, 5] {
            let features = Array2::from_shape_fn((rows, 3), |(row, column)| (row + column) as f64);
            let alone = examples(features, &vec![2; rows], 4);
            for classifier in ALL {
                let fitted = classifier.fit(&alone, 0);
                for row in [[0.0, 1.0, 2.0], [-1e30, 1e12, 7.0]] {
                    assert_eq!(fitted.predict(&row), 2, "{} {rows}", classifier.name());
                }
            }
        }
    }

    #[test]
    fn nothing_that_rows_may_hold_leads_to_a_label_that_there_is_not() {
        let (nan, infinite) = (f64::NAN, f64::INFINITY);
        let tables = [
            (array![[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], vec![0, 1, 2]),
            (array![[0.0, 0.0], [0.0, 0.0]], vec![1, 3]),
            (array![[1e12, 1.0], [2e12, 1.0], [3e12, 3e36], [1.0, 1.0]], vec![0, 1, 1, 3]),
            (array![[1e300, -1e300], [1e-300, 1e300], [0.0, 5e-324]], vec![0, 3, 1]),
            (array![[nan, 1.0], [1.0, nan], [infinite, -infinite], [2.0, 2.0]], vec![0, 1, 3, 0]),
            (array![[3e38, 1.0], [3.5e38, 1.0], [4e38, 1.0]], vec![0, 1, 0]),
            (Array2::zeros((4, 0)), vec![0, 1, 1, 3]),
        ];
        for classifier in ALL {
            for (index, (features, labels)) in tables.iter().enumerate() {
                let fitted = classifier.fit(&examples(features.clone(), labels, 4), 1);
                for row in features.rows() {
                    let label = fitted.predict(&row.to_vec());
                    let of_a_row = labels.contains(&label);
                    assert!(of_a_row, "{} {index}: {label}", classifier.name());
                }
            }
        }
    }

    #[test]
    fn what_are_no_examples_is_said() {
        let rows = array![[1.0], [2.0]];
        let new = |labels: &[usize]| Examples::new(&rows, labels.to_vec(), 2).unwrap_err();
        assert_eq!(new(&[0]), ExamplesError::LabelCount { rows: 2, labels: 1 });
        assert_eq!(new(&[0, 2]), ExamplesError::Label { label: 2, classes: 2 });
        let nothing = Examples::new(&Array2::zeros((0, 3)), Vec::new(), 2).unwrap_err();
        assert_eq!(nothing, ExamplesError::NoRows);
        assert!(new(&[0]).to_string().contains("each row needs one"));
    }
}
