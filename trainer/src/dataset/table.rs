//! From measurements to a table: sorted, merged, without what cannot be trusted.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use kernels::Configuration;
use kernels::measurement::{Header, Status};

use super::{Binaries, Dataset, DatasetError, RowCounts, Suspect, Task};

/// One row of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// What was computed.
    pub task: Task,
    /// By which configuration.
    pub configuration: String,
    /// How it ended.
    pub status: Status,
    /// Nanoseconds; if the status is `ok`, at least one and all above zero.
    pub times: Vec<f64>,
    /// How much samples that are not in `times` varied, in nanoseconds.
    pub spread: Option<f64>,
    /// Bytes of the binary of the configuration's program, where known.
    pub binary_bytes: Option<u64>,
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
    let mut binaries = Binaries::new();
    let mut conflicting = BTreeSet::new();
    for measurement in measurements {
        let Measurement { task, configuration, status, times, spread, binary_bytes } = measurement;
        let configuration = canonical(configuration);
        if let Some(bytes) = binary_bytes {
            let key = (configuration.clone(), task.class);
            let largest = binaries.entry(key.clone()).or_insert(bytes);
            if *largest != bytes {
                conflicting.insert(key);
            }
            *largest = bytes.max(*largest);
        }
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
    Ok(Dataset { binaries, conflicting, ..tabulate(header, rows, suspects.collect(), cells) })
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
    let (binaries, conflicting) = (Binaries::new(), BTreeSet::new());
    Dataset { header, rows, suspects, tasks, configurations, times, spreads, binaries, conflicting }
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
    by_numbers(one, other).then_with(|| one.cmp(other))
}

fn by_numbers(mut one: &str, mut other: &str) -> Ordering {
    loop {
        let (Some(a), Some(b)) = (one.chars().next(), other.chars().next()) else {
            return one.len().cmp(&other.len());
        };
        let order = if a.is_ascii_digit() && b.is_ascii_digit() {
            let (left, right) = (digits(&mut one), digits(&mut other));
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

/// Take the digits at the front, without zeros that lead.
fn digits<'a>(text: &mut &'a str) -> &'a str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    number.trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use selector_core::{GemmShape, ProblemClass};

    use super::*;

    fn task(m: u32) -> Task {
        Task { class: ProblemClass::F32_NN, shape: GemmShape::new(m, m, m, 1) }
    }

    fn row(m: u32, configuration: &str, status: Status, times: &[f64]) -> Measurement {
        let configuration = configuration.to_owned();
        Measurement {
            task: task(m),
            configuration,
            status,
            times: times.to_vec(),
            spread: None,
            binary_bytes: None,
        }
    }

    fn table(rows: Vec<Measurement>) -> Dataset {
        build(Path::new("x"), Header::default(), RowCounts::default(), rows).unwrap()
    }

    #[test]
    fn an_outlier_does_not_move_a_time() {
        let data = table(vec![
            row(8, "a", Status::Ok, &[50.0, 1.00, 1.01, 1.00, 1.02]),
            row(8, "b", Status::Ok, &[1.10; 5]),
        ]);
        assert_eq!((data.time(0, 0), data.time(0, 1)), (1.01, 1.10));
    }

    #[test]
    fn rows_of_the_same_task_and_configuration_are_merged_in_any_order() {
        let mut rows = vec![
            row(8, "a", Status::Ok, &[3.0]),
            row(8, "a", Status::Ok, &[1.0, 9.0]),
            row(8, "a", Status::LaunchFailed, &[]),
            row(4, "a", Status::Ok, &[7.0]),
        ];
        for _ in 0..rows.len() {
            rows.rotate_left(1);
            let data = table(rows.clone());
            assert_eq!(data.tasks(), [task(4), task(8)]);
            assert_eq!((data.time(0, 0), data.time(1, 0)), (7.0, 3.0));
            assert_eq!(data.rows.merged, 1);
            assert_eq!(data.rows.dropped["launch_failed"], 1);
        }
    }

    #[test]
    fn a_configuration_that_was_wrong_once_is_left_out_and_named() {
        let data = table(vec![
            row(8, "a", Status::Ok, &[1.0]),
            row(2048, "a", Status::WrongResult, &[]),
            row(8, "b", Status::Ok, &[2.0]),
            row(2048, "b", Status::Ok, &[2.0]),
        ]);
        assert_eq!(data.configurations(), ["b"]);
        assert_eq!(data.suspects.len(), 1);
        assert_eq!(data.suspects[0].configuration, "a");
        assert_eq!(data.suspects[0].places(), "f32-nn 2048x2048x2048");
        assert_eq!(data.rows.dropped.values().sum::<usize>(), 2);
    }

    #[test]
    fn what_was_not_measured_has_no_time() {
        let rows = vec![row(8, "a", Status::Ok, &[1.0]), row(9, "b", Status::Ok, &[2.0])];
        let data = table(rows);
        assert!(data.time(0, 1).is_infinite() && data.time(1, 0).is_infinite());
        assert_eq!((data.time(0, 0), data.time(1, 1)), (1.0, 2.0));
    }

    #[test]
    fn without_a_configuration_a_task_that_only_it_ran_is_gone_too() {
        let data = table(vec![
            row(8, "a", Status::Ok, &[1.0]),
            row(8, "b", Status::Ok, &[2.0]),
            row(9, "a", Status::Ok, &[3.0]),
        ]);
        let rest = data.without(&[0]).unwrap();
        assert_eq!((rest.tasks(), rest.configurations()), (&[task(8)][..], &["b".to_owned()][..]));
        assert_eq!(rest.time(0, 0), 2.0);
        assert!(data.without(&[0, 1]).is_none());
    }

    #[test]
    fn the_largest_size_told_of_a_binary_counts() {
        let sized = |bytes, row| Measurement { binary_bytes: bytes, ..row };
        let data = table(vec![
            sized(Some(10), row(8, "a", Status::Ok, &[1.0])),
            sized(Some(30), row(9, "a", Status::Throttled, &[1.0])),
            sized(None, row(9, "a", Status::Ok, &[1.0])),
            sized(Some(7), row(9, "universal", Status::Ok, &[1.0])),
            row(8, "b", Status::Ok, &[2.0]),
        ]);
        let bytes = |name| data.binary_bytes(name, ProblemClass::F32_NN);
        assert_eq!((bytes("a"), bytes("universal"), bytes("b")), (Some(30), Some(7), None));
        assert_eq!(data.conflicting_bytes(), ["a"]);
        assert_eq!(data.binary_bytes("a", ProblemClass::all().last().unwrap()), None);
    }

    #[test]
    fn the_universal_kernel_is_no_candidate() {
        let rows = vec![row(8, "universal", Status::Ok, &[1.0]), row(8, "a", Status::Ok, &[2.0])];
        let data = table(rows);
        assert_eq!(data.configurations(), ["a"]);
        assert_eq!(data.rows.dropped["of the universal kernel"], 1);
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names =
            ["tile:2x1x1@8x8", "tile:1x1x1@16x8", "tile:1x1x1@8x16", "b", "tile:1x1x1@8x8"];
        names.sort_by(|one, other| natural_order(one, other));
        let sorted =
            ["b", "tile:1x1x1@8x8", "tile:1x1x1@8x16", "tile:1x1x1@16x8", "tile:2x1x1@8x8"];
        assert_eq!(names, sorted);
        assert_eq!(natural_order("a", "ab"), Ordering::Less);
        assert_eq!(natural_order("é1", "é01"), Ordering::Greater);
        assert_eq!(natural_order("x", "x"), Ordering::Equal);
    }
}
