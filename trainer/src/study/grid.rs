//! A table in wide form: names from top to bottom, values from left to right.

use super::{Cell, Drawing, Table, Unit};

/// One drawing of a table.
pub(super) struct Grid {
    /// What sets it apart from the table's other drawings; empty if there is none.
    pub panel: String,
    /// What the names are; empty if they are columns of the table.
    pub names: String,
    /// What stands from left to right.
    pub across: String,
    /// The places from left to right.
    pub columns: Vec<Cell>,
    /// Names with as many values as there are columns.
    pub rows: Vec<(String, Vec<Cell>)>,
    /// What the values are.
    pub value: String,
    /// Their unit.
    pub unit: Unit,
}

/// The drawings of a table that lines or squares show; none for others.
pub(super) fn of(table: &Table) -> Vec<Grid> {
    match &table.drawing {
        Drawing::Lines { panel, line, x, y } => long(table, *panel, [*line, *x, *y]),
        Drawing::HeatMap { panel, row, column, value } => {
            long(table, *panel, [*row, *column, *value])
        }
        Drawing::Curves { x, values } => wide(table, *x, values).into_iter().collect(),
        Drawing::Bars { .. } | Drawing::Columns { .. } | Drawing::None => Vec::new(),
    }
}

/// A grid for each panel, all in the order in which they first come.
fn long(table: &Table, panel: Option<usize>, places: [usize; 3]) -> Vec<Grid> {
    let [name, across, value] = places;
    let mut grids: Vec<Grid> = Vec::new();
    for row in &table.rows {
        let panel = panel.map(|place| row[place].shown()).unwrap_or_default();
        let at = grids.iter().position(|grid| grid.panel == panel).unwrap_or_else(|| {
            grids.push(empty(table, panel, [name, across, value]));
            grids.len() - 1
        });
        grids[at].put(row[name].shown(), &row[across], row[value].clone());
    }
    grids
}

fn empty(table: &Table, panel: String, places: [usize; 3]) -> Grid {
    let [names, across, value] = places.map(|place| table.columns[place].name.clone());
    let unit = table.columns[places[2]].unit;
    Grid { panel, names, across, columns: Vec::new(), rows: Vec::new(), value, unit }
}

fn wide(table: &Table, x: usize, values: &[usize]) -> Option<Grid> {
    let first = *values.first()?;
    let mut grid = empty(table, String::new(), [first, x, first]);
    grid.names = String::new();
    grid.value = String::new();
    for row in &table.rows {
        for value in values {
            grid.put(table.columns[*value].name.clone(), &row[x], row[*value].clone());
        }
    }
    (!table.rows.is_empty()).then_some(grid)
}

impl Grid {
    fn put(&mut self, name: String, column: &Cell, value: Cell) {
        // Rows come in order, so the column is nearly always the last one or the next.
        let column = self.columns.iter().rposition(|one| one == column).unwrap_or_else(|| {
            self.columns.push(column.clone());
            self.columns.len() - 1
        });
        let row = self.rows.iter().position(|(one, _)| *one == name).unwrap_or_else(|| {
            self.rows.push((name, Vec::new()));
            self.rows.len() - 1
        });
        let width = self.columns.len();
        for (_, cells) in &mut self.rows {
            cells.resize(width.max(cells.len()), Cell::None);
        }
        self.rows[row].1[column] = value;
    }

    /// The points of each line.
    pub(super) fn points(&self) -> impl Iterator<Item = (&str, Vec<(f64, f64)>)> {
        self.rows.iter().map(|(name, cells)| {
            let pairs = self.columns.iter().zip(cells);
            (&name[..], pairs.filter_map(|(x, y)| Some((x.value()?, y.value()?))).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_become_a_grid_for_each_panel() {
        let row = |panel: &str, line: &str, x: usize, y: f64| {
            vec![Cell::from(panel), Cell::from(line), Cell::from(x), Cell::Share(y)]
        };
        let table = Table::new("x", "x", "")
            .column("p", Unit::Text)
            .column("l", Unit::Text)
            .column("x", Unit::Count)
            .column("y", Unit::Percent)
            .drawn(Drawing::Lines { panel: Some(0), line: 1, x: 2, y: 3 })
            .with_rows(vec![
                row("one", "a", 4, 0.1),
                row("one", "a", 5, 0.2),
                row("one", "b", 5, 0.3),
                row("two", "a", 4, f64::NAN),
            ]);
        let grids = of(&table);
        assert_eq!(grids.len(), 2);
        assert_eq!(grids[0].columns, [Cell::from(4), Cell::from(5)]);
        assert_eq!(grids[0].rows[1], ("b".to_owned(), vec![Cell::None, Cell::Share(0.3)]));
        let points: Vec<_> = grids[0].points().collect();
        assert_eq!(points, [("a", vec![(4.0, 10.0), (5.0, 20.0)]), ("b", vec![(5.0, 30.0)])]);
        assert!(grids[1].points().all(|(_, points)| points.is_empty()));
    }
}
