//! Runs that are kept, and the data sets that are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use benches::peers::Record;

use super::here::KERNELS;
use crate::figure::{Line, Sheet, Target};
use crate::programs::{gemmtree, number};

const RUNS: &str = "benches/runs";
/// What a kept run of peers is called, perhaps packed.
const NAMES: [&str; 2] = ["peers.csv", "peers.csv.gz"];
const DATA: &str = "trainer/data";
/// The data set that the kernels of the H200 are chosen on.
const H200: &str = "trainer/data/h200-families.csv.gz";
/// Largest data set, in megabytes.
const LARGEST: f64 = 4.0;

/// A kept run.
pub(super) struct Kept {
    name: String,
    pub(super) record: Record,
    /// What is said of it.
    pub(super) text: String,
}

impl Kept {
    /// All of them, by name.
    pub(super) fn all() -> anyhow::Result<Vec<Self>> {
        let mut runs = Vec::new();
        for folder in sorted(Path::new(RUNS))? {
            for path in NAMES.map(|name| folder.join(name)).iter().filter(|path| path.is_file()) {
                let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
                let text = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
                let record = Record::read(path)?;
                runs.push(Self { name: name.unwrap_or_default(), record, text });
            }
        }
        Ok(runs)
    }

    /// The newest on a platform with `part` in its name; of one time the last by name.
    pub(super) fn newest<'a>(runs: &'a [Self], part: &str) -> Option<&'a Self> {
        let of_platform = |run: &&Self| run.told_of("platform").contains(part);
        runs.iter().filter(of_platform).max_by_key(|run| run.told_of("date"))
    }

    fn told_of(&self, key: &str) -> &str {
        self.record.header.get(key).unwrap_or("unknown")
    }

    /// Which run this is.
    pub(super) fn told(&self) -> String {
        let (device, date) = (self.told_of("device"), self.told_of("date"));
        let day = date.get(..10).unwrap_or(date);
        format!("kept run {}: {device} on {day}, not measured now", self.name)
    }
}

/// What is in a folder, by name.
fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = folder.display();
    let entries = fs::read_dir(folder).with_context(|| format!("could not read `{shown}`"))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

/// How a model like that of the H200's run does on shapes that it was not trained on.
pub(super) fn five_splits(sheet: &mut Sheet, kept: &[Kept]) -> anyhow::Result<()> {
    let name = "kernels.h200.five_splits.share_of_optimal";
    if Kept::newest(kept, "NVIDIA").is_none() || !Path::new(H200).exists() {
        sheet.skipped(name, "no data set or run of it is kept");
        return Ok(());
    }
    let lines = gemmtree(&["train", H200, "--kernels", KERNELS, "--json", "--quiet"])?;
    let scores = lines.last().context("`gemmtree train` printed nothing")?;
    sheet.figure(name, number(scores, "/share_of_optimal/mean")?, Target::None);
    sheet.figure("kernels.h200.ceiling_of_list", number(scores, "/ceiling")?, Target::None);
    Ok(())
}

/// The sizes of the data sets behind the figures.
pub(super) fn data_sets() -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for path in sorted(Path::new(DATA))? {
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let Some(name) = file.as_deref().and_then(|file| file.strip_suffix(".csv.gz")) else {
            continue;
        };
        if name.contains("-families") {
            let megabytes = fs::metadata(&path)?.len() as f64 / 1e6;
            let name = format!("kernels.data.{name}.megabytes");
            lines.push(Line::figure(name, megabytes, Target::AtMost(LARGEST)));
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, platform: &str, date: &str) -> Kept {
        let mut record = Record::default();
        for (key, value) in [("device", "one"), ("platform", platform), ("date", date)] {
            record.header.push(key, value);
        }
        Kept { name: name.to_owned(), record, text: String::new() }
    }

    #[test]
    fn the_newest_run_of_a_platform_stands_for_it() {
        let runs = [
            run("a", "NVIDIA CUDA", "2026-11-30T10:00:00Z"),
            run("b", "NVIDIA CUDA", "2026-12-01T10:00:00Z"),
            run("c", "Portable Computing Language", "2026-12-02T10:00:00Z"),
        ];
        let newest = Kept::newest(&runs, "NVIDIA").unwrap();
        assert_eq!(newest.told(), "kept run b: one on 2026-12-01, not measured now");
        assert!(Kept::newest(&runs, "Intel").is_none());
    }
}
