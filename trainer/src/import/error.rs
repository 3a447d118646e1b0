//! Why a file cannot be imported.

use std::path::PathBuf;

use kernels::measurement::Timing;

use crate::dataset::{DatasetError, RowCounts};
use crate::device_name::DeviceNameError;

/// Why a file cannot be imported, or files cannot be merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The user's class is not the file's.
    #[error("`{}` says its elements are {said}; `--class {told}` says otherwise", path.display())]
    Class {
        /// The file.
        path: PathBuf,
        /// The class told.
        told: String,
        /// Elements of the file.
        said: String,
    },
    /// One of our own data sets is wrong.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// The name of the device is none.
    #[error("`{}`: {source}", path.display())]
    Device {
        /// The file.
        path: PathBuf,
        /// Why.
        source: DeviceNameError,
    },
    /// Measured on two devices.
    #[error(
        "{one_source} is of device `{one}`, {other_source} of device `{other}`: two devices never \
         mix in one data set"
    )]
    Devices {
        /// Who says so.
        one_source: String,
        /// A device.
        one: String,
        /// Who says so.
        other_source: String,
        /// Another device.
        other: String,
    },
    /// Nothing at all.
    #[error("`{}` is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A field has a value that it cannot have.
    #[error("`{}`: `{field}` is `{value}`, not {expected}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// Name of the field.
        field: String,
        /// What stands there.
        value: String,
        /// What should.
        expected: &'static str,
    },
    /// A kernel that is no GEMM.
    #[error("`{}`: kernel family `{family}` multiplies no matrices", path.display())]
    Family {
        /// The file.
        path: PathBuf,
        /// The family.
        family: String,
    },
    /// No JSON, or not the JSON of this format.
    #[error("`{}` is no whole JSON file of format `{format}`: {problem}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The format that it was read as.
        format: &'static str,
        /// What is wrong, and where.
        problem: String,
    },
    /// A data base of several devices.
    #[error(
        "`{}` is of several devices; choose one by `--device`: {}", path.display(),
        devices.join(", ")
    )]
    ManyDevices {
        /// The file.
        path: PathBuf,
        /// Names of the devices, the first few of them.
        devices: Vec<String>,
    },
    /// A field that must be there is not.
    #[error("`{}` has no `{field}`{}", path.display(), way_out(option))]
    MissingField {
        /// The file.
        path: PathBuf,
        /// Name of the field.
        field: String,
        /// The option that gives its value instead, or nothing.
        option: &'static str,
    },
    /// A result without a parameter that others of its kernel have.
    #[error(
        "{place} lacks parameter `{parameter}` of kernel `{kernel}`; `--default \
         {parameter}=VALUE` gives its value"
    )]
    MissingParameter {
        /// Where.
        place: String,
        /// The kernel.
        kernel: String,
        /// Name of the parameter.
        parameter: String,
    },
    /// Neither the file nor the user says the device.
    #[error("`{}` does not say its device; `--device NAME` says it", path.display())]
    NoDevice {
        /// The file.
        path: PathBuf,
    },
    /// The file does not say m, k and n.
    #[error(
        "`{}` does not say m, k and n (its problem size is {problem_size}); `--shape MxKxN` or \
         `--shape MxKxNxBATCH` says them", path.display()
    )]
    NoShape {
        /// The file.
        path: PathBuf,
        /// What it says instead.
        problem_size: String,
    },
    /// Every row was dropped, or there is none.
    #[error("no usable rows ({counts})")]
    NoUsableRows {
        /// How many were read and why they were dropped.
        counts: RowCounts,
    },
    /// One shape was told for files of different problems.
    #[error(
        "`--shape` is one shape, but `{}` has problem size {one} and `{}` {other}; import them one \
         by one, then merge the data sets", one_path.display(), other_path.display()
    )]
    ProblemSizes {
        /// A file.
        one_path: PathBuf,
        /// Its problem size.
        one: String,
        /// Another file.
        other_path: PathBuf,
        /// Its problem size.
        other: String,
    },
    /// The file cannot be read or unpacked.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the file system or the unpacking says.
        source: std::io::Error,
    },
    /// A row is not what its columns promise.
    #[error("`{}` line {line}: {problem}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// Measured with two kernel spaces.
    #[error(
        "`{}` is of kernel space {one}, `{}` of kernel space {other}: two kernel spaces never mix \
         in one data set", one_path.display(), other_path.display()
    )]
    Spaces {
        /// A file.
        one_path: PathBuf,
        /// Its space.
        one: String,
        /// Another file.
        other_path: PathBuf,
        /// Its space.
        other: String,
    },
    /// Measured with and without arithmetic in 16 bits.
    #[error(
        "`{}` was measured with arithmetic in 16 bits, `{}` without (`# half_arithmetic`): the two never \
         mix in one data set", with.display(), without.display()
    )]
    Arithmetics {
        /// A file of a device that has it.
        with: PathBuf,
        /// A file of a device that has none.
        without: PathBuf,
    },
    /// Measured in two ways.
    #[error(
        "`{}` has times of a {one}, `{}` of a {other} (`# timing`): the two never mix in one data set",
        one_path.display(), other_path.display()
    )]
    Timings {
        /// A file.
        one_path: PathBuf,
        /// What its times are.
        one: Timing,
        /// Another file.
        other_path: PathBuf,
        /// What its times are.
        other: Timing,
    },
    /// More than is read.
    #[error("`{}` holds more than {mebibytes} MiB; import it in pieces", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        mebibytes: u64,
    },
    /// No format takes it.
    #[error("`{}` is not in a format we read; formats: {known}", path.display())]
    Unrecognised {
        /// The file.
        path: PathBuf,
        /// Every format.
        known: String,
    },
}

fn way_out(option: &str) -> String {
    if option.is_empty() { String::new() } else { format!("; `{option}` says it") }
}
