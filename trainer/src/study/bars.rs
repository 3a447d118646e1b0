//! A bar or a column for each row.

use std::fmt::Write;

use super::{Table, Unit, method};
use crate::report::text::Text;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 160.0;

/// Bars from left to right, each below its name.
pub(super) fn bars(table: &Table, [rank, label, value]: [usize; 3]) -> String {
    let row = |(row, part): (&Vec<super::Cell>, f64)| {
        let name = row[label].shown();
        let class = if name == method::name() { " class=\"ours\"" } else { "" };
        format!(
            "<tr{class}><th scope=\"row\">{}. {}<span class=\"track\" aria-hidden=\"true\"><span class=\"fill\" \
             style=\"width:{:.1}%\"></span></span></th><td class=\"number\">{}</td></tr>\n",
            row[rank].shown(),
            Text(name),
            part * 100.0,
            row[value].shown()
        )
    };
    let rows: String = table.rows.iter().zip(parts(table, value)).map(row).collect();
    let [label, value] = [label, value].map(|place| Text(&table.columns[place].name).to_string());
    format!(
        "<table class=\"bars\">\n<thead class=\"unseen\"><tr><th scope=\"col\">{label}</th><th \
         scope=\"col\">{value}</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    )
}

/// Columns side by side.
pub(super) fn columns(table: &Table, label: usize, value: usize) -> String {
    let parts = parts(table, value);
    let width = WIDTH / parts.len() as f64;
    let mut drawn = String::new();
    for (index, (row, part)) in table.rows.iter().zip(&parts).enumerate() {
        let height = part * (HEIGHT - 20.0);
        let _ = write!(
            drawn,
            "<rect class=\"column\" x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{height:.1}\"><title>{}: \
             {}</title></rect>",
            index as f64 * width,
            HEIGHT - height,
            width * 0.85,
            Text(row[label].shown()),
            row[value].shown()
        );
    }
    let first = table.rows.first().map(|row| row[value].shown()).unwrap_or_default();
    format!(
        "<figure><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}: {} columns\">{drawn}<text \
         x=\"0\" y=\"13\">{first} {}</text></svg></figure>\n",
        Text(&table.title),
        parts.len(),
        Text(&table.columns[value].name)
    )
}

/// The rows' lengths as parts of the longest, or of 100 %.
fn parts(table: &Table, value: usize) -> Vec<f64> {
    let lengths: Vec<f64> =
        table.rows.iter().map(|row| row[value].value().unwrap_or(0.0).max(0.0)).collect();
    let most = match table.columns[value].unit {
        Unit::Percent => 100.0,
        _ => lengths.iter().copied().fold(0.0, f64::max),
    };
    let part = |length: f64| if most > 0.0 { (length / most).min(1.0) } else { 0.0 };
    lengths.into_iter().map(part).collect()
}
