//! Several files' measurements in one data set, if they belong together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kernels::measurement::{COLUMNS, Header, Status};

use selector_core::ProblemClass;

use super::line::Line;
use super::{Beta, ImportError, ImportedRow, Name, Part, Told};
use crate::dataset::{RowCounts, Task};

/// A data set made of files.
#[derive(Clone, Debug)]
pub struct Import {
    /// Where the measurements come from.
    pub header: Header,
    /// Rows of all files, dropped ones by reason; equal ones count as merged.
    pub counts: RowCounts,
    /// What the user should know.
    pub notes: Vec<String>,
    lines: Vec<Line>,
}

/// Merge what files hold.
///
/// The order of files and of rows within them does not matter.
///
/// # Errors
/// [`ImportError`], where two devices, kernel spaces, timings or problems would mix, a result lacks a
/// parameter that others of its kernel have, or no row is usable.
pub fn merge(files: Vec<(PathBuf, Part)>, told: &Told) -> Result<Import, ImportError> {
    check_one_device(&files)?;
    check_one_space(&files)?;
    check_one_timing(&files)?;
    check_one_arithmetic(&files)?;
    check_one_problem(&files)?;
    let known = parameters_of_kernels(&files);
    let headers: Vec<&Header> = files.iter().map(|(_, part)| &part.header).collect();
    let header = merged_header(&headers);
    let mut notes = differing(&headers);
    let mut counts = RowCounts::default();
    let mut rows = Vec::new();
    for (path, part) in files {
        add_counts(&mut counts, &part.counts);
        for mut row in part.rows {
            complete(&mut row.name, &known, told, &path)?;
            rows.push((row, part.header.space.is_some()));
        }
    }
    notes.extend(drop_mixed_betas(&mut rows, &mut counts));
    let mut lines: Vec<Line> =
        rows.into_iter().filter_map(|(row, ours)| Line::of(row, ours, &mut counts)).collect();
    lines.sort_by(Line::order);
    let before = lines.len();
    lines.dedup();
    counts.merged += before - lines.len();
    if !lines.iter().any(|line| line.status == Status::Ok) {
        for line in &lines {
            counts.drop_row(line.status.name());
        }
        return Err(ImportError::NoUsableRows { counts });
    }
    notes.extend(mixed_families(&lines));
    Ok(Import { header, counts, notes, lines })
}

impl Import {
    /// The data set as text.
    ///
    /// # Errors
    /// A row cannot be written as CSV.
    pub fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(self.header.to_string().into_bytes());
        writer.write_record(COLUMNS.split(','))?;
        for line in &self.lines {
            writer.write_record(line.fields())?;
        }
        writer.into_inner().map_err(|failed| failed.into_error().into())
    }

    /// Rows written.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.lines.len()
    }

    /// Rows written, by status.
    #[must_use]
    pub fn statuses(&self) -> BTreeMap<&'static str, usize> {
        let mut statuses = BTreeMap::new();
        for line in &self.lines {
            *statuses.entry(line.status.name()).or_default() += 1;
        }
        statuses
    }

    /// The distinct classes, sorted.
    #[must_use]
    pub fn classes(&self) -> Vec<ProblemClass> {
        let classes: BTreeSet<_> = self.lines.iter().map(|line| line.task.class).collect();
        classes.into_iter().collect()
    }

    /// Number of distinct shapes.
    #[must_use]
    pub fn shapes(&self) -> usize {
        self.lines.iter().map(|line| line.task.shape).collect::<BTreeSet<_>>().len()
    }

    /// Number of distinct configurations.
    #[must_use]
    pub fn configurations(&self) -> usize {
        self.lines.iter().map(|line| &line.name).collect::<BTreeSet<_>>().len()
    }
}

/// The first file, and another whose header differs from it in `field`.
fn odd<T: PartialEq>(
    files: &[(PathBuf, Part)],
    field: impl Fn(&Header) -> T,
) -> Option<[(&PathBuf, &Header); 2]> {
    let mut headers = files.iter().map(|(path, part)| (path, &part.header));
    let first = headers.next()?;
    let other = headers.find(|(_, header)| field(header) != field(first.1))?;
    Some([first, other])
}

fn check_one_device(files: &[(PathBuf, Part)]) -> Result<(), ImportError> {
    let Some([one, other]) = odd(files, |header| header.device.clone()) else { return Ok(()) };
    Err(ImportError::Devices {
        one_source: format!("`{}`", one.0.display()),
        one: one.1.device.clone(),
        other_source: format!("`{}`", other.0.display()),
        other: other.1.device.clone(),
    })
}

fn check_one_space(files: &[(PathBuf, Part)]) -> Result<(), ImportError> {
    let Some([one, other]) = odd(files, |header| header.space) else { return Ok(()) };
    let name = |header: &Header| {
        header.space.map_or_else(|| "none".to_owned(), |space| format!("{space:016x}"))
    };
    Err(ImportError::Spaces {
        one_path: one.0.clone(),
        one: name(one.1),
        other_path: other.0.clone(),
        other: name(other.1),
    })
}

fn check_one_timing(files: &[(PathBuf, Part)]) -> Result<(), ImportError> {
    let Some([one, other]) = odd(files, |header| header.timing) else { return Ok(()) };
    Err(ImportError::Timings {
        one_path: one.0.clone(),
        one: one.1.timing,
        other_path: other.0.clone(),
        other: other.1.timing,
    })
}

/// Files of before it was told may be either.
fn check_one_arithmetic(files: &[(PathBuf, Part)]) -> Result<(), ImportError> {
    let first = |told| files.iter().find(|(_, part)| part.header.half_arithmetic == Some(told));
    match (first(true), first(false)) {
        (Some((with, _)), Some((without, _))) => {
            Err(ImportError::Arithmetics { with: with.clone(), without: without.clone() })
        }
        _ => Ok(()),
    }
}

/// A shape that the user told holds for one problem only.
fn check_one_problem(files: &[(PathBuf, Part)]) -> Result<(), ImportError> {
    let mut told = files.iter().filter_map(|(path, part)| Some((path, part.told_shape.as_ref()?)));
    let Some((one_path, one)) = told.next() else { return Ok(()) };
    match told.find(|(_, other)| *other != one) {
        None => Ok(()),
        Some((other_path, other)) => Err(ImportError::ProblemSizes {
            one_path: one_path.clone(),
            one: one.clone(),
            other_path: other_path.clone(),
            other: other.clone(),
        }),
    }
}

type Known = BTreeMap<String, BTreeSet<String>>;

/// Every parameter that some result of a kernel has.
fn parameters_of_kernels(files: &[(PathBuf, Part)]) -> Known {
    let mut known = Known::new();
    for row in files.iter().flat_map(|(_, part)| &part.rows) {
        if let Name::Foreign { kernel, parameters } = &row.name {
            match known.get_mut(kernel) {
                Some(names) if parameters.keys().all(|name| names.contains(name)) => {}
                Some(names) => names.extend(parameters.keys().cloned()),
                None => {
                    known.insert(kernel.clone(), parameters.keys().cloned().collect());
                }
            }
        }
    }
    known
}

/// Give `name` the parameters that it lacks, or refuse it.
fn complete(name: &mut Name, known: &Known, told: &Told, path: &Path) -> Result<(), ImportError> {
    let Name::Foreign { kernel, parameters } = name else { return Ok(()) };
    for parameter in known.get(kernel).into_iter().flatten() {
        if parameters.contains_key(parameter) {
            continue;
        }
        let default = told.defaults.get(parameter);
        let default = default.ok_or_else(|| ImportError::MissingParameter {
            place: format!("a result in `{}`", path.display()),
            kernel: kernel.clone(),
            parameter: parameter.clone(),
        })?;
        parameters.insert(parameter.clone(), default.clone());
    }
    Ok(())
}

/// One header for all; what differs is listed, the earliest date and the coarsest clock count.
fn merged_header(headers: &[&Header]) -> Header {
    let all = |field: fn(&Header) -> &str| {
        let texts: BTreeSet<&str> = headers.iter().map(|header| field(header).trim()).collect();
        texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    };
    let dates = headers.iter().map(|header| header.date.trim()).filter(|date| !date.is_empty());
    Header {
        device: headers.first().map(|header| header.device.clone()).unwrap_or_default(),
        driver: all(|header| &header.driver),
        platform: all(|header| &header.platform),
        space: headers.first().and_then(|header| header.space),
        clock_resolution_ns: headers.iter().filter_map(|header| header.clock_resolution_ns).max(),
        timing: headers.first().map(|header| header.timing).unwrap_or_default(),
        half_arithmetic: agreed(headers.iter().map(|header| header.half_arithmetic)),
        date: dates.min().unwrap_or_default().to_owned(),
        tool: tool(&all(|header| &header.tool)),
    }
}

/// What all say; `None` if one does not or another says otherwise.
fn agreed(mut all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let first = all.next()??;
    all.all(|one| one == Some(first)).then_some(first)
}

/// What imported, and whose measurements; importing again adds nothing.
fn tool(tools: &str) -> String {
    let own = concat!("gemmtree ", env!("CARGO_PKG_VERSION"), ", import of ");
    let whose = tools.split("; ").map(|tool| tool.strip_prefix(own).unwrap_or(tool));
    let whose: BTreeSet<&str> = whose.flat_map(|tools| tools.split(" + ")).collect();
    let whose: Vec<&str> = whose.into_iter().filter(|tool| !tool.is_empty()).collect();
    match whose.len() {
        0 => format!("{own}a table"),
        _ => format!("{own}{}", whose.join(" + ")),
    }
}

fn differing(headers: &[&Header]) -> Vec<String> {
    let drivers: BTreeSet<&str> = headers.iter().map(|header| header.driver.trim()).collect();
    let drivers: Vec<_> = drivers.into_iter().filter(|driver| !driver.is_empty()).collect();
    match drivers.len() {
        0 | 1 => Vec::new(),
        _ => vec![format!("measured with several drivers: {}", drivers.join("; "))],
    }
}

fn add_counts(sum: &mut RowCounts, counts: &RowCounts) {
    sum.read += counts.read;
    sum.merged += counts.merged;
    for (reason, count) in &counts.dropped {
        *sum.dropped.entry(reason).or_default() += count;
    }
}

/// Times with and without reading C never stand side by side for a task: where both were measured,
/// those without stay, since that is how our kernels are measured.
fn drop_mixed_betas(rows: &mut Vec<(ImportedRow, bool)>, counts: &mut RowCounts) -> Option<String> {
    let zero = rows.iter().filter(|(row, _)| row.beta == Beta::Zero);
    let zero: BTreeSet<Task> = zero.map(|(row, _)| row.task).collect();
    rows.retain(|(row, _)| {
        let mixed = row.beta == Beta::Other && zero.contains(&row.task);
        if mixed {
            counts.drop_row("beta not 0, on a shape measured with beta 0 too");
        }
        !mixed
    });
    let other = rows.iter().filter(|(row, _)| row.beta == Beta::Other).count();
    (other > 0).then(|| {
        format!(
            "{other} {} with beta not 0: reading C is in the time",
            if other == 1 { "row" } else { "rows" }
        )
    })
}

/// CLBlast's two ways are timed differently.
fn mixed_families(lines: &[Line]) -> Option<String> {
    let tasks = |family: &str| {
        let of_family = lines.iter().filter(|line| line.name.starts_with(family));
        of_family.map(|line| line.task).collect::<BTreeSet<_>>()
    };
    let both = tasks("xgemm:").intersection(&tasks("xgemm_direct:")).count();
    (both > 0).then(|| {
        format!(
            "{both} {} with both `xgemm` and `xgemm_direct`: times of `xgemm` leave out the \
             copies that bring matrices into its layout",
            if both == 1 { "shape" } else { "shapes" }
        )
    })
}

#[cfg(test)]
mod tests {
    use kernels::measurement::Timing;
    use selector_core::GemmShape;

    use super::*;

    fn row(m: u32, name: &str, times: &[f64]) -> ImportedRow {
        ImportedRow {
            task: Task { class: ProblemClass::F32_NN, shape: GemmShape::new(m, 8, 9, 1) },
            name: Name::parse(name),
            status: Status::Ok,
            times: times.to_vec(),
            spread: None,
            beta: Beta::Unknown,
            binary_bytes: None,
        }
    }

    fn part(device: &str, rows: Vec<ImportedRow>) -> (PathBuf, Part) {
        let header = Header { device: device.to_owned(), ..Header::default() };
        let counts = RowCounts { read: rows.len(), ..RowCounts::default() };
        (
            format!("{device}-{}.x", rows.len()).into(),
            Part { header, counts, rows, class_is_assumed: false, told_shape: None },
        )
    }

    fn merged(files: Vec<(PathBuf, Part)>) -> Result<Import, ImportError> {
        merge(files, &Told::default())
    }

    #[test]
    fn the_order_of_files_and_rows_does_not_matter() {
        let mut one = part("d", vec![row(2, "k:a=16", &[3.0, 1.0]), row(2, "k:a=2", &[4.0])]);
        let two = part("d", vec![row(1, "k:a=4", &[2.4])]);
        let forwards = merged(vec![one.clone(), two.clone()]).unwrap().csv().unwrap();
        one.1.rows.reverse();
        let backwards = merged(vec![two, one]).unwrap().csv().unwrap();
        assert_eq!(forwards, backwards);
        let text = String::from_utf8(forwards).unwrap();
        let rows: Vec<&str> = text.lines().skip_while(|line| line.starts_with('#')).collect();
        assert_eq!(
            rows[1..],
            [
                "1,8,9,1,f32-nn,k:a=4,ok,2,,,",
                "2,8,9,1,f32-nn,k:a=2,ok,4,,,",
                "2,8,9,1,f32-nn,k:a=16,ok,1,0,3 1,",
            ]
        );
    }

    #[test]
    fn two_devices_two_spaces_two_timings_and_two_problems_are_refused_by_name() {
        let message = |files| merged(files).unwrap_err().to_string();
        let devices = message(vec![part("a", vec![]), part("a ", vec![])]);
        assert!(devices.contains("`a-0.x` is of device `a`, `a -0.x` of device `a `"), "{devices}");
        let mut other = part("a", vec![]);
        other.1.header.space = Some(255);
        let spaces = message(vec![part("a", vec![]), other]);
        assert!(spaces.contains("none") && spaces.contains("00000000000000ff"), "{spaces}");
        let mut other = part("a", vec![]);
        other.1.header.timing = Timing::Stream;
        let timings = message(vec![part("a", vec![]), other]);
        assert!(timings.contains("of a device") && timings.contains("of a stream"), "{timings}");
        let (mut one, mut other) = (part("a", vec![]), part("a", vec![]));
        one.1.header.half_arithmetic = Some(true);
        other.1.header.half_arithmetic = Some(false);
        let arithmetics = message(vec![part("a", vec![]), other, one]);
        assert!(arithmetics.contains("16 bits"), "{arithmetics}");
        let (mut one, mut other) = (part("a", vec![]), part("a", vec![]));
        one.1.told_shape = Some("[64,64]".to_owned());
        other.1.told_shape = Some("[8,64]".to_owned());
        let problems = message(vec![one, part("a", vec![]), other]);
        assert!(problems.contains("[64,64]") && problems.contains("[8,64]"), "{problems}");
    }

    #[test]
    fn a_missing_parameter_is_refused_unless_its_value_is_told() {
        let files = || {
            vec![
                part("d", vec![row(1, "k:a=1", &[5.0])]),
                part("d", vec![row(1, "k:a=1,b=2", &[6.0]), row(1, "other:a=1", &[7.0])]),
            ]
        };
        let message = merged(files()).unwrap_err().to_string();
        assert!(message.contains("`d-1.x` lacks parameter `b` of kernel `k`"), "{message}");
        assert!(message.contains("--default b=VALUE"), "{message}");
        let defaults = [("b".to_owned(), "7".to_owned())].into();
        let import = merge(files(), &Told { defaults, ..Told::default() }).unwrap();
        let text = String::from_utf8(import.csv().unwrap()).unwrap();
        assert!(text.contains("\"k:a=1,b=7\"") && text.contains(",other:a=1,"), "{text}");
    }

    #[test]
    fn times_with_and_without_reading_c_never_stand_side_by_side() {
        let beta = |beta, row| ImportedRow { beta, ..row };
        let import = merged(vec![part(
            "d",
            vec![
                beta(Beta::Zero, row(1, "a", &[5.0])),
                beta(Beta::Other, row(1, "b", &[4.0])),
                beta(Beta::Other, row(2, "b", &[4.0])),
            ],
        )]);
        let import = import.unwrap();
        assert_eq!(import.rows(), 2);
        assert_eq!(import.counts.dropped["beta not 0, on a shape measured with beta 0 too"], 1);
        assert_eq!(import.notes, ["1 row with beta not 0: reading C is in the time"]);
    }

    #[test]
    fn equal_rows_are_written_once_and_counted() {
        let one = || part("d", vec![row(1, "a", &[5.0, 6.0]), row(1, "b", &[5.0])]);
        let import = merged(vec![one(), one()]).unwrap();
        assert_eq!((import.rows(), import.counts.merged, import.counts.read), (2, 2, 4));
    }

    #[test]
    fn without_a_usable_row_it_says_what_became_of_them() {
        let failed = ImportedRow { status: Status::BuildFailed, ..row(1, "a", &[]) };
        let message = merged(vec![part("d", vec![failed, row(1, "b", &[0.3])])]).unwrap_err();
        assert_eq!(
            message.to_string(),
            "no usable rows (read 2, dropped 2: 1 build_failed, 1 time below a nanosecond)"
        );
    }

    #[test]
    fn importing_again_names_the_same_tool() {
        let once = tool("CLBlast; Kernel Tuner");
        assert!(once.ends_with(", import of CLBlast + Kernel Tuner"), "{once}");
        assert_eq!(tool(&once), once);
        assert!(tool("").ends_with(", import of a table"));
        assert_eq!(tool(&tool("")), tool(""));
    }
}
