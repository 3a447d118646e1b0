//! CLBlast, loaded where it is installed, to compare with: as shipped, and with parameters that its
//! own tuners found on the device.
#![expect(unsafe_code, reason = "the library is called through its C interface")]

mod parameters;
mod second;

use std::ffi::{c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use cl3::types::{cl_command_queue, cl_device_id, cl_event, cl_mem};
use kernels::Problem;
use selector_core::ElementType;

use crate::shared_library::{self, Found, LibraryError};
use parameters::Parameters;

const NAMES: [&str; 2] = ["libclblast.so.1", "libclblast.so"];
const SUCCESS: c_int = 0;
const ROW_MAJOR: c_int = 101;
const NOT_TRANSPOSED: c_int = 111;
const TRANSPOSED: c_int = 112;
const SINGLE: c_int = 32;

/// What stands before the names of its tuners that were stopped before they had tried all.
pub const CUT_SHORT: &str = "cut short";

type Sgemm = unsafe extern "C" fn(
    layout: c_int,
    transpose_a: c_int,
    transpose_b: c_int,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a: cl_mem,
    offset_a: usize,
    leading_a: usize,
    b: cl_mem,
    offset_b: usize,
    leading_b: usize,
    beta: f32,
    c: cl_mem,
    offset_c: usize,
    leading_c: usize,
    queue: *mut cl_command_queue,
    event: *mut cl_event,
) -> c_int;

type SgemmStridedBatched = unsafe extern "C" fn(
    layout: c_int,
    transpose_a: c_int,
    transpose_b: c_int,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a: cl_mem,
    offset_a: usize,
    leading_a: usize,
    stride_a: usize,
    b: cl_mem,
    offset_b: usize,
    leading_b: usize,
    stride_b: usize,
    beta: f32,
    c: cl_mem,
    offset_c: usize,
    leading_c: usize,
    stride_c: usize,
    batch: usize,
    queue: *mut cl_command_queue,
    event: *mut cl_event,
) -> c_int;

type OverrideParameters = unsafe extern "C" fn(
    device: *mut c_void,
    kernel: *const c_char,
    precision: c_int,
    count: usize,
    names: *const *const c_char,
    values: *const usize,
) -> c_int;

/// A CLBlast of this process.
pub struct Clblast {
    version: String,
    one: Sgemm,
    batched: SgemmStridedBatched,
}

/// Why CLBlast cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClblastError {
    /// No second copy of the library for the tuned one, whose parameters are its own.
    #[error("`{}` cannot be loaded twice: {why}", path.display())]
    Copy {
        /// The library.
        path: PathBuf,
        /// What is in the way.
        why: String,
    },
    /// It is not there, or is too old.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// Parameters that were found on another device.
    #[error("the parameters are those of `{theirs}`, but this is `{here}`")]
    OtherDevice {
        /// Where they were found.
        theirs: String,
        /// The device here.
        here: String,
    },
    /// A file of parameters cannot be read.
    #[error("`{}` has no parameters of CLBlast: {why}", path.display())]
    Parameters {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// It refuses a call.
    #[error("CLBlast refuses {what} ({status})")]
    Refused {
        /// What it was asked for.
        what: String,
        /// Its status code.
        status: i32,
    },
    /// A class or size that is not handed to it.
    #[error("CLBlast is only asked for problems in f32 whose sizes fit this machine's")]
    Unsupported,
}

impl Clblast {
    /// As shipped, from `places` (files or folders) if any are given, else where the loader looks.
    ///
    /// # Errors
    /// Every file that was tried; or the library lacks a function.
    pub fn shipped(places: &[PathBuf]) -> Result<Self, ClblastError> {
        let found = shared_library::find(places, &NAMES, &[])?;
        Self::new(&found, version(&found.path))
    }

    /// A second one with the parameters of a file that `benches/peers/tune-clblast.sh` wrote on the
    /// device of this name. A library's parameters are one for all its users, so it is a copy with
    /// its own.
    ///
    /// # Safety
    /// `device` is a valid device of OpenCL.
    ///
    /// # Errors
    /// As [`Self::shipped`]; the file cannot be read, or is another device's; the library refuses.
    pub unsafe fn tuned(
        places: &[PathBuf],
        parameters: &Path,
        device: cl_device_id,
        name: &str,
    ) -> Result<Self, ClblastError> {
        let parameters = Parameters::read(parameters)?;
        parameters.check_device(name)?;
        let shipped = shared_library::find(places, &NAMES, &[])?;
        let found = second::load(&shipped)?;
        let tuned = Self::new(&found, format!("{}, {parameters}", version(&shipped.path)))?;
        // SAFETY: the type is that of the library's C header.
        let set: OverrideParameters =
            unsafe { shared_library::function(found.library, "CLBlastOverrideParameters")? };
        for (kernel, parameters) in parameters.kernels() {
            let names: Vec<_> = parameters.iter().map(|(name, _)| name.as_ptr()).collect();
            let values: Vec<_> = parameters.iter().map(|(_, value)| *value).collect();
            // SAFETY: texts and arrays outlive the call, and are as long as it says; the caller
            // vouches for the device.
            let status = unsafe {
                set(device, kernel.as_ptr(), SINGLE, names.len(), names.as_ptr(), values.as_ptr())
            };
            if status != SUCCESS {
                let what = format!("the parameters of {}", kernel.to_string_lossy());
                return Err(ClblastError::Refused { what, status });
            }
        }
        Ok(tuned)
    }

    fn new(found: &Found, version: String) -> Result<Self, ClblastError> {
        // SAFETY: the types are those of the library's C header, the same since version 1.4.
        let (one, batched) = unsafe {
            (
                shared_library::function(found.library, "CLBlastSgemm")?,
                shared_library::function(found.library, "CLBlastSgemmStridedBatched")?,
            )
        };
        Ok(Self { version, one, batched })
    }

    /// Which library this is, and with which parameters.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Enqueue a multiplication in f32; the event of its last kernel goes to `event` unless that is
    /// null.
    ///
    /// # Safety
    /// Queue and buffers are valid and of one context; `event` is null or may be written.
    ///
    /// # Errors
    /// [`ClblastError::Unsupported`], or the library refuses.
    pub unsafe fn gemm(
        &self,
        queue: cl_command_queue,
        problem: &Problem,
        buffers: [cl_mem; 3],
        event: *mut cl_event,
    ) -> Result<(), ClblastError> {
        let &Problem { class, shape, alpha, beta, a, b, c } = problem;
        if class.element() != ElementType::F32 {
            return Err(ClblastError::Unsupported);
        }
        let size = |size: u64| usize::try_from(size).map_err(|_| ClblastError::Unsupported);
        let [m, n, k, batch] =
            [shape.m, shape.n, shape.k, shape.batch].map(|dimension| dimension as usize);
        let [memory_a, memory_b, memory_c] = buffers;
        let (from_a, from_b, from_c) = (size(a.offset)?, size(b.offset)?, size(c.offset)?);
        let (lead_a, lead_b, lead_c) = (size(a.leading)?, size(b.leading)?, size(c.leading)?);
        let (step_a, step_b, step_c) = (size(a.stride)?, size(b.stride)?, size(c.stride)?);
        let as_told = |transposed| if transposed { TRANSPOSED } else { NOT_TRANSPOSED };
        let (of_a, of_b) = (as_told(class.transposes.a()), as_told(class.transposes.b()));
        let mut queue = queue;
        let queue = &raw mut queue;
        // SAFETY: the caller vouches for queue, buffers and event.
        let status = unsafe {
            if batch == 1 {
                (self.one)(
                    ROW_MAJOR, of_a, of_b, m, n, k, alpha, memory_a, from_a, lead_a, memory_b,
                    from_b, lead_b, beta, memory_c, from_c, lead_c, queue, event,
                )
            } else {
                (self.batched)(
                    ROW_MAJOR, of_a, of_b, m, n, k, alpha, memory_a, from_a, lead_a, step_a,
                    memory_b, from_b, lead_b, step_b, beta, memory_c, from_c, lead_c, step_c,
                    batch, queue, event,
                )
            }
        };
        if status == SUCCESS {
            return Ok(());
        }
        Err(ClblastError::Refused { what: format!("{shape}"), status })
    }
}

/// The file's name after following links: Debian's ends with the version.
fn version(path: &Path) -> String {
    let named = shared_library::mapped(path).unwrap_or_else(|| path.to_owned());
    let name = named.file_name().map(|name| name.to_string_lossy().into_owned());
    format!("CLBlast, {}", name.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_is_not_every_name_tried_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let error = Clblast::shipped(&[folder.path().to_owned()]).err().unwrap();
        let told = error.to_string();
        assert!(NAMES.iter().all(|name| told.contains(name)), "{told}");
    }
}
