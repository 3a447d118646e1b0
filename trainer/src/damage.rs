//! What is lost where some configurations cannot be used.

use rayon::prelude::*;

use crate::dataset::Dataset;
use crate::learn::LearnError;
use crate::performance::Performance;
use crate::score::{geometric_mean, pick, tasks_of};
use crate::split::Split;
use crate::train::{self, Fitted, Method};

/// Shares of optimal on the held-out shapes of one split, 0…1; optimal is with every configuration.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Damage {
    /// The split.
    pub split: String,
    /// With all configurations.
    pub shipped: f64,
    /// With the same list and tree, where those in question fail at run time: the next kernel of
    /// the leaf runs, and where none is left, the universal one, which counts as very slow.
    pub failing: f64,
    /// With a list and a tree made without them.
    pub afresh: f64,
}

/// A data set without the configurations in question, and how to train on it.
pub struct Rest<'a> {
    /// What [`Dataset::without`] leaves.
    pub dataset: &'a Dataset,
    /// The method there.
    pub method: &'a Method<'a>,
}

/// Measure the damage of doing without the columns `without` of `dataset`; `done` is told after
/// each split.
///
/// # Errors
/// [`LearnError`], if the learner fails.
pub fn measure(
    dataset: &Dataset,
    splits: &[Split],
    method: &Method<'_>,
    without: &[usize],
    rest: &Rest<'_>,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Damage>, LearnError> {
    let damage = |split: &Split| {
        let shipped = train::fit(dataset, &tasks_of(dataset, &split.train), method)?;
        let tasks = tasks_of(rest.dataset, &split.train);
        let afresh = renamed(train::fit(rest.dataset, &tasks, rest.method)?, rest.dataset, dataset);
        let test = tasks_of(dataset, &split.test);
        done();
        Ok(Damage {
            split: split.name.clone(),
            shipped: share(dataset, &shipped, &test, &[]),
            failing: share(dataset, &shipped, &test, without),
            afresh: share(dataset, &afresh, &test, &[]),
        })
    };
    splits.par_iter().map(damage).collect()
}

/// The kernels as columns of `all`, which has every configuration of `rest`.
fn renamed(fitted: Fitted, rest: &Dataset, all: &Dataset) -> Fitted {
    let column = |kernel: &usize| {
        let name = &rest.configurations()[*kernel];
        all.configurations().iter().position(|one| one == name)
    };
    let kernels = fitted.kernels.iter().filter_map(column).collect();
    Fitted { kernels, ..fitted }
}

/// Geometric mean of the share of optimal on `tasks`.
fn share(dataset: &Dataset, fitted: &Fitted, tasks: &[usize], failing: &[usize]) -> f64 {
    let performance = Performance::of(dataset, tasks);
    let share = |(row, task): (usize, &usize)| {
        let picked = pick(dataset, fitted, *task, failing);
        picked.map_or_else(|| performance.floor(row), |kernel| performance.relative[(row, kernel)])
    };
    geometric_mean(tasks.iter().enumerate().map(share))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kernels::measurement::{Header, Status};
    use selector_core::{GemmShape, ProblemClass};

    use super::*;
    use crate::dataset::{Measurement, RowCounts, Task};
    use crate::{learn, normalise, prune};

    /// The first is best on all shapes, the second half as fast, the third a quarter.
    fn dataset() -> Dataset {
        let row = |m: u32, (configuration, time): (&str, f64)| Measurement {
            task: Task { class: ProblemClass::F32_NN, shape: GemmShape::new(m, 8, 8, 1) },
            configuration: configuration.to_owned(),
            status: Status::Ok,
            times: vec![time],
            spread: None,
            binary_bytes: None,
        };
        let kernels = [("a", 1e3), ("b", 2e3), ("c", 4e3)];
        let rows = (1..9).flat_map(|m| kernels.map(|kernel| row(m, kernel))).collect();
        let (header, counts) = (Header::default(), RowCounts::default());
        Dataset::from_measurements(Path::new("x"), header, counts, rows).unwrap()
    }

    fn damage(kernels: usize, without: &[usize]) -> Damage {
        let data = dataset();
        let method = Method {
            pruner: prune::by_name("greedy").unwrap(),
            learner: learn::by_name("cost-tree").unwrap(),
            kernels,
            normalisation: normalise::Normalisation::default(),
            seed: 0,
        };
        let (train, test) = data.shapes().into_iter().partition(|shape| shape.m % 2 == 0);
        let split = Split { name: "even".to_owned(), train, test };
        let rest_of = data.without(without).unwrap();
        let rest = Rest { dataset: &rest_of, method: &method };
        measure(&data, &[split], &method, without, &rest, &|| {}).unwrap().remove(0)
    }

    #[test]
    fn the_next_kernel_of_the_leaf_runs_and_a_fresh_list_is_at_least_as_good() {
        // Two kernels ship: the best, and the one acceptable beside it.
        let Damage { shipped, failing, afresh, .. } = damage(2, &[0]);
        assert!((shipped - 1.0).abs() < 1e-12);
        assert!((failing - 0.5).abs() < 1e-12, "{failing}");
        assert!((afresh - 0.5).abs() < 1e-12, "{afresh}");
    }

    #[test]
    fn where_nothing_is_left_it_counts_as_very_slow_and_what_never_ran_is_no_loss() {
        let one = damage(1, &[0]);
        assert!(one.failing < 0.1 && (one.afresh - 0.5).abs() < 1e-12, "{one:?}");
        let other = damage(1, &[2]);
        assert_eq!((other.shipped, other.failing, other.afresh), (1.0, 1.0, 1.0));
    }
}
