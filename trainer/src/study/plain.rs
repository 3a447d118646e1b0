//! Tables as a terminal shows them: in wide form, and long ones shortened.

use std::fmt::{self, Display, Formatter};

use super::grid::{self, Grid};
use super::{Cell, Drawing, Studies, Study, Table, Unit};

/// More columns are not shown in wide form.
const WIDE: usize = 16;
/// Rows that are shown of a table with more than twice as many.
const ROWS: usize = 15;

impl Display for Studies {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for study in &self.studies {
            writeln!(f, "{study}")?;
        }
        self.comparison.iter().try_for_each(|table| writeln!(f, "{table}"))
    }
}

impl Display for Study {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.dataset)?;
        self.tables.iter().try_for_each(|table| write!(f, "\n{table}"))
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.reproduces {
            "" => writeln!(f, "{}", self.title)?,
            source => writeln!(f, "{} ({source})", self.title)?,
        }
        let long = matches!(self.drawing, Drawing::Lines { .. } | Drawing::HeatMap { .. });
        let grids = if long { grid::of(self) } else { Vec::new() };
        if !grids.is_empty() && grids.iter().all(|grid| grid.columns.len() <= WIDE) {
            grids.iter().try_for_each(|grid| wide(f, grid))?;
        } else {
            rows(f, self)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "  note: {note}"))
    }
}

fn wide(f: &mut Formatter<'_>, grid: &Grid) -> fmt::Result {
    let unit = if grid.unit == Unit::Percent { " in %" } else { "" };
    let panel = if grid.panel.is_empty() { String::new() } else { format!("{}: ", grid.panel) };
    writeln!(f, "  {panel}{}{unit} by {} and {}", grid.value, grid.names, grid.across)?;
    let head = std::iter::once(String::new()).chain(grid.columns.iter().map(Cell::shown));
    let row = |(name, cells): &(String, Vec<Cell>)| {
        std::iter::once(name.clone()).chain(cells.iter().map(Cell::shown)).collect()
    };
    let lines: Vec<Vec<String>> =
        std::iter::once(head.collect()).chain(grid.rows.iter().map(row)).collect();
    aligned(f, &lines, |column| column == 0)
}

fn rows(f: &mut Formatter<'_>, table: &Table) -> fmt::Result {
    let shown = if table.rows.len() > 2 * ROWS { ROWS } else { table.rows.len() };
    if shown == 0 {
        return Ok(());
    }
    let names = table.columns.iter().map(super::page::titled).collect();
    let shown = &table.rows[..shown];
    let cells = shown.iter().map(|row| row.iter().map(Cell::shown).collect());
    let lines: Vec<Vec<String>> = std::iter::once(names).chain(cells).collect();
    aligned(f, &lines, |column| table.columns[column].unit == Unit::Text)?;
    match table.rows.len() - shown.len() {
        0 => Ok(()),
        more => writeln!(f, "  … and {more} more rows; `-o` or `--json` gives all"),
    }
}

/// Columns under each other, to the left where `left` says so.
fn aligned(
    f: &mut Formatter<'_>,
    lines: &[Vec<String>],
    left: impl Fn(usize) -> bool,
) -> fmt::Result {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|text| text.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for line in lines {
        let mut text = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            text += &match left(column) {
                true => format!("  {cell:<width$}"),
                false => format!("  {cell:>width$}"),
            };
        }
        writeln!(f, "{}", text.trim_end())?;
    }
    Ok(())
}
