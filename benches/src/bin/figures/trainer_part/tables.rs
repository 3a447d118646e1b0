//! The tables that `gemmtree study` prints.

use anyhow::{Context, bail};
use serde_json::Value;

/// One of the data sets of a study.
#[derive(Clone, Copy)]
pub(super) struct Study<'a>(pub &'a Value);

/// A table of it: named columns, and rows of cells.
pub(super) struct Table<'a> {
    name: String,
    columns: Vec<&'a str>,
    rows: &'a [Value],
}

impl<'a> Study<'a> {
    /// The table called `id`.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn table(self, id: &str) -> anyhow::Result<Table<'a>> {
        self.find(id, |table| table["id"] == id)
    }

    /// The table of classifiers on the lists of `pruner`.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn classifiers_on(self, pruner: &str) -> anyhow::Result<Table<'a>> {
        let end = format!(" on the list of {pruner}");
        self.find(&end, |table| table["title"].as_str().is_some_and(|title| title.ends_with(&end)))
    }

    /// The names of the splits.
    pub(super) fn splits(self) -> impl Iterator<Item = &'a str> {
        self.0["splits"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    fn find(self, name: &str, is: impl Fn(&Value) -> bool) -> anyhow::Result<Table<'a>> {
        let tables = self.0["tables"].as_array().context("a study without tables")?;
        let table = tables.iter().find(|table| is(table));
        Table::of(table.with_context(|| format!("the study has no table `{name}`"))?, name)
    }
}

impl<'a> Table<'a> {
    /// The table that is this JSON.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn of(table: &'a Value, name: &str) -> anyhow::Result<Self> {
        let columns = table["columns"].as_array().context("a table without columns")?;
        let columns = columns.iter().filter_map(|column| column["name"].as_str()).collect();
        let rows = table["rows"].as_array().context("a table without rows")?;
        Ok(Self { name: name.to_owned(), columns, rows })
    }

    /// The number in `column` of the one row that has all of `keys`: pairs of column and value.
    ///
    /// # Errors
    /// There is no such row, several, or no number.
    pub(super) fn number(&self, keys: &[(&str, &str)], column: &str) -> anyhow::Result<f64> {
        let cell = self.cell(keys, column)?;
        cell.as_f64().with_context(|| self.lacks(keys, column))
    }

    /// All numbers in `column`, in the order of the rows.
    ///
    /// # Errors
    /// There is no such column.
    pub(super) fn numbers(&self, column: &str) -> anyhow::Result<impl Iterator<Item = f64>> {
        let place = self.place(column)?;
        Ok(self.rows.iter().filter_map(move |row| row[place].as_f64()))
    }

    /// All names in `column`, in the order of the rows.
    ///
    /// # Errors
    /// There is no such column.
    pub(super) fn texts(&self, column: &str) -> anyhow::Result<impl Iterator<Item = &'a str>> {
        let place = self.place(column)?;
        Ok(self.rows.iter().filter_map(move |row| row[place].as_str()))
    }

    fn cell(&self, keys: &[(&str, &str)], column: &str) -> anyhow::Result<&'a Value> {
        let keys_at = keys.iter().map(|(column, value)| Ok((self.place(column)?, *value)));
        let keys_at = keys_at.collect::<anyhow::Result<Vec<_>>>()?;
        let asked = |row: &&Value| keys_at.iter().all(|(place, value)| is(&row[*place], value));
        let mut rows = self.rows.iter().filter(asked);
        match (rows.next(), rows.next()) {
            (Some(row), None) => Ok(&row[self.place(column)?]),
            _ => bail!(self.lacks(keys, column)),
        }
    }

    fn place(&self, column: &str) -> anyhow::Result<usize> {
        let place = self.columns.iter().position(|one| *one == column);
        place.with_context(|| format!("table `{}` has no column `{column}`", self.name))
    }

    fn lacks(&self, keys: &[(&str, &str)], column: &str) -> String {
        format!("table `{}` has no single `{column}` where {keys:?}", self.name)
    }
}

fn is(cell: &Value, value: &str) -> bool {
    match cell {
        Value::String(text) => text == value,
        Value::Number(number) => value.parse().ok() == number.as_f64(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_found_by_what_stands_beside_them_and_nothing_is_guessed() {
        let study = json!({"splits": ["a"], "tables": [{
            "id": "x", "title": "Shares on the list of greedy",
            "columns": [{"name": "method"}, {"name": "kernels"}, {"name": "share"}],
            "rows": [["one", 4, 90.5], ["one", 5, 91.0], ["two", 4, null]],
        }]});
        let study = Study(&study);
        assert_eq!(study.splits().collect::<Vec<_>>(), ["a"]);
        let table = study.table("x").unwrap();
        let four = ("kernels", "4");
        assert_eq!(table.number(&[("method", "one"), four], "share").unwrap(), 90.5);
        let found = study.classifiers_on("greedy").unwrap();
        assert_eq!(found.number(&[("kernels", "5")], "share").unwrap(), 91.0);
        assert!(table.number(&[four], "share").is_err(), "two rows");
        assert!(table.number(&[("method", "two")], "share").is_err(), "no number");
        assert!(table.number(&[("method", "three")], "share").is_err(), "no row");
        assert!(table.number(&[("method", "one"), four], "other").is_err(), "no column");
        assert!(study.table("y").is_err());
        assert!(study.classifiers_on("top-n").is_err());
    }
}
