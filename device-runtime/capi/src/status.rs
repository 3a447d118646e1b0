//! What functions end with, and how failures of the runtime become that.

use std::ffi::CStr;

use device_runtime::ladder::LadderError;
use device_runtime::{DeviceError, RuntimeError};
use kernels::ProblemError;
use kernels::bundle::BundleError;

/// `gemmtree_status`; the header says what each means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(i32)]
pub(crate) enum Status {
    Success = 0,
    InvalidArgument = 1,
    LeadingTooSmall = 2,
    BufferTooSmall = 3,
    OutputsOverlap = 4,
    TooLarge = 5,
    Misaligned = 6,
    ForeignObject = 7,
    File = 8,
    BadBundle = 9,
    StaleBundle = 10,
    ClassNotShipped = 11,
    ScratchIsMatrix = 12,
    Busy = 13,
    NoTime = 14,
    OpenCl = 15,
    NoLibrary = 16,
    Panicked = 17,
    NoKernel = 18,
}

impl Status {
    /// Every status, in the order of the codes.
    const ALL: [Self; 19] = [
        Self::Success,
        Self::InvalidArgument,
        Self::LeadingTooSmall,
        Self::BufferTooSmall,
        Self::OutputsOverlap,
        Self::TooLarge,
        Self::Misaligned,
        Self::ForeignObject,
        Self::File,
        Self::BadBundle,
        Self::StaleBundle,
        Self::ClassNotShipped,
        Self::ScratchIsMatrix,
        Self::Busy,
        Self::NoTime,
        Self::OpenCl,
        Self::NoLibrary,
        Self::Panicked,
        Self::NoKernel,
    ];

    /// The status with this code.
    pub(crate) fn of_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|status| *status as i32 == code)
    }

    /// A few words.
    pub(crate) const fn text(self) -> &'static CStr {
        match self {
            Self::Success => c"success",
            Self::InvalidArgument => c"invalid argument",
            Self::LeadingTooSmall => c"leading dimension too small",
            Self::BufferTooSmall => c"buffer too small",
            Self::OutputsOverlap => c"the matrices of C overlap",
            Self::TooLarge => c"too large",
            Self::Misaligned => c"buffer begins between vectors",
            Self::ForeignObject => c"object of another context or device",
            Self::File => c"file could not be read or written",
            Self::BadBundle => c"not a bundle, or a damaged one",
            Self::StaleBundle => c"bundle of another driver",
            Self::ClassNotShipped => c"no kernels for this precision and these transposes",
            Self::ScratchIsMatrix => c"scratch memory and a matrix overlap",
            Self::Busy => c"another thread is using the handle",
            Self::NoTime => c"no time was recorded",
            Self::OpenCl => c"an OpenCL call failed",
            Self::NoLibrary => c"no OpenCL library",
            Self::Panicked => c"fault of the library",
            Self::NoKernel => c"no kernel can be used on the device",
        }
    }
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An argument that no call may have.
    #[error("{0}")]
    Argument(String),
    /// The bytes are not a bundle.
    #[error("the bundle cannot be used")]
    Bundle(#[from] BundleError),
    /// The handle is in use.
    #[error("another thread is using the handle; create one for each thread")]
    Busy,
    /// The device or the driver.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The file of the bundle.
    #[error("could not read `{path}`")]
    File {
        /// Its name.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Nothing stands.
    #[error(transparent)]
    Ladder(LadderError),
    /// No call was timed.
    #[error("no call was made with timing on; call gemmtree_set_timing(handle, 1) before it")]
    NotTimed,
    /// A fault of this library.
    #[error("fault of this library: {0}; the handle can only be destroyed")]
    Panicked(String),
    /// The problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The runtime.
    #[error(transparent)]
    Runtime(RuntimeError),
    /// A number beyond what kernels count.
    #[error("{name} is {value}, beyond 2^32 - 1")]
    TooLarge {
        /// Of the argument.
        name: &'static str,
        /// Given.
        value: usize,
    },
    /// A bundle that was to be kept.
    #[error("could not write `{path}`")]
    Write {
        /// Name of its file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl From<LadderError> for Failure {
    fn from(error: LadderError) -> Self {
        match error {
            LadderError::Bundle(error) => Self::Bundle(error),
            LadderError::Runtime(error) => error.into(),
            other => Self::Ladder(other),
        }
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::Device(error) => Self::Device(error),
            RuntimeError::Problem(error) => Self::Problem(error),
            other => Self::Runtime(other),
        }
    }
}

impl Failure {
    /// The status that says so.
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Argument(_) => Status::InvalidArgument,
            Self::Bundle(_) => Status::BadBundle,
            Self::Busy => Status::Busy,
            Self::Device(error) => of_device(error),
            Self::File { .. } | Self::Write { .. } => Status::File,
            Self::Ladder(LadderError::NothingStands(_)) => Status::NoKernel,
            Self::Ladder(_) => Status::BadBundle,
            Self::NotTimed => Status::NoTime,
            Self::Panicked(_) => Status::Panicked,
            Self::Problem(error) => of_problem(error),
            Self::Runtime(RuntimeError::ClassNotShipped(_)) => Status::ClassNotShipped,
            Self::Runtime(RuntimeError::StaleBinary { .. }) => Status::StaleBundle,
            Self::Runtime(_) => Status::OpenCl,
            Self::TooLarge { .. } => Status::TooLarge,
        }
    }

    /// OpenCL's code; 0 if OpenCL was not at fault.
    pub(crate) fn opencl_code(&self) -> i32 {
        match self {
            Self::Device(DeviceError::Call { code, .. }) => *code,
            Self::Device(DeviceError::Build { .. }) => BUILD_PROGRAM_FAILURE,
            _ => 0,
        }
    }

    /// In words, with what is behind it.
    pub(crate) fn text(&self) -> String {
        let mut text = self.to_string();
        let mut behind = std::error::Error::source(self);
        while let Some(error) = behind {
            text = format!("{text}: {error}");
            behind = error.source();
        }
        text
    }
}

/// `CL_BUILD_PROGRAM_FAILURE`.
const BUILD_PROGRAM_FAILURE: i32 = -11;

fn of_device(error: &DeviceError) -> Status {
    match error {
        DeviceError::BufferTooSmall { .. } => Status::BufferTooSmall,
        DeviceError::Clock { .. } | DeviceError::NoEvents => Status::NoTime,
        // A queue that records no times.
        DeviceError::Call { code: -7, .. } => Status::NoTime,
        DeviceError::Foreign(_) => Status::ForeignObject,
        DeviceError::NotABuffer => Status::InvalidArgument,
        DeviceError::LargestBuffer { .. } | DeviceError::TooLarge(_) => Status::TooLarge,
        DeviceError::Misaligned { .. } => Status::Misaligned,
        DeviceError::Misfit { .. } => Status::NoKernel,
        DeviceError::NoLibrary(_) | DeviceError::NotOpenCl(_) => Status::NoLibrary,
        DeviceError::ScratchIsMatrix => Status::ScratchIsMatrix,
        _ => Status::OpenCl,
    }
}

fn of_problem(error: &ProblemError) -> Status {
    match error {
        ProblemError::BufferTooSmall { .. } => Status::BufferTooSmall,
        ProblemError::LeadingTooSmall { .. } => Status::LeadingTooSmall,
        ProblemError::OutputsOverlap { .. } => Status::OutputsOverlap,
        _ => Status::TooLarge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_dense_and_every_status_has_words_of_its_own() {
        let mut texts: Vec<_> = Status::ALL.iter().map(|status| status.text()).collect();
        for (code, status) in Status::ALL.into_iter().enumerate() {
            assert_eq!((status as usize, Status::of_code(code as i32)), (code, Some(status)));
        }
        assert_eq!(Status::of_code(-1), None);
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), Status::ALL.len());
    }

    #[test]
    fn the_drivers_code_and_words_come_through() {
        let reason = "CL_OUT_OF_RESOURCES".to_owned();
        let error = DeviceError::Call { call: "clFinish", code: -5, reason };
        let failure = Failure::from(RuntimeError::from(error));
        assert_eq!((failure.status(), failure.opencl_code()), (Status::OpenCl, -5));
        assert!(failure.text().contains("clFinish") && failure.text().contains("-5"));
        let failure = Failure::from(BundleError::Model(selector_core::ModelError::Checksum));
        assert_eq!((failure.status(), failure.opencl_code()), (Status::BadBundle, 0));
        assert!(failure.text().starts_with("the bundle cannot be used: the model inside"));
    }
}
