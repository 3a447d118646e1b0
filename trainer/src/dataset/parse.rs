//! From the bytes of a file to measurements.

use std::path::Path;
use std::str::FromStr;

use kernels::measurement::{Header, Status};
use selector_core::{GemmShape, ProblemClass};

use super::{Dataset, DatasetError, Measurement, RowCounts, Rows, Task};
use crate::{device_name, file};

/// Times that are taken, in nanoseconds: a picosecond to 30 years. Ratios of others could leave the
/// finite numbers.
const TIMES_NS: std::ops::RangeInclusive<f64> = 1e-3..=1e18;

/// Read the file at `path`.
pub(super) fn open(path: &Path) -> Result<Dataset, DatasetError> {
    let bytes = file::read_unpacked(path, file::LARGEST)
        .map_err(|source| DatasetError::Read { path: path.to_owned(), source })?;
    let Rows { header, counts, measurements } = rows(path, &bytes)?;
    Dataset::from_measurements(path, header, counts, measurements)
}

/// The rows in `bytes`, unpacked, which were read from `path`.
pub(super) fn rows(path: &Path, bytes: &[u8]) -> Result<Rows, DatasetError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        DatasetError::NotText { path: path.to_owned(), line }
    })?;
    Source { path }.all_rows(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The file that errors name.
struct Source<'a> {
    path: &'a Path,
}

impl Source<'_> {
    fn all_rows(&self, text: &str) -> Result<Rows, DatasetError> {
        let path = self.path.to_owned();
        if text.trim().is_empty() {
            return Err(DatasetError::Empty { path });
        }
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        let header = match head.len() {
            0 => Header::default(),
            _ => Header::parse(head.iter().copied())
                .map_err(|source| DatasetError::Header { path, source })?,
        };
        device_name::check(header.device.trim())
            .map_err(|source| DatasetError::Device { path: self.path.to_owned(), source })?;
        let mut counts = RowCounts::default();
        let whole = self.whole_lines(text, head.len(), &mut counts);
        let measurements = self.rows(whole, head.len() as u64, &mut counts)?;
        Ok(Rows { header, counts, measurements })
    }

    /// What follows `head` lines, without a last line that has no end: it may have been cut.
    fn whole_lines<'t>(&self, text: &'t str, head: usize, counts: &mut RowCounts) -> &'t str {
        let end = text.rfind('\n').map_or(0, |newline| newline + 1);
        let body = text.split_inclusive('\n').take(head).map(str::len).sum::<usize>().min(end);
        let names_are_whole = text[body..end].contains('\n');
        if names_are_whole && !text[end..].trim().is_empty() {
            counts.read += 1;
            counts.drop_row("cut last line");
        }
        &text[body..end]
    }

    fn rows(
        &self,
        body: &str,
        head: u64,
        counts: &mut RowCounts,
    ) -> Result<Vec<Measurement>, DatasetError> {
        let mut csv = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(body.as_bytes());
        let mut records = csv.records();
        let mut columns: Option<Columns> = None;
        let mut measurements = Vec::new();
        for record in &mut records {
            let record = record.map_err(|error| {
                let line = error.position().map_or(0, csv::Position::line);
                self.wrong(head + line, error.to_string())
            })?;
            let line = || head + line_of(body.as_bytes(), &record);
            let Some(columns) = &columns else {
                columns = Some(self.columns(&record, line())?);
                continue;
            };
            if record.get(0).is_some_and(|first| first.starts_with('#')) {
                let (path, line) = (self.path.to_owned(), line());
                return Err(DatasetError::SecondHeader { path, line });
            }
            counts.read += 1;
            let row = columns.row(&record).map_err(|problem| self.wrong(line(), problem))?;
            match row {
                Ok(measurement) => measurements.push(measurement),
                Err(reason) => counts.drop_row(reason),
            }
        }
        Ok(measurements)
    }

    fn wrong(&self, line: u64, problem: String) -> DatasetError {
        DatasetError::Row { path: self.path.to_owned(), line, problem }
    }

    fn columns(&self, names: &csv::StringRecord, line: u64) -> Result<Columns, DatasetError> {
        let path = || self.path.to_owned();
        let mut seen: Vec<&str> = names.iter().filter(|name| !name.is_empty()).collect();
        seen.sort_unstable();
        if let Some(pair) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
            let column = pair[0].to_owned();
            return Err(DatasetError::DuplicateColumn { path: path(), line, column });
        }
        Columns::find(names).map_err(|missing| DatasetError::MissingColumns {
            path: path(),
            line,
            missing,
            found: names.iter().collect::<Vec<_>>().join(", "),
        })
    }
}

/// The line of `text` that a record begins in, from 1. The reader counts one too few where lines
/// end as on Windows: it may stop between `\r` and `\n`.
pub(crate) fn line_of(text: &[u8], record: &csv::StringRecord) -> u64 {
    let begin = record.position().map_or(0, |position| position.byte() as usize).min(text.len());
    let (before, rest) = text.split_at(begin);
    let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
    let ends = before.iter().chain(blank).filter(|byte| **byte == b'\n');
    1 + ends.count() as u64
}

/// Where the columns stand.
struct Columns {
    count: usize,
    shape: [usize; 4],
    class: Option<usize>,
    name: Name,
    status: Option<usize>,
    samples: Option<usize>,
    time: Option<usize>,
    spread: Option<usize>,
    binary_bytes: Option<usize>,
}

/// Where a configuration's name comes from.
enum Name {
    /// A column has it.
    Whole(usize),
    /// The columns have the parameters of the `tile` family.
    Tile([usize; 5]),
}

const SHAPE: [&str; 4] = ["m", "k", "n", "batch"];
const TILE: [&str; 5] = ["row_tile", "acc_tile", "col_tile", "wg_row", "wg_col"];

type RowResult = Result<Result<Measurement, &'static str>, String>;

impl Columns {
    /// Find the columns by name; says which are missing.
    fn find(names: &csv::StringRecord) -> Result<Self, String> {
        let at = |name: &str| names.iter().position(|one| one == name);
        let mut missing: Vec<String> = Vec::new();
        let mut all = |wanted: &[&str]| -> Vec<usize> {
            missing
                .extend(wanted.iter().filter(|name| at(name).is_none()).map(|n| format!("`{n}`")));
            wanted.iter().map(|name| at(name).unwrap_or(0)).collect()
        };
        let shape = all(&SHAPE);
        let any_tile = TILE.iter().any(|name| at(name).is_some());
        let name = match at("configuration") {
            Some(column) => Some(Name::Whole(column)),
            None if any_tile => <[usize; 5]>::try_from(all(&TILE)).ok().map(Name::Tile),
            None => None,
        };
        if name.is_none() {
            missing.push("`configuration`".to_owned());
        }
        let (samples, time) = (at("samples_ns"), at("time_ns").or_else(|| at("median_ns")));
        if samples.is_none() && time.is_none() {
            missing.push("`time_ns`".to_owned());
        }
        match (name, <[usize; 4]>::try_from(shape)) {
            (Some(name), Ok(shape)) if missing.is_empty() => Ok(Self {
                count: names.len(),
                shape,
                class: at("class"),
                name,
                status: at("status"),
                samples,
                time,
                spread: at("spread_ns"),
                binary_bytes: at("binary_bytes"),
            }),
            _ => Err(missing.join(", ")),
        }
    }

    /// The measurement in a row, or why it is dropped; outside that, why it is no row.
    fn row(&self, record: &csv::StringRecord) -> RowResult {
        if record.len() != self.count {
            let (have, want) = (record.len(), self.count);
            return Err(format!("{have} columns where there should be {want}"));
        }
        let field = |column: usize| record.get(column).unwrap_or_default();
        let mut sizes = [0; 4];
        for (size, (column, name)) in sizes.iter_mut().zip(self.shape.into_iter().zip(SHAPE)) {
            *size = whole(name, field(column))?;
        }
        let [m, k, n, batch] = sizes;
        let class = match self.class {
            Some(column) => field(column).parse().map_err(|error| format!("{error}"))?,
            None => ProblemClass::F32_NN,
        };
        let status = match self.status {
            Some(column) => field(column).parse().map_err(|error| format!("{error}"))?,
            None => Status::Ok,
        };
        let configuration = self.name(&field)?;
        let timed = matches!(status, Status::Ok | Status::Throttled);
        let times = if timed { self.times(&field)? } else { Vec::new() };
        if sizes.contains(&0) {
            return Ok(Err("nothing to compute"));
        }
        if status == Status::Ok && !times.iter().all(|time| time.is_finite() && *time > 0.0) {
            return Ok(Err("time not above zero"));
        }
        if status == Status::Ok && !times.iter().all(|time| TIMES_NS.contains(time)) {
            return Ok(Err("time out of range"));
        }
        if status == Status::Ok && times.is_empty() {
            return Ok(Err("no time"));
        }
        let spread = match self.spread {
            Some(column) if status == Status::Ok => number("spread_ns", field(column))?,
            _ => None,
        };
        let binary_bytes = match self.binary_bytes.map(field) {
            None | Some("") => None,
            Some(bytes) => Some(u64::from(whole("binary_bytes", bytes)?)),
        };
        let task = Task { class, shape: GemmShape { m, k, n, batch } };
        Ok(Ok(Measurement { task, configuration, status, times, spread, binary_bytes }))
    }

    fn name<'r>(&self, field: &impl Fn(usize) -> &'r str) -> Result<String, String> {
        match &self.name {
            Name::Whole(column) => match field(*column) {
                "" => Err("no configuration".to_owned()),
                name => Ok(name.to_owned()),
            },
            Name::Tile(columns) => {
                let mut values = [0; 5];
                for (value, (column, name)) in values.iter_mut().zip(columns.iter().zip(TILE)) {
                    *value = whole(name, field(*column))?;
                }
                let [rows, step, columns, wg_row, wg_col] = values;
                Ok(format!("tile:{rows}x{step}x{columns}@{wg_row}x{wg_col}"))
            }
        }
    }

    fn times<'r>(&self, field: &impl Fn(usize) -> &'r str) -> Result<Vec<f64>, String> {
        let samples = self.samples.map(field).unwrap_or_default();
        if !samples.is_empty() {
            let samples = samples.split_whitespace().map(|one| number("samples_ns", one));
            return samples.filter_map(Result::transpose).collect();
        }
        let time = self.time.map(|column| number("time_ns", field(column))).transpose()?;
        Ok(time.flatten().into_iter().collect())
    }
}

/// A whole number in digits alone.
fn whole(column: &str, text: &str) -> Result<u32, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let value = u32::from_str(text).ok().filter(|_| digits);
    value.ok_or_else(|| format!("`{text}` in column `{column}` is not a whole number below 2^32"))
}

/// A number with a decimal point, or nothing.
fn number(column: &str, text: &str) -> Result<Option<f64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || format!("`{text}` in column `{column}` is not a number with a decimal point");
    f64::from_str(text).map(Some).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn parse(text: &str) -> Result<Dataset, DatasetError> {
        let path = Path::new("data.csv");
        let Rows { header, counts, measurements } = rows(path, text.as_bytes())?;
        Dataset::from_measurements(path, header, counts, measurements)
    }

    fn read(bytes: &[u8]) -> Result<Dataset, DatasetError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        open(file.path())
    }

    const PLAIN: &str = "m,k,n,batch,configuration,time_ns\n";

    /// The message for a data set that is refused.
    fn refusal(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_plain_table_has_the_class_and_status_that_go_without_saying() {
        let data = parse(&format!("{PLAIN}8,9,10,1,a,100\n8,9,10,1,b,200\n")).unwrap();
        assert_eq!(data.tasks().len(), 1);
        assert_eq!(data.tasks()[0].class, ProblemClass::F32_NN);
        assert_eq!(data.configurations(), ["a", "b"]);
        assert_eq!((data.time(0, 0), data.time(0, 1)), (100.0, 200.0));
        assert_eq!((data.header.device.as_str(), data.header.space), ("", None));
    }

    #[test]
    fn tile_columns_make_the_configurations_name_in_whatever_order() {
        let data = parse(
            "wg_col,time_ns,runs,m,k,n,batch,row_tile,acc_tile,col_tile,wg_row\n\
             16,100,3,8,9,10,1,4,8,2,32\n",
        );
        assert_eq!(data.unwrap().configurations(), ["tile:4x8x2@32x16"]);
    }

    #[test]
    fn a_boards_data_set_says_device_space_class_and_status() {
        let data = parse(
            "# device:  Mali-G71  \n# driver: v1\n# space: 00ff\n\
             m,k,n,batch,class,configuration,status,median_ns,spread_ns,samples_ns\n\
             8,9,10,1,f16-tn,a,ok,100,5,90 100 200\n\
             8,9,10,1,f16-tn,b,build_failed,,,\n",
        )
        .unwrap();
        assert_eq!(data.header.device, "Mali-G71");
        assert_eq!(data.header.space, Some(0xff));
        assert_eq!(data.tasks()[0].class.to_string(), "f16-tn");
        assert_eq!(data.configurations(), ["a"]);
        assert_eq!(data.time(0, 0), 100.0);
        assert_eq!(data.spread(0, 0), 10.0);
        assert_eq!(data.rows.dropped["build_failed"], 1);
    }

    #[test]
    fn a_device_with_a_strange_name_is_refused() {
        for (name, said) in [("a\u{1b}[31mb".to_owned(), "control"), ("x".repeat(256), "256 bytes")]
        {
            let text = format!("# device: {name}\n{PLAIN}8,9,10,1,a,100\n");
            assert!(matches!(parse(&text), Err(DatasetError::Device { .. })));
            assert!(refusal(&text).contains(said), "{}", refusal(&text));
        }
    }

    #[test]
    fn the_size_of_binaries_is_read_where_it_is_told() {
        let text = "m,k,n,batch,configuration,time_ns,binary_bytes\n\
                    8,9,10,1,a,100,4096\n8,9,10,1,b,100,\n";
        let data = parse(text).unwrap();
        assert_eq!(data.binary_bytes("a", ProblemClass::F32_NN), Some(4096));
        assert_eq!(data.binary_bytes("b", ProblemClass::F32_NN), None);
        let refusal = refusal(&text.replace("4096", "4 KiB"));
        assert!(refusal.contains("`4 KiB` in column `binary_bytes`"), "{refusal}");
    }

    #[test]
    fn a_byte_order_mark_windows_line_ends_and_spaces_are_taken() {
        let text = "\u{feff}m, k ,n,batch, configuration,time_ns\r\n8, 9,10,1,a, 100\r\n";
        assert_eq!(read(text.as_bytes()).unwrap().time(0, 0), 100.0);
        let quoted = "\u{feff}\"m\",k,n,batch,configuration,time_ns\r\n8,9,10,1,\"a\",\"100\"\r\n";
        assert_eq!(read(quoted.as_bytes()).unwrap().time(0, 0), 100.0);
    }

    #[test]
    fn what_another_locale_writes_is_refused_by_line() {
        let semicolons = refusal("m;k;n;batch;configuration;time_ns\n8;9;10;1;a;1,5\n");
        assert!(semicolons.starts_with("`data.csv` line 1: no column `m`, `k`"), "{semicolons}");
        for (row, problem) in [
            ("8,9,10,1,a,1,5", "7 columns where there should be 6"),
            ("8,9,10,1,a,\"1,5\"", "`1,5` in column `time_ns` is not a number"),
            ("8,9,10,1,a,\"1,024\"", "`1,024` in column `time_ns` is not a number"),
            ("64.0,9,10,1,a,5", "`64.0` in column `m` is not a whole number"),
            ("-8,9,10,1,a,5", "`-8` in column `m` is not a whole number"),
            ("8,9,10,4294967296,a,5", "`4294967296` in column `batch` is not a whole number"),
            ("8,9,10,1,,5", "no configuration"),
            ("8,9,10,1,a,fast", "`fast` in column `time_ns` is not a number"),
        ] {
            let message = refusal(&format!("{PLAIN}8,9,10,1,b,7\n{row}\n"));
            assert!(message.starts_with("`data.csv` line 3: "), "{message}");
            assert!(message.contains(problem), "{message}");
        }
    }

    #[test]
    fn lines_are_counted_as_an_editor_counts_them() {
        for end in ["\n", "\r\n"] {
            let names = format!("# device: a\n{PLAIN}").replace('\n', end);
            let bad = refusal(&format!("{names}8,9,10,1,b,7{end}{end}8,9,10,1,b,x{end}"));
            assert!(bad.starts_with("`data.csv` line 5: `x`"), "{end:?}: {bad}");
        }
    }

    #[test]
    fn missing_and_repeated_columns_are_named() {
        let missing = refusal("m,k,n,configuration\n");
        assert!(missing.contains("no column `batch`, `time_ns`;"), "{missing}");
        let tile = refusal("m,k,n,batch,row_tile,acc_tile,col_tile,wg_row,time_ns\n");
        assert!(tile.contains("no column `wg_col`;"), "{tile}");
        let twice = refusal("m,k,n,batch,configuration,time_ns,time_ns\n");
        assert_eq!(twice, "`data.csv` line 1: column `time_ns` is there twice");
    }

    #[test]
    fn a_cut_last_line_is_dropped_and_counted() {
        let data = parse(&format!("{PLAIN}8,9,10,1,a,1.75\n8,9,10,2,a,1")).unwrap();
        assert_eq!(data.tasks().len(), 1);
        assert_eq!(data.rows.to_string(), "read 2, dropped 1: 1 cut last line");
        let only = refusal(&format!("{PLAIN}8,9,10,1,a,100"));
        assert!(only.ends_with("no usable rows (read 1, dropped 1: 1 cut last line)"), "{only}");
    }

    #[test]
    fn no_time_that_no_clock_can_tell_is_taken() {
        let rows = ["1e-4", "1e-300", "2e18", "1e300"].map(|time| format!("8,9,10,1,a,{time}\n"));
        let all = refusal(&format!("{PLAIN}{}", rows.concat()));
        assert!(all.ends_with("(read 4, dropped 4: 4 time out of range)"), "{all}");
    }

    #[test]
    fn without_usable_rows_it_says_what_was_read_and_why_it_was_dropped() {
        assert_eq!(refusal(" \n\n"), "`data.csv` is empty");
        assert!(refusal(PLAIN).ends_with("no usable rows (read 0, dropped 0)"));
        let times = ["0", "-5", "NaN", "inf", "-inf", "1e999"];
        let rows: String = times.map(|time| format!("8,9,10,1,a,{time}\n")).concat();
        let all = refusal(&format!("{PLAIN}{rows}0,9,10,1,a,5\n8,9,10,1,a,\n"));
        let expected = "no usable rows (read 8, dropped 8: 1 no time, 1 nothing to compute, \
                        6 time not above zero)";
        assert!(all.ends_with(expected), "{all}");
    }

    #[test]
    fn two_data_sets_never_mix_in_one_file() {
        let one = "# device: a\nm,k,n,batch,configuration,time_ns\n8,9,10,1,a,5\n";
        let message = refusal(&format!("{one}{one}"));
        assert!(message.starts_with("`data.csv` line 4: a second header"), "{message}");
    }

    #[test]
    fn a_header_that_is_wrong_is_refused_by_line() {
        let message = refusal(&format!("# device: a\n# spaec: 00\n{PLAIN}8,9,10,1,a,5\n"));
        assert!(message.starts_with("`data.csv`: line 2: `# spaec: 00`"), "{message}");
        let row = refusal(&format!("# device: a\n{PLAIN}8,9,10,1,a,x\n"));
        assert!(row.starts_with("`data.csv` line 3: "), "{row}");
    }

    #[test]
    fn gzip_is_unpacked_and_a_cut_one_is_refused() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(format!("{PLAIN}8,9,10,1,a,100\n").as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(read(&packed).unwrap().time(0, 0), 100.0);
        let cut = read(&packed[..packed.len() - 9]).unwrap_err();
        assert!(matches!(cut, DatasetError::Read { .. }), "{cut}");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_by_line() {
        let error = read(b"m,k,n,batch\n\xff\xfe\n").unwrap_err();
        assert!(matches!(error, DatasetError::NotText { line: 2, .. }), "{error}");
    }
}
