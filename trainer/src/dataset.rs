//! A data set as the trainer sees it: the time of every configuration on every problem.
//!
//! The order of rows in a file never matters: problems and configurations are sorted, and what was
//! measured more than once is merged by a rule that knows no order.

mod parse;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kernels::measurement::{Header, HeaderError};
use selector_core::{GemmShape, ProblemClass};

use crate::device_name::DeviceNameError;

pub(crate) use parse::line_of;
pub use table::{Measurement, natural_order};

/// A shape in a problem class.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Task {
    /// The problem class.
    pub class: ProblemClass,
    /// The shape.
    pub shape: GemmShape,
}

/// Times of configurations on tasks, with what was read and what was dropped.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Where the measurements come from.
    pub header: Header,
    /// Rows by what became of them.
    pub rows: RowCounts,
    /// Configurations that once computed a wrong result. They are left out of the table, since
    /// nobody knows where else they are wrong.
    pub suspects: Vec<Suspect>,
    tasks: Vec<Task>,
    configurations: Vec<String>,
    /// Task by task; infinite where a configuration was not measured or failed.
    times: Vec<f64>,
    /// Median absolute deviation of the samples behind each time; 0 where there is only one.
    spreads: Vec<f64>,
    binaries: Binaries,
    /// Of `binaries`, those that rows disagree about.
    conflicting: BTreeSet<(String, ProblemClass)>,
}

/// Bytes of the binary of a configuration's program for a class.
type Binaries = BTreeMap<(String, ProblemClass), u64>;

/// The rows of a data set as they stand in its file, failures included.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Where the measurements come from.
    pub header: Header,
    /// Rows read, and those that are no measurement.
    pub counts: RowCounts,
    /// The measurements, in the order of the file.
    pub measurements: Vec<Measurement>,
}

/// A configuration that computed a wrong result.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Suspect {
    /// Its name.
    pub configuration: String,
    /// Where it was wrong.
    pub tasks: Vec<Task>,
}

/// Rows of a file by what became of them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RowCounts {
    /// Rows in the file.
    pub read: usize,
    /// Rows that were not used, by reason.
    pub dropped: BTreeMap<&'static str, usize>,
    /// Rows merged into another of the same task and configuration.
    pub merged: usize,
}

/// Why a file is not a data set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The name of the device is none.
    #[error("`{path}`: {source}")]
    Device {
        /// The file.
        path: PathBuf,
        /// Why.
        source: DeviceNameError,
    },
    /// A column's name stands there twice.
    #[error("`{path}` line {line}: column `{column}` is there twice")]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// The column.
        column: String,
    },
    /// Nothing at all.
    #[error("`{path}` is empty")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A line `# key: value` is wrong.
    #[error("`{path}`: {source}")]
    Header {
        /// The file.
        path: PathBuf,
        /// Which line, and why.
        source: HeaderError,
    },
    /// Columns that a data set must have are missing.
    #[error("`{path}` line {line}: no column {missing}; columns separated by commas: {found}")]
    MissingColumns {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// The missing columns.
        missing: String,
        /// The columns that are there.
        found: String,
    },
    /// Every row was dropped, or there is none.
    #[error("`{path}`: no usable rows ({counts})")]
    NoUsableRows {
        /// The file.
        path: PathBuf,
        /// How many were read and why they were dropped.
        counts: RowCounts,
    },
    /// Not a text.
    #[error("`{path}` line {line}: not UTF-8 text")]
    NotText {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// The file cannot be read or unpacked.
    #[error("could not read data set `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the file system or the unpacking says.
        source: std::io::Error,
    },
    /// A row is not what its columns promise.
    #[error("`{path}` line {line}: {problem}")]
    Row {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// A second header among the rows.
    #[error("`{path}` line {line}: a second header; two data sets never mix in one file")]
    SecondHeader {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
    },
}

impl Dataset {
    /// Read a data set: CSV, gzip or not, with or without `# key: value` lines.
    ///
    /// # Errors
    /// [`DatasetError`] names the file and the line.
    pub fn open(path: &Path) -> Result<Self, DatasetError> {
        parse::open(path)
    }

    /// The table of `measurements`, in whatever order they come. `path` is named in errors.
    ///
    /// # Errors
    /// [`DatasetError::NoUsableRows`].
    pub fn from_measurements(
        path: &Path,
        header: Header,
        rows: RowCounts,
        measurements: Vec<Measurement>,
    ) -> Result<Self, DatasetError> {
        table::build(path, header, rows, measurements)
    }

    /// The tasks, sorted.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Names of the configurations, in [natural order](natural_order).
    #[must_use]
    pub fn configurations(&self) -> &[String] {
        &self.configurations
    }

    /// Nanoseconds of a configuration on a task; infinite where it was not measured or failed.
    #[must_use]
    pub fn time(&self, task: usize, configuration: usize) -> f64 {
        self.times[task * self.configurations.len() + configuration]
    }

    /// Nanoseconds by which the samples behind [`Self::time`] typically differ from it.
    #[must_use]
    pub fn spread(&self, task: usize, configuration: usize) -> f64 {
        self.spreads[task * self.configurations.len() + configuration]
    }

    /// Bytes of the binary of a configuration's program for a class: the largest that a row says,
    /// `None` where none does. The universal kernel may have one too.
    #[must_use]
    pub fn binary_bytes(&self, configuration: &str, class: ProblemClass) -> Option<u64> {
        self.binaries.get(&(configuration.to_owned(), class)).copied()
    }

    /// Configurations, in natural order, whose rows tell several sizes of one binary.
    #[must_use]
    pub fn conflicting_bytes(&self) -> Vec<&str> {
        let told = |name: &&str| self.conflicting.iter().any(|(one, _)| one == name);
        self.configurations.iter().map(String::as_str).filter(told).collect()
    }

    /// The data set without some of its configurations, and without the tasks that then have no
    /// time; `None` if nothing is left.
    #[must_use]
    pub fn without(&self, columns: &[usize]) -> Option<Self> {
        let kept: Vec<usize> =
            (0..self.configurations.len()).filter(|column| !columns.contains(column)).collect();
        let timed = |task: &usize| kept.iter().any(|column| self.time(*task, *column).is_finite());
        let tasks: Vec<usize> = (0..self.tasks.len()).filter(timed).collect();
        let cells = || tasks.iter().flat_map(|task| kept.iter().map(|column| (*task, *column)));
        let (times, spreads) = cells()
            .map(|(task, column)| (self.time(task, column), self.spread(task, column)))
            .unzip();
        (!tasks.is_empty()).then(|| Self {
            header: self.header.clone(),
            rows: self.rows.clone(),
            suspects: self.suspects.clone(),
            tasks: tasks.iter().map(|task| self.tasks[*task]).collect(),
            configurations: kept.iter().map(|one| self.configurations[*one].clone()).collect(),
            times,
            spreads,
            binaries: self.binaries.clone(),
            conflicting: self.conflicting.clone(),
        })
    }

    /// The classes measured, sorted.
    #[must_use]
    pub fn classes(&self) -> Vec<ProblemClass> {
        let mut classes: Vec<_> = self.tasks.iter().map(|task| task.class).collect();
        classes.dedup();
        classes
    }

    /// The distinct shapes of all classes, sorted.
    #[must_use]
    pub fn shapes(&self) -> Vec<GemmShape> {
        let mut shapes: Vec<_> = self.tasks.iter().map(|task| task.shape).collect();
        shapes.sort_unstable();
        shapes.dedup();
        shapes
    }
}

impl Rows {
    /// Read the bytes of a data set, not packed. `path` is named in errors.
    ///
    /// # Errors
    /// [`DatasetError`] names the file and the line.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Self, DatasetError> {
        parse::rows(path, bytes)
    }
}

impl Suspect {
    /// Where it was wrong, for people: the first tasks and how many more.
    #[must_use]
    pub fn places(&self) -> String {
        let shown = self.tasks.iter().take(3);
        let shown: Vec<_> = shown.map(|task| format!("{} {}", task.class, task.shape)).collect();
        let more = self.tasks.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", shown.join(", "))
    }
}

impl RowCounts {
    pub(crate) fn drop_row(&mut self, reason: &'static str) {
        *self.dropped.entry(reason).or_default() += 1;
    }
}

impl std::fmt::Display for RowCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dropped: usize = self.dropped.values().sum();
        write!(f, "read {}, dropped {dropped}", self.read)?;
        for (index, (reason, count)) in self.dropped.iter().enumerate() {
            let separator = if index == 0 { ": " } else { ", " };
            write!(f, "{separator}{count} {reason}")?;
        }
        if self.merged > 0 {
            write!(f, "; merged {}", self.merged)?;
        }
        Ok(())
    }
}
