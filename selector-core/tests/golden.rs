//! Models written once and kept: their bytes, and what they answer, must not drift.
//!
//! A change of the format comes with a new version (FORMAT.md §8) and new files:
//! `GOLDEN_WRITE=1 cargo test -p selector-core --test golden`.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use common::{kernels, leaf, split};
use selector_core::{
    Feature, GemmShape, KernelId, Leaf, Loss, Model, ModelSource, PackedConfig, ProblemClass,
    Score, Tree, TreeSource,
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
            245,
        ))],
        classes: vec![TreeSource {
            class: ProblemClass::F32_NN,
            measured_as: ProblemClass::F32_NN,
            tree: 0,
        }],
    }
}

/// Splits of the tree that asks for every feature, `m` twice; split `i` has its branches at
/// `2i + 1` and `2i + 2`, and a leaf where there is none.
const QUESTIONS: [(Feature, u64); 15] = [
    (Feature::Bmnk, 1 << 33),
    (Feature::MPerN, 1 << 15),
    (Feature::MnPerK, 300 << 16),
    (Feature::K, 255),
    (Feature::Mk, 1 << 14),
    (Feature::KPerN, (3 << 16) + 1),
    (Feature::Mnk, 1 << 34),
    (Feature::Batch, 16),
    (Feature::M, 15),
    (Feature::N, 300),
    (Feature::Kn, 65_537),
    (Feature::MPerK, 1 << 20),
    (Feature::Bmn, 3 << 20),
    (Feature::Mn, 1 << 24),
    (Feature::M, u32::MAX as u64 - 1),
];

fn question(index: usize) -> Tree {
    match QUESTIONS.get(index) {
        Some((feature, threshold)) => {
            split(*feature, *threshold, question(2 * index + 1), question(2 * index + 2))
        }
        None => {
            let id = (index - QUESTIONS.len()) as u8;
            let kernels = [id, 40 + id % 3, 63].map(KernelId);
            let (expected, worst) = (Loss::from_byte(id), Loss::from_byte(255 - id));
            let samples = u32::MAX >> (2 * id);
            Tree::Leaf(Leaf::new(&kernels[..usize::from(id % 4)], expected, worst, samples))
        }
    }
}

/// Every feature, thresholds of every width, three trees for four classes, names beyond ASCII.
fn three_trees() -> ModelSource<'static> {
    let pair = split(Feature::Bmn, 1 << 14, leaf(&[63]), leaf(&[7, 9]));
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
        kernels: kernels(63),
        trees: vec![question(0), pair, leaf(&[12, 5])],
        classes: vec![serve(0, 0, 0), serve(1, 1, 1), serve(2, 0, 0), serve(7, 4, 2)],
    }
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

/// What the model answers for each class, as a table.
fn answers(model: &Model<'_>) -> String {
    let mut table = String::from("class,m,k,n,batch,kernels,expected,worst,samples\n");
    let mut dimensions = dimensions();
    let mut next = || dimensions.next().unwrap();
    for row in 0..640u16 {
        // Most rows are for the class whose tree asks most.
        let class =
            ProblemClass::from_index(if row % 2 == 0 { 0 } else { (row / 2 % 8) as u8 }).unwrap();
        let shape = GemmShape::new(next(), next(), next(), next() % 40);
        let leaf = model.select(class, shape);
        let kernels: Vec<_> = leaf.kernels().map(|id| id.to_string()).collect();
        let (expected, worst, samples) = (leaf.expected.byte(), leaf.worst.byte(), leaf.samples);
        let GemmShape { m, k, n, batch } = shape;
        let kernels = kernels.join(" ");
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
    let table = answers(&Model::parse(&blob).unwrap());
    assert_golden("three-trees.csv", table.as_bytes());
    // A table that tells little would pin little.
    let kernels = table.lines().skip(1).filter_map(|row| row.split(',').nth(5));
    let seen: BTreeSet<_> = kernels.collect();
    assert!(seen.len() >= 15, "{seen:?}");
}

#[test]
fn the_example_in_the_format_is_the_single_leaf_model() {
    let format =
        fs::read_to_string([env!("CARGO_MANIFEST_DIR"), "FORMAT.md"].iter().collect::<PathBuf>());
    let format = format.unwrap();
    let (_, section) = format.split_once("## §9").unwrap();
    let bytes: Vec<u8> = section
        .lines()
        .filter_map(|line| line.strip_prefix("    ")?.split_once("  "))
        .flat_map(|(bytes, _)| bytes.split(' '))
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    assert_eq!(bytes, fs::read(file("single-leaf.gtm")).unwrap());
}
