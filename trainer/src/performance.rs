//! How well each configuration does on each task, as numbers that methods learn from.

use ndarray::Array2;

use crate::dataset::Dataset;

/// Base-2 logarithm of the slowdown that a configuration is taken to have where it was not
/// measured or failed; more where the slowest measured one has more.
const MISSING: f64 = 4.0;
/// No slowdown counts for more than this, as a base-2 logarithm.
const LARGEST: f64 = 64.0;

/// A difference above this part of the best time is never noise.
const MOST_NOISE: f64 = 0.05;

/// Tasks × configurations: performance relative to the best measured, and its logarithm.
#[derive(Clone, Debug)]
pub struct Performance {
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
        Self { relative, loss }
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

fn log2_slowdown(time: f64, best: f64) -> f64 {
    (time.log2() - best.log2()).min(LARGEST)
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
