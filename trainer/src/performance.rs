//! How well each configuration does on each task, as numbers that methods learn from.

use ndarray::Array2;
use selector_core::{GemmShape, ProblemClass};

use crate::dataset::Dataset;

/// Base-2 logarithm of the slowdown that a configuration is taken to have where it was not
/// measured or failed; more where the slowest measured one has more.
const MISSING: f64 = 4.0;
/// No slowdown counts for more than this, as a base-2 logarithm.
const LARGEST: f64 = 64.0;

/// Steps of a loss of 1.
const STEPS: f64 = (1 << 20) as f64;
/// A difference above this part of the best time is never noise.
const MOST_NOISE: f64 = 0.05;

/// Tasks × configurations: performance relative to the best measured, and its logarithm.
#[derive(Clone, Debug)]
pub struct Performance {
    /// The shape of each task.
    pub shapes: Vec<GemmShape>,
    /// The class of each task.
    pub classes: Vec<ProblemClass>,
    /// Best time of the task ÷ time of the configuration; 0 where there is none.
    pub relative: Array2<f64>,
    /// Base-2 logarithm of the slowdown; differences that lie within the spread of the samples
    /// count as none.
    pub loss: Array2<f64>,
}

impl Performance {
    /// The performance of all configurations on `tasks` of `dataset`.
    #[must_use]
    pub fn of(dataset: &Dataset, tasks: &[usize]) -> Self {
        let width = dataset.configurations().len();
        let mut relative = Array2::zeros((tasks.len(), width));
        let mut loss = Array2::zeros((tasks.len(), width));
        for (row, task) in tasks.iter().copied().enumerate() {
            let times: Vec<f64> = (0..width).map(|one| dataset.time(task, one)).collect();
            let best = first_least(&times);
            let worst =
                times.iter().filter(|time| time.is_finite()).fold(0.0, |a: f64, b| a.max(*b));
            let missing = log2_slowdown(worst, times[best]).max(MISSING);
            for (column, time) in times.iter().copied().enumerate() {
                relative[(row, column)] = times[best] / time;
                let noise = noise(dataset.spread(task, best), dataset.spread(task, column));
                loss[(row, column)] = match time {
                    time if time.is_infinite() => missing,
                    time if time - times[best] <= noise.min(times[best] * MOST_NOISE) => 0.0,
                    time => log2_slowdown(time, times[best]),
                };
            }
        }
        let shapes = tasks.iter().map(|task| dataset.tasks()[*task].shape).collect();
        let classes = tasks.iter().map(|task| dataset.tasks()[*task].class).collect();
        Self { shapes, classes, relative, loss }
    }

    /// The share of optimal of the best of `columns` on the task of `row`, above zero.
    #[must_use]
    pub fn best_share(&self, row: usize, columns: &[usize]) -> f64 {
        let share = columns.iter().map(|column| self.relative[(row, *column)]).fold(0.0, f64::max);
        if share > 0.0 { share } else { self.floor(row) }
    }

    /// The share of optimal that an unmeasured configuration is taken to have.
    #[must_use]
    pub fn floor(&self, row: usize) -> f64 {
        let worst = self.loss.row(row).iter().copied().fold(MISSING, f64::max);
        (-worst).exp2()
    }

    /// The performance of some configurations alone.
    #[must_use]
    pub fn of_kernels(&self, kernels: &[usize]) -> Array2<f64> {
        self.loss.select(ndarray::Axis(1), kernels)
    }
}

/// The difference that two times may have by chance: the steadier one says.
fn noise(one: f64, other: f64) -> f64 {
    2.0 * one.min(other)
}

/// In whole steps, so that sums of losses are exact: then neither the order of rows nor the last
/// bit of a logarithm, which differs between machines, decides between equal choices.
fn log2_slowdown(time: f64, best: f64) -> f64 {
    ((time / best).log2().min(LARGEST) * STEPS).round() / STEPS
}

/// Index of the least value, the first of equal ones; 0 if there is none.
pub(crate) fn first_least<'a>(values: impl IntoIterator<Item = &'a f64>) -> usize {
    let mut best = (0, f64::INFINITY);
    for (index, value) in values.into_iter().enumerate() {
        if *value < best.1 {
            best = (index, *value);
        }
    }
    best.0
}

/// Index of the largest value, the first of equal ones; 0 if there is none.
pub(crate) fn first_largest<'a>(values: impl IntoIterator<Item = &'a f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (index, value) in values.into_iter().enumerate() {
        if *value > best.1 {
            best = (index, *value);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kernels::measurement::{Header, Status};
    use selector_core::{GemmShape, ProblemClass};

    use super::*;
    use crate::dataset::{Measurement, RowCounts, Task};

    fn performance(rows: &[(&str, &[f64])]) -> Performance {
        let task = Task { class: ProblemClass::F32_NN, shape: GemmShape::new(8, 8, 8, 1) };
        let row = |(name, times): &(&str, &[f64])| Measurement {
            task,
            configuration: (*name).to_owned(),
            status: Status::Ok,
            times: times.to_vec(),
            spread: None,
            binary_bytes: None,
        };
        let rows = rows.iter().map(row).collect();
        let counts = RowCounts::default();
        let data = Dataset::from_measurements(Path::new("x"), Header::default(), counts, rows);
        Performance::of(&data.unwrap(), &[0])
    }

    #[test]
    fn half_the_speed_is_a_loss_of_one() {
        let performance = performance(&[("a", &[10.0]), ("b", &[20.0])]);
        assert_eq!(performance.relative.row(0).to_vec(), [1.0, 0.5]);
        assert_eq!(performance.loss.row(0).to_vec(), [0.0, 1.0]);
    }

    #[test]
    fn a_difference_within_the_spread_of_both_is_none() {
        let near = performance(&[("a", &[0.98, 1.0, 1.02]), ("b", &[0.984, 1.004, 1.024])]);
        assert_eq!(near.loss.row(0).to_vec(), [0.0, 0.0]);
        assert!(near.relative[(0, 1)] < 1.0);
        let steady = performance(&[("a", &[0.98, 1.0, 1.02]), ("b", &[1.004; 3])]);
        assert!(steady.loss[(0, 1)] > 0.0);
        let far = performance(&[("a", &[0.5, 1.0, 1.5]), ("b", &[1.0, 1.5, 2.0])]);
        assert!(far.loss[(0, 1)] > 0.5);
    }

    #[test]
    fn no_time_however_extreme_leads_out_of_the_finite_numbers() {
        let extreme = performance(&[("a", &[5e-324]), ("b", &[f64::MAX]), ("c", &[1.0])]);
        assert!(extreme.loss.iter().chain(&extreme.relative).all(|value| value.is_finite()));
        assert!(extreme.best_share(0, &[1]) > 0.0);
    }
}
