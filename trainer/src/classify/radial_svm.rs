//! Support vector machines that look at neighbourhoods: linfa's, one for each two labels.

use linfa::DatasetBase;
use linfa::traits::Fit;
use linfa_svm::Svm;
use ndarray::{Array1, Axis, aview1};

use super::{Classifier, Examples, Fitted};
use crate::performance::first_largest;

/// Each two labels with rows have a machine that votes for one of them; the label with the most
/// votes wins, the first of equal ones.
pub(super) struct RadialSvm;

/// C and gamma of the first paper's protocol.
const COST: f64 = 0.25;
const GAMMA: f64 = 2.0;
/// How exactly the machines are fitted; as in libsvm.
const TOLERANCE: f64 = 1e-3;

impl Classifier for RadialSvm {
    fn name(&self) -> &'static str {
        "radial-svm"
    }

    fn about(&self) -> &'static str {
        "linfa's support vector machines with a radial kernel, one for each two labels"
    }

    fn fit(&self, examples: &Examples, _seed: u64) -> Box<dyn Fitted> {
        let counts = examples.counts();
        let labels: Vec<usize> = (0..counts.len()).filter(|label| counts[*label] > 0).collect();
        let pairs = labels.iter().flat_map(|one| {
            let later = labels.iter().filter(move |other| *other > one);
            later.filter_map(|other| Pair::fit(examples, *one, *other))
        });
        Box::new(Machines { pairs: pairs.collect(), most: most(&counts), classes: counts.len() })
    }
}

/// The most frequent label.
fn most(counts: &[usize]) -> usize {
    first_largest(&counts.iter().map(|count| *count as f64).collect::<Vec<_>>())
}

struct Machines {
    pairs: Vec<Pair>,
    /// What is predicted where there is but one label.
    most: usize,
    classes: usize,
}

/// A machine that says `one` above 0 and `other` elsewhere.
struct Pair {
    one: usize,
    other: usize,
    machine: Svm<f64, bool>,
}

impl Pair {
    /// `None` if linfa refuses.
    fn fit(examples: &Examples, one: usize, other: usize) -> Option<Self> {
        let labels = &examples.labels;
        let of_pair = |row: &usize| [one, other].contains(&labels[*row]);
        let rows: Vec<usize> = (0..labels.len()).filter(of_pair).collect();
        let targets: Array1<bool> = rows.iter().map(|row| labels[*row] == one).collect();
        let data = DatasetBase::new(examples.features.select(Axis(0), &rows), targets);
        let machine = Svm::<f64, bool>::params()
            .pos_neg_weights(COST, COST)
            .gaussian_kernel(1.0 / GAMMA)
            .eps(TOLERANCE)
            .fit(&data)
            .ok()?;
        Some(Self { one, other, machine })
    }
}

impl Fitted for Machines {
    fn predict(&self, features: &[f64]) -> usize {
        let mut votes = vec![0.0; self.classes];
        for Pair { one, other, machine } in &self.pairs {
            let height = machine.weighted_sum(&aview1(features)) - machine.rho;
            votes[if height > 0.0 { *one } else { *other }] += 1.0;
        }
        if self.pairs.is_empty() { self.most } else { first_largest(&votes) }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::classify::tests::examples;

    #[test]
    fn near_rows_decide_and_far_from_all_the_most_frequent_label() {
        // Groups at 0, 5 and 9, of 8, 7 and 6 rows.
        let labels: Vec<usize> = [vec![2; 8], vec![1; 7], vec![0; 6]].concat();
        let at = |label: usize| [9.0, 5.0, 0.0][label];
        let rows = Array2::from_shape_fn((21, 1), |(row, _)| at(labels[row]) + row as f64 / 100.0);
        let fitted = RadialSvm.fit(&examples(rows, &labels, 4), 0);
        assert_eq!([0.1, 5.05, 9.05].map(|value| fitted.predict(&[value])), [2, 1, 0]);
        assert_eq!([1e3, -1e12].map(|value| fitted.predict(&[value])), [2, 2]);
    }
}
