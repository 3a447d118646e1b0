//! `--compare`: every pruner with every learner.

use std::fmt;

use trainer::dataset::Dataset;
use trainer::learn::Collapsed;
use trainer::score::{self, SplitScore};
use trainer::split::Split;
use trainer::train::Method;
use trainer::{learn, prune};

use super::report::{MethodNames, Shares, percent};
use super::steps;
use crate::output::Output;

/// Score each of them and print a table.
///
/// # Errors
/// A learner fails, or stdout.
pub(super) fn compare(
    dataset: &Dataset,
    splits: &[Split],
    method: &Method<'_>,
    question_ns: f64,
    out: &mut Output,
) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for pruner in prune::ALL {
        for learner in learn::ALL {
            let learner = Collapsed { learner: *learner, question_ns };
            let method = Method { pruner: *pruner, learner: &learner, ..*method };
            let scores = steps::scores(dataset, splits, &method, None, out)?;
            rows.push(Compared::of(&method, &scores));
        }
    }
    out.result(&Comparison { methods: rows })
}

/// Every pruner with every learner.
#[derive(serde::Serialize)]
struct Comparison {
    methods: Vec<Compared>,
}

/// One pruner with one learner.
#[derive(serde::Serialize)]
struct Compared {
    #[serde(flatten)]
    method: MethodNames,
    share_of_optimal: Option<Shares>,
    ceiling: Option<f64>,
    one_best: Option<f64>,
    shipped: bool,
}

impl Compared {
    fn of(method: &Method<'_>, scores: &[SplitScore]) -> Self {
        Self {
            method: MethodNames::of(method),
            share_of_optimal: Shares::of(scores),
            ceiling: score::mean(scores, |score| score.ceiling),
            one_best: score::mean(scores, |score| score.one_best),
            shipped: method.learner.repeatable(),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<17}{:<13}{:>10}{:>10}{:>10}",
            "pruner", "learner", "model", "one best", "ceiling"
        )?;
        for one in &self.methods {
            let MethodNames { pruner, learner, .. } = one.method;
            let mean = one.share_of_optimal.as_ref().map(|shares| shares.mean);
            let [share, one_best, ceiling] = [mean, one.one_best, one.ceiling].map(percent);
            let note = if one.shipped { "" } else { "  (compared, never shipped)" };
            writeln!(f, "{pruner:<17}{learner:<13}{share:>10}{one_best:>10}{ceiling:>10}{note}")?;
        }
        Ok(())
    }
}
