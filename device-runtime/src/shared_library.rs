//! Finding a shared library that this program is not linked with, such as another library that
//! multiplies: where the user says, then where the system has them.
#![expect(unsafe_code, reason = "loading a library runs its code")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use libloading::Library;
use libloading::os::unix::{Library as UnixLibrary, RTLD_GLOBAL, RTLD_NOW};

/// A library, loaded until the program ends since not all survive being unloaded, and the name that
/// it was found under.
#[derive(Clone, Debug)]
pub struct Found {
    /// The library.
    pub library: &'static Library,
    /// The name or file that it was loaded by.
    pub path: PathBuf,
}

/// Why a library, or something in it, cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// It lacks a function.
    #[error("the library has no function `{0}`")]
    NoFunction(String),
    /// None of the files tried can be loaded.
    #[error("not found: {}", .0.join("; "))]
    NotFound(Vec<String>),
}

/// Load the first of `names` that is there, in one of `places` (files or folders) if any are
/// given, else where the loader looks. Of the libraries `needed` whichever lies beside it is loaded
/// before, for those that do not say where theirs are.
///
/// # Errors
/// Every file that was tried, each with the loader's words.
pub fn find(places: &[PathBuf], names: &[&str], needed: &[&str]) -> Result<Found, LibraryError> {
    let mut tried = Vec::new();
    for path in candidates(places, names) {
        load_beside(&path, needed);
        // SAFETY: running a library's initialisers is what using it means.
        match unsafe { Library::new(&path) } {
            Ok(library) => return Ok(Found { library: Box::leak(Box::new(library)), path }),
            Err(error) => tried.push(reason(&error)),
        }
    }
    Err(LibraryError::NotFound(tried))
}

fn candidates(places: &[PathBuf], names: &[&str]) -> Vec<PathBuf> {
    if places.is_empty() {
        return names.iter().map(PathBuf::from).collect();
    }
    let inside = |place: &PathBuf| -> Vec<PathBuf> {
        if place.is_dir() {
            names.iter().map(|name| place.join(name)).collect()
        } else {
            vec![place.clone()]
        }
    };
    places.iter().flat_map(inside).collect()
}

fn load_beside(path: &Path, needed: &[&str]) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let beside = needed.iter().filter_map(|name| folder.map(|folder| folder.join(name)));
    for path in beside.filter(|path| path.is_file()) {
        // SAFETY: as in `find`. What is missing is told when the library itself is loaded.
        if let Ok(library) = unsafe { UnixLibrary::open(Some(path), RTLD_NOW | RTLD_GLOBAL) } {
            // It must stay for as long as the library that needs it.
            std::mem::forget(library);
        }
    }
}

fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// The file that a library of this process was loaded from under the name `path`.
#[must_use]
pub fn mapped(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    if path.components().count() > 1 {
        return path.canonicalize().ok();
    }
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let files = maps.lines().filter_map(|line| line.get(line.find('/')?..).map(Path::new));
    named(name, &files.collect())
}

/// The one of `files` that `name` is, or is a link to, in a folder that one of them lies in:
/// `libpeer.so.1` may be a link to `libpeerp-r1.so`, and `libpeerLt.so.1` is another library.
fn named(name: &str, files: &BTreeSet<&Path>) -> Option<PathBuf> {
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let mut real = folders.iter().filter_map(|folder| folder.join(name).canonicalize().ok());
    real.find(|file| files.contains(file.as_path()))
}

/// The function called `name`.
///
/// # Safety
/// `T` is the function's type.
///
/// # Errors
/// The library has none.
pub unsafe fn function<T: Copy>(library: &'static Library, name: &str) -> Result<T, LibraryError> {
    // SAFETY: the caller's promise.
    let symbol = unsafe { library.get::<T>(name.as_bytes()) };
    symbol.map(|symbol| *symbol).map_err(|_| LibraryError::NoFunction(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_places_stand_in_for_the_systems() {
        let names = ["libpeer.so.2", "libpeer.so.1"];
        assert_eq!(candidates(&[], &names), names.map(PathBuf::from));
        let folder = tempfile::tempdir().unwrap();
        let places = [folder.path().to_owned(), PathBuf::from("/else/where.so")];
        let expected = [
            folder.path().join(names[0]),
            folder.path().join(names[1]),
            PathBuf::from("/else/where.so"),
        ];
        assert_eq!(candidates(&places, &names), expected);
    }

    #[test]
    fn a_library_that_begins_alike_is_not_the_one_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let file = |name: &str| {
            let path = folder.join(name);
            fs::write(&path, "").unwrap();
            path
        };
        let (other, link_to) = (file("libpeerLt.so.1"), file("libpeerp-r1.so"));
        std::os::unix::fs::symlink(&link_to, folder.join("libpeer.so.1")).unwrap();
        let (other, link_to) = (other.as_path(), link_to.as_path());
        let of = |name: &str, files: &[&Path]| named(name, &files.iter().copied().collect());
        assert_eq!(of("libpeer.so.1", &[other, link_to]), Some(link_to.to_owned()));
        assert_eq!(of("libpeerLt.so.1", &[other, link_to]), Some(other.to_owned()));
        // Not loaded, though it is there.
        assert_eq!(of("libpeer.so.1", &[other]), None);
        assert_eq!(of("libpeer.so", &[other, link_to]), None);
    }

    #[test]
    fn what_is_not_there_is_told_by_every_name_tried() {
        let error = find(&[], &["libno-such-peer.so.2", "libno-such-peer.so.1"], &[]).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("libno-such-peer.so.2") && error.contains("libno-such-peer.so.1"));
        let found = find(&[], &["libno-such-peer.so", "libm.so.6"], &[]).unwrap();
        assert_eq!(found.path, Path::new("libm.so.6"));
        // SAFETY: never called.
        let missing = unsafe { function::<extern "C" fn()>(found.library, "no_such_function") };
        assert!(missing.unwrap_err().to_string().contains("no_such_function"));
    }
}
