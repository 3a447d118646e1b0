//! What `gemmtree train` tells: for people as a table, with `--json` as one object.

use std::collections::BTreeMap;
use std::fmt;

use selector_core::Model;
use serde::ser::{Serialize, SerializeMap, Serializer};
use trainer::dataset::{Dataset, Task};
use trainer::redundancy::{ACCEPTABLE_SHARE, Redundancy};
use trainer::score::{self, SplitScore};
use trainer::train::{Fitted, Method};

use super::budget::Binaries;
use super::without::Without;
use crate::output::counted;

/// All that one training gave.
#[derive(serde::Serialize)]
pub(super) struct Report {
    device: String,
    driver: String,
    space: String,
    rows: Rows,
    shapes: usize,
    configurations: usize,
    suspects: Vec<Suspect>,
    method: MethodNames,
    share_of_optimal: Option<Shares>,
    fifth_percentile: Option<f64>,
    worst: Option<f64>,
    dtpr: Option<f64>,
    dttr: Option<f64>,
    ceiling: Option<f64>,
    one_best: Option<f64>,
    unmeasured_choices: usize,
    kernels: Vec<String>,
    leaves: usize,
    depth: usize,
    bytes: Option<usize>,
    #[serde(flatten)]
    extra: Extra,
    #[serde(skip)]
    scores: Vec<SplitScore>,
    #[serde(skip)]
    tree: Option<String>,
}

/// What is told beside the model and its scores.
#[derive(serde::Serialize)]
pub(super) struct Extra {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) binaries: Option<Binaries>,
    /// What was scored on.
    pub(super) splits: String,
    /// Questions that were not worth asking.
    pub(super) collapsed: usize,
    /// Whether the tree picks worse on held-out shapes than the one best configuration.
    pub(super) loses_to_one_best: bool,
    #[serde(serialize_with = "redundancy")]
    pub(super) redundancy: Redundancy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) without: Option<Without>,
}

/// Shapes named where a list of them would be long.
const NAMED: usize = 5;

fn redundancy<S: Serializer>(redundancy: &Redundancy, serializer: S) -> Result<S::Ok, S::Error> {
    let Redundancy { shapes, bare } = redundancy;
    let mut map = serializer.serialize_map(Some(4))?;
    map.serialize_entry("acceptable_share", &ACCEPTABLE_SHARE)?;
    map.serialize_entry("shapes", shapes)?;
    map.serialize_entry("with_second", &(shapes - bare.len()))?;
    let named: Vec<String> = bare.iter().take(NAMED).map(ToString::to_string).collect();
    map.serialize_entry("first_without", &named)?;
    map.end()
}

#[derive(serde::Serialize)]
struct Rows {
    read: usize,
    dropped: BTreeMap<&'static str, usize>,
    merged: usize,
}

#[derive(serde::Serialize)]
struct Suspect {
    configuration: String,
    wrong_on: Vec<String>,
}

#[derive(serde::Serialize)]
pub(super) struct MethodNames {
    pub(super) pruner: &'static str,
    pub(super) learner: &'static str,
    kernels: usize,
    seed: u64,
}

/// Shares of optimal by split, in the splits' order.
#[derive(serde::Serialize)]
pub(super) struct Shares {
    /// Each split counts the same.
    pub(super) mean: f64,
    per_split: PerSplit<f64>,
    held_out: PerSplit<usize>,
}

struct PerSplit<T>(Vec<(String, T)>);

impl<T: Serialize> Serialize for PerSplit<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (split, value) in &self.0 {
            map.serialize_entry(split, value)?;
        }
        map.end()
    }
}

impl Report {
    pub(super) fn of(
        dataset: &Dataset,
        device: &str,
        method: &Method<'_>,
        fitted: &Fitted,
        scores: &[SplitScore],
        blob: Option<&[u8]>,
        extra: Extra,
    ) -> Self {
        let names = dataset.configurations();
        let space = dataset.header.space;
        Self {
            device: device.to_owned(),
            driver: dataset.header.driver.clone(),
            space: space.map_or("none".to_owned(), |hash| format!("{hash:016x}")),
            rows: Rows {
                read: dataset.rows.read,
                dropped: dataset.rows.dropped.clone(),
                merged: dataset.rows.merged,
            },
            shapes: dataset.shapes().len(),
            configurations: names.len(),
            suspects: dataset.suspects.iter().map(Suspect::of).collect(),
            method: MethodNames::of(method),
            share_of_optimal: Shares::of(scores),
            fifth_percentile: score::mean(scores, |score| score.fifth_percentile),
            worst: scores.iter().map(|score| score.worst).min_by(f64::total_cmp),
            dtpr: score::mean(scores, |score| score.dtpr),
            dttr: score::mean(scores, |score| score.dttr),
            ceiling: score::mean(scores, |score| score.ceiling),
            one_best: score::mean(scores, |score| score.one_best),
            unmeasured_choices: scores.iter().map(|score| score.unmeasured).sum(),
            kernels: fitted.kernels.iter().map(|column| names[*column].clone()).collect(),
            leaves: fitted.trees.iter().map(|one| one.tree.leaves()).sum(),
            depth: fitted.trees.iter().map(|one| one.tree.depth()).max().unwrap_or(0),
            bytes: blob.map(<[u8]>::len),
            extra,
            scores: scores.to_vec(),
            tree: blob.and_then(|blob| Model::parse(blob).ok()).map(|model| classes(&model)),
        }
    }
}

/// Which class is served by measurements of which.
fn classes(model: &Model<'_>) -> String {
    let served = selector_core::ProblemClass::all().filter_map(|class| {
        let measured_as = model.measured_as(class)?;
        let same = measured_as == class;
        Some(if same { class.to_string() } else { format!("{class} as {measured_as}") })
    });
    served.collect::<Vec<_>>().join(", ")
}

impl Suspect {
    fn of(suspect: &trainer::dataset::Suspect) -> Self {
        let place = |task: &Task| format!("{} {}", task.class, task.shape);
        let configuration = suspect.configuration.clone();
        Self { configuration, wrong_on: suspect.tasks.iter().map(place).collect() }
    }
}

impl MethodNames {
    pub(super) fn of(method: &Method<'_>) -> Self {
        let (pruner, learner) = (method.pruner.name(), method.learner.name());
        Self { pruner, learner, kernels: method.kernels, seed: method.seed }
    }
}

impl Shares {
    pub(super) fn of(scores: &[SplitScore]) -> Option<Self> {
        let mean = score::mean(scores, |score| score.share)?;
        let named = |score: &SplitScore| score.split.clone();
        let per_split = scores.iter().map(|score| (named(score), score.share)).collect();
        let held_out = scores.iter().map(|score| (named(score), score.tasks)).collect();
        Some(Self { mean, per_split: PerSplit(per_split), held_out: PerSplit(held_out) })
    }
}

/// A share as people read it.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or("unknown".to_owned(), |share| format!("{:.2} %", 100.0 * share))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shapes, configurations, rows, method, .. } = self;
        let dropped: usize = rows.dropped.values().sum();
        writeln!(f, "device   {} (kernel space {})", self.device, self.space)?;
        writeln!(
            f,
            "data     {}, {}; {} read, {dropped} dropped, {} merged",
            counted(*shapes, "shape"),
            counted(*configurations, "configuration"),
            counted(rows.read, "row"),
            rows.merged
        )?;
        writeln!(f, "method   {}, {}; seed {}", method.pruner, method.learner, method.seed)?;
        writeln!(f, "kernels  {}", self.kernels.len())?;
        for kernel in &self.kernels {
            writeln!(f, "         {kernel}")?;
        }
        if let Some(binaries) = &self.extra.binaries {
            writeln!(f, "binaries {binaries}")?;
        }
        self.write_redundancy(f)?;
        write!(f, "tree     {}, {} deep", counted(self.leaves, "leaf"), self.depth)?;
        if let Some(bytes) = self.bytes {
            write!(f, "; model {}", counted(bytes, "byte"))?;
        }
        if self.extra.collapsed > 0 {
            write!(
                f,
                "; {} collapsed: they cost more than they save",
                counted(self.extra.collapsed, "question")
            )?;
        }
        writeln!(f)?;
        if let Some(classes) = &self.tree {
            writeln!(f, "classes  {classes}")?;
        }
        self.write_scores(f)?;
        self.extra.without.as_ref().map_or(Ok(()), |without| without.fmt(f))
    }
}

impl Report {
    fn write_redundancy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Redundancy { shapes, bare } = &self.extra.redundancy;
        let with = shapes - bare.len();
        write!(
            f,
            "second   {with} of {shapes} shapes have a second kernel of {:.0} % of optimal or more",
            100.0 * ACCEPTABLE_SHARE
        )?;
        if bare.is_empty() {
            return writeln!(f);
        }
        let named: Vec<String> = bare.iter().take(NAMED).map(ToString::to_string).collect();
        let more = if bare.len() > NAMED { ", …" } else { "" };
        writeln!(f, "\n         not {}{more}", named.join(", "))
    }

    fn write_scores(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scores.is_empty() {
            return Ok(());
        }
        let longest = self.scores.iter().map(|score| score.split.chars().count()).max();
        let width = longest.map_or(10, |longest| (longest + 1).max(10));
        writeln!(f, "\nshare of optimal on held-out shapes")?;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, cells: [String; 6]| {
            write!(f, "{name:<width$}")?;
            cells.iter().try_for_each(|cell| write!(f, "{cell:>10}"))?;
            writeln!(f)
        };
        let heads = ["model", "5th pct", "worst", "one best", "ceiling", "held out"];
        row(f, "split", heads.map(str::to_owned))?;
        for score in &self.scores {
            let SplitScore { share, fifth_percentile, worst, one_best, ceiling, .. } = score;
            let shares = [share, fifth_percentile, worst, one_best, ceiling];
            let [share, fifth, worst, one_best, ceiling] = shares.map(|one| percent(Some(*one)));
            let held_out = score.tasks.to_string();
            row(f, &score.split, [share, fifth, worst, one_best, ceiling, held_out])?;
        }
        let mean = self.share_of_optimal.as_ref().map(|shares| shares.mean);
        let shares = [mean, self.fifth_percentile, self.worst, self.one_best, self.ceiling];
        let [share, fifth, worst, one_best, ceiling] = shares.map(percent);
        let splits = counted(self.scores.len(), "split");
        row(f, "mean", [share, fifth, worst, one_best, ceiling, splits])?;
        if let (Some(dtpr), Some(dttr)) = (self.dtpr, self.dttr) {
            writeln!(f, "DTPR {dtpr:.3}, DTTR {dttr:.3}")?;
        }
        if self.unmeasured_choices > 0 {
            let count = counted(self.unmeasured_choices, "choice");
            writeln!(f, "{count} not measured: counted as very slow")?;
        }
        Ok(())
    }
}
