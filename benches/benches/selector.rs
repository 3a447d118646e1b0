//! Time to check a model and to choose a kernel, for a small and a large model.
//!
//! One measured iteration is a pass over a stream of 4096 shapes, so divide by that: criterion
//! prints the rate in elements, which are choices.

use std::hint::black_box;

use benches::{SHAPES, generate, repeating, shuffled};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use selector_core::{GemmShape, Model, ProblemClass};

/// Name, leaves, kernels and deepest path of a model that is measured.
const MODELS: [(&str, usize, usize, usize); 2] = [("small", 40, 8, 8), ("large", 1200, 63, 19)];
const SEED: u64 = 1;

/// From shape to the first kernel's id; never inlined, as a caller in another crate would see it.
#[inline(never)]
fn first(model: &Model<'_>, shape: GemmShape) -> u8 {
    model.select(ProblemClass::F32_NN, shape).first().0
}

/// What a call alone takes.
#[inline(never)]
fn nothing(_: &Model<'_>, shape: GemmShape) -> u8 {
    shape.m as u8
}

/// Choose for every shape, and use each choice.
fn pass(choose: fn(&Model<'_>, GemmShape) -> u8, model: &Model<'_>, shapes: &[GemmShape]) -> u64 {
    let choose = black_box(choose);
    shapes.iter().map(|shape| u64::from(choose(model, *shape))).sum()
}

fn parse(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    for (name, blob) in blobs() {
        group.throughput(Throughput::Bytes(blob.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| Model::parse(black_box(&blob)).map(|model| model.entries()));
        });
    }
    group.finish();
}

fn select(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("select");
    group.throughput(Throughput::Elements(SHAPES as u64));
    for (name, blob) in blobs() {
        let model = match Model::parse(&blob) {
            Ok(model) => model,
            Err(error) => panic!("the generated model `{name}` is refused: {error}"),
        };
        let shapes = repeating(SEED);
        group.bench_function(format!("{name}/call-only"), |bencher| {
            bencher.iter(|| pass(nothing, &model, black_box(&shapes)));
        });
        group.bench_function(format!("{name}/repeating"), |bencher| {
            bencher.iter(|| pass(first, &model, black_box(&shapes)));
        });
        let mut orders = shuffled(SEED);
        group.bench_function(format!("{name}/unpredictable"), |bencher| {
            let pass = |shapes: &mut Vec<GemmShape>| pass(first, &model, shapes);
            bencher.iter_batched_ref(&mut orders, pass, BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn blobs() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    MODELS.into_iter().map(|(name, leaves, kernels, depth)| {
        match generate(leaves, kernels, depth, SEED) {
            Ok(blob) => (name, blob),
            Err(error) => panic!("the model `{name}` cannot be generated: {error}"),
        }
    })
}

criterion_group!(benches, parse, select);
criterion_main!(benches);
