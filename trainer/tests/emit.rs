//! Emitted C and Rust, compiled here, answer as the model does on a million shapes.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use selector_core::{GemmShape, Model, Node, ProblemClass};
use trainer::emit::{self, Answer, Program};

/// Shapes for each of the models and answers that are compared.
const SHAPES: usize = 250_000;

/// Reads (class, m, k, n, batch, answer) in records of 32 bytes and compares each.
const C_MAIN: &str = r#"
#include <stdio.h>
int main(int argc, char **argv)
{
    struct { uint64_t problem_class, answer; uint32_t m, k, n, batch; } record;
    unsigned long count = 0;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        return 2;
    }
    while (fread(&record, sizeof record, 1, file) == 1) {
        const uint64_t answer = (uint64_t)gemmtree_select((unsigned)record.problem_class, record.m,
                                                          record.k, record.n, record.batch);
        if (answer != record.answer) {
            printf("%ux%ux%ux%u\n", record.m, record.k, record.n, record.batch);
            return 1;
        }
        count++;
    }
    printf("%lu\n", count);
    return 0;
}
"#;

const RUST_MAIN: &str = r#"
fn main() {
    let bytes = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let mut count = 0;
    for record in bytes.chunks_exact(32) {
        let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap());
        let side = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
        let (m, k, n, batch) = (side(16), side(20), side(24), side(28));
        let answer = gemmtree_select(word(0) as u8, m, k, n, batch);
        if u64::from(answer) != word(8) {
            println!("{m}x{k}x{n}x{batch}");
            std::process::exit(1);
        }
        count += 1;
    }
    println!("{count}");
}
"#;

/// A dimension of any size: as many digits as any other.
fn dimension(random: &mut impl Rng) -> u32 {
    let drawn = random.next_u64();
    (drawn as u32) >> (drawn >> 59)
}

/// Shapes just at the thresholds of single dimensions.
fn borders(model: &Model<'_>) -> Vec<GemmShape> {
    let nodes = (0..model.entries()).filter_map(|index| model.node(index));
    let borders = nodes.filter_map(|node| match node {
        Node::Split { feature, threshold, .. } => Some((feature, threshold)),
        Node::Leaf(_) => None,
    });
    let shapes = borders.flat_map(|(feature, threshold)| {
        let place = feature.dimension();
        let first = feature.readable(threshold + 1) as u32;
        let near = [first.wrapping_sub(2), first.wrapping_sub(1), first, first.saturating_add(1)];
        near.into_iter().filter_map(move |value| {
            let mut sides = [300, 300, 300, 1];
            sides[place?] = value;
            let [m, k, n, batch] = sides;
            Some(GemmShape::new(m, k, n, batch))
        })
    });
    shapes.collect()
}

fn golden(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../selector-core/tests/golden");
    fs::read(folder.join(name)).unwrap()
}

/// Records for the programs above: each class, and a class that is none.
fn records(model: &Model<'_>, answer: Answer) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut bytes = Vec::with_capacity(32 * SHAPES);
    let borders = borders(model);
    for number in 0..SHAPES {
        let [m, k, n, batch] = [(); 4].map(|()| dimension(&mut random));
        let drawn = GemmShape::new(m, k, n, if number % 4 == 0 { batch } else { 1 });
        let GemmShape { m, k, n, batch } = *borders.get(number / 9).unwrap_or(&drawn);
        let class = (number % 9) as u8;
        let leaf = ProblemClass::from_index(class)
            .map_or(selector_core::Leaf::UNIVERSAL, |class| {
                model.select(class, GemmShape::new(m, k, n, batch))
            });
        let mut six = [leaf.expected.byte(), leaf.worst.byte(), leaf.samples.byte(), 0, 0].to_vec();
        let mut ids: Vec<u8> = leaf.kernels().map(|id| id.0).collect();
        ids.resize(3, 0);
        six.splice(0..0, ids);
        let answer = match answer {
            Answer::First => leaf.first().0.into(),
            Answer::Leaf => u64::from_le_bytes(six.try_into().unwrap()),
        };
        bytes.extend(u64::from(class).to_le_bytes());
        bytes.extend(answer.to_le_bytes());
        bytes.extend([m, k, n, batch].into_iter().flat_map(u32::to_le_bytes));
    }
    bytes
}

/// Compile `source` and run it on the records.
fn agrees(source: &Path, mut compiler: Command, records: &Path) {
    let program: PathBuf = source.with_extension("out");
    let compiled = compiler.arg(source).arg("-o").arg(&program).output().unwrap();
    let errors = String::from_utf8_lossy(&compiled.stderr).into_owned();
    assert!(compiled.status.success(), "{errors}");
    let ran = Command::new(&program).arg(records).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(said.trim(), SHAPES.to_string(), "{}", source.display());
}

fn compare(model: &str, answer: Answer) {
    let blob = golden(model);
    let model = Model::parse(&blob).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records");
    fs::write(&file, records(&model, answer)).unwrap();
    let program = Program::new(&model, answer, "gemmtree");

    // The key in each of its ways: by a double, by leading zeros, by counting.
    let source = emit::by_name("c").unwrap().source(&program);
    let by_zeros = source.replace("defined(__x86_64__)", "0");
    let by_count = by_zeros.replace("defined(__GNUC__)", "0");
    for (way, text) in [source, by_zeros, by_count].into_iter().enumerate() {
        let c = folder.path().join(format!("select{way}.c"));
        fs::write(&c, text + C_MAIN).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args(["-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]);
        agrees(&c, gcc, &file);
    }

    let rust = folder.path().join("select.rs");
    fs::write(&rust, emit::by_name("rust").unwrap().source(&program) + RUST_MAIN).unwrap();
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--deny", "warnings", "-C", "opt-level=1"]);
    agrees(&rust, rustc, &file);
}

/// The header serves C++ too, whichever compiler made the object file; two models can be in one
/// program.
#[test]
fn cpp_programs_link_with_what_either_compiler_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let c = emit::by_name("c").unwrap();
    for (prefix, model) in [("one", "three-trees.gtm"), ("other", "features-a.gtm")] {
        let blob = golden(model);
        let model = Model::parse(&blob).unwrap();
        let program = Program::new(&model, Answer::Leaf, prefix);
        fs::write(path(&format!("{prefix}.c")), c.source(&program)).unwrap();
        fs::write(path(&format!("{prefix}.h")), c.header(&program).unwrap()).unwrap();
    }
    let main = r#"
#include "one.h"
#include "other.h"
#include <cstdio>
int main()
{
    const uint64_t leaf = one_select(ONE_F32_NN, 784, 1152, 256, 1);
    std::printf("%u %u %u %u %u %u %s %u", one_kernel(leaf, 0), one_kernel(leaf, 1), one_kernel(leaf, 3),
                one_expected_loss(leaf), one_worst_loss(leaf), (unsigned)one_samples(leaf),
                one_kernel_names[0], one_configurations[ONE_KERNELS - 2][0]);
    return (int)other_kernel(other_select_f32_nn(1, 1, 1, 1), 0) == 0;
}
"#;
    fs::write(path("main.cpp"), main).unwrap();
    let blob = golden("three-trees.gtm");
    let model = Model::parse(&blob).unwrap();
    let leaf = model.select(ProblemClass::F32_NN, GemmShape::new(784, 1152, 256, 1));
    let ids: Vec<u8> = leaf.kernels().map(|id| id.0).collect();
    let expected = format!(
        "{} {} 0 {} {} {} universal {}",
        ids[0],
        ids[1],
        leaf.expected.byte(),
        leaf.worst.byte(),
        leaf.samples.at_least(),
        model.kernels().last().unwrap().family,
    );
    for compiler in ["gcc", "g++"] {
        let run = |command: &mut Command| {
            let ran = command.current_dir(folder.path()).output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            String::from_utf8(ran.stdout).unwrap()
        };
        run(Command::new(compiler).args(["-c", "-Wall", "-Wextra", "-Werror", "one.c", "other.c"]));
        let objects = ["main.cpp", "one.o", "other.o", "-o", "program"];
        run(Command::new("g++").args(["-Wall", "-Wextra", "-Werror"]).args(objects));
        assert_eq!(run(&mut Command::new(path("program"))), expected, "{compiler}");
    }
}

#[test]
fn whole_leaves_of_several_trees_agree() {
    compare("three-trees.gtm", Answer::Leaf);
}

#[test]
fn first_kernels_of_trees_that_ask_for_every_feature_agree() {
    for model in ["features-a.gtm", "features-b.gtm", "features-c.gtm"] {
        compare(model, Answer::First);
    }
}

#[test]
fn a_single_leaf_is_code_too() {
    compare("single-leaf.gtm", Answer::Leaf);
}
