//! How good a method is on shapes that it has not seen.

use kernels::Configuration;
use rayon::prelude::*;
use selector_core::{GemmShape, ProblemClass, RANKED};

use crate::dataset::Dataset;
use crate::learn::{Grown, LearnError};
use crate::performance::{Performance, first_least};
use crate::split::Split;
use crate::train::{self, Fitted, Method};

/// Shares of optimal on the held-out shapes of one split, 0…1.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitScore {
    /// The split.
    pub split: String,
    /// Held-out tasks.
    pub tasks: usize,
    /// Geometric mean with the kernel that the tree picks.
    pub share: f64,
    /// Geometric mean with the best kernel of the list.
    pub ceiling: f64,
    /// Geometric mean with the one configuration that is best on the shapes trained on.
    pub one_best: f64,
    /// The share that a twentieth of the tasks stay below, with the kernel that the tree picks.
    pub fifth_percentile: f64,
    /// The least share, with the kernel that the tree picks.
    pub worst: f64,
    /// DTPR: arithmetic mean with the kernel that the tree picks (second paper, section 4).
    pub dtpr: f64,
    /// DTTR: arithmetic mean of that kernel's performance over that of the one tuned configuration.
    pub dttr: f64,
    /// Leaves of all trees.
    pub leaves: usize,
    /// Held-out tasks where no kernel that the tree ranks was measured; they count as very slow.
    pub unmeasured: usize,
}

/// Train on one side of each split and score on the other. DTTR compares with the column `tuned`;
/// without it, with the best configuration of the shape nearest to the one that libraries are
/// tuned at. `done` is told after each split.
///
/// # Errors
/// [`LearnError`], if the learner fails.
pub fn score(
    dataset: &Dataset,
    splits: &[Split],
    method: &Method<'_>,
    tuned: Option<usize>,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<SplitScore>, LearnError> {
    let score = |split: &Split| {
        let score = score_split(dataset, split, method, tuned, &|| {});
        done();
        score
    };
    splits.par_iter().map(score).collect()
}

/// As [`score`], but `done` is told after each of [`steps`].
///
/// # Errors
/// [`LearnError`], if the learner fails.
pub fn score_telling(
    dataset: &Dataset,
    splits: &[Split],
    method: &Method<'_>,
    tuned: Option<usize>,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<SplitScore>, LearnError> {
    splits.par_iter().map(|split| score_split(dataset, split, method, tuned, done)).collect()
}

/// Steps of [`score_telling`].
#[must_use]
pub fn steps(dataset: &Dataset, splits: &[Split], method: &Method<'_>) -> usize {
    let steps =
        |split: &Split| train::steps(dataset, &tasks_of(dataset, &split.train), method.learner);
    splits.iter().map(steps).sum()
}

/// The arithmetic mean over splits, each counting the same however many tasks it holds out; `None`
/// without any.
#[must_use]
pub fn mean(scores: &[SplitScore], of: impl Fn(&SplitScore) -> f64) -> Option<f64> {
    let sum: f64 = scores.iter().map(of).sum();
    (!scores.is_empty()).then(|| sum / scores.len() as f64)
}

fn score_split(
    dataset: &Dataset,
    split: &Split,
    method: &Method<'_>,
    tuned: Option<usize>,
    done: &(dyn Fn() + Sync),
) -> Result<SplitScore, LearnError> {
    let train = tasks_of(dataset, &split.train);
    let test = tasks_of(dataset, &split.test);
    let fitted = train::fit_telling(dataset, &train, method, done)?;
    let learned = Performance::of(dataset, &train);
    let held_out = Performance::of(dataset, &test);
    let one_best =
        first_least(&learned.loss.columns().into_iter().map(|one| one.sum()).collect::<Vec<_>>());
    let mut shares = Vec::new();
    let mut unmeasured = 0;
    for (row, task) in test.iter().copied().enumerate() {
        let picked = pick(dataset, &fitted, task, &[]);
        unmeasured += usize::from(picked.is_none());
        shares.push(
            picked.map_or_else(|| held_out.floor(row), |kernel| held_out.relative[(row, kernel)]),
        );
    }
    let tuned = tuned.unwrap_or_else(|| tuned_column(dataset, &learned));
    let ratios =
        shares.iter().enumerate().map(|(row, share)| share / held_out.best_share(row, &[tuned]));
    let dttr = ratios.sum::<f64>() / shares.len() as f64;
    let mut sorted = shares.clone();
    sorted.sort_by(f64::total_cmp);
    let rows = 0..test.len();
    let at_best = rows.clone().map(|row| held_out.best_share(row, &fitted.kernels));
    Ok(SplitScore {
        split: split.name.clone(),
        tasks: test.len(),
        share: geometric_mean(shares.iter().copied()),
        ceiling: geometric_mean(at_best),
        one_best: geometric_mean(rows.map(|row| held_out.best_share(row, &[one_best]))),
        fifth_percentile: sorted.get(sorted.len() / 20).copied().unwrap_or(0.0),
        worst: sorted.first().copied().unwrap_or(0.0),
        dttr,
        dtpr: shares.iter().sum::<f64>() / shares.len() as f64,
        leaves: fitted.trees.iter().map(|one| one.tree.leaves()).sum(),
        unmeasured,
    })
}

/// Where libraries are tuned: kernels that work on the operands as they are at 256³, others at
/// 1024³ (second paper, section 3).
const TUNED_AT: [(bool, f64); 2] = [(true, 8.0), (false, 10.0)];

/// The column of the one tuned configuration: the best where the measured shape is nearest, by
/// the logarithms of its dimensions.
pub(crate) fn tuned_column(dataset: &Dataset, learned: &Performance) -> usize {
    let direct = dataset.configurations().iter().all(|name| is_direct(name));
    let side = TUNED_AT.iter().find(|(one, _)| *one == direct).map_or(10.0, |(_, side)| *side);
    let distance = |shape: &GemmShape| {
        let octaves = |size: u32| f64::from(size.max(1)).log2();
        let off = |size: u32| (octaves(size) - side).powi(2);
        off(shape.m) + off(shape.k) + off(shape.n) + octaves(shape.batch).powi(2)
    };
    let distances: Vec<f64> = learned.shapes.iter().map(distance).collect();
    first_least(&learned.loss.row(first_least(&distances)).to_vec())
}

/// Whether a configuration is one of a kernel that works on the operands as they are: ours that do
/// not pack them first, and CLBlast's `xgemm_direct`.
pub(crate) fn is_direct(configuration: &str) -> bool {
    let packs = |one: &Configuration| one.program(ProblemClass::F32_NN).functions.contains(&"pack");
    configuration.split(':').next() == Some("xgemm_direct")
        || configuration.parse().is_ok_and(|one| !packs(&one))
}

/// Tasks whose shape is among `shapes`, which are sorted.
pub(crate) fn tasks_of(dataset: &Dataset, shapes: &[GemmShape]) -> Vec<usize> {
    let among = |task: &usize| shapes.binary_search(&dataset.tasks()[*task].shape).is_ok();
    (0..dataset.tasks().len()).filter(among).collect()
}

/// The column that runs: the first that the leaf ranks and that works there, as at run time, where
/// those in `failing` work nowhere.
pub(crate) fn pick(
    dataset: &Dataset,
    fitted: &Fitted,
    task: usize,
    failing: &[usize],
) -> Option<usize> {
    let wanted = dataset.tasks()[task];
    let tree = tree_for(fitted, wanted.class)?;
    let ranked = tree.rank(wanted.shape).iter().take(RANKED);
    let columns = ranked.map(|place| fitted.kernels[*place]);
    let works =
        |column: &usize| !failing.contains(column) && dataset.time(task, *column).is_finite();
    columns.into_iter().find(works)
}

/// The tree of the class; where it has none, of the class that stands in for it.
fn tree_for(fitted: &Fitted, class: selector_core::ProblemClass) -> Option<&Grown> {
    let measured: Vec<_> = fitted.trees.iter().map(|one| one.class).collect();
    let source = train::measured_as(class, &measured)?;
    fitted.trees.iter().find(|one| one.class == source).map(|one| &one.tree)
}

/// Geometric mean of shares above zero; 1 without any.
#[must_use]
pub fn geometric_mean(shares: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = shares.clone().count().max(1) as f64;
    (shares.map(f64::ln).sum::<f64>() / count).exp()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::dataset::Rows;

    /// Cubes of two sides, one kernel of `family` best at 256 and the other at 1024.
    fn cubes(family: &str) -> Dataset {
        let mut text = "m,k,n,batch,configuration,time_ns\n".to_owned();
        for (side, first, second) in [(256, 1, 2), (1024, 2, 1)] {
            for (name, time) in [("1", first), ("2", second)] {
                text += &format!("{side},{side},{side},1,{family}:{name},{time}000\n");
            }
        }
        let rows = Rows::read(Path::new("cubes.csv"), text.as_bytes()).unwrap();
        let (counts, measurements) = (rows.counts, rows.measurements);
        Dataset::from_measurements(Path::new("cubes.csv"), rows.header, counts, measurements)
            .unwrap()
    }

    #[test]
    fn direct_kernels_are_tuned_at_256_and_others_at_1024() {
        for (family, side) in [("xgemm_direct", 256), ("xgemm", 1024), ("mystery", 1024)] {
            let dataset = cubes(family);
            let tuned = tuned_column(&dataset, &Performance::of(&dataset, &[0, 1]));
            let best = if side == 256 { ":1" } else { ":2" };
            assert!(dataset.configurations()[tuned].ends_with(best), "{family}");
        }
        assert!(is_direct("tile:1x1x1@8x8") && is_direct("xgemm_direct"));
        assert!(!is_direct("xgemm_directly:1"));
        assert!(is_direct("packed:none-8x16x4@1x1") && !is_direct("packed:ab-8x16x4@1x1"));
    }
}
