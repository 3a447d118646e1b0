//! Time to load a model and to choose a kernel, for a small and a large model, beside other ways
//! to choose.
//!
//! One measured iteration is a pass over a stream of 4096 shapes, so divide by that: criterion
//! prints the rate in elements, which are choices.

use std::hint::black_box;

use benches::{CLASS, Measured, SHAPES, all_ways, repeating, shuffled};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use selector_core::{FastTree, GemmShape, Model};

const SEED: u64 = 1;

fn load(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("load");
    for (name, blob) in blobs() {
        group.throughput(Throughput::Bytes(blob.len() as u64));
        group.bench_function(format!("{name}/parse"), |bencher| {
            bencher.iter(|| Model::parse(black_box(&blob)).map(|model| model.entries()));
        });
        group.bench_function(format!("{name}/parse-and-unpack"), |bencher| {
            bencher.iter(|| {
                let model = Model::parse(black_box(&blob)).ok()?;
                FastTree::<1280>::new(&model, CLASS).ok()
            });
        });
    }
    group.finish();
}

fn choose(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("choose");
    group.throughput(Throughput::Elements(SHAPES as u64));
    for (name, blob) in blobs() {
        let model = match Model::parse(&blob) {
            Ok(model) => model,
            Err(error) => panic!("the generated model `{name}` is refused: {error}"),
        };
        let ways = match all_ways(&model) {
            Ok(ways) => ways,
            Err(error) => panic!("{error:#}"),
        };
        for mut way in ways {
            let shapes = repeating(SEED);
            group.bench_function(format!("{name}/{}/repeating", way.name), |bencher| {
                bencher.iter(|| way.pass(black_box(&shapes)));
            });
            let mut orders = shuffled(SEED);
            group.bench_function(format!("{name}/{}/unpredictable", way.name), |bencher| {
                let pass = |shapes: &mut Vec<GemmShape>| way.pass(shapes);
                bencher.iter_batched_ref(&mut orders, pass, BatchSize::PerIteration);
            });
        }
    }
    group.finish();
}

fn blobs() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    Measured::ALL.into_iter().map(|model| match model.blob() {
        Ok(blob) => (model.name, blob),
        Err(error) => panic!("the model `{}` cannot be generated: {error}", model.name),
    })
}

criterion_group!(benches, load, choose);
criterion_main!(benches);
