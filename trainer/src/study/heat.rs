//! Values as shaded squares, each with its number.

use super::grid::Grid;
use crate::report::text::Text;

/// Shades, from that of the least value to that of the largest.
const SHADES: f64 = 9.0;

pub(super) fn html(grids: &[Grid]) -> String {
    let values = || grids.iter().flat_map(|grid| &grid.rows).flat_map(|(_, cells)| cells);
    let numbers = || values().filter_map(super::Cell::value);
    let (least, largest) =
        (numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max));
    // By logarithms, since one value is often far above all others.
    let size = |value: f64| value.max(0.0).ln_1p();
    let range = (size(largest) - size(least)).max(1e-9);
    let shade = |value: f64| ((size(value) - size(least)) / range * SHADES).round() as u8;
    let figure = |grid: &Grid| {
        let heads: String = grid
            .columns
            .iter()
            .map(|column| {
                format!("<th scope=\"col\" class=\"number\">{}</th>", Text(column.shown()))
            })
            .collect();
        let cell = |cell: &super::Cell| match cell.value() {
            Some(value) => {
                let text = super::page::brief(cell);
                format!("<td class=\"number h{}\">{text}</td>", shade(value))
            }
            None => "<td class=\"number\">–</td>".to_owned(),
        };
        let row = |(name, cells): &(String, Vec<super::Cell>)| {
            let cells: String = cells.iter().map(cell).collect();
            format!("<tr><th scope=\"row\" class=\"number\">{}</th>{cells}</tr>\n", Text(name))
        };
        let rows: String = grid.rows.iter().map(row).collect();
        format!(
            "<div class=\"wide\" tabindex=\"0\"><table class=\"heat\">\n<caption><strong>{}</strong> {} by {} and {}</caption>\n<thead>\
             <tr><td></td>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
            Text(&grid.panel),
            Text(&grid.value),
            Text(&grid.names),
            Text(&grid.across)
        )
    };
    let scale = match least <= largest {
        true => format!(
            "<p class=\"small\">Shades go from {}, the lightest, to {}, the darkest.</p>\n",
            brief(least),
            brief(largest)
        ),
        false => String::new(),
    };
    let figures: String = grids.iter().map(figure).collect();
    format!("{scale}<div class=\"maps\">\n{figures}</div>\n")
}

fn brief(value: f64) -> String {
    super::page::brief(&super::Cell::Number(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Cell, Drawing, Table, Unit, grid};

    #[test]
    fn shades_span_the_range_shown_and_the_range_is_told() {
        let row = |name: &str, x: usize, share: f64| {
            vec![Cell::from(name), Cell::from(x), Cell::Share(share)]
        };
        let table = Table::new("x", "x", "")
            .column("name", Unit::Text)
            .column("x", Unit::Count)
            .column("share", Unit::Percent)
            .drawn(Drawing::HeatMap { panel: None, row: 0, column: 1, value: 2 })
            .with_rows(vec![row("a", 4, 0.905), row("a", 5, 0.95), row("b", 4, f64::NAN)]);
        let html = html(&grid::of(&table));
        assert!(html.contains("h0\">90.5</td>") && html.contains("h9\">95</td>"), "{html}");
        assert!(html.contains("from 90.5, the lightest, to 95, the darkest"), "{html}");
        assert!(super::html(&[]).find("Shades").is_none());
    }
}
