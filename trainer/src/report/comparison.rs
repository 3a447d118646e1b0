//! Bars: the one best configuration, this model, and what bounds it.

use selector_core::{Model, Score};
use serde::Serialize;

use super::numbers::{Numbers, TaskNumbers};
use super::text::{Text, counted, percent};
use crate::dataset::Dataset;
use crate::normalise::Normalisation;
use crate::performance::{Performance, first_least};
use crate::prune::{self, Request};

/// A way to choose a kernel for every task.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// What it does.
    pub way: String,
    /// Share of optimal, 0…1.
    pub share: f64,
    /// Whether it is this model that chooses.
    pub this_model: bool,
}

pub(super) fn of(
    model: &Model<'_>,
    dataset: &Dataset,
    performance: &Performance,
    columns: &[Option<usize>],
    tasks: &[TaskNumbers],
) -> Vec<Compared> {
    let sums: Vec<f64> = performance.loss.columns().into_iter().map(|one| one.sum()).collect();
    let one_best = first_least(&sums);
    let list: Vec<usize> = columns.iter().copied().flatten().collect();
    let of_model = tasks.iter().enumerate().map(|(row, task)| {
        task.slowdown.map_or_else(|| performance.floor(row), |slowdown| 1.0 / slowdown)
    });
    let bar = |way: String, share, this_model| Compared { way, share, this_model };
    let name = &dataset.configurations()[one_best];
    let mut bars = vec![
        bar(format!("one configuration for all: {name}"), share(performance, &[one_best]), false),
        bar("this model on these data".to_owned(), geometric_mean(of_model), true),
    ];
    if let Some(score) = model.score().map(Score::share) {
        bars.push(bar(
            "this model's method on shapes held out from its training data".to_owned(),
            score,
            true,
        ));
    }
    bars.push(bar(
        "the best kernel of the list, always".to_owned(),
        share(performance, &list),
        false,
    ));
    if let Some((kernels, peers)) = peers_list(performance, model.kernels().len().max(1)) {
        let kernels = counted(kernels, "kernel");
        let way = format!("the best of {kernels} that PCA + k-means picks from these data, always");
        bars.push(bar(way, peers, false));
    }
    bars.push(bar("the best measured configuration, always".to_owned(), 1.0, false));
    bars
}

/// How many kernels the first paper's way picks, `count` at most, and what they could do at best.
fn peers_list(performance: &Performance, count: usize) -> Option<(usize, f64)> {
    let request = Request { count, normalisation: Normalisation::default(), seed: 0 };
    let pruned = prune::by_name("pca-k-means")?.prune(performance, &request);
    Some((pruned.kernels.len(), share(performance, &pruned.kernels)))
}

/// Share of optimal of the best of `columns` on every task.
pub(super) fn share(performance: &Performance, columns: &[usize]) -> f64 {
    let rows = 0..performance.shapes.len();
    geometric_mean(rows.map(|row| performance.best_share(row, columns)))
}

fn geometric_mean(shares: impl Iterator<Item = f64>) -> f64 {
    let logarithms: Vec<f64> = shares.map(f64::ln).collect();
    (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp()
}

/// The section of the page.
pub(super) fn html(numbers: &Numbers) -> String {
    let row = |one: &Compared| {
        let class = if one.this_model { " class=\"ours\"" } else { "" };
        let (way, share, width) = (Text(&one.way), percent(one.share), one.share * 100.0);
        format!(
            "<tr{class}><th scope=\"row\">{way}<span class=\"track\" aria-hidden=\"true\">\
             <span class=\"fill\" style=\"width:{width:.1}%\"></span></span></th>\
             <td class=\"number\">{share}</td></tr>\n"
        )
    };
    let rows: String = numbers.comparison.iter().map(row).collect();
    format!(
        "<table class=\"bars\">\n<caption>Share of optimal: best measured time ÷ time of the chosen \
         kernel, geometric mean over {}. 100 % is the best that was measured on each.</caption>\n\
         <thead class=\"unseen\"><tr><th scope=\"col\">choice</th><th scope=\"col\">share of optimal</th>\
         </tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n",
        counted(numbers.tasks.len(), "shape")
    )
}
