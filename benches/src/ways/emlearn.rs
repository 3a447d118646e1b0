//! A tree of scikit-learn fitted to the model's answers, as emlearn writes it in C; only where
//! `benches/peers/setup.sh` has installed both.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;
use selector_core::{GemmShape, Model, Node};

use super::{CLASS, Way, ifs};
use crate::shapes::shuffled;

/// Streams of 4096 shapes that it is fitted to.
const STREAMS: u64 = 4;

/// The entry that all ways have; features as FORMAT.md §5 defines them.
const ENTRY: &str = "
static int key(uint32_t dimension)
{
    const double value = dimension + (dimension == 0);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int)(bits >> 49) - 8 * 1023;
}
__attribute__((visibility(\"default\")))
uint8_t bench_choose(void *context, uint32_t m, uint32_t k, uint32_t n, uint32_t batch)
{
    const int keys[4] = {key(m), key(k), key(n), key(batch)};
    int16_t features[FEATURES];
    (void)context;
    for (int place = 0; place < FEATURES; place++) {
        features[place] = (int16_t)(OFFSETS[place] + SIGNS[place][0] * keys[0] + SIGNS[place][1] * keys[1]
                                    + SIGNS[place][2] * keys[2] + SIGNS[place][3] * keys[3]);
    }
    return (uint8_t)peer_predict(features, FEATURES);
}
";

/// `None` where emlearn is not installed.
pub(super) fn tree(model: &Model<'_>) -> anyhow::Result<Option<Way<'static>>> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let python = target.join("peers/bin/python");
    if !python.exists() {
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let training: Vec<_> = (0..STREAMS).flat_map(|seed| shuffled(seed)()).collect();
    let asked = shuffled(7)();
    fs::write(path("train.csv"), rows(model, &training)?)?;
    fs::write(path("test.csv"), rows(model, &asked)?)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/emlearn_tree.py");
    let ran = Command::new(python)
        .arg(script)
        .args([path("train.csv"), path("test.csv")])
        .arg(leaves(model).to_string())
        .args([path("peer.h"), path("predictions")])
        .output()?;
    ensure!(ran.status.success(), "emlearn: {}", String::from_utf8_lossy(&ran.stderr));
    let include = String::from_utf8(ran.stdout)?.trim().to_owned();
    let source = fs::read_to_string(path("peer.h"))? + &tables(model)? + ENTRY;
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu99", "-O3", "-shared", "-fPIC", "-fvisibility=hidden"]);
    gcc.args(["-w", "-DEMTREES_MAX_CLASSES=127", "-I", &include]);
    let mut way =
        ifs::compiled("emlearn", "peer.c", format!("#include <string.h>\n{source}"), gcc)?;
    way.exact = false;
    // A peer that answers otherwise than the tree it was made of is not worth timing.
    let predictions = fs::read_to_string(path("predictions"))?;
    for (shape, expected) in asked.into_iter().zip(predictions.lines()) {
        let found = way.first(shape);
        ensure!(
            found.to_string() == expected,
            "emlearn answers {found} for {shape}, not {expected}"
        );
    }
    Ok(Some(way))
}

/// Features and, last, the model's first kernel.
fn rows(model: &Model<'_>, shapes: &[GemmShape]) -> anyhow::Result<String> {
    let mut text = String::new();
    for shape in shapes {
        for feature in model.features() {
            write!(text, "{},", feature.of(*shape))?;
        }
        writeln!(text, "{}", model.select(CLASS, *shape).first())?;
    }
    Ok(text)
}

fn leaves(model: &Model<'_>) -> usize {
    let nodes = (0..model.entries()).filter_map(|index| model.node(index));
    nodes.filter(|node| matches!(node, Node::Leaf(_))).count()
}

/// The model's features as C.
fn tables(model: &Model<'_>) -> anyhow::Result<String> {
    let features = model.features();
    let offsets: Vec<_> = features.iter().map(|one| one.offset().to_string()).collect();
    let signs = features.iter().map(|one| {
        let signs = one.signs().map(|sign| sign.to_string());
        format!("{{{}}}", signs.join(", "))
    });
    let signs: Vec<_> = signs.collect();
    let mut text = format!("\nenum {{ FEATURES = {} }};\n", features.len());
    writeln!(text, "static const int OFFSETS[FEATURES] = {{{}}};", offsets.join(", "))?;
    writeln!(text, "static const int SIGNS[FEATURES][4] = {{{}}};", signs.join(", "))?;
    Ok(text)
}
