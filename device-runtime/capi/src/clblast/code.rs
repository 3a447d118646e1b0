//! CLBlast's statuses, and which of them a failure is.

use device_runtime::RuntimeError;

use crate::status::{Failure, Status};

/// `CLBlastStatusCode`, as far as it is given here; any code of OpenCL's may be one too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Code(i32);

impl Code {
    pub(super) const INSUFFICIENT_MEMORY: [Self; 3] = [Self(-1011), Self(-1010), Self(-1009)];
    pub(super) const INVALID_BATCH_COUNT: Self = Self(-2049);
    pub(super) const INVALID_COMMAND_QUEUE: Self = Self(-36);
    pub(super) const INVALID_DIMENSION: Self = Self(-1017);
    pub(super) const INVALID_LEADING: [Self; 3] = [Self(-1016), Self(-1015), Self(-1014)];
    pub(super) const INVALID_MATRIX: [Self; 3] = [Self(-1022), Self(-1021), Self(-1020)];
    pub(super) const INVALID_VALUE: Self = Self(-30);
    const BUILD_PROGRAM_FAILURE: Self = Self(-11);
    const INVALID_BINARY: Self = Self(-42);
    const INVALID_MEM_OBJECT: Self = Self(-38);
    const NOT_IMPLEMENTED: Self = Self(-1024);
    const UNEXPECTED_ERROR: Self = Self(-2039);
    const UNKNOWN_ERROR: Self = Self(-2040);

    /// As C has it.
    pub(super) const fn number(self) -> i32 {
        self.0
    }

    /// The number for a failure.
    pub(super) fn of(failure: &Failure) -> i32 {
        Self::from(failure).0
    }
}

impl From<&Failure> for Code {
    fn from(failure: &Failure) -> Self {
        if let Failure::Runtime(RuntimeError::ClassNotShipped(_)) = failure {
            return Self::NOT_IMPLEMENTED;
        }
        match failure.status() {
            Status::OpenCl if failure.opencl_code() != 0 => Self(failure.opencl_code()),
            Status::BadBundle | Status::File | Status::StaleBundle => Self::INVALID_BINARY,
            Status::ForeignObject | Status::Misaligned => Self::INVALID_MEM_OBJECT,
            Status::TooLarge => Self::NOT_IMPLEMENTED,
            Status::InvalidArgument | Status::OutputsOverlap => Self::INVALID_VALUE,
            Status::NoKernel => Self::BUILD_PROGRAM_FAILURE,
            Status::Panicked => Self::UNEXPECTED_ERROR,
            _ => Self::UNKNOWN_ERROR,
        }
    }
}

#[cfg(test)]
mod tests {
    use device_runtime::DeviceError;

    use super::*;

    #[test]
    fn opencls_codes_stay_as_they_are_and_a_panic_is_unexpected() {
        let call = "clEnqueueNDRangeKernel";
        let error = DeviceError::Call { call, code: -5, reason: String::new() };
        assert_eq!(Code::of(&error.into()), -5);
        assert_eq!(Code::of(&Failure::Panicked(String::new())), -2039);
        let value = usize::MAX;
        assert_eq!(Code::of(&Failure::TooLarge { name: "m", value }), -1024);
        let overlap = kernels::ProblemError::OutputsOverlap { need: 2, have: 1 };
        assert_eq!(Code::of(&overlap.into()), -30);
    }
}
