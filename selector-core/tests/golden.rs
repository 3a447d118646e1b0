//! Models written once and kept: their bytes, and what they answer, must not drift.
//!
//! A change of the format comes with a new version (FORMAT.md §8) and new files:
//! `GOLDEN_WRITE=1 cargo test -p selector-core --test golden`.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use common::{Raw, kernels, leaf, split};
use selector_core::{
    FORMAT_VERSION, Feature, GemmShape, KernelId, Leaf, Loss, Model, ModelError, ModelSource,
    NodeError, PackedConfig, ProblemClass, Samples, Score, Tree, TreeSource,
};

/// The smallest useful model: one kernel, for every shape of one class.
fn single_leaf() -> ModelSource<'static> {
    ModelSource {
        device: "Mali-G71",
        driver: "r38p1",
        method: "single-best",
        space: None,
        score: Some(Score(6_690)),
        kernels: vec![PackedConfig { family: 2, parameters: [4, 8, 300].into_iter().collect() }],
        trees: vec![Tree::Leaf(Leaf::new(
            &[KernelId(1)],
            Loss::from_byte(38),
            Loss::from_byte(254),
            Samples::new(245),
        ))],
        classes: vec![TreeSource {
            class: ProblemClass::F32_NN,
            measured_as: ProblemClass::F32_NN,
            tree: 0,
        }],
    }
}

/// Splits of the tree that asks for five features, some twice; split `i` has its branches at
/// `2i + 1` and `2i + 2`, and a leaf where there is none.
const QUESTIONS: [(Feature, u16); 15] = [
    (Feature::Bmnk, 264),
    (Feature::MPerN, 248),
    (Feature::MnPerK, 320),
    (Feature::K, 63),
    (Feature::Bmnk, 112),
    (Feature::MPerN, 256),
    (Feature::Bmnk, 300),
    (Feature::MnPerK, 200),
    (Feature::K, 128),
    (Feature::Bmn, 66),
    (Feature::K, 60),
    (Feature::MPerN, 230),
    (Feature::Bmn, 172),
    (Feature::MnPerK, 400),
    (Feature::K, 100),
];

fn question(index: usize) -> Tree {
    match QUESTIONS.get(index) {
        Some((feature, threshold)) => {
            split(*feature, *threshold, question(2 * index + 1), question(2 * index + 2))
        }
        None => {
            let id = (index - QUESTIONS.len()) as u8;
            let kernels = [id, 40 + id % 3, 127].map(KernelId);
            let (expected, worst) = (Loss::from_byte(id), Loss::from_byte(255 - id));
            let samples = Samples::new(u32::MAX >> (2 * id));
            Tree::Leaf(Leaf::new(&kernels[..usize::from(id % 4)], expected, worst, samples))
        }
    }
}

/// Five features, losses and counts of every size, three trees for four classes, names beyond ASCII.
fn three_trees() -> ModelSource<'static> {
    let pair = split(Feature::Bmn, 112, leaf(&[127]), leaf(&[7, 9]));
    let class = |index| ProblemClass::from_index(index).unwrap();
    let serve = |index, measured, tree| TreeSource {
        class: class(index),
        measured_as: class(measured),
        tree,
    };
    ModelSource {
        device: "Grafikgerät №1",
        driver: "",
        method: "greedy cover, cost-sensitive tree, seed 7",
        space: Some(0xFEDC_BA98_7654_3210),
        score: None,
        kernels: kernels(127),
        trees: vec![question(0), pair, leaf(&[12, 5])],
        classes: vec![serve(0, 0, 0), serve(1, 1, 1), serve(2, 0, 0), serve(7, 4, 2)],
    }
}

/// Classes above 7, which make it a model of version 1.1: their own trees, and some that share.
fn half_classes() -> ModelSource<'static> {
    let single = split(Feature::Mnk, 150, leaf(&[3]), leaf(&[4, 5]));
    let half = split(
        Feature::Mnk,
        170,
        split(Feature::MPerN, 250, leaf(&[6, 3]), leaf(&[7])),
        split(Feature::K, 72, leaf(&[8, 7]), leaf(&[9, 8, 7])),
    );
    let mut source = common::source(9, vec![single, half]);
    let class = |index| ProblemClass::from_index(index).unwrap();
    source.classes = [(0, 0, 0), (4, 0, 0), (8, 8, 1), (9, 8, 1), (11, 11, 1), (3, 9, 1)]
        .map(|(own, measured, tree)| TreeSource {
            class: class(own),
            measured_as: class(measured),
            tree,
        })
        .into();
    source
}

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name].iter().collect()
}

/// The committed file equals `bytes`; with `GOLDEN_WRITE` set, it is written first.
fn assert_golden(name: &str, bytes: &[u8]) {
    let file = file(name);
    if env::var_os("GOLDEN_WRITE").is_some() {
        let fresh = file.with_extension("new");
        fs::write(&fresh, bytes).unwrap();
        fs::rename(&fresh, &file).unwrap();
    }
    assert!(fs::read(&file).unwrap() == bytes, "`{name}` differs from what is written now");
}

/// Numbers of every width from a fixed linear congruence, some at the edges.
fn dimensions() -> impl Iterator<Item = u32> {
    let mut state = 1u64;
    std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (width, value) = ((state >> 57) as u32, (state >> 20) as u32);
        match width {
            0..=99 => value >> (32 - width / 5).min(31),
            100..=123 => value >> (width - 100),
            124 => 0,
            _ => u32::MAX,
        }
    })
}

/// A model that asks for `features` again and again: a full tree of five levels, one feature each.
fn asking(features: &[Feature]) -> ModelSource<'static> {
    fn level(features: &[Feature], depth: usize, place: u16) -> Tree {
        let Some(feature) = features.get(depth) else {
            return leaf(&[place as u8 % 31 + 1, place as u8 % 7 + 40]);
        };
        // Somewhere in the middle, another place for each split.
        let middle = u16::midpoint(feature.offset(), feature.largest()) / 2 + feature.offset() / 2;
        let threshold = middle + 3 * place % 41;
        let branch = |side| level(features, depth + 1, 2 * place + side);
        split(*feature, threshold, branch(0), branch(1))
    }
    let mut source = common::source(50, vec![level(features, 0, 0)]);
    source.score = Some(Score(10_000));
    source
}

/// What a model answers around each of its thresholds and elsewhere, for class f32-nn.
fn answers_near(model: &Model<'_>, tree: &Tree) -> String {
    let mut dimensions = dimensions();
    let mut next = || dimensions.next().unwrap();
    let near: Vec<_> = common::shapes_near(tree).into_iter().step_by(3).take(320).collect();
    let drawn = (near.len()..640).map(|_| GemmShape::new(next(), next(), next(), next() % 40));
    let shapes: Vec<_> = near.iter().copied().chain(drawn).collect();
    table(shapes.into_iter().map(|shape| (ProblemClass::F32_NN, shape)), model)
}

/// What the model answers for each of the first `classes`, as a table.
fn answers(model: &Model<'_>, classes: u16) -> String {
    let mut dimensions = dimensions();
    let mut next = || dimensions.next().unwrap();
    let questions = (0..640u16).map(|row| {
        // Most rows are for the class whose tree asks most.
        let class = if row % 2 == 0 { 0 } else { (row / 2 % classes) as u8 };
        let shape = GemmShape::new(next(), next(), next(), next() % 40);
        (ProblemClass::from_index(class).unwrap(), shape)
    });
    table(questions, model)
}

fn table(questions: impl Iterator<Item = (ProblemClass, GemmShape)>, model: &Model<'_>) -> String {
    let mut table = String::from("class,m,k,n,batch,kernels,expected,worst,samples\n");
    for (class, shape) in questions {
        let leaf = model.select(class, shape);
        let kernels: Vec<_> = leaf.kernels().map(|id| id.to_string()).collect();
        let (expected, worst) = (leaf.expected.byte(), leaf.worst.byte());
        let (kernels, samples) = (kernels.join(" "), leaf.samples.byte());
        let GemmShape { m, k, n, batch } = shape;
        writeln!(table, "{class},{m},{k},{n},{batch},{kernels},{expected},{worst},{samples}")
            .unwrap();
    }
    table
}

#[test]
fn the_single_leaf_model_keeps_its_bytes() {
    assert_golden("single-leaf.gtm", &single_leaf().encode().unwrap());
}

#[test]
fn the_model_of_three_trees_keeps_its_bytes_and_answers() {
    let blob = three_trees().encode().unwrap();
    assert_golden("three-trees.gtm", &blob);
    let table = answers(&Model::parse(&blob).unwrap(), 8);
    assert_golden("three-trees.csv", table.as_bytes());
    // A table that tells little would pin little.
    let kernels = table.lines().skip(1).filter_map(|row| row.split(',').nth(5));
    let seen: BTreeSet<_> = kernels.collect();
    assert!(seen.len() >= 15, "{seen:?}");
}

#[test]
fn the_model_of_classes_above_7_keeps_its_bytes_and_answers() {
    let blob = half_classes().encode().unwrap();
    assert_eq!(blob[4..6], [1, 1]);
    assert_golden("half-classes.gtm", &blob);
    let table = answers(&Model::parse(&blob).unwrap(), 12);
    assert_golden("half-classes.csv", table.as_bytes());
    let of_half = table.lines().filter(|row| row.starts_with("f16h-"));
    let seen: BTreeSet<_> = of_half.filter_map(|row| row.split(',').nth(5)).collect();
    assert_eq!(seen.len(), 5, "{seen:?}");
}

#[test]
fn a_model_without_classes_above_7_stays_one_of_version_1_0() {
    let mut source = half_classes();
    source.classes.retain(|one| one.class.index() < 8 && one.measured_as.index() < 8);
    source.trees.truncate(1);
    assert_eq!(source.encode().unwrap()[4..6], [1, 0]);
    // Where a tree was measured is a class too.
    source.classes[0].measured_as = ProblemClass::from_index(8).unwrap();
    assert_eq!(source.encode().unwrap()[4..6], [1, 1]);
}

#[test]
fn models_that_ask_for_every_feature_keep_their_bytes_and_answers() {
    let parts = [(0..5, "a"), (5..10, "b"), (9..14, "c")];
    for (part, name) in parts {
        let source = asking(&Feature::ALL[part]);
        let blob = source.encode().unwrap();
        assert_golden(&format!("features-{name}.gtm"), &blob);
        let answers = answers_near(&Model::parse(&blob).unwrap(), &source.trees[0]);
        assert_golden(&format!("features-{name}.csv"), answers.as_bytes());
        let seen: BTreeSet<_> = answers.lines().filter_map(|row| row.split(',').nth(5)).collect();
        assert!(seen.len() > 12, "{name}: {} answers", seen.len());
    }
}

/// Models with a right checksum that fail the check whose number begins their name, and how.
fn refused() -> Vec<(&'static str, Vec<u8>, ModelError)> {
    let with = |change: fn(&mut Raw)| {
        let mut raw = Raw::new();
        change(&mut raw);
        raw.blob()
    };
    let node = |index, error| ModelError::Node { index, error };
    let payload = ModelError::Payload;
    let kernels = ModelError::TooManyKernels { need: 128, have: 127 };
    let features = ModelError::TooManyFeatures { need: 6, have: 5 };
    let version = ModelError::Version { found: (1, 2), supported: FORMAT_VERSION };
    vec![
        ("2-version-1.2", with(|raw| raw.minor = 2), version),
        ("5-leftover", with(|raw| raw.rest = vec![0]), payload),
        (
            "5-length-of-six-bytes",
            with(|raw| {
                raw.names.splice(0..1, [0x81, 0x80, 0x80, 0x80, 0x80, 0]);
            }),
            payload,
        ),
        ("5-not-utf-8", with(|raw| raw.names[1] = 0xFF), payload),
        ("5-too-many-features", with(|raw| raw.features = vec![6, 0, 1, 2, 3, 4, 5]), features),
        ("5-too-many-kernels", with(|raw| raw.count = vec![0x80, 1]), kernels),
        ("5-varint-beyond-u16", with(|raw| raw.count = vec![0xFF, 0xFF, 0x07]), payload),
        ("6-score", with(|raw| raw.options = vec![0, 1, 0x91, 0x4E]), ModelError::Score(10_001)),
        ("7-feature-twice", with(|raw| raw.features = vec![2, 0, 0]), ModelError::FeatureTwice(0)),
        (
            "7-feature-unknown",
            with(|raw| raw.features = vec![2, 0, 14]),
            ModelError::FeatureUnknown(14),
        ),
        (
            "8-ragged",
            with(|raw| (raw.length, raw.rest) = (vec![19], vec![0])),
            ModelError::RaggedTrees { have: 19 },
        ),
        ("9-gap", with(|raw| raw.entries[1] = [0, 1, 0, 0, 0, 1]), node(1, NodeError::Ranking)),
        ("9-kernel-twice", with(|raw| raw.entries[2][1] = 2), node(2, NodeError::Ranking)),
        ("9-kernel-unknown", with(|raw| raw.entries[1][0] = 3), node(1, NodeError::Kernel(3))),
        ("9-lane", with(|raw| raw.entries[0][0] = 0x81), node(0, NodeError::Feature(1))),
        ("9-reserved", with(|raw| raw.entries[0][1] = 1), node(0, NodeError::Reserved)),
        ("9-threshold", with(|raw| raw.entries[0][2] = 255), node(0, NodeError::Threshold(255))),
        ("10-branch", with(|raw| raw.entries[0][4] = 1), node(2, NodeError::Branch)),
        (
            "10-too-deep",
            with(|raw| {
                let splits = (0..65u8).map(|index| [0x80, 0, 24, 0, 130 - index, 0]);
                raw.entries = splits.chain((0..66).map(|_| [1, 0, 0, 0, 0, 1])).collect();
            }),
            node(64, NodeError::TooDeep),
        ),
        ("10-unfinished", with(|raw| raw.entries.truncate(2)), node(2, NodeError::Unfinished)),
        (
            "11-unreachable",
            with(|raw| raw.entries.push([0; 6])),
            ModelError::UnreachableEntries { first: 3 },
        ),
        (
            "12-class-twice",
            with(|raw| raw.heads = vec![2, 0, 0, 0, 0, 0, 0]),
            ModelError::ClassTwice(0),
        ),
        ("12-class-unknown", with(|raw| raw.heads = vec![1, 8, 0, 0]), ModelError::ClassUnknown(8)),
        (
            "12-class-unknown-in-1.1",
            with(|raw| (raw.minor, raw.heads) = (1, vec![1, 12, 0, 0])),
            ModelError::ClassUnknown(12),
        ),
        (
            "12-measured-as-unknown",
            with(|raw| raw.heads = vec![1, 0, 8, 0]),
            ModelError::ClassUnknown(8),
        ),
        (
            "12-root",
            with(|raw| raw.heads = vec![2, 0, 0, 0, 1, 0, 1]),
            ModelError::Root { class: 1, root: 1 },
        ),
    ]
}

#[test]
fn refused_models_stay_refused() {
    for (name, blob, error) in refused() {
        assert_golden(&format!("refused/{name}.gtm"), &blob);
        assert_eq!(Model::parse(&blob).unwrap_err(), error, "{name}");
    }
    let old = fs::read(file("refused/2-version-0.1.gtm")).unwrap();
    assert!(matches!(Model::parse(&old), Err(ModelError::Version { found: (0, 1), .. })));
}

/// A second reader, written in Python from FORMAT.md alone, agrees with all of these.
#[test]
fn a_reader_in_another_language_agrees() {
    let reader: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "reader.py"].iter().collect();
    let output = Command::new("python3").arg(reader).arg(file("")).output();
    let output = output.expect("python3 runs (`make test` installs it)");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.starts_with("3200 answers agree"), "{said}");
}

#[test]
fn the_example_in_the_format_is_the_single_leaf_model() {
    let format =
        fs::read_to_string([env!("CARGO_MANIFEST_DIR"), "FORMAT.md"].iter().collect::<PathBuf>());
    let format = format.unwrap();
    let (_, section) = format.split_once("## §9").unwrap();
    let (_, table) = section.split_once("```text\n").unwrap();
    let (table, _) = table.split_once("```").unwrap();
    let bytes = table.lines().flat_map(|line| line.split_once("  ").unwrap().0.split(' '));
    let bytes: Vec<u8> = bytes.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(bytes, fs::read(file("single-leaf.gtm")).unwrap());
}
