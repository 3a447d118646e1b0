//! The steps that take long.

use anyhow::Context;
use trainer::damage::{self, Damage, Rest};
use trainer::dataset::Dataset;
use trainer::export::{self, HeldOut};
use trainer::learn::Learner;
use trainer::performance::Performance;
use trainer::score::{self, SplitScore};
use trainer::split::Split;
use trainer::train::{self, Fitted, Method};

use super::clock::Clock;
use crate::output::Output;

/// Train on all rows; also says how many questions of `grower`'s trees were collapsed.
pub(super) fn fit(
    dataset: &Dataset,
    method: &Method<'_>,
    grower: &dyn Learner,
    question_ns: f64,
    clock: &mut Clock,
    out: &mut Output,
) -> anyhow::Result<(Fitted, usize)> {
    let all: Vec<usize> = (0..dataset.tasks().len()).collect();
    let performance = Performance::of(dataset, &all);
    let progress = out.progress(train::steps(dataset, &all, grower) as u64, "training");
    let pruned = train::choose(&performance, method);
    progress.step();
    clock.lap("choosing kernels");
    let method = Method { learner: grower, ..*method };
    let grown = train::grow(dataset, &all, &performance, &pruned, &method, &|| progress.step());
    let fitted =
        train::collapse(dataset, grown.context("could not train on all rows")?, question_ns);
    clock.lap("growing trees");
    Ok(fitted)
}

pub(super) fn cross_validate(
    fitted: &Fitted,
    method: &Method<'_>,
    out: &mut Output,
) -> anyhow::Result<HeldOut> {
    let progress = out.progress(export::folds(fitted) as u64, "checking leaves");
    let held_out = export::cross_validate(fitted, method, &|| progress.step());
    held_out.context("could not check the leaves on held-out shapes")
}

pub(super) fn damage(
    dataset: &Dataset,
    splits: &[Split],
    method: &Method<'_>,
    without: &[usize],
    rest: &Rest<'_>,
    out: &mut Output,
) -> anyhow::Result<Vec<Damage>> {
    let progress = out.progress(splits.len() as u64, "measuring the damage");
    let damage = damage::measure(dataset, splits, method, without, rest, &|| progress.step());
    damage.context("could not train on a split")
}

pub(super) fn scores(
    dataset: &Dataset,
    splits: &[Split],
    method: &Method<'_>,
    tuned: Option<usize>,
    out: &mut Output,
) -> anyhow::Result<Vec<SplitScore>> {
    let progress = out.progress(score::steps(dataset, splits, method) as u64, "scoring");
    let scores = score::score_telling(dataset, splits, method, tuned, &|| progress.step());
    scores.context("could not train on a split")
}
