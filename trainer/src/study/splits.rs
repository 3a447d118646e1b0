//! What tables over splits have in common.

use super::{Cell, Context, Table, Unit};

/// A column with the mean over splits called `name`, then one a split.
pub(super) fn columns(table: Table, name: &str, context: &Context<'_>) -> Table {
    let first = table.column(name, Unit::Percent);
    let split = |table: Table, side: &super::Sides| {
        table.column(format!("{name} {}", side.name), Unit::Percent)
    };
    context.sides.iter().fold(first, split)
}

/// The cells for [`columns`]: shares, 0…1, one a split.
pub(super) fn cells(shares: &[f64]) -> impl Iterator<Item = Cell> {
    let mean = std::iter::once(Cell::Share(mean(shares)));
    mean.chain(shares.iter().copied().map(Cell::Share))
}

/// The arithmetic mean; not a number without any.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Says so where nothing can be held out.
pub(super) fn note(table: Table, context: &Context<'_>) -> Table {
    if context.sides.is_empty() {
        return table.note("nothing is held out, since there is only one shape");
    }
    let fewest = context.sides.iter().map(|side| side.test_tasks.len()).min().unwrap_or(0);
    if fewest < FEW {
        return table.note(format!("a split holds out {fewest} tasks only: shares say little"));
    }
    table
}

/// Fewer held-out tasks than this deserve a warning.
const FEW: usize = 10;
