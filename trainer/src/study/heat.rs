//! Values as shaded squares, each with its number.

use super::grid::Grid;
use crate::report::text::Text;

/// Shades; what is largest has the last.
const SHADES: f64 = 9.0;

pub(super) fn html(grids: &[Grid]) -> String {
    let values = || grids.iter().flat_map(|grid| &grid.rows).flat_map(|(_, cells)| cells);
    // By logarithms, since one value is often far above all others.
    let size = |value: f64| value.max(0.0).ln_1p();
    let largest = values().filter_map(super::Cell::value).map(size).fold(0.0, f64::max);
    let shade = |value: f64| (size(value) / largest.max(1e-9) * SHADES).round() as u8;
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
            "<div class=\"wide\"><table class=\"heat\">\n<caption><strong>{}</strong> {} by {} and {}</caption>\n<thead>\
             <tr><td></td>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
            Text(&grid.panel),
            Text(&grid.value),
            Text(&grid.names),
            Text(&grid.across)
        )
    };
    format!("<div class=\"maps\">\n{}</div>\n", grids.iter().map(figure).collect::<String>())
}
