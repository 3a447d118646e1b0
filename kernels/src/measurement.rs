//! A data set's rows and header: what a board writes and the trainer reads.
//!
//! The file is CSV behind lines `# key: value`. A row counts once its line is whole, newline
//! included, so a file can be cut anywhere and continued.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use selector_core::{GemmShape, ProblemClass};

/// The columns of a data set that a board writes, in order.
pub const COLUMNS: &str =
    "m,k,n,batch,class,configuration,status,median_ns,spread_ns,samples_ns,binary_bytes";

/// The columns of a data set of before boards told the size of binaries.
pub const COLUMNS_WITHOUT_BYTES: &str =
    "m,k,n,batch,class,configuration,status,median_ns,spread_ns,samples_ns";

/// How a measurement ended.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Status {
    /// The driver did not build the program.
    BuildFailed,
    /// The driver refused the launch, or died of it.
    LaunchFailed,
    /// Measured, and the result was right.
    Ok,
    /// Measured while the device ran slower than before: kept, but not comparable.
    Throttled,
    /// Not finished within its time.
    TimedOut,
    /// The result was wrong.
    WrongResult,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 6] = [
        Self::BuildFailed,
        Self::LaunchFailed,
        Self::Ok,
        Self::Throttled,
        Self::TimedOut,
        Self::WrongResult,
    ];

    /// The status as a data set spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BuildFailed => "build_failed",
            Self::LaunchFailed => "launch_failed",
            Self::Ok => "ok",
            Self::Throttled => "throttled",
            Self::TimedOut => "timed_out",
            Self::WrongResult => "wrong_result",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Status {
    type Err = RowError;

    fn from_str(text: &str) -> Result<Self, RowError> {
        let known = Self::ALL.into_iter().find(|status| status.name() == text);
        known.ok_or_else(|| RowError::Value { column: "status", value: text.to_owned() })
    }
}

/// One configuration on one problem.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Row {
    /// The problem's sizes.
    pub shape: GemmShape,
    /// The problem's class.
    pub class: ProblemClass,
    /// Name of the configuration; one of another project's is just a name.
    pub configuration: String,
    /// How it ended.
    pub status: Status,
    /// Times in nanoseconds as the header's [`Timing`] says, in the order they were taken; empty unless
    /// it ran.
    pub samples: Vec<u64>,
    /// Bytes of the binary of the configuration's program, taken after its kernel had run; `None`
    /// where unknown. Configurations that share a program share its binary.
    pub binary_bytes: Option<u64>,
}

/// Why a line is not a row.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// Too few or too many columns.
    #[error("{found} columns where there should be {expected}")]
    Columns {
        /// Columns found.
        found: usize,
        /// Columns of a row.
        expected: usize,
    },
    /// Measured, but without a time.
    #[error("status is `{0}`, but there is no time above zero")]
    NoTime(Status),
    /// A value that its column does not allow.
    #[error("`{value}` is not a value of column `{column}`")]
    Value {
        /// The column.
        column: &'static str,
        /// What stands there.
        value: String,
    },
}

impl Row {
    /// The row as a line of a data set with [`COLUMNS`], newline included.
    #[must_use]
    pub fn line(&self) -> String {
        let bytes = self.binary_bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
        format!("{},{bytes}\n", self.line_without_bytes().trim_end())
    }

    /// The row as a line of a data set with [`COLUMNS_WITHOUT_BYTES`], newline included.
    #[must_use]
    pub fn line_without_bytes(&self) -> String {
        let GemmShape { m, k, n, batch } = self.shape;
        let (class, configuration, status) = (self.class, &self.configuration, self.status);
        let samples: Vec<String> = self.samples.iter().map(u64::to_string).collect();
        let (median, spread) = match self.median() {
            Some(median) => (median.to_string(), self.spread().unwrap_or(0).to_string()),
            None => (String::new(), String::new()),
        };
        let samples = samples.join(" ");
        format!(
            "{m},{k},{n},{batch},{class},{configuration},{status},{median},{spread},{samples}\n"
        )
    }

    /// Read a line as [`Self::line`] or [`Self::line_without_bytes`] writes it, without its
    /// newline.
    ///
    /// # Errors
    /// [`RowError`] names the column and the value.
    pub fn parse(line: &str) -> Result<Self, RowError> {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let expected = COLUMNS.split(',').count();
        let &[m, k, n, batch, class, configuration, status, _, _, samples, ref bytes @ ..] =
            &fields[..]
        else {
            return Err(RowError::Columns { found: fields.len(), expected });
        };
        let binary_bytes = match *bytes {
            [] | [""] => None,
            [bytes] => Some(value("binary_bytes", bytes)?),
            _ => return Err(RowError::Columns { found: fields.len(), expected }),
        };
        let shape = GemmShape {
            m: value("m", m)?,
            k: value("k", k)?,
            n: value("n", n)?,
            batch: value("batch", batch)?,
        };
        let samples = samples.split_whitespace().map(|sample| value("samples_ns", sample));
        let row = Self {
            shape,
            class: value("class", class)?,
            configuration: configuration.to_owned(),
            status: status.parse()?,
            samples: samples.collect::<Result<_, _>>()?,
            binary_bytes,
        };
        let timed = matches!(row.status, Status::Ok | Status::Throttled);
        if timed && (row.samples.is_empty() || row.samples.contains(&0)) {
            return Err(RowError::NoTime(row.status));
        }
        Ok(row)
    }

    /// The middle sample in nanoseconds, the lower of two.
    #[must_use]
    pub fn median(&self) -> Option<u64> {
        median(self.samples.clone())
    }

    /// Median absolute deviation from the median, in nanoseconds.
    #[must_use]
    pub fn spread(&self) -> Option<u64> {
        let middle = self.median()?;
        median(self.samples.iter().map(|sample| sample.abs_diff(middle)).collect())
    }
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}

fn value<T: FromStr>(column: &'static str, text: &str) -> Result<T, RowError> {
    text.parse().map_err(|_| RowError::Value { column, value: text.to_owned() })
}

/// What the times of a data set are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Timing {
    /// Of one call alone, by the device's clock: from the beginning of its first launch to the end of its
    /// last. Recording that may itself keep the launches of a call apart.
    #[default]
    Device,
    /// Of a call in a stream: calls enqueued one after another without events, and waited for once. What
    /// enqueueing costs counts where the device has to wait for it.
    Stream,
}

impl Timing {
    /// Every timing.
    pub const ALL: [Self; 2] = [Self::Device, Self::Stream];

    /// The timing as a data set spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Stream => "stream",
        }
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Timing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|timing| timing.name() == text);
        known.ok_or_else(|| format!("`{text}` is neither `device` nor `stream`"))
    }
}

/// Where a data set comes from.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Header {
    /// Name of the OpenCL device.
    pub device: String,
    /// Its driver version.
    pub driver: String,
    /// Name of the OpenCL platform.
    pub platform: String,
    /// Hash of the kernel space; `None` for foreign data.
    pub space: Option<u64>,
    /// Step of the device's profiling clock in nanoseconds.
    pub clock_resolution_ns: Option<u64>,
    /// What the times are.
    pub timing: Timing,
    /// Whether the device multiplies in 16 bits (`cl_khr_fp16`); without, its classes `f16h` are
    /// computed as those of `f16`. `None` if unknown.
    pub half_arithmetic: Option<bool>,
    /// When collecting began, as RFC 3339.
    pub date: String,
    /// The program and version that measured.
    pub tool: String,
}

/// Why the lines at the top are not a header.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "line {line}: `{text}` is not `# key: value` with a known key, given once, and a fitting value"
)]
pub struct HeaderError {
    /// Line, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
}

impl Header {
    /// Read the leading lines that begin with `#`.
    ///
    /// # Errors
    /// [`HeaderError`] names the line.
    pub fn parse<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Self, HeaderError> {
        let mut header = Self::default();
        let mut seen = BTreeSet::new();
        for (index, line) in lines.take_while(|line| line.starts_with('#')).enumerate() {
            let wrong = || HeaderError { line: index + 1, text: line.to_owned() };
            let (key, value) = line[1..].split_once(':').ok_or_else(wrong)?;
            let (key, value) = (key.trim(), value.trim());
            if !seen.insert(key) {
                return Err(wrong());
            }
            let slot = match key {
                "device" => &mut header.device,
                "driver" => &mut header.driver,
                "platform" => &mut header.platform,
                "date" => &mut header.date,
                "tool" => &mut header.tool,
                "space" => {
                    header.space = match value {
                        "none" => None,
                        hash => Some(u64::from_str_radix(hash, 16).map_err(|_| wrong())?),
                    };
                    continue;
                }
                "timing" => {
                    header.timing = value.parse().map_err(|_| wrong())?;
                    continue;
                }
                "clock_resolution_ns" => {
                    header.clock_resolution_ns = Some(value.parse().map_err(|_| wrong())?);
                    continue;
                }
                "half_arithmetic" => {
                    header.half_arithmetic = match value {
                        "yes" => Some(true),
                        "no" => Some(false),
                        _ => return Err(wrong()),
                    };
                    continue;
                }
                _ => return Err(wrong()),
            };
            value.clone_into(slot);
        }
        Ok(header)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one_line = |text: &str| text.replace(['\n', '\r'], " ").trim().to_owned();
        writeln!(f, "# device: {}", one_line(&self.device))?;
        writeln!(f, "# driver: {}", one_line(&self.driver))?;
        writeln!(f, "# platform: {}", one_line(&self.platform))?;
        match self.space {
            Some(hash) => writeln!(f, "# space: {hash:016x}")?,
            None => writeln!(f, "# space: none")?,
        }
        if let Some(nanoseconds) = self.clock_resolution_ns {
            writeln!(f, "# clock_resolution_ns: {nanoseconds}")?;
        }
        if self.timing != Timing::default() {
            writeln!(f, "# timing: {}", self.timing)?;
        }
        if let Some(half) = self.half_arithmetic {
            writeln!(f, "# half_arithmetic: {}", if half { "yes" } else { "no" })?;
        }
        writeln!(f, "# date: {}", one_line(&self.date))?;
        writeln!(f, "# tool: {}", one_line(&self.tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(samples: &[u64]) -> Row {
        Row {
            shape: GemmShape::new(64, 27, 50176, 1),
            class: ProblemClass::F32_NN,
            configuration: "tile:4x8x4@16x16".to_owned(),
            status: Status::Ok,
            samples: samples.to_vec(),
            binary_bytes: None,
        }
    }

    #[test]
    fn a_row_round_trips_and_an_outlier_does_not_move_its_median() {
        let row = row(&[50_000, 1000, 1010, 1000, 1020]);
        assert_eq!(row.median(), Some(1010));
        assert_eq!(row.spread(), Some(10));
        assert_eq!(Row::parse(row.line().trim_end()), Ok(row));
    }

    #[test]
    fn the_size_of_a_binary_is_kept_and_a_row_without_one_is_read() {
        let row = Row { binary_bytes: Some(31_337), ..row(&[5]) };
        assert!(row.line().ends_with(",5,31337\n"));
        assert_eq!(Row::parse(row.line().trim_end()), Ok(row.clone()));
        let line = row.line_without_bytes();
        assert_eq!(line.matches(',').count(), COLUMNS_WITHOUT_BYTES.matches(',').count());
        assert_eq!(Row::parse(line.trim_end()), Ok(Row { binary_bytes: None, ..row.clone() }));
        let damaged = row.line().replace("31337", "31337B");
        let column = "binary_bytes";
        let expected = Err(RowError::Value { column, value: "31337B".to_owned() });
        assert_eq!(Row::parse(damaged.trim_end()), expected);
        let long = format!("{},1", row.line().trim_end());
        assert_eq!(Row::parse(&long), Err(RowError::Columns { found: 12, expected: 11 }));
    }

    #[test]
    fn cut_and_damaged_rows_are_refused() {
        let line = row(&[1000, 1010]).line_without_bytes();
        let cut = line.rfind(',').unwrap();
        assert!(matches!(Row::parse(&line[..cut]), Err(RowError::Columns { found: 9, .. })));
        let line = row(&[1000, 1010]).line();
        for bad in ["NaN", "inf", "-5", "1,5", "0"] {
            let text = line.trim_end().replace("1000 1010", bad);
            assert!(Row::parse(&text).is_err(), "{bad}");
        }
        assert!(Row::parse(&line.replace("ok", "fine")).is_err());
    }

    #[test]
    fn a_header_round_trips_and_names_a_bad_line() {
        let header = Header {
            device: "pthread".to_owned(),
            driver: "3.1".to_owned(),
            platform: "Portable Computing Language".to_owned(),
            space: Some(0x1234),
            clock_resolution_ns: Some(1),
            timing: Timing::Stream,
            half_arithmetic: Some(false),
            date: "2026-01-02T03:04:05Z".to_owned(),
            tool: "gemmtree-board 0.1.0".to_owned(),
        };
        for half_arithmetic in [None, Some(false), Some(true)] {
            let header = Header { half_arithmetic, ..header.clone() };
            assert_eq!(Header::parse(header.to_string().lines()), Ok(header));
        }
        assert!(Header::parse(["# half_arithmetic: maybe"].into_iter()).is_err());
        assert_eq!(Header::parse(["# device: x"].into_iter()).unwrap().timing, Timing::Device);
        assert!(Header::parse(["# timing: wall"].into_iter()).is_err());
        assert_eq!(Header::parse(["# tool: x", "# tool: x"].into_iter()).unwrap_err().line, 2);
        let error = Header::parse(["# device: x", "# devise: y"].into_iter()).unwrap_err();
        assert_eq!(error.line, 2);
    }
}
