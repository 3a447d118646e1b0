//! The label of the nearest shapes.

use ndarray::Array2;

use super::{Classifier, Examples, Fitted};
use crate::performance::first_largest;

/// The most frequent label among `K` neighbours, the first of equally frequent ones. Of rows at
/// the same distance the earlier is nearer.
///
/// By hand, since linfa's search leaves the order of rows at the same distance to its heap.
pub(super) struct Nearest<const K: usize>;

impl<const K: usize> Classifier for Nearest<K> {
    fn name(&self) -> &'static str {
        match K {
            1 => "1-nn",
            3 => "3-nn",
            _ => "7-nn",
        }
    }

    fn about(&self) -> &'static str {
        match K {
            1 => "the label of the nearest shape",
            3 => "the most frequent label of the 3 nearest shapes",
            _ => "the most frequent label of the 7 nearest shapes",
        }
    }

    fn fit(&self, examples: &Examples, _seed: u64) -> Box<dyn Fitted> {
        let Examples { features, labels, classes } = examples.clone();
        Box::new(Neighbours { count: K, rows: features, labels, classes })
    }
}

struct Neighbours {
    count: usize,
    rows: Array2<f64>,
    labels: Vec<usize>,
    classes: usize,
}

impl Fitted for Neighbours {
    fn predict(&self, features: &[f64]) -> usize {
        let distance = |row: ndarray::ArrayView1<'_, f64>| -> f64 {
            row.iter().zip(features).map(|(one, other)| (one - other) * (one - other)).sum()
        };
        let distances = self.rows.rows().into_iter().map(distance);
        let mut nearest: Vec<(f64, usize)> = distances.zip(0..).collect();
        nearest.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut votes = vec![0.0; self.classes];
        nearest.iter().take(self.count).for_each(|(_, row)| votes[self.labels[*row]] += 1.0);
        first_largest(&votes)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::classify::tests::examples;

    #[test]
    fn neighbours_vote_and_the_first_label_wins_a_draw() {
        let rows = array![[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [13.0]];
        let examples = examples(rows, &[2, 1, 1, 0, 0, 0, 0], 3);
        let predict = |value| {
            [
                Nearest::<1>.fit(&examples, 0).predict(&[value]),
                Nearest::<3>.fit(&examples, 0).predict(&[value]),
                Nearest::<7>.fit(&examples, 0).predict(&[value]),
            ]
        };
        assert_eq!(predict(-1.0), [2, 1, 0]);
        assert_eq!(predict(20.0), [0, 0, 0]);
        // Rows 0 and 1 are equally near; the earlier counts. Of three labels, one each, the first.
        assert_eq!(predict(0.5)[0], 2);
        let draw = super::super::tests::examples(array![[0.0], [1.0], [2.0]], &[2, 1, 0], 3);
        assert_eq!(Nearest::<3>.fit(&draw, 0).predict(&[0.0]), 0);
    }
}
