//! From measurements to a table: sorted, merged, without what cannot be trusted.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use kernels::Configuration;
use kernels::measurement::{Header, Status};

use super::{Dataset, DatasetError, RowCounts, Suspect, Task};

/// One row of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// What was computed.
    pub task: Task,
    /// By which configuration.
    pub configuration: String,
    /// How it ended.
    pub status: Status,
    /// Nanoseconds, all above zero; at least one if the status is `ok`.
    pub times: Vec<f64>,
    /// How much samples that are not in `times` varied, in nanoseconds.
    pub spread: Option<f64>,
}

/// The samples of a configuration on a task, of all its rows.
#[derive(Default)]
struct Samples {
    times: Vec<f64>,
    spread: f64,
}

/// Sort, merge and check `measurements`.
///
/// Rows of the same task and configuration are merged: the time is the median of all their
/// samples, where a row without samples counts as one.
pub(super) fn build(
    path: &Path,
    header: Header,
    mut rows: RowCounts,
    measurements: Vec<Measurement>,
) -> Result<Dataset, DatasetError> {
    let suspects = suspects(&measurements);
    let mut cells: HashMap<Task, HashMap<String, Samples>> = HashMap::new();
    for measurement in measurements {
        let Measurement { task, configuration, status, times, spread } = measurement;
        let configuration = canonical(configuration);
        if status != Status::Ok {
            rows.drop_row(status.name());
        } else if suspects.contains_key(&configuration) {
            rows.drop_row("of a configuration that was wrong elsewhere");
        } else if configuration == Configuration::universal().to_string() {
            rows.drop_row("of the universal kernel");
        } else {
            let samples = cells.entry(task).or_default().entry(configuration).or_default();
            rows.merged += usize::from(!samples.times.is_empty());
            samples.times.extend(times);
            samples.spread = samples.spread.max(spread.unwrap_or(0.0));
        }
    }
    if cells.is_empty() {
        return Err(DatasetError::NoUsableRows { path: path.to_owned(), counts: rows });
    }
    let suspects = suspects.into_iter().map(|(name, tasks)| Suspect { configuration: name, tasks });
    Ok(tabulate(header, rows, suspects.collect(), cells))
}

/// Configurations that were wrong, and where.
fn suspects(measurements: &[Measurement]) -> BTreeMap<String, Vec<Task>> {
    let mut suspects: BTreeMap<String, Vec<Task>> = BTreeMap::new();
    for wrong in measurements.iter().filter(|row| row.status == Status::WrongResult) {
        suspects.entry(canonical(wrong.configuration.clone())).or_default().push(wrong.task);
    }
    for tasks in suspects.values_mut() {
        tasks.sort_unstable();
        tasks.dedup();
    }
    suspects
}

fn tabulate(
    mut header: Header,
    rows: RowCounts,
    suspects: Vec<Suspect>,
    cells: HashMap<Task, HashMap<String, Samples>>,
) -> Dataset {
    let mut tasks: Vec<Task> = cells.keys().copied().collect();
    tasks.sort_unstable();
    let names = cells.values().flat_map(HashMap::keys);
    let mut configurations: Vec<String> = names.cloned().collect();
    configurations.sort_unstable();
    configurations.dedup();
    configurations.sort_by(|one, other| natural_order(one, other));
    let size = tasks.len() * configurations.len();
    let (mut times, mut spreads) = (Vec::with_capacity(size), Vec::with_capacity(size));
    for task in &tasks {
        let row = &cells[task];
        for name in &configurations {
            let samples = row.get(name);
            times.push(samples.map_or(f64::INFINITY, |samples| median(samples.times.clone())));
            spreads.push(samples.map_or(0.0, Samples::spread));
        }
    }
    header.device = header.device.trim().to_owned();
    Dataset { header, rows, suspects, tasks, configurations, times, spreads }
}

impl Samples {
    /// Median absolute deviation, or what a row without samples said.
    fn spread(&self) -> f64 {
        let middle = median(self.times.clone());
        let deviation = median(self.times.iter().map(|time| (time - middle).abs()).collect());
        deviation.max(self.spread)
    }
}

/// The middle value, the lower of two; there is at least one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}

/// One name for one configuration: as this build writes it, if it knows it.
fn canonical(name: String) -> String {
    name.parse::<Configuration>().map_or(name, |configuration| configuration.to_string())
}

/// Text order, but runs of digits count as the numbers they are: `tile:2…` before `tile:16…`.
///
/// Where a rule says that a tie goes to the first configuration, this is the order meant.
#[must_use]
pub fn natural_order(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    loop {
        let (Some(a), Some(b)) = (one.chars().next(), other.chars().next()) else {
            return one.len().cmp(&other.len());
        };
        let order = if a.is_ascii_digit() && b.is_ascii_digit() {
            let (left, right) = (digits(&mut one), digits(&mut other));
            let (left, right) = (left.trim_start_matches('0'), right.trim_start_matches('0'));
            left.len().cmp(&right.len()).then_with(|| left.cmp(right))
        } else {
            one = &one[a.len_utf8()..];
            other = &other[b.len_utf8()..];
            a.cmp(&b)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Take the digits at the front.
fn digits<'a>(text: &mut &'a str) -> &'a str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    number
}
