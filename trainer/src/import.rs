//! Measurements that other programs made, and data sets to merge. To add a format: write
//! `import/<format>.rs`, then list it in [`ALL`].

mod clblast;
mod cltune;
mod error;
mod gemmtree;
mod json;
mod kernel_tuner;
mod line;
mod merge;
mod name;
mod sycl_dnn;
mod told;
mod tuned;

use std::fs::File;
use std::path::Path;

use kernels::measurement::{Header, Status};

use crate::dataset::{RowCounts, Task};
use crate::file::{self, LARGEST};

pub use error::ImportError;
pub use merge::{Import, merge};
pub use name::Name;
pub use told::Told;

/// So much of a file decides its format.
const HEAD: usize = 1 << 20;

/// A kind of file with measurements in it.
pub trait Format: Send + Sync {
    /// The name that `--format` takes.
    fn name(&self) -> &'static str;

    /// What it is, in a few words.
    fn about(&self) -> &'static str;

    /// Whether the beginning of a file looks like this format; at most one format says so.
    fn recognise(&self, head: &str) -> bool;

    /// Read a file of this format.
    ///
    /// # Errors
    /// [`ImportError`] names the file and what is wrong or missing in it.
    fn read(&self, source: &Source<'_>, told: &Told) -> Result<Part, ImportError>;
}

/// Every format.
pub static ALL: &[&dyn Format] = &[
    &clblast::Clblast,
    &cltune::Cltune,
    &gemmtree::Gemmtree,
    &kernel_tuner::KernelTuner,
    &sycl_dnn::SyclDnn,
];

/// The format called `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.name() == name)
}

/// A file, unpacked.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name that errors give.
    pub path: &'a Path,
    /// What it holds.
    pub bytes: &'a [u8],
}

/// What a file holds.
#[derive(Clone, Debug)]
pub struct Part {
    /// Where its measurements come from; the device's name is trimmed.
    pub header: Header,
    /// Rows read and dropped.
    pub counts: RowCounts,
    /// What was measured.
    pub rows: Vec<ImportedRow>,
    /// Whether the transposes, or the elements too, are only what goes without saying.
    pub class_is_assumed: bool,
    /// Where the shape is only what the user told: the problem size that the file gives.
    pub told_shape: Option<String>,
}

/// A configuration on a task.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedRow {
    /// What was computed.
    pub task: Task,
    /// By which configuration.
    pub name: Name,
    /// How it ended.
    pub status: Status,
    /// Nanoseconds.
    pub times: Vec<f64>,
    /// How much samples that are not in `times` varied, in nanoseconds.
    pub spread: Option<f64>,
    /// What was added to the product.
    pub beta: Beta,
    /// Bytes of the binary of the configuration's program, where known.
    pub binary_bytes: Option<u64>,
}

/// Whether C was read: a time with is not comparable to one without.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Beta {
    /// Nobody says.
    Unknown,
    /// C was written only.
    Zero,
    /// C was read too.
    Other,
}

/// Read the file at `path`; without a `format`, its content decides.
///
/// # Errors
/// [`ImportError`] names the file.
pub fn read(
    path: &Path,
    format: Option<&'static dyn Format>,
    told: &Told,
) -> Result<(&'static dyn Format, Part), ImportError> {
    let failed = |source| ImportError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let bytes = file::unpacked(file, LARGEST).map_err(failed)?;
    let bytes = bytes
        .ok_or_else(|| ImportError::TooLarge { path: path.to_owned(), mebibytes: LARGEST >> 20 })?;
    parse(Source { path, bytes: &bytes }, format, told)
}

/// Read what a file holds, unpacked; without a `format`, its content decides.
///
/// # Errors
/// [`ImportError`] names the file.
pub fn parse(
    source: Source<'_>,
    format: Option<&'static dyn Format>,
    told: &Told,
) -> Result<(&'static dyn Format, Part), ImportError> {
    let Source { path, bytes } = source;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ImportError::Empty { path: path.to_owned() });
    }
    let format = match format {
        Some(format) => format,
        None => recognise(bytes).ok_or_else(|| ImportError::Unrecognised {
            path: path.to_owned(),
            known: ALL.iter().map(|one| one.name()).collect::<Vec<_>>().join(", "),
        })?,
    };
    format.read(&Source { path, bytes }, told).map(|part| (format, part))
}

/// The format that `bytes` look like.
fn recognise(bytes: &[u8]) -> Option<&'static dyn Format> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
    ALL.iter().copied().find(|format| format.recognise(&head))
}

/// Nanoseconds of `milliseconds`, or why they are no time.
fn from_milliseconds(milliseconds: f64) -> Result<f64, &'static str> {
    match milliseconds {
        mark if mark >= 1e20 => Err("a time that stands for a failure"),
        time if time.is_finite() && time > 0.0 => Ok(time * 1e6),
        _ => Err("time not above zero"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in ALL {
            assert_eq!(by_name(format.name()).map(|one| one.name()), Some(format.name()));
            assert!(!format.about().is_empty());
        }
        assert!(by_name("spreadsheet").is_none());
    }

    #[test]
    fn one_format_at_most_takes_a_file() {
        for (head, expected) in [
            (r#"{"device_name": "a", "kernel_name": "b", "tune_params_keys": ["#, "kernel-tuner"),
            (r#"{"kernel_family": "xgemm_1", "device": "a", "results": ["#, "clblast"),
            (r#"{"sections": [{"kernel_family": "xgemm", "results": ["#, "clblast"),
            (r#"{"sample": "gemm", "device": "a", "results": ["#, "cltune"),
            ("# device: a\n# space: none\nm,k,n,batch,configuration,time_ns\n", "gemmtree"),
            ("m,k,n,batch,row_tile,acc_tile,col_tile,wg_row,wg_col,time_ns,runs\n", "gemmtree"),
            ("m,k,n,batch,row_tile,acc_tile,col_tile,wg_a,wg_b,wg_c,items_per_second", "sycl-dnn"),
        ] {
            let takers: Vec<_> =
                ALL.iter().filter(|one| one.recognise(head)).map(|one| one.name()).collect();
            assert_eq!(takers, [expected], "{head}");
        }
        for other in ["", "{}", "[1, 2]", "{\"a\": 1}", "a,b\n1,2\n", "m,k,n\n", "\u{1}\u{2}"] {
            assert!(recognise(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn milliseconds_become_nanoseconds_if_they_are_a_time() {
        assert_eq!(from_milliseconds(0.125), Ok(125_000.0));
        for bad in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(from_milliseconds(bad), Err("time not above zero"), "{bad}");
        }
        for mark in [1e20, f64::MAX, f64::INFINITY] {
            assert_eq!(from_milliseconds(mark), Err("a time that stands for a failure"), "{mark}");
        }
    }
}
