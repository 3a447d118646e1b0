//! What a part finds: one value a cell, in long form, so that page, CSV and JSON need nothing else.

use serde::{Serialize, Serializer};

/// Rows of typed cells, with what they show and how to draw them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Names the table in files: letters, digits and hyphens; no two tables share one.
    pub id: &'static str,
    /// What it shows.
    pub title: String,
    /// What of the papers it reproduces, as `first paper, figure 5`; empty if nothing.
    pub reproduces: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
    /// Rows of as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// How it is drawn on the page.
    #[serde(skip)]
    pub drawing: Drawing,
    /// What a reader must know, among it why there are no rows.
    pub notes: Vec<String>,
}

/// A column.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub unit: Unit,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Whole numbers of things.
    Count,
    /// A number without a unit.
    Number,
    /// Per cent; cells hold shares, 0…1, and files hold 0…100.
    Percent,
    /// Points: differences of per cent.
    Points,
    /// Names.
    Text,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// There is no value.
    None,
    /// A whole number.
    Count(usize),
    /// A number; one that is not finite counts as none.
    Number(f64),
    /// A share, 0…1, or a difference of shares; one that is not finite counts as none.
    Share(f64),
    /// A name.
    Text(String),
}

/// How a table is drawn. Columns are named by their places; `panel` makes one drawing for each of
/// its values.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Drawing {
    /// As a table alone.
    #[default]
    None,
    /// A bar with its name for each row.
    Bars {
        /// What stands before the names.
        rank: usize,
        /// The names of the bars.
        label: usize,
        /// Their lengths.
        value: usize,
    },
    /// A column for each row, beside each other: how many rows matters, not their names.
    Columns {
        /// The names of the columns.
        label: usize,
        /// Their heights.
        value: usize,
    },
    /// A line for each of some columns.
    Curves {
        /// Whole numbers from left to right.
        x: usize,
        /// What is drawn, from bottom to top.
        values: Vec<usize>,
    },
    /// A square for each pair of names, the darker the larger.
    HeatMap {
        /// Column of what makes a drawing of its own.
        panel: Option<usize>,
        /// Names from top to bottom.
        row: usize,
        /// Names from left to right.
        column: usize,
        /// What is drawn.
        value: usize,
    },
    /// A line for each name.
    Lines {
        /// Column of what makes a drawing of its own.
        panel: Option<usize>,
        /// The names of the lines.
        line: usize,
        /// Whole numbers from left to right.
        x: usize,
        /// What is drawn, from bottom to top.
        y: usize,
    },
}

/// Decimals of numbers in files: what lies below differs between machines.
const DECIMALS: i32 = 6;

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(id: &'static str, title: impl Into<String>, reproduces: &'static str) -> Self {
        Self {
            id,
            title: title.into(),
            reproduces,
            columns: Vec::new(),
            rows: Vec::new(),
            drawing: Drawing::None,
            notes: Vec::new(),
        }
    }

    /// The same with one more column.
    #[must_use]
    pub fn column(mut self, name: impl Into<String>, unit: Unit) -> Self {
        self.columns.push(Column { name: name.into(), unit });
        self
    }

    /// The same, drawn.
    #[must_use]
    pub fn drawn(mut self, drawing: Drawing) -> Self {
        self.drawing = drawing;
        self
    }

    /// The same with these rows.
    #[must_use]
    pub fn with_rows(mut self, rows: Vec<Vec<Cell>>) -> Self {
        self.rows = rows;
        self
    }

    /// The same with one more note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The rows as CSV under one line of names; shares are in per cent.
    #[must_use]
    pub fn csv(&self) -> Vec<u8> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let names = self.columns.iter().map(super::page::titled).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(Cell::in_file).collect());
        for record in std::iter::once(names).chain(rows) {
            let record: Vec<String> = record;
            // Nothing in memory fails to be written.
            let _ = writer.write_record(&record);
        }
        writer.into_inner().unwrap_or_default()
    }
}

impl Cell {
    /// The number as files hold it: shares in per cent, rounded; `None` for names and for what is
    /// not finite.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        let value = match self {
            Self::None | Self::Text(_) => return None,
            Self::Count(count) => *count as f64,
            Self::Number(number) => *number,
            Self::Share(share) => 100.0 * share,
        };
        let factor = 10.0_f64.powi(DECIMALS);
        let rounded = (value * factor).round() / factor;
        // Adding zero turns -0 into 0.
        rounded.is_finite().then_some(rounded + 0.0)
    }

    /// The cell as CSV has it; nothing for nothing.
    fn in_file(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            _ => self.value().map(|value| value.to_string()).unwrap_or_default(),
        }
    }

    /// The cell for people: shares in per cent with two decimals, a dash for nothing.
    #[must_use]
    pub fn shown(&self) -> String {
        match (self, self.value()) {
            (Self::Text(text), _) => text.clone(),
            (Self::Count(count), _) => count.to_string(),
            (Self::Share(_), Some(percent)) => format!("{percent:.2}"),
            (Self::Number(_), Some(number)) => format!("{number:.3}"),
            _ => "–".to_owned(),
        }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Count(count) => serializer.serialize_u64(*count as u64),
            _ => self.value().serialize(serializer),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_ever_holds_a_number_that_is_not_finite() {
        let cells = [
            Cell::Share(f64::NAN),
            Cell::Number(f64::INFINITY),
            Cell::Number(f64::MAX),
            Cell::Share(-1e-12),
            Cell::Share(0.965_912_345_678_9),
            Cell::from("a"),
            Cell::from(3),
            Cell::None,
        ];
        let json = serde_json::to_string(&cells).unwrap();
        assert_eq!(json, "[null,null,null,0.0,96.591235,\"a\",3,null]");
    }
}
