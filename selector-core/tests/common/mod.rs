//! What the tests share: sources of models, random trees and shapes, and a second, plain writer
//! and evaluator that know FORMAT.md but none of the library's code.
#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

#[allow(clippy::expect_used, unreachable_pub, reason = "the fuzz targets share it")]
mod plain;

use proptest::collection::vec;
use proptest::prelude::*;
use selector_core::{
    Feature, GemmShape, KernelId, Leaf, Loss, MAX_FEATURES, ModelSource, PackedConfig,
    ProblemClass, Samples, Score, Tree, TreeSource,
};

#[allow(unused_imports, reason = "each test program uses its own part")]
pub(crate) use plain::{plain_select, plain_value};

/// A leaf that ranks `kernels`.
pub(crate) fn leaf(kernels: &[u8]) -> Tree {
    let kernels: Vec<_> = kernels.iter().copied().map(KernelId).collect();
    Tree::Leaf(Leaf::new(&kernels, Loss::from_byte(3), Loss::from_byte(70), Samples::new(5)))
}

/// A split.
pub(crate) fn split(feature: Feature, threshold: u16, left: Tree, right: Tree) -> Tree {
    Tree::Split { feature, threshold, left: Box::new(left), right: Box::new(right) }
}

/// A kernel list of `count` different configurations.
pub(crate) fn kernels(count: usize) -> Vec<PackedConfig> {
    (0..count)
        .map(|index| PackedConfig {
            family: (index % 7) as u8,
            parameters: (0..index as u16 % 17).map(|value| value * 300).collect(),
        })
        .collect()
}

/// A model whose first tree serves `f32-nn`, the next `f32-nt`, and so on.
pub(crate) fn source(count: usize, trees: Vec<Tree>) -> ModelSource<'static> {
    let classes = ProblemClass::all().zip(0..trees.len());
    let classes = classes.map(|(class, tree)| TreeSource { class, measured_as: class, tree });
    ModelSource {
        device: "Test GPU",
        driver: "1.2.3",
        method: "by hand",
        space: Some(0x0123_4567_89AB_CDEF),
        score: Some(Score(9_321)),
        kernels: kernels(count),
        classes: classes.collect(),
        trees,
    }
}

/// A small model with several classes, one of which shares its tree.
pub(crate) fn sample() -> ModelSource<'static> {
    let first = split(
        Feature::Mnk,
        20 * 8,
        split(Feature::MPerN, 248, leaf(&[1, 2]), leaf(&[])),
        split(Feature::K, 65, leaf(&[3]), leaf(&[4, 2, 1])),
    );
    let second = split(Feature::Batch, 0, leaf(&[2]), leaf(&[5, 4]));
    let mut source = source(5, vec![first, second]);
    let class = ProblemClass::from_index(6).unwrap();
    source.classes.push(TreeSource { class, measured_as: ProblemClass::F32_NN, tree: 0 });
    source
}

/// Dimensions of every size, the edges often.
pub(crate) fn dimension() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => 1u32..5000,
        1 => any::<u32>(),
        1 => (0u32..32, -1i64..=1).prop_map(|(bits, off)| ((1i64 << bits) + off) as u32),
        1 => prop_oneof![Just(0), Just(1), Just(u32::MAX)],
    ]
}

/// Shapes of every size.
pub(crate) fn shape() -> impl Strategy<Value = GemmShape> {
    (dimension(), dimension(), dimension(), dimension())
        .prop_map(|(m, k, n, batch)| GemmShape::new(m, k, n, batch))
}

/// Any feature.
pub(crate) fn feature() -> impl Strategy<Value = Feature> {
    proptest::sample::select(Feature::ALL.to_vec())
}

/// Leaves that rank kernels of a list of `kernels`.
pub(crate) fn any_leaf(kernels: u8) -> impl Strategy<Value = Leaf> {
    (vec(0..=kernels, 0..5), any::<u8>(), any::<u8>(), any::<u8>()).prop_map(
        |(ids, expected, worst, samples)| {
            let ids: Vec<_> = ids.into_iter().map(KernelId).collect();
            let samples = Samples::from_byte(samples);
            Leaf::new(&ids, Loss::from_byte(expected), Loss::from_byte(worst), samples)
        },
    )
}

/// A few trees that together ask for no more features than a model can use, with thresholds at
/// or beside what some shape has.
pub(crate) fn any_trees(kernels: u8) -> impl Strategy<Value = Vec<Tree>> {
    let features = proptest::sample::subsequence(Feature::ALL.to_vec(), MAX_FEATURES);
    features.prop_flat_map(move |features| vec(any_tree(kernels, features), 1..4))
}

fn any_tree(kernels: u8, features: Vec<Feature>) -> impl Strategy<Value = Tree> {
    any_leaf(kernels).prop_map(Tree::Leaf).prop_recursive(9, 160, 2, move |inner| {
        let threshold = (shape(), -1i16..=1);
        let feature = proptest::sample::select(features.clone());
        (feature, threshold, inner.clone(), inner).prop_map(
            |(feature, (shape, off), left, right)| {
                let threshold = plain_value(feature, shape).saturating_add_signed(off);
                split(feature, threshold.min(feature.largest() - 1), left, right)
            },
        )
    })
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

/// The shapes just around each threshold of a tree.
pub(crate) fn shapes_near(tree: &Tree) -> Vec<GemmShape> {
    let mut shapes = Vec::new();
    let mut pending = vec![tree];
    while let Some(tree) = pending.pop() {
        if let Tree::Split { feature, threshold, left, right } = tree {
            for value in [threshold.saturating_sub(1), *threshold, threshold + 1] {
                let shape = shape_of(*feature, value);
                let less = |one: u32| one.saturating_sub(1);
                shapes.push(shape);
                shapes.push(GemmShape { m: less(shape.m), ..shape });
                shapes.push(GemmShape { k: less(shape.k), ..shape });
                shapes.push(GemmShape { n: less(shape.n), ..shape });
                shapes.push(GemmShape { batch: less(shape.batch), ..shape });
            }
            pending.extend([&**left, &**right]);
        }
    }
    shapes
}

/// The CRC-32 of FORMAT.md §1, bit by bit.
fn crc32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let mut register = u32::MAX;
    for byte in bytes {
        register ^= u32::from(byte);
        for _ in 0..8 {
            register = if register & 1 == 1 { register >> 1 ^ 0xEDB8_8320 } else { register >> 1 };
        }
    }
    !register
}

/// A model of these payload bytes with a right header of version 1.0.
pub(crate) fn seal(payload: &[u8]) -> Vec<u8> {
    seal_as(0, payload)
}

/// A model of these payload bytes with a right header of version 1 and this minor one.
pub(crate) fn seal_as(minor: u8, payload: &[u8]) -> Vec<u8> {
    let mut start = [b"GTM\x1a\x01", &[minor, 0, 0][..]].concat();
    start.extend((payload.len() as u32).to_le_bytes());
    let sum = crc32(start.iter().chain(payload).copied());
    start.extend(sum.to_le_bytes());
    start.extend(payload);
    start
}

/// A payload in pieces, each to be damaged on its own.
#[derive(Clone)]
pub(crate) struct Raw {
    /// The minor version.
    pub(crate) minor: u8,
    /// Device, driver and method, each with its length.
    pub(crate) names: Vec<u8>,
    /// Space hash and score.
    pub(crate) options: Vec<u8>,
    /// The features' numbers with how many there are.
    pub(crate) features: Vec<u8>,
    /// The number of kernels.
    pub(crate) count: Vec<u8>,
    /// The kernels.
    pub(crate) kernels: Vec<u8>,
    /// Tree heads with their number.
    pub(crate) heads: Vec<u8>,
    /// The entries' length in bytes; found if left empty.
    pub(crate) length: Vec<u8>,
    /// The entries.
    pub(crate) entries: Vec<[u8; 6]>,
    /// What follows the entries.
    pub(crate) rest: Vec<u8>,
}

impl Raw {
    /// `f32-nn` with a split on m at 24 (m ≤ 8), kernel 1 below and kernel 2 above; two kernels.
    pub(crate) fn new() -> Self {
        Self {
            minor: 0,
            names: b"\x01d\x00\x01p".to_vec(),
            options: vec![0, 0],
            features: vec![1, 0],
            count: vec![2],
            kernels: vec![0, 1, 8, 3, 0],
            heads: vec![1, 0, 0, 0],
            length: vec![],
            entries: vec![[0x80, 0, 24, 0, 2, 0], [1, 0, 0, 0, 0, 1], [2, 1, 0, 0, 0, 1]],
            rest: vec![],
        }
    }

    /// The model of these pieces.
    pub(crate) fn blob(&self) -> Vec<u8> {
        let entries = self.entries.concat();
        let length = match &self.length[..] {
            [] => varint(entries.len()),
            given => given.to_vec(),
        };
        let Self { names, options, features, count, kernels, heads, .. } = self;
        let pieces = [names, options, features, count, kernels, heads, &length];
        let mut payload = pieces.map(|piece| &piece[..]).concat();
        payload.extend(entries);
        payload.extend(&self.rest);
        seal_as(self.minor, &payload)
    }
}

/// The shortest varint of FORMAT.md §2.
pub(crate) fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
