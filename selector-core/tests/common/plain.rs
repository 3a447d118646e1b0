//! What FORMAT.md says of features and trees, by a way of its own; the tests and the fuzz targets
//! share it.

use selector_core::{Feature, GemmShape, Leaf, Model, Node, Tree};

/// The key of a dimension as FORMAT.md §5 defines it.
fn plain_key(dimension: u32) -> i64 {
    let one = i64::from(dimension.max(1));
    let octave = one.ilog2();
    i64::from(octave) * 8 + ((one * 8) >> octave) - 8
}

/// `Feature::of` as the table of FORMAT.md §5 has it.
#[must_use]
pub fn plain_value(feature: Feature, shape: GemmShape) -> u16 {
    let [m, k, n, batch] = [shape.m, shape.k, shape.n, shape.batch].map(plain_key);
    let value = match feature {
        Feature::M => m,
        Feature::K => k,
        Feature::N => n,
        Feature::Batch => batch,
        Feature::Mn => m + n,
        Feature::Mk => m + k,
        Feature::Kn => k + n,
        Feature::Mnk => m + n + k,
        Feature::Bmn => m + n + batch,
        Feature::Bmnk => m + n + k + batch,
        Feature::MPerN => 256 + m - n,
        Feature::MPerK => 256 + m - k,
        Feature::KPerN => 256 + k - n,
        Feature::MnPerK => 256 + m + n - k,
    };
    u16::try_from(value).expect("every feature is between 0 and 1020")
}

/// `Model::select` as the words say it, on a tree that has not been written.
#[must_use]
pub fn plain_select(mut tree: &Tree, shape: GemmShape) -> Leaf {
    loop {
        match tree {
            Tree::Leaf(leaf) => return *leaf,
            Tree::Split { feature, threshold, left, right } => {
                tree = if plain_value(*feature, shape) <= *threshold { left } else { right };
            }
        }
    }
}

/// The same on the entries of a model, from the one at `index` on.
pub(crate) fn plain_walk(model: &Model<'_>, mut index: usize, shape: GemmShape) -> Leaf {
    loop {
        match model.node(index).expect("every entry that is reached is there") {
            Node::Leaf(leaf) => return leaf,
            Node::Split { feature, threshold, right } => {
                let left = plain_value(feature, shape) <= threshold;
                index = if left { index + 1 } else { right.into() };
            }
        }
    }
}

/// A shape with about this value of a feature: the first dimensions as large as need be, the
/// others 1.
pub(crate) fn shape_of(feature: Feature, value: u16) -> GemmShape {
    let mut left = i32::from(value) - i32::from(feature.offset());
    let [m, k, n, batch] = feature.signs().map(|sign| {
        let key = (left * i32::from(sign)).clamp(0, 255);
        left -= key * i32::from(sign);
        Feature::M.readable(key as u16) as u32
    });
    GemmShape::new(m, k, n, batch)
}
