//! The same data make the same bytes, in whatever order their rows come.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use selector_core::{Feature, GemmShape, Model, ProblemClass, RANKED};
use trainer::dataset::Dataset;
use trainer::export;
use trainer::learn::{self, Grown, Learner};
use trainer::normalise::Normalisation;
use trainer::prune::{self, Pruner};
use trainer::train::{self, Method};

/// Every sixth shape of the H200 table with every ninth configuration, as lines.
fn table() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/h200-tile640.csv.gz");
    let mut text = String::new();
    GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let mut lines = text.lines().map(str::to_owned);
    let mut table = vec![lines.next().unwrap()];
    let some = lines.enumerate().filter(|(index, _)| index / 640 % 6 == 0 && index % 640 % 9 == 0);
    table.extend(some.map(|(_, line)| line));
    table
}

/// Another order of the rows for each seed; 0 leaves them.
fn shuffled(table: &[String], seed: usize) -> String {
    let mut rows = table[1..].to_vec();
    let count = rows.len();
    for index in 0..count * seed.min(1) {
        rows.swap(index, (index * (7 * seed + 3) + seed) % count);
    }
    format!("{}\n{}\n", table[0], rows.join("\n"))
}

fn model(text: &str, pruner: &'static dyn Pruner, learner: &'static dyn Learner) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    let dataset = Dataset::open(file.path()).unwrap();
    let normalisation = Normalisation::Scaled;
    let method = Method { pruner, learner, kernels: 5, normalisation, seed: 1 };
    let all: Vec<usize> = (0..dataset.tasks().len()).collect();
    let fitted = train::fit(&dataset, &all, &method).unwrap();
    export::encode(&dataset, &fitted, &method, None, "some device").unwrap()
}

#[test]
fn the_order_of_rows_does_not_reach_the_model() {
    let table = table();
    assert_eq!(table.len(), 1 + 41 * 72);
    let text = shuffled(&table, 1);
    assert_ne!(text, shuffled(&table, 0));
    // Every pruner, and every learner that may ship, but not every pair: that takes long.
    let by_pruner = prune::ALL.iter().map(|pruner| (*pruner, learn::by_name("cost-tree").unwrap()));
    let shipped = learn::ALL.iter().filter(|learner| learner.repeatable());
    let by_learner = shipped.map(|learner| (prune::ALL[0], *learner));
    for (pruner, learner) in by_pruner.chain(by_learner) {
        let expected = model(&shuffled(&table, 0), pruner, learner);
        let names = (pruner.name(), learner.name());
        assert!(model(&text, pruner, learner) == expected, "{names:?}");
    }
}

#[test]
fn the_number_of_threads_does_not_reach_the_default_model() {
    let text = shuffled(&table(), 0);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            assert_eq!(rayon::current_num_threads(), threads);
            model(&text, prune::ALL[0], learn::ALL[0])
        })
    };
    assert!(with(1) == with(3));
}

/// Shapes whose features lie at a tree's thresholds, one below and one above.
fn near_thresholds(tree: &Grown) -> Vec<GemmShape> {
    let Grown::Split { feature, threshold, left, right } = tree else { return Vec::new() };
    let shape = |value: u16| {
        let mut keys = i32::from(value) - i32::from(feature.offset());
        let [m, k, n, batch] = feature.signs().map(|sign| {
            let key = (keys * i32::from(sign)).clamp(0, 255);
            keys -= key * i32::from(sign);
            Feature::M.readable(key as u16) as u32
        });
        GemmShape::new(m, k, n, batch)
    };
    let here = [threshold.saturating_sub(1), *threshold, threshold + 1].map(shape);
    [here.to_vec(), near_thresholds(left), near_thresholds(right)].concat()
}

#[test]
fn the_model_answers_as_the_tree_that_was_grown() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), shuffled(&table(), 0)).unwrap();
    let dataset = Dataset::open(file.path()).unwrap();
    let method = Method {
        pruner: prune::ALL[0],
        learner: learn::ALL[0],
        kernels: 5,
        normalisation: Normalisation::Scaled,
        seed: 0,
    };
    let all: Vec<usize> = (0..dataset.tasks().len()).collect();
    let fitted = train::fit(&dataset, &all, &method).unwrap();
    let blob = export::encode(&dataset, &fitted, &method, None, "some device").unwrap();
    let model = Model::parse(&blob).unwrap();
    let tree = &fitted.trees[0].tree;
    let grid = [1, 3, 8, 17, 64, 100, 512, 4096, 50_000, u32::MAX];
    for (m, k, n) in
        grid.iter().flat_map(|m| grid.iter().flat_map(move |k| grid.map(|n| (*m, *k, n))))
    {
        let shape = GemmShape::new(m, k, n, 1);
        let first = model.select(ProblemClass::F32_NN, shape).first();
        assert_eq!(usize::from(first.0), tree.rank(shape)[0] + 1, "{shape}");
    }
    let near = near_thresholds(tree);
    assert!(near.len() > 100);
    for shape in near {
        let chosen = model.select(ProblemClass::F32_NN, shape);
        let ranked: Vec<_> = chosen.kernels().map(|id| usize::from(id.0)).collect();
        let grown = tree.rank(shape).iter().take(RANKED).map(|place| place + 1);
        assert_eq!(ranked, grown.chain([0]).collect::<Vec<_>>(), "{shape}");
    }
    for class in ProblemClass::all() {
        let expected = class.to_string().starts_with("f32").then_some(ProblemClass::F32_NN);
        assert_eq!(model.measured_as(class), expected);
    }
    let samples = dataset.tasks().iter().map(|task| model.select(task.class, task.shape).samples);
    assert!(samples.min().unwrap().at_least() >= 1);
}
