//! Tables as a terminal shows them.

use std::fmt::{self, Display, Formatter};

use super::{Cell, Column, Study, Table, Unit};

impl Display for Study {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, table) in self.tables.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{table}")?;
        }
        Ok(())
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.reproduces {
            "" => writeln!(f, "{}", self.title)?,
            source => writeln!(f, "{} ({source})", self.title)?,
        }
        if !self.rows.is_empty() {
            aligned(f, &self.columns, &self.rows)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "  note: {note}"))
    }
}

/// Columns under their names, numbers to the right.
fn aligned(f: &mut Formatter<'_>, columns: &[Column], rows: &[Vec<Cell>]) -> fmt::Result {
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let shown = rows.iter().map(|row| row.iter().map(Cell::shown).collect());
    let lines: Vec<Vec<String>> = std::iter::once(names).chain(shown).collect();
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|text| text.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns.len()).map(|column| width(column).unwrap_or(0)).collect();
    for line in &lines {
        let mut text = String::new();
        for ((cell, column), width) in line.iter().zip(columns).zip(&widths) {
            text += &match column.unit {
                Unit::Text => format!("  {cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        writeln!(f, "{}", text.trim_end())?;
    }
    Ok(())
}
