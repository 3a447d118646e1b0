//! The first paper's published benchmark: CSV from SYCL-DNN's matrix multiplications, a rate a row.

use std::path::Path;
use std::str::FromStr;

use kernels::measurement::{Header, Status};
use selector_core::{GemmShape, ProblemClass};

use super::{Beta, Format, ImportError, ImportedRow, Name, Part, Source, Told};
use crate::dataset::{RowCounts, Task, line_of};

/// CSV of SYCL-DNN's benchmark.
pub(super) struct SyclDnn;

impl Format for SyclDnn {
    fn name(&self) -> &'static str {
        "sycl-dnn"
    }

    fn about(&self) -> &'static str {
        "CSV of SYCL-DNN's benchmark, as published with the first paper"
    }

    fn recognise(&self, head: &str) -> bool {
        let names = head.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let names: Vec<&str> = names.split(',').map(unquoted).collect();
        names.contains(&RATE) && names.contains(&"row_tile")
    }

    fn read(&self, source: &Source<'_>, told: &Told) -> Result<Part, ImportError> {
        let device = told.device("", source.path)?;
        let mut counts = RowCounts::default();
        let rows = rows(source, &mut counts)?;
        let header =
            Header { device, tool: "SYCL-DNN's benchmark".to_owned(), ..Header::default() };
        Ok(Part { header, counts, rows, class_is_assumed: true, told_shape: None })
    }
}

/// Floating-point operations a second.
const RATE: &str = "items_per_second";

/// The other columns. Work-groups run along rows, columns and batch.
const WHOLE: [&str; 10] =
    ["m", "k", "n", "batch", "row_tile", "acc_tile", "col_tile", "wg_a", "wg_b", "wg_c"];

fn rows(source: &Source<'_>, counts: &mut RowCounts) -> Result<Vec<ImportedRow>, ImportError> {
    // A last line without an end may have been cut within a number.
    let end = source.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (whole, tail) = source.bytes.split_at(end);
    if end > 0 && !tail.trim_ascii().is_empty() {
        counts.read += 1;
        counts.drop_row("cut last line");
    }
    let text = if end > 0 { whole } else { tail };
    let mut csv = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text);
    let names = csv.headers().map_err(|error| refused(source.path, &error))?.clone();
    let columns = Columns::find(&names, source.path)?;
    let mut rows = Vec::new();
    for record in csv.records() {
        let record = record.map_err(|error| refused(source.path, &error))?;
        counts.read += 1;
        let row = columns.row(&record).map_err(|problem| ImportError::Row {
            path: source.path.to_owned(),
            line: line_of(text, &record),
            problem,
        })?;
        match row {
            Ok(row) => rows.push(row),
            Err(reason) => counts.drop_row(reason),
        }
    }
    Ok(rows)
}

fn refused(path: &Path, error: &csv::Error) -> ImportError {
    let line = error.position().map_or(1, csv::Position::line);
    ImportError::Row { path: path.to_owned(), line, problem: error.to_string() }
}

/// Where the columns stand.
struct Columns {
    count: usize,
    whole: [usize; 10],
    rate: usize,
    error: Option<usize>,
}

impl Columns {
    fn find(names: &csv::StringRecord, path: &Path) -> Result<Self, ImportError> {
        let at = |wanted: &str| names.iter().position(|name| unquoted(name) == wanted);
        let must = |field: &str| {
            at(field).ok_or_else(|| ImportError::MissingField {
                path: path.to_owned(),
                field: field.to_owned(),
                option: "",
            })
        };
        for name in WHOLE.iter().chain([&RATE]) {
            if names.iter().filter(|one| one == name).count() > 1 {
                let problem = format!("column `{name}` is there twice");
                return Err(ImportError::Row { path: path.to_owned(), line: 1, problem });
            }
        }
        let mut whole = [0; 10];
        for (column, name) in whole.iter_mut().zip(WHOLE) {
            *column = must(name)?;
        }
        Ok(Self { count: names.len(), whole, rate: must(RATE)?, error: at("error_occurred") })
    }

    /// The row, or why it is dropped; outside that, why it is no row.
    fn row(&self, record: &csv::StringRecord) -> Result<Result<ImportedRow, &'static str>, String> {
        if record.len() != self.count {
            let (have, want) = (record.len(), self.count);
            return Err(format!("{have} columns where there should be {want}"));
        }
        let field = |column: usize| record.get(column).unwrap_or_default();
        if self.error.is_some_and(|column| field(column).eq_ignore_ascii_case("true")) {
            return Ok(Err("failed while measuring"));
        }
        let mut values = [0; 10];
        for (value, (column, name)) in values.iter_mut().zip(self.whole.into_iter().zip(WHOLE)) {
            *value = whole_number(name, field(column))?;
        }
        let [m, k, n, batch, rows, step, columns, wg_row, wg_col, wg_batch] = values;
        let rate = match field(self.rate) {
            "" => return Ok(Err("no time")),
            rate => number(rate)?,
        };
        let shape = GemmShape { m, k, n, batch };
        if [m, k, n, batch].contains(&0) {
            return Ok(Err("nothing to compute"));
        }
        if wg_batch != 1 {
            return Ok(Err("work-group of several products"));
        }
        let time = shape.flop() / rate * 1e9;
        if !(rate.is_finite() && rate > 0.0 && time.is_finite()) {
            return Ok(Err("time not above zero"));
        }
        Ok(Ok(ImportedRow {
            task: Task { class: ProblemClass::F32_NN, shape },
            name: Name::Whole(format!("tile:{rows}x{step}x{columns}@{wg_row}x{wg_col}")),
            status: Status::Ok,
            times: vec![time],
            spread: None,
            beta: Beta::Zero,
            binary_bytes: None,
        }))
    }
}

fn unquoted(name: &str) -> &str {
    name.trim().trim_matches('"')
}

/// A whole number in digits alone.
fn whole_number(column: &str, text: &str) -> Result<u32, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let value = u32::from_str(text).ok().filter(|_| digits);
    value.ok_or_else(|| format!("`{text}` in column `{column}` is not a whole number below 2^32"))
}

fn number(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` in column `{RATE}` is not a number with a decimal point");
    f64::from_str(text).map_err(|_| wrong())
}
