//! How many principal components hold how much of the variance of all performance.

use super::{Cell, Context, Drawing, Part, Step, StudyError, Table, Unit};
use crate::components::Components;

/// Counts of components.
pub(super) struct Variance;

const SHARES: [f64; 3] = [0.8, 0.9, 0.95];
/// More components are not listed.
const LISTED: usize = 30;

impl Part for Variance {
    fn name(&self) -> &'static str {
        "components"
    }

    fn about(&self) -> &'static str {
        "how many principal components hold how much of the variance"
    }

    fn steps(&self, _: &Context<'_>) -> Vec<Step> {
        vec![step()]
    }

    fn measure(&self, context: &Context<'_>) -> Result<Vec<Table>, StudyError> {
        let components = Components::of(&context.all.relative, 0);
        context.done(&step());
        let row =
            |share: &f64| vec![Cell::Share(*share), Cell::from(components.enough_for(*share))];
        let needed = "Components that hold more than a part of the variance";
        let needed = Table::new("components-needed", needed, "first paper, figure 3")
            .column("part of variance", Unit::Percent)
            .column("components", Unit::Count)
            .with_rows(SHARES.iter().map(row).collect());
        let title = "Variance along each principal component";
        let table = Table::new("components", title, "first paper, figure 3")
            .column("component", Unit::Count)
            .column("part of variance", Unit::Percent)
            .column("with those before", Unit::Percent)
            .drawn(Drawing::Curves { x: 0, values: vec![1, 2] })
            .with_rows(explained(&components));
        let tables = [table, needed];
        if !components.explained().is_empty() {
            return Ok(tables.into());
        }
        let same = "all tasks are alike, so there is no variance";
        Ok(tables.map(|table| table.with_rows(Vec::new()).note(same)).into())
    }
}

fn step() -> Step {
    Step::new("components", 200)
}

fn explained(components: &Components) -> Vec<Vec<Cell>> {
    let mut sum = 0.0;
    let row = |(index, share): (usize, f64)| {
        sum += share;
        vec![Cell::from(index + 1), Cell::Share(share), Cell::Share(sum)]
    };
    components.explained().into_iter().take(LISTED).enumerate().map(row).collect()
}
