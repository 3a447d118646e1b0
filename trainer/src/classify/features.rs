//! What classifiers are told of a shape.

use ndarray::Array2;
use selector_core::GemmShape;

/// Features of a shape, as they are: no method scales them first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FeatureSet {
    /// m, k, n and batch (first paper).
    Raw,
    /// With products and ratios of them.
    Augmented,
}

impl FeatureSet {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Raw, Self::Augmented];

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Augmented => "aug",
            Self::Raw => "raw",
        }
    }

    /// Features of one shape, all finite; a size of 0 divides as 1.
    #[must_use]
    pub fn of(self, shape: GemmShape) -> Vec<f64> {
        let [m, k, n, b] = [shape.m, shape.k, shape.n, shape.batch].map(f64::from);
        let (over_k, over_n) = (k.max(1.0), n.max(1.0));
        match self {
            Self::Raw => vec![m, k, n, b],
            Self::Augmented => vec![
                m,
                k,
                n,
                b,
                m * n,
                b * m * n,
                k * n,
                k * m,
                m / over_k,
                n / over_k,
                m * n / over_k,
                m * n * k * b,
                m / over_n,
            ],
        }
    }

    /// Shapes × features.
    #[must_use]
    pub fn table(self, shapes: &[GemmShape]) -> Array2<f64> {
        let rows: Vec<Vec<f64>> = shapes.iter().map(|shape| self.of(*shape)).collect();
        let width = self.of(GemmShape::new(1, 1, 1, 1)).len();
        Array2::from_shape_fn((rows.len(), width), |(row, column)| rows[row][column])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_ratios_are_those_of_the_shape() {
        let shape = GemmShape { m: 6, k: 2, n: 3, batch: 5 };
        assert_eq!(FeatureSet::Raw.of(shape), [6.0, 2.0, 3.0, 5.0]);
        let expected =
            [6.0, 2.0, 3.0, 5.0, 18.0, 90.0, 6.0, 12.0, 3.0, 1.5, 9.0, 180.0, 2.0].to_vec();
        assert_eq!(FeatureSet::Augmented.of(shape), expected);
        assert_eq!(FeatureSet::Augmented.table(&[shape, shape]).dim(), (2, 13));
        assert_eq!(FeatureSet::Raw.table(&[]).dim(), (0, 4));
    }

    #[test]
    fn features_of_extreme_shapes_are_finite() {
        for size in [0, u32::MAX] {
            let shape = GemmShape { m: size, k: 0, n: size, batch: size };
            assert!(FeatureSet::Augmented.of(shape).iter().all(|one| one.is_finite()));
        }
    }
}
