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

/// Bare names first: the loader of an Android phone may refuse paths. Then, among the paths, loaders and
/// vendors' libraries before drivers that have OpenCL beside other things.
const NAMES: [&str; 21] = [
    BINDINGS_NAME,
    "libOpenCL.so",
    "libOpenCL-pixel.so",
    "libmali.so",
    "libmali.so.1",
    "libGLES_mali.so",
    "libPVROCL.so",
    "/vendor/lib64/libOpenCL.so",
    "/system/vendor/lib64/libOpenCL.so",
    "/system/lib64/libOpenCL.so",
    "/vendor/lib/libOpenCL.so",
    "/system/vendor/lib/libOpenCL.so",
    "/vendor/lib64/libOpenCL-pixel.so",
    "/vendor/lib64/libPVROCL.so",
    "/vendor/lib64/libmali.so",
    "/vendor/lib64/egl/libGLES_mali.so",
    "/system/vendor/lib64/egl/libGLES_mali.so",
    "/vendor/lib/egl/libGLES_mali.so",
    "/usr/lib/aarch64-linux-gnu/libmali.so",
    "/usr/lib/arm-linux-gnueabihf/libmali.so",
    "/usr/lib/mali/libOpenCL.so",
];

/// What a library of OpenCL 1.2 has, and the runtime cannot do without.
const ENTRY_POINTS: [&str; 5] = [
    "clGetPlatformIDs",
    "clCreateContext",
    "clCreateProgramWithBinary",
    "clBuildProgram",
    "clEnqueueNDRangeKernel",
];

/// Why a name is not that of an OpenCL library.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Miss {
    /// It cannot be loaded; the loader's words.
    Absent(String),
    /// It can, but lacks this entry point.
    Lacks(&'static str),
}

/// Load the first library that is there and has OpenCL in it, once a process: of those that `GEMMTREE_OPENCL`
/// names, separated by `;`, else that `OPENCL_DYLIB_PATH` names, else of all the names that systems call it by.
///
/// Whatever uses OpenCL here comes by this first. Where the caller's own code has called OpenCL through the same
/// bindings (`opencl3`, `cl3`) before, they have made their choice, and it holds; a program that does so calls
/// this at its start.
///
/// A library of an unusual name is told to the bindings by an environment variable: when this is first called,
/// no other thread may be changing or reading the environment in C.
///
/// # Errors
/// Every name that was tried, each with its reason: [`DeviceError::NotOpenCl`] if there is a library of such
/// a name, but with no OpenCL in it, else [`DeviceError::NoLibrary`].
pub fn load() -> Result<(), DeviceError> {
    static LOADED: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    LOADED.get_or_init(find).clone()
}

fn find() -> Result<(), DeviceError> {
    // What names nothing that can be loaded would be passed over by the bindings without a word.
    let choice = [CHOICE, BINDINGS_CHOICE].into_iter().find_map(|variable| {
        let names = env::var_os(variable)?.to_string_lossy().into_owned();
        let is_empty = split(&names).is_empty();
        (!is_empty).then_some((variable, names))
    });
    let names = match &choice {
        Some((_, names)) => split(names),
        None => NAMES.to_vec(),
    };
    let found = first(&names, probe).map_err(|error| match (&choice, error) {
        (Some((variable, _)), DeviceError::NoLibrary(tried)) => {
            DeviceError::NoLibrary(named(variable, tried))
        }
        (Some((variable, _)), DeviceError::NotOpenCl(tried)) => {
            DeviceError::NotOpenCl(named(variable, tried))
        }
        (_, error) => error,
    })?;
    let told = env::var_os(BINDINGS_CHOICE);
    let known = told.as_deref().map_or(found == BINDINGS_NAME, |told| told == found);
    if !known {
        // SAFETY: `load` runs this once, before our first OpenCL call of the process, and says what it asks of
        // other threads; our programs make that call before they start any.
        #[expect(unsafe_code, reason = "the bindings read their choice from here")]
        unsafe {
            env::set_var(BINDINGS_CHOICE, found);
        }
    }
    Ok(())
}

/// The names in a variable.
fn split(names: &str) -> Vec<&str> {
    names.split(';').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// The reasons, each with the variable that named the library.
fn named(variable: &str, tried: Vec<String>) -> Vec<String> {
    tried.into_iter().map(|reason| format!("{variable}={reason}")).collect()
}

/// The first of `names` that `probe` finds OpenCL behind.
///
/// # Errors
/// As [`load`].
fn first<'a>(
    names: &[&'a str],
    probe: impl Fn(&str) -> Result<(), Miss>,
) -> Result<&'a str, DeviceError> {
    let mut tried = Vec::new();
    let mut is_there = false;
    for name in names {
        match probe(name) {
            Ok(()) => return Ok(name),
            Err(Miss::Absent(why)) => tried.push(format!("{name}: {why}")),
            Err(Miss::Lacks(entry)) => {
                is_there = true;
                tried.push(format!("{name}: has no {entry}"));
            }
        }
    }
    Err(if is_there { DeviceError::NotOpenCl(tried) } else { DeviceError::NoLibrary(tried) })
}

/// Whether a library is there and has OpenCL's entry points.
fn probe(name: &str) -> Result<(), Miss> {
    // SAFETY: running a library's initialisers is what loading OpenCL means.
    #[expect(unsafe_code, reason = "loading a library runs its code")]
    let library =
        unsafe { libloading::Library::new(name) }.map_err(|error| Miss::Absent(reason(&error)))?;
    let lacks = ENTRY_POINTS.into_iter().find(|entry| {
        // SAFETY: the symbol is looked up, never called.
        #[expect(unsafe_code, reason = "a look-up is unsafe by its signature")]
        let found = unsafe { library.get::<unsafe extern "C" fn()>(entry.as_bytes()) };
        found.is_err()
    });
    // Some drivers do not survive being unloaded.
    std::mem::forget(library);
    lacks.map_or(Ok(()), |entry| Err(Miss::Lacks(entry)))
}

/// The loader's own words where there are any.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A folder in which these names are links to a library of another name.
    fn folder(links: &[(&str, &Path)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, library) in links {
            std::os::unix::fs::symlink(library, folder.path().join(name)).unwrap();
        }
        folder
    }

    /// Look for the names of this list in one folder alone.
    fn look(folder: &Path) -> Result<&'static str, DeviceError> {
        let bare: Vec<&str> = NAMES.into_iter().filter(|name| !name.contains('/')).collect();
        first(&bare, |name| probe(folder.join(name).to_str().unwrap()))
    }

    /// Where the loader found a library of this name.
    fn path_of(library: &str) -> Option<std::path::PathBuf> {
        probe(library).ok().or((library == "libm.so.6").then_some(()))?;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let start = library.split(".so").next().unwrap();
        let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        let is_it =
            |path: &&str| path.rsplit('/').next().is_some_and(|name| name.starts_with(start));
        paths.find(is_it).map(Into::into)
    }

    #[test]
    fn what_names_nothing_between_the_names_of_a_variable_is_passed_over() {
        assert_eq!(split("libx.so;"), ["libx.so"]);
        assert_eq!(split(" ;a.so ; ;/b c/d.so"), ["a.so", "/b c/d.so"]);
        assert!(split(" ; ").is_empty());
    }

    #[test]
    fn bare_names_come_before_paths() {
        let first_path = NAMES.iter().position(|name| name.contains('/')).unwrap();
        assert!(NAMES[first_path..].iter().all(|name| name.starts_with('/')));
        assert_eq!(NAMES[..2], ["libOpenCL.so.1", "libOpenCL.so"]);
    }

    #[test]
    fn the_one_library_of_a_folder_is_found_under_any_of_its_names() {
        let Some(opencl) = path_of(BINDINGS_NAME) else {
            println!("skipped: there is no {BINDINGS_NAME}");
            return;
        };
        for name in ["libOpenCL.so", "libOpenCL.so.1", "libmali.so", "libGLES_mali.so"] {
            assert_eq!(look(folder(&[(name, &opencl)]).path()), Ok(name));
        }
        // One without OpenCL hides none that has it.
        let none = path_of("libm.so.6").unwrap();
        let both = folder(&[("libOpenCL.so.1", &none), ("libmali.so", &opencl)]);
        assert_eq!(look(both.path()), Ok("libmali.so"));
    }

    #[test]
    fn no_library_and_a_library_without_opencl_are_different_errors_that_name_all_that_was_tried() {
        let none = path_of("libm.so.6").unwrap();
        let only = folder(&[("libOpenCL.so.1", &none)]);
        let Err(DeviceError::NotOpenCl(tried)) = look(only.path()) else {
            panic!("no entry points")
        };
        assert_eq!(tried[0], "libOpenCL.so.1: has no clGetPlatformIDs");
        assert!(tried.len() == 7 && tried[6].starts_with("libPVROCL.so: "), "{tried:?}");
        let Err(DeviceError::NoLibrary(tried)) = look(folder(&[]).path()) else { panic!("empty") };
        assert!(tried.len() == 7 && tried[0].contains("cannot open"), "{tried:?}");
        // Nor is a file that is no library.
        let text = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(text.path(), "text").unwrap();
        let linked = folder(&[("libOpenCL.so", text.path())]);
        assert!(matches!(look(linked.path()), Err(DeviceError::NoLibrary(_))));
    }
}
