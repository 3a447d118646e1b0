//! The cost of a call, as `gemmtree-board bench --json` prints it. What it printed elsewhere is kept as
//! `benches/runs/<run>/calls.jsonl`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::figure::{Line, Sheet, Target};
use crate::folder;
use crate::programs::{board, gemmtree, number};

/// Most nanoseconds that a call may take beyond the driver's enqueue.
const BEYOND: f64 = 150.0;
const DATA: &str = "trainer/data/pocl-families.csv.gz";
const PLATFORM: &str = "Portable Computing Language";
const RUNS: &str = "benches/runs";
const KEPT: &str = "calls.jsonl";

pub(super) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    match here(sheet) {
        Ok(summary) => tell(sheet, &summary, "measured here")?,
        Err(why) => sheet.skipped("runtime.pocl", &format!("{why:#}")),
    }
    for (path, summary) in newest(kept()?)?.values() {
        tell(sheet, summary, &format!("`{}`", path.display()))?;
    }
    Ok(())
}

/// What the last run by name of each device says.
fn newest(paths: Vec<PathBuf>) -> anyhow::Result<BTreeMap<String, (PathBuf, Value)>> {
    let mut newest = BTreeMap::new();
    for path in paths {
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("could not read `{}`", path.display()))?;
        let lines = text.lines().filter(|line| line.starts_with('{'));
        let objects = lines.map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
        let objects = objects.with_context(|| format!("`{}`", path.display()))?;
        let summary = summary(&objects)?.clone();
        newest.insert(summary["device"].to_string(), (path, summary));
    }
    Ok(newest)
}

/// Train, compile and measure on PoCL.
fn here(sheet: &Sheet) -> anyhow::Result<Value> {
    let folder = folder();
    fs::create_dir_all(&folder)?;
    let path = |file: &str| folder.join(file).display().to_string();
    let (model, bundle) = (path("runtime.gtm"), path("runtime.gtb"));
    // Whatever is there is of an earlier data set, so that its score is no reason to keep it.
    let _ = fs::remove_file(&model);
    let train = ["train", DATA, "--method", "plain", "-o", &model, "--json", "--quiet"];
    if gemmtree(&train).is_err() {
        sheet.note("no tree was written; trying the one best configuration instead");
        gemmtree(&["train", DATA, "--learner", "single-best", "-o", &model, "--json", "--quiet"])?;
    }
    let compile = ["compile", "--model", &model, "--output", &bundle, "--class", "f32-nn"];
    // The data set may be older than the sources: a choice made on it still is one.
    board(&[&compile[..], &["--allow-foreign-space", "--device", PLATFORM, "--json"]].concat())?;
    let bench = ["bench", "--bundle", &bundle, "--calls", "2000", "--device", PLATFORM, "--json"];
    Ok(summary(&board(&bench)?)?.clone())
}

/// The object that tells of all sizes together.
fn summary(objects: &[Value]) -> anyhow::Result<&Value> {
    let found = objects.iter().find(|one| one["event"] == "overhead");
    found.context("`gemmtree-board bench` printed no summary")
}

fn tell(sheet: &mut Sheet, summary: &Value, source: &str) -> anyhow::Result<()> {
    let device = summary["device"].as_str().context("the summary names no device")?;
    let platform = summary["platform"].as_str().unwrap_or_default();
    let name = if platform == PLATFORM { "pocl".to_owned() } else { slug(device) };
    let calls = number(summary, "/calls")?;
    ensure!(calls > 0.0, "no call was measured");
    let mut figure = |what: &str, value: f64, target| {
        let line = Line::figure(format!("runtime.{name}.{what}"), value, target);
        sheet.tell(&line.remarked(source));
    };
    let read = |what: &str| number(summary, what);
    figure("call_over_bare_enqueue_ns", read("/over_bare_ns")?, Target::AtMost(BEYOND));
    figure("changing_call_over_bare_enqueue_ns", read("/changing_over_bare_ns")?, Target::None);
    figure("bare_enqueue_ns", read("/bare_ns")?, Target::None);
    figure("allocations_per_call", read("/allocations")? / calls, Target::Exactly(0.0));
    if let Ok(side) = read("/break_even_side") {
        figure("break_even_side", side, Target::None);
    }
    match read("/clblast_host_ns") {
        Ok(host) => figure("clblast_host_ns", host, Target::None),
        Err(_) => {
            sheet.skipped(&format!("runtime.{name}.clblast_host_ns"), "CLBlast is not installed");
        }
    }
    Ok(())
}

/// Kept runs, in the order of their names.
fn kept() -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(RUNS).with_context(|| format!("`{RUNS}`"))? {
        let path = entry?.path().join(KEPT);
        if Path::exists(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// A device's name as a part of a figure's.
fn slug(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_summary_of_a_device_is_found_and_has_a_name_for_figures() {
        let objects = [serde_json::json!({"shape": "1"}), serde_json::json!({"event": "overhead"})];
        assert_eq!(summary(&objects).unwrap(), &objects[1]);
        assert!(summary(&objects[..1]).is_err());
        let runs = tempfile::tempdir().unwrap();
        let [old, new, other] =
            ["1.jsonl", "2.jsonl", "3.jsonl"].map(|name| runs.path().join(name));
        for (path, device) in [(&old, "a"), (&new, "a"), (&other, "b")] {
            fs::write(path, format!("note\n{{\"event\":\"overhead\",\"device\":\"{device}\"}}\n"))
                .unwrap();
        }
        let newest = newest(vec![old, new.clone(), other.clone()]).unwrap();
        let paths: Vec<_> = newest.into_values().map(|(path, _)| path).collect();
        assert_eq!(paths, [new, other]);
        assert_eq!(slug("NVIDIA H200 (rev.\t2)"), "nvidia-h200-rev-2");
    }
}
