//! What the default method reaches on held-out shapes, as `gemmtree train` says.

use serde_json::Value;

use super::reference::Reference;
use super::{H200, SPLITS, XEON};
use crate::figure::{Sheet, Target};
use crate::laps::{self, Lap};
use crate::programs::{gemmtree, gemmtree_timed, number};

/// Kernels, and the share of optimal that they must reach.
const SHARES: [(&str, f64); 3] = [("8", 0.95), ("6", 0.935), ("15", 0.96)];
/// A method that draws at random is told for more than one seed.
const SEEDS: u32 = 3;
/// Bytes of a model with 8 kernels, at most.
const BYTES: f64 = 4096.0;
/// Seconds of a fit to all rows, at most: choosing, growing, checking.
const FIT: f64 = 20.0;
/// The steps of a fit.
const FIT_STEPS: [&str; 3] =
    ["choosing kernels", "growing trees", "checking leaves on held-out shapes"];
/// Seconds of scoring on five splits, at most.
const SCORING: f64 = 60.0;
const SCORING_STEP: &str = "scoring splits";
const MEAN: &str = "/share_of_optimal/mean";

/// The scores on the H200 data.
pub(super) fn h200(sheet: &mut Sheet, reference: &Reference) -> anyhow::Result<()> {
    for (kernels, target) in SHARES {
        let name = format!("trainer.h200.{kernels}");
        let asked = ["train", H200, "--kernels", kernels, "--json", "--splits", SPLITS];
        let (objects, laps) = gemmtree_timed(&asked)?;
        let ours = last(objects)?;
        let reached = number(&ours, MEAN)?;
        sheet.figure(&format!("{name}.share_of_optimal"), reached, Target::AtLeast(target));
        let mut tell = |what: &str, value, target| {
            sheet.figure(&format!("{name}.{what}"), value, target);
        };
        tell("ceiling", number(&ours, "/ceiling")?, Target::None);
        for list in ["pca-k-means", "greedy"] {
            let theirs = reference.best_classifier(list, kernels)? / 100.0;
            tell(&format!("reference.{list}.best_of_ten_classifiers"), theirs, Target::None);
        }
        if kernels == "8" {
            in_full(sheet, &name, &ours)?;
            times(sheet, &laps)?;
        }
        seeds(sheet, &name, kernels, reached)?;
        for (protocol, shown) in [("seeded:20", "seeded20"), ("networks", "networks")] {
            let one = train(&["--kernels", kernels, "--splits", protocol])?;
            by_split(sheet, &format!("{name}.{shown}"), &one)?;
        }
    }
    Ok(())
}

/// The scores on the CPU's data, without any option.
pub(super) fn xeon(sheet: &mut Sheet) -> anyhow::Result<()> {
    let ours = last(gemmtree(&["train", XEON, "--json", "--quiet"])?)?;
    let mut tell = |name: &str, path: &str, target| -> anyhow::Result<()> {
        sheet.figure(&format!("trainer.xeon.{name}"), number(&ours, path)?, target);
        Ok(())
    };
    tell("shapes", "/shapes", Target::AtLeast(60.0))?;
    tell("configurations", "/configurations", Target::AtLeast(200.0))?;
    tell("8.share_of_optimal", MEAN, Target::None)?;
    tell("8.ceiling", "/ceiling", Target::None)?;
    tell("8.one_best", "/one_best", Target::None)
}

/// Whatever else is said of a model.
fn in_full(sheet: &mut Sheet, name: &str, ours: &Value) -> anyhow::Result<()> {
    for (what, path, target) in [
        ("model_bytes", "/bytes", Target::AtMost(BYTES)),
        ("one_best", "/one_best", Target::None),
        ("geometric_mean", MEAN, Target::None),
        ("worst", "/worst", Target::None),
        ("fifth_percentile", "/fifth_percentile", Target::None),
        ("dtpr", "/dtpr", Target::None),
        ("dttr", "/dttr", Target::None),
    ] {
        sheet.figure(&format!("{name}.{what}"), number(ours, path)?, target);
    }
    Ok(())
}

fn times(sheet: &mut Sheet, laps: &[Lap]) -> anyhow::Result<()> {
    let mut fit = 0.0;
    for step in FIT_STEPS {
        fit += laps::seconds(laps, step)?;
    }
    sheet.figure("trainer.seconds.final_fit", fit, Target::AtMost(FIT));
    let scoring = laps::seconds(laps, SCORING_STEP)?;
    sheet.figure("trainer.seconds.five_split_score", scoring, Target::AtMost(SCORING));
    Ok(())
}

/// Over seeds, of which the first is already known.
fn seeds(sheet: &mut Sheet, name: &str, kernels: &str, first: f64) -> anyhow::Result<()> {
    let mut shares = vec![first];
    for seed in 1..SEEDS {
        let asked = ["--kernels", kernels, "--splits", SPLITS, "--seed", &seed.to_string()];
        shares.push(number(&train(&asked)?, MEAN)?);
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (what, value) in [("mean", mean), ("least", least), ("greatest", greatest)] {
        let name = format!("{name}.share_of_optimal.three_seeds.{what}");
        sheet.figure(&name, value, Target::None);
    }
    Ok(())
}

/// The mean over splits, the worst of them and the ceiling.
fn by_split(sheet: &mut Sheet, name: &str, ours: &Value) -> anyhow::Result<()> {
    let per_split = ours.pointer("/share_of_optimal/per_split").and_then(Value::as_object);
    let shares = per_split.into_iter().flatten().filter_map(|(_, share)| share.as_f64());
    let worst = shares.min_by(f64::total_cmp);
    let worst = worst.ok_or_else(|| anyhow::anyhow!("no share of any split in {ours}"))?;
    sheet.figure(&format!("{name}.share_of_optimal"), number(ours, MEAN)?, Target::None);
    sheet.figure(&format!("{name}.worst_split"), worst, Target::None);
    sheet.figure(&format!("{name}.ceiling"), number(ours, "/ceiling")?, Target::None);
    Ok(())
}

fn train(more: &[&str]) -> anyhow::Result<Value> {
    last(gemmtree(&[&["train", H200, "--json", "--quiet"], more].concat())?)
}

fn last(mut objects: Vec<Value>) -> anyhow::Result<Value> {
    objects.pop().ok_or_else(|| anyhow::anyhow!("`gemmtree train` printed nothing"))
}
