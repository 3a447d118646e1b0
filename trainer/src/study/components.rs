//! How many principal components hold how much of the variance of all performance.

use super::{Cell, Context, Part, StudyError, Table, Unit};
use crate::components::Components;

/// Counts of components.
pub(super) struct Variance;

const SHARES: [f64; 3] = [0.8, 0.9, 0.95];

impl Part for Variance {
    fn name(&self) -> &'static str {
        "components"
    }

    fn about(&self) -> &'static str {
        "how many principal components hold how much of the variance"
    }

    fn steps(&self, _: &Context<'_>) -> u64 {
        1
    }

    fn measure(&self, context: &Context<'_>) -> Result<Vec<Table>, StudyError> {
        let components = Components::of(&context.all.relative, 0);
        context.step();
        let row =
            |share: &f64| vec![Cell::Share(*share), Cell::from(components.enough_for(*share))];
        Ok(vec![
            Table::new(
                "components-needed",
                "Components that hold a share of the variance",
                "first paper, section 3",
            )
            .column("variance", Unit::Percent)
            .column("components", Unit::Count)
            .with_rows(SHARES.iter().map(row).collect()),
        ])
    }
}
