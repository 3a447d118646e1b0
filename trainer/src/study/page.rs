//! The page: every table drawn, and its rows below it.

use super::{Cell, Drawing, Studies, Study, Table, Unit, bars, grid, heat, lines, summary, words};
use crate::report::palette;
use crate::report::text::{Text, counted};

/// What stands near the start of every page that [`Studies::html`] makes.
pub const MADE_BY: &str = "<meta name=\"generator\" content=\"gemmtree study\" />";

/// What both pages share, then what only this one needs.
const STYLE: &str = concat!(include_str!("../report/page.css"), include_str!("page.css"));
/// More rows are shown only when asked for.
const OPEN: usize = 16;
/// More rows are not on the page.
const MOST: usize = 500;

pub(super) fn html(studies: &Studies) -> String {
    let names: Vec<&str> = studies.studies.iter().map(|study| &study.dataset[..]).collect();
    let title = format!("Study of {}", Text(names.join(", ")));
    let colours = studies.tables().map(|table| lines::colours(&grid::of(table))).max();
    let colours = u8::try_from(colours.unwrap_or(0)).unwrap_or(u8::MAX);
    let several = studies.studies.len() > 1;
    let compared: String = studies.comparison.iter().map(|table| section(table, "all")).collect();
    let all = studies.studies.iter().enumerate();
    let body: String = all.map(|(index, study)| of_study(study, index, several)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n{MADE_BY}\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\" />\n<title>{title}</title>\n<style>\n{STYLE}{}{}</style>\n\
         </head>\n<body>\n<header>\n<h1>{title}</h1>\n{}</header>\n<main>\n{compared}{body}{}</main>\n<footer><p>Made by \
         <code>gemmtree study</code>. Where no note says otherwise, a share of optimal is the geometric mean, over tasks held out \
         from training, of the best measured time over the time of the kernel; accuracy, DTPR, parts of a whole and \
         means over splits are arithmetic. CSV files beside this page hold \
         all rows of every table; the page leaves them out where they are more than {MOST}.</p></footer>\n</body>\n</html>\n",
        palette::css(colours),
        palette::strokes(colours),
        contents(studies),
        words::html()
    )
}

fn contents(studies: &Studies) -> String {
    let entry = |table: &Table, of: &str| {
        format!("<li><a href=\"#{}\">{}</a></li>\n", anchor(table, of), Text(&table.title))
    };
    let list = |entries: String| format!("<ul class=\"contents\">\n{entries}</ul>\n");
    let mut all = String::new();
    if !studies.comparison.is_empty() {
        all += &list(studies.comparison.iter().map(|table| entry(table, "all")).collect());
    }
    for (index, study) in studies.studies.iter().enumerate() {
        all += &summary::html(study);
        all += &facts(study);
        let of = index.to_string();
        all += &list(study.tables.iter().map(|table| entry(table, &of)).collect());
    }
    all + &format!("<p class=\"small\"><a href=\"#{}\">What the words mean</a></p>\n", words::ID)
}

fn facts(study: &Study) -> String {
    let said =
        |text: &str| if text.is_empty() { "unknown".to_owned() } else { Text(text).to_string() };
    let splits = match &study.splits[..] {
        [] => "none".to_owned(),
        names => Text(names.join(", ")).to_string(),
    };
    format!(
        "<dl><dt>data</dt><dd><code>{}</code></dd><dt>device</dt><dd>{}, driver {}</dd><dt>splits</dt><dd>{splits}</dd>\
         <dt>seed</dt><dd>{}</dd></dl>\n",
        Text(&study.dataset),
        said(&study.device),
        said(&study.driver),
        study.seed
    )
}

fn of_study(study: &Study, index: usize, several: bool) -> String {
    let heading = match several {
        true => format!("<h2 class=\"set\">{}</h2>\n", Text(&study.dataset)),
        false => String::new(),
    };
    let of = index.to_string();
    heading + &study.tables.iter().map(|table| section(table, &of)).collect::<String>()
}

fn anchor(table: &Table, of: &str) -> String {
    format!("{}-{of}", table.id)
}

fn section(table: &Table, of: &str) -> String {
    let source = match table.reproduces {
        "" => String::new(),
        source => format!("<p class=\"small\">{}</p>\n", Text(source)),
    };
    let note = |note: &String| format!("<li>{}</li>", Text(note));
    let notes: String = table.notes.iter().map(note).collect();
    let notes = match &notes[..] {
        "" => String::new(),
        notes => format!("<ul class=\"small\">{notes}</ul>\n"),
    };
    format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n{source}{}{}{notes}</section>\n",
        anchor(table, of),
        Text(&table.title),
        drawing(table),
        rows(table)
    )
}

fn drawing(table: &Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    match &table.drawing {
        Drawing::None => String::new(),
        Drawing::Bars { rank, label, value } => bars::bars(table, [*rank, *label, *value]),
        Drawing::Columns { label, value } => bars::columns(table, *label, *value),
        Drawing::HeatMap { .. } => heat::html(&grid::of(table)),
        Drawing::Lines { .. } | Drawing::Curves { .. } => {
            lines::html(&table.title, &grid::of(table))
        }
    }
}

/// The rows, folded away where a drawing shows them or where they are many.
fn rows(table: &Table) -> String {
    if table.rows.is_empty() {
        return "<p class=\"notice\">Nothing to show.</p>\n".to_owned();
    }
    if table.rows.len() > MOST {
        let count = counted(table.rows.len(), "row");
        return format!("<p class=\"small\">{count}, in <code>{}.csv</code></p>\n", table.id);
    }
    let head = |column: &super::Column| {
        let class = if column.unit == Unit::Text { "" } else { " class=\"number\"" };
        format!("<th scope=\"col\"{class}>{}</th>", Text(titled(column)))
    };
    let heads: String = table.columns.iter().map(head).collect();
    let cell = |cell: &Cell| match cell {
        Cell::Text(text) => format!("<td>{}</td>", Text(text)),
        cell => format!("<td class=\"number\">{}</td>", cell.shown()),
    };
    let row = |row: &Vec<Cell>| format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>());
    let body: String = table.rows.iter().map(row).collect();
    let whole = format!(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"rows\">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody>\n\
         </table></div>\n"
    );
    match table.drawing {
        Drawing::None if table.rows.len() <= OPEN => whole,
        _ => {
            let count = counted(table.rows.len(), "row");
            format!("<details><summary>{count}</summary>\n{whole}</details>\n")
        }
    }
}

/// The column's name, with its unit where that is per cent.
pub(super) fn titled(column: &super::Column) -> String {
    match column.unit {
        Unit::Percent => format!("{} (%)", column.name),
        Unit::Points => format!("{} (points)", column.name),
        Unit::Count | Unit::Number | Unit::Text => column.name.clone(),
    }
}

/// The cell with one decimal at most.
pub(super) fn brief(cell: &Cell) -> String {
    let Some(value) = cell.value() else { return cell.shown() };
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
