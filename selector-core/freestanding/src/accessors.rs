//! What a model, a leaf, a feature and a class say of themselves.

use selector_core::{
    Feature, GemmShape, KernelId, Leaf, Loss, Model, ProblemClass, Samples, Score, Transposes,
};

use crate::class;

/// The texts of a model; their bytes together.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_model_texts(model: &Model<'static>) -> usize {
    [model.device(), model.driver(), model.method()]
        .into_iter()
        .fold(0, |all, text| all.wrapping_add(text.len()))
}

/// The numbers of a model; their sum.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_model_numbers(model: &Model<'static>, number: u8) -> u64 {
    let score = model.score().map_or(0, |score| u64::from(score.0));
    let measured = model.measured_as(class(number)).map_or(0, |one| u64::from(one.index()));
    [model.space().unwrap_or(0), score, model.entries() as u64, measured]
        .into_iter()
        .fold(model.features().len() as u64, u64::wrapping_add)
}

/// [`Score::share`] and [`Score::from_share`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_score(share: f64) -> f64 {
    Score::from_share(share).share()
}

/// [`Leaf::new`] of two kernels.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_leaf(first: u8, second: u8, log2_slowdown: f64, samples: u32) -> u32 {
    let kernels = [first, second].map(KernelId);
    let loss = Loss::from_log2(log2_slowdown);
    let leaf = Leaf::new(&kernels, loss, Loss::from_byte(second), Samples::new(samples));
    let Leaf { expected, worst, samples, .. } = leaf;
    u32::from_le_bytes([leaf.first().0, expected.byte(), worst.byte(), samples.byte()])
}

/// [`Loss::log2`]; negative where it is unknown.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_loss(leaf: &Leaf) -> f64 {
    leaf.expected.log2().or_else(|| leaf.worst.log2()).unwrap_or(-1.0)
}

/// [`Samples::at_least`] and whether it is the very number.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_samples(byte: u8, exact: &mut bool) -> u32 {
    let samples = Samples::from_byte(byte);
    *exact = samples.is_exact();
    samples.at_least()
}

/// [`Feature::from_index`], what the feature is made of and what a value of it stands for.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_feature(index: u8, value: u16, largest: &mut u16) -> f64 {
    let Some(feature) = Feature::from_index(index) else { return -1.0 };
    let [m, ..] = feature.signs();
    let dimension = feature.dimension().unwrap_or(0) as u16;
    *largest = feature.largest() ^ feature.offset() ^ dimension ^ m as u16;
    feature.readable(value)
}

/// [`ProblemClass::all`] and the parts of a class; the bits of them all.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_classes() -> u64 {
    ProblemClass::all().fold(0, |bits, class| {
        let ProblemClass { precision, transposes } = class;
        let again = ProblemClass::new(precision, Transposes::of(transposes.a(), transposes.b()));
        let element = again.element().bytes() ^ precision.element().bytes() << 1;
        bits << 4 | element ^ precision.name().len() as u64 ^ u64::from(again.index())
    })
}

/// [`GemmShape::flop`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_flop(shape: &GemmShape) -> f64 {
    shape.flop()
}
