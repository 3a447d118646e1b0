//! What a study found, in a few sentences with its own numbers.

use super::{Cell, STANDING_KERNELS, Study, Table, method};
use crate::report::text::{Text, counted};

/// A paragraph; nothing where the study holds none of the numbers.
pub(super) fn html(study: &Study) -> String {
    let sentences: Vec<String> =
        [reached(study), published(study), place(study)].into_iter().flatten().collect();
    match &sentences[..] {
        [] => String::new(),
        sentences => format!("<p class=\"lead\">{}</p>\n", Text(sentences.join(" "))),
    }
}

/// The default method beside what bounds it.
fn reached(study: &Study) -> Option<String> {
    let row = Row::of(study, "method", 0, &Cell::from(STANDING_KERNELS))?;
    Some(format!(
        "With {STANDING_KERNELS} kernels the default method, {}, reaches {} of optimal on held-out tasks; if the best of its kernels \
         always ran, it would be {} (the ceiling), and with the one best configuration it is {}.",
        method::name(),
        row.percent("share")?,
        row.percent("ceiling")?,
        row.percent("one configuration")?
    ))
}

/// The best of the first paper's ways to choose.
fn published(study: &Study) -> Option<String> {
    let row = Row::of(study, "ours-against-classifiers", 0, &Cell::from(STANDING_KERNELS))?;
    Some(format!(
        "The best of the first paper\u{2019}s methods, {} with {} features on a list of PCA + k-means, reaches {}.",
        row.text("best classifier")?,
        row.text("features")?,
        row.percent("best classifier's")?
    ))
}

/// Where the default stands among all.
fn place(study: &Study) -> Option<String> {
    let row = Row::of(study, "orderings", 6, &Cell::from("default"))?;
    let table = row.table;
    let place = &row.row[0];
    let others = table.rows.iter().filter(|one| one[0] == *place).count() - 1;
    let shared = match others {
        0 => "alone".to_owned(),
        _ => format!("with {} within a standard error", counted(others, "other")),
    };
    Some(format!("Among {} methods it has place {}, {shared}.", table.rows.len(), place.shown()))
}

/// A row of a table, by the names of its columns.
struct Row<'a> {
    table: &'a Table,
    row: &'a [Cell],
}

impl<'a> Row<'a> {
    fn of(study: &'a Study, id: &str, column: usize, value: &Cell) -> Option<Self> {
        let table = study.tables.iter().find(|table| table.id == id)?;
        let row = table.rows.iter().find(|row| row.get(column) == Some(value))?;
        Some(Self { table, row })
    }

    fn cell(&self, name: &str) -> Option<&'a Cell> {
        let place = self.table.columns.iter().position(|column| column.name == name)?;
        self.row.get(place)
    }

    fn percent(&self, name: &str) -> Option<String> {
        self.cell(name)?.value().map(|value| format!("{value:.1} %"))
    }

    fn text(&self, name: &str) -> Option<String> {
        self.cell(name).map(Cell::shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Unit;

    fn study(tables: Vec<Table>) -> Study {
        let [dataset, device, driver] = ["x", "", ""].map(str::to_owned);
        Study { dataset, device, driver, seed: 0, splits: Vec::new(), tables }
    }

    #[test]
    fn the_sentences_hold_the_numbers_of_the_tables() {
        let of_method = Table::new("method", "", "")
            .column("kernels", Unit::Count)
            .column("one configuration", Unit::Percent)
            .column("ceiling", Unit::Percent)
            .column("share", Unit::Percent)
            .with_rows(vec![
                vec![7.into(), Cell::Share(0.1), Cell::Share(0.1), Cell::Share(0.1)],
                vec![8.into(), Cell::Share(0.702), Cell::Share(0.971), Cell::Share(0.9512)],
            ]);
        let row = |place: usize, name: &str, mark: &str| -> Vec<Cell> {
            let none = || Cell::None;
            vec![place.into(), name.into(), none(), none(), none(), none(), mark.into()]
        };
        let orderings = Table::new("orderings", "", "").with_rows(vec![
            row(1, "ours", "default"),
            row(1, "b", ""),
            row(3, "c", ""),
        ]);
        let html = html(&study(vec![of_method, orderings]));
        for part in ["95.1 % of optimal", "97.1 % (the ceiling)", "configuration it is 70.2 %"] {
            assert!(html.contains(part), "{html}");
        }
        let shared = "Among 3 methods it has place 1, with 1 other within a standard error";
        assert!(html.contains(shared), "{html}");
        assert_eq!(super::html(&study(Vec::new())), "");
    }
}
