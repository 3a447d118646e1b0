//! Cover the tasks: add the kernel that helps the most, then swap while that helps.
//!
//! Of lists that lose the same, the one with better second kernels wins, so that a kernel that
//! fails at run time leaves another that will do.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::budget::Room;
use super::{Performance, Pruned, Pruner, Request};
use crate::redundancy::LARGEST_ACCEPTABLE_LOSS;

/// Greedy cover of mean log performance, refined by swaps.
pub(super) struct Greedy;

impl Pruner for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn about(&self) -> &'static str {
        "the kernels that together lose least, found one by one and by swaps"
    }

    fn weighs(&self) -> bool {
        false
    }

    fn prune(&self, performance: &Performance, request: &Request) -> Pruned {
        let cover = Cover::of(performance);
        let room = Room { count: request.count.max(1), budget: None };
        Pruned::new(cover.list(&room, Rule::Gain), Vec::new())
    }
}

/// Totals are compared in whole steps of this size: smaller differences are rounding.
const STEP: f64 = 1.0 / (1 << 30) as f64;
/// Steps of a loss of 1 where losses are blended.
const BLEND_STEPS: f64 = (1 << 20) as f64;

/// What is to be covered: rows of losses, column by column for speed.
pub(super) struct Cover {
    loss: Vec<Vec<f64>>,
    /// What a row loses where the list has no kernel: more than by any of them.
    none: Vec<f64>,
    /// What each row's loss counts.
    weight: Vec<f64>,
    /// The first rows are tasks; the others are made of them, and need no second kernel.
    tasks: usize,
    /// What a second kernel's loss counts against the best one's: with 0 it decides between lists
    /// whose best kernels lose the same, and nothing else.
    second_weight: f64,
}

/// What a list loses. The better one loses less, then leaves fewer tasks without an acceptable
/// second kernel, then loses less by the second ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Total {
    /// By the best kernels and, as much as they count, by the second ones, in steps.
    both: f64,
    /// By the best kernels, in steps.
    first: f64,
    /// By the second ones as far as they are acceptable, in steps.
    second: f64,
    /// Tasks without an acceptable second kernel.
    bare: usize,
}

impl Total {
    pub(super) fn order(&self, other: &Self) -> Ordering {
        (self.both.total_cmp(&other.both))
            .then_with(|| self.bare.cmp(&other.bare))
            .then_with(|| self.second.total_cmp(&other.second))
    }

    pub(super) fn is_less(&self, other: &Self) -> bool {
        self.order(other) == Ordering::Less
    }

    /// How much less is lost than in `other`.
    fn gain(&self, other: &Self) -> f64 {
        other.both - self.both
    }

    /// Whether less is lost by the best kernels than in `other`.
    fn helps(&self, other: &Self) -> bool {
        self.first < other.first
    }
}

/// Which of the kernels that help is added.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Rule {
    /// The one that helps the most.
    Gain,
    /// The one that helps the most for each byte that its program adds.
    GainPerByte,
}

/// A kernel that could be added.
struct Candidate {
    kernel: usize,
    total: Total,
    /// Bytes that it adds to the binaries.
    bytes: u64,
}

impl Rule {
    /// Less is better. Equal ones go to the kernel that comes first.
    fn order(self, one: &Candidate, other: &Candidate, before: &Total) -> Ordering {
        let by_total = || one.total.order(&other.total);
        match self {
            Self::Gain => by_total(),
            Self::GainPerByte => {
                // The larger ratio first, without dividing by a program that is there already.
                let [left, right] = [(one, other), (other, one)]
                    .map(|(one, other)| one.total.gain(before) * other.bytes as f64);
                right.total_cmp(&left).then_with(by_total)
            }
        }
    }
}

impl Cover {
    pub(super) fn of(performance: &Performance) -> Self {
        let loss: Vec<Vec<f64>> =
            performance.loss.columns().into_iter().map(|column| column.to_vec()).collect();
        let worst = performance.loss.rows().into_iter();
        let none = worst.map(|row| row.iter().copied().fold(0.0, f64::max) + 1.0).collect();
        let tasks = performance.shapes.len();
        Self { loss, none, weight: vec![1.0; tasks], tasks, second_weight: 0.0 }
    }

    /// The same with more rows, each the mean of the tasks weighted by a row of `blends`; they count
    /// `weight` each.
    pub(super) fn with_blends(mut self, blends: &[Vec<f64>], weight: f64) -> Self {
        let blended = |loss: &[f64]| -> Vec<f64> {
            let mean = |weights: &Vec<f64>| {
                let sum: f64 = weights.iter().zip(loss).map(|(one, loss)| one * loss).sum();
                // In steps, as the losses are.
                (sum / weights.iter().sum::<f64>() * BLEND_STEPS).round() / BLEND_STEPS
            };
            blends.iter().map(mean).collect()
        };
        let more: Vec<Vec<f64>> =
            self.loss.par_iter().chain([&self.none]).map(|column| blended(column)).collect();
        for (column, more) in self.loss.iter_mut().chain([&mut self.none]).zip(more) {
            column.extend(more);
        }
        self.weight.resize(self.none.len(), weight);
        self
    }

    /// The same where the second kernel's loss counts this much against the best one's.
    pub(super) fn with_seconds(self, second_weight: f64) -> Self {
        Self { second_weight, ..self }
    }

    /// The kernels chosen by `rule` and refined by swaps, as far as there is room; none only if
    /// none fits.
    pub(super) fn list(&self, room: &Room<'_>, rule: Rule) -> Vec<usize> {
        let mut kernels = Vec::new();
        self.fill(&mut kernels, room, rule);
        // A swap may make room.
        while self.swap(&mut kernels, room) && self.fill(&mut kernels, room, rule) {}
        kernels
    }

    /// Add kernels while one lowers the loss, then while one gives a task an acceptable second
    /// kernel; says whether any was added.
    pub(super) fn fill(&self, kernels: &mut Vec<usize>, room: &Room<'_>, rule: Rule) -> bool {
        let before = kernels.len();
        while let Some(kernel) = self.addition(kernels, room, rule) {
            kernels.push(kernel);
        }
        while let Some(kernel) = self.redundant_addition(kernels, room) {
            kernels.push(kernel);
        }
        kernels.len() > before
    }

    fn addition(&self, kernels: &[usize], room: &Room<'_>, rule: Rule) -> Option<usize> {
        let before = self.total(kernels);
        let helping = |one: &Candidate| one.total.helps(&before) || kernels.is_empty();
        let helping = self.additions(kernels, room).filter(helping);
        helping.min_by(|one, other| rule.order(one, other, &before)).map(|one| one.kernel)
    }

    fn redundant_addition(&self, kernels: &[usize], room: &Room<'_>) -> Option<usize> {
        let before = self.total(kernels);
        let helping = self.additions(kernels, room).filter(|one| one.total.bare < before.bare);
        let order = |one: &Candidate, other: &Candidate| {
            let (left, right) = (one.total, other.total);
            left.bare.cmp(&right.bare).then_with(|| left.order(&right))
        };
        helping.min_by(order).map(|one| one.kernel)
    }

    /// What each kernel that fits would make of the list.
    fn additions(&self, kernels: &[usize], room: &Room<'_>) -> impl Iterator<Item = Candidate> {
        let (first, second) = self.best_two(kernels);
        let candidate = move |kernel: usize| {
            let bytes = room.bytes_of(kernels, kernel)?;
            let total = self.sum((0..first.len()).map(|row| {
                let loss = self.loss[kernel][row];
                // Never NaN: `none` is no NaN, and `min` passes one over.
                if loss < first[row] {
                    (loss, first[row])
                } else {
                    (first[row], second[row].min(loss))
                }
            }));
            Some(Candidate { kernel, total, bytes })
        };
        (0..self.loss.len()).filter_map(candidate)
    }

    /// What a list loses.
    pub(super) fn total(&self, kernels: &[usize]) -> Total {
        let (first, second) = self.best_two(kernels);
        self.sum(first.into_iter().zip(second))
    }

    /// Loss of each task under the best of `kernels` and under the second.
    fn best_two(&self, kernels: &[usize]) -> (Vec<f64>, Vec<f64>) {
        let (mut first, mut second) = (self.none.clone(), self.none.clone());
        for kernel in kernels {
            for (row, loss) in self.loss[*kernel].iter().enumerate() {
                if *loss < first[row] {
                    second[row] = first[row];
                    first[row] = *loss;
                } else {
                    second[row] = second[row].min(*loss);
                }
            }
        }
        (first, second)
    }

    fn sum(&self, losses: impl Iterator<Item = (f64, f64)>) -> Total {
        let (mut first, mut second, mut bare) = (0.0, 0.0, 0);
        for (row, (one, other)) in losses.enumerate() {
            first += self.weight[row] * one;
            second += self.weight[row] * other.min(LARGEST_ACCEPTABLE_LOSS);
            bare += usize::from(row < self.tasks && other > LARGEST_ACCEPTABLE_LOSS);
        }
        let steps = |sum: f64| (sum / STEP).round();
        let both = steps(first + self.second_weight * second);
        Total { both, first: steps(first), second: steps(second), bare }
    }

    /// Exchange kernels one at a time while that is better; says whether any was exchanged.
    pub(super) fn swap(&self, kernels: &mut [usize], room: &Room<'_>) -> bool {
        let mut total = self.total(kernels);
        let (mut place, mut since_gain, mut any) = (0, 0, false);
        while since_gain < kernels.len() {
            let others = without(kernels, place);
            let best =
                self.additions(&others, room).min_by(|one, other| one.total.order(&other.total));
            match best.filter(|one| one.total.is_less(&total)) {
                Some(better) => {
                    kernels[place] = better.kernel;
                    total = better.total;
                    (since_gain, any) = (0, true);
                }
                None => since_gain += 1,
            }
            place = (place + 1) % kernels.len();
        }
        any
    }
}

/// The list without the kernel at `place`.
pub(super) fn without(kernels: &[usize], place: usize) -> Vec<usize> {
    let others = kernels.iter().enumerate().filter(|(at, _)| *at != place);
    others.map(|(_, kernel)| *kernel).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use selector_core::ProblemClass;

    use super::*;
    use crate::prune::tests::{asked, shapes};

    fn kept(loss: Array2<f64>, count: usize) -> Vec<usize> {
        let relative = loss.mapv(|loss: f64| (-loss).exp2());
        let shapes = shapes(loss.nrows());
        let classes = vec![ProblemClass::F32_NN; shapes.len()];
        Greedy.prune(&Performance { shapes, classes, relative, loss }, &asked(count)).kernels
    }

    #[test]
    fn a_swap_undoes_a_first_step_that_was_too_eager() {
        // The middle kernel is best alone, but the outer two leave nothing to lose.
        let loss = array![[0.0, 0.6, 9.0], [0.0, 0.6, 9.0], [9.0, 0.6, 0.0], [9.0, 0.6, 0.0]];
        assert_eq!(kept(loss.clone(), 1), [1]);
        assert_eq!(kept(loss, 2), [0, 2]);
    }

    #[test]
    fn a_kernel_that_helps_nowhere_is_not_kept() {
        assert_eq!(kept(array![[0.0, 1.5, 2.0], [0.0, 1.5, 4.0]], 3), [0]);
    }

    #[test]
    fn a_kernel_that_helps_only_as_second_is_kept_where_there_is_room() {
        // Each alone suffices; two are kept, so that one may fail.
        assert_eq!(kept(array![[0.0, 0.9, 0.2], [0.0, 0.9, 2.0]], 3), [0, 1]);
        assert_eq!(kept(array![[0.0, 0.9, 0.2], [0.0, 0.9, 2.0]], 1), [0]);
    }

    #[test]
    fn of_lists_that_lose_the_same_the_more_redundant_wins() {
        // The last two lose nothing together with the first; the last is nearly as good elsewhere.
        let loss = array![[0.0, 3.0, 0.5], [0.0, 3.0, 0.5], [2.0, 0.0, 0.0]];
        assert_eq!(kept(loss, 2), [0, 2]);
    }
}
