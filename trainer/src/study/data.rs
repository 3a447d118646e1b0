//! What was measured: shapes, configurations, and which of them win how often.

use std::cmp::Reverse;

use super::{Cell, Context, Drawing, Part, StudyError, Table, Unit};
use crate::performance::first_largest;

/// Counts of the data set.
pub(super) struct Data;

impl Part for Data {
    fn name(&self) -> &'static str {
        "data"
    }

    fn about(&self) -> &'static str {
        "what was measured, and which configurations win how often"
    }

    fn steps(&self, _: &Context<'_>) -> u64 {
        0
    }

    fn measure(&self, context: &Context<'_>) -> Result<Vec<Table>, StudyError> {
        Ok(vec![winners(context)])
    }
}

fn winners(context: &Context<'_>) -> Table {
    let mut wins = vec![0; context.dataset.configurations().len()];
    for relative in context.all.relative.rows() {
        wins[first_largest(relative)] += 1;
    }
    let mut order: Vec<usize> = (0..wins.len()).filter(|one| wins[*one] > 0).collect();
    order.sort_by_key(|one| (Reverse(wins[*one]), *one));
    let row = |one: &usize| {
        vec![Cell::from(context.dataset.configurations()[*one].clone()), Cell::from(wins[*one])]
    };
    Table::new("winners", "How often each configuration is best", "first paper, figure 2")
        .column("configuration", Unit::Text)
        .column("shapes", Unit::Count)
        .drawn(Drawing::Bars { label: 0, value: 1 })
        .with_rows(order.iter().map(row).collect())
}
