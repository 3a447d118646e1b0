//! Finding the OpenCL library, whatever a system calls it.

use std::env;
use std::sync::OnceLock;

use crate::DeviceError;

/// Names a user's or a board file's choice; several are separated by `;`.
const CHOICE: &str = "GEMMTREE_OPENCL";
/// Where the bindings look for a name other than their own.
const BINDINGS_CHOICE: &str = "OPENCL_DYLIB_PATH";
/// The name that the bindings try by themselves.
const BINDINGS_NAME: &str = "libOpenCL.so.1";

/// Bare names first: the loader of an Android phone may refuse paths.
const NAMES: [&str; 8] = [
    BINDINGS_NAME,
    "libOpenCL.so",
    "libmali.so",
    "libGLES_mali.so",
    "/vendor/lib64/libOpenCL.so",
    "/system/vendor/lib64/libOpenCL.so",
    "/vendor/lib64/egl/libGLES_mali.so",
    "/usr/lib/aarch64-linux-gnu/libmali.so",
];

/// Load the first library that is there and has OpenCL in it, once a process.
///
/// # Errors
/// Every name that was tried, each with its error.
pub(super) fn load() -> Result<(), DeviceError> {
    static LOADED: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    LOADED.get_or_init(find).clone()
}

fn find() -> Result<(), DeviceError> {
    // What names nothing that can be loaded would be passed over by the bindings without a word.
    let choice = env::var(CHOICE).or_else(|_| env::var(BINDINGS_CHOICE)).ok();
    let mut tried = Vec::new();
    for name in candidates(choice.as_deref()) {
        match probe(name) {
            Ok(()) if choice.is_none() && name == BINDINGS_NAME => return Ok(()),
            Ok(()) => {
                // SAFETY: `load` runs this once, before the first OpenCL call of the process;
                // our programs make that call before they start threads.
                #[expect(unsafe_code, reason = "the bindings read their choice from here")]
                unsafe {
                    env::set_var(BINDINGS_CHOICE, name);
                }
                return Ok(());
            }
            Err(error) => tried.push(format!("{name}: {error}")),
        }
    }
    Err(DeviceError::NoLibrary(tried))
}

/// What is tried, in order: a user's choice alone if there is one.
fn candidates(choice: Option<&str>) -> Vec<&str> {
    choice.map_or_else(|| NAMES.to_vec(), |names| names.split(';').collect())
}

/// Whether a library is there and has OpenCL's first entry point.
fn probe(name: &str) -> Result<(), String> {
    // SAFETY: running a library's initialisers is what loading OpenCL means.
    #[expect(unsafe_code, reason = "loading a library runs its code")]
    let library = unsafe { libloading::Library::new(name) }.map_err(reason)?;
    // SAFETY: the symbol is looked up, never called.
    #[expect(unsafe_code, reason = "a look-up is unsafe by its signature")]
    let found = unsafe { library.get::<unsafe extern "C" fn()>(b"clGetPlatformIDs") };
    let result = found.map(|_| ()).map_err(|_| "has no OpenCL entry points".to_owned());
    // Some drivers do not survive being unloaded.
    std::mem::forget(library);
    result
}

/// The loader's own words where there are any.
fn reason(error: libloading::Error) -> String {
    std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_the_only_candidate_and_bare_names_come_first() {
        assert_eq!(candidates(Some("libmine.so")), ["libmine.so"]);
        assert_eq!(candidates(Some("b.so;a.so")), ["b.so", "a.so"]);
        let names = candidates(None);
        let first_path = names.iter().position(|name| name.contains('/')).unwrap();
        assert!(names[..first_path].iter().all(|name| !name.contains('/')));
        assert!(names[first_path..].iter().all(|name| name.contains('/')));
    }

    #[test]
    fn a_missing_library_and_one_without_opencl_are_told_apart() {
        assert!(!probe("libno-such-thing.so").unwrap_err().contains("entry points"));
        assert_eq!(probe("libm.so.6").unwrap_err(), "has no OpenCL entry points");
    }
}
