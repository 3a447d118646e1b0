//! What the default method reaches at every length of the kernel list.

use super::{COUNTS, Cell, Context, Drawing, Part, Step, StudyError, Table, Unit, splits};
use crate::normalise::Normalisation;
use crate::score::SplitScore;
use crate::train::Method;
use crate::{learn, prune};

/// The first of all pruners with the first of all learners.
pub(super) struct DefaultMethod;

impl Part for DefaultMethod {
    fn name(&self) -> &'static str {
        "method"
    }

    fn about(&self) -> &'static str {
        "what the default method reaches on held-out tasks"
    }

    fn steps(&self, context: &Context<'_>) -> Vec<Step> {
        COUNTS.flat_map(|count| context.score_steps(&method(context, count))).collect()
    }

    fn measure(&self, context: &Context<'_>) -> Result<Vec<Table>, StudyError> {
        let mut rows = Vec::new();
        for count in COUNTS.filter(|_| !context.sides.is_empty()) {
            let scores = context.scores(&method(context, count))?;
            rows.push(row(count, &scores));
        }
        let title = format!("The default method, {}, on held-out tasks", name());
        let table = Table::new("method", title, "")
            .column("kernels", Unit::Count)
            .column("one configuration", Unit::Percent)
            .column("ceiling", Unit::Percent)
            .column("DTPR", Unit::Percent)
            .column("DTTR", Unit::Number)
            .column("5th percentile", Unit::Percent)
            .column("worst", Unit::Percent)
            .column("leaves", Unit::Number)
            .drawn(Drawing::Curves { x: 0, values: vec![2, 8, 5] });
        let table = splits::columns(table, "share", context).with_rows(rows);
        Ok(vec![splits::note(table, context).note(
            "means over the splits, but the least of all splits as the worst; DTPR and DTTR as in the second paper",
        )])
    }
}

/// What the default method is called.
pub(super) fn name() -> String {
    format!("{} + {}", prune::ALL[0].name(), learn::ALL[0].name())
}

/// The default method with `count` kernels.
pub(super) fn method(context: &Context<'_>, count: usize) -> Method<'static> {
    Method {
        pruner: prune::ALL[0],
        learner: learn::ALL[0],
        kernels: count,
        normalisation: Normalisation::default(),
        seed: context.seed,
    }
}

fn row(count: usize, scores: &[SplitScore]) -> Vec<Cell> {
    let each = |of: fn(&SplitScore) -> f64| scores.iter().map(of).collect::<Vec<f64>>();
    let mean = |of| splits::mean(&each(of));
    let worst = each(|one| one.worst).into_iter().fold(f64::INFINITY, f64::min);
    let mut row = vec![
        Cell::from(count),
        Cell::Share(mean(|one| one.one_best)),
        Cell::Share(mean(|one| one.ceiling)),
        Cell::Share(mean(|one| one.dtpr)),
        Cell::Number(mean(|one| one.dttr)),
        Cell::Share(mean(|one| one.fifth_percentile)),
        Cell::Share(worst),
        Cell::Number(mean(|one| one.leaves as f64)),
    ];
    row.extend(splits::cells(&each(|one| one.share)));
    row
}
