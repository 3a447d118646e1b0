//! Files that are read whole, within limits, and replaced whole: a reader sees the old one or the new one.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use kernels::bundle;

/// Largest file that is read, unless a bundle's header says that it is longer.
pub const LARGEST: u64 = 64 << 20;

/// Bytes of a file's beginning that say how long it is.
const START: u64 = 16;
/// Links to links that are followed.
const LINKS: u32 = 40;

/// The bytes of a bundle, a model, or another small file.
///
/// # Errors
/// It is no regular file: a pipe or a device might never end. It is longer than [`LARGEST`] and than its header
/// says. Or the system's refusal.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let refused = |why: String| Err(io::Error::new(ErrorKind::InvalidData, why));
    // Before it is opened, since that alone can wait for a pipe's other end.
    if !fs::metadata(path)?.is_file() {
        return refused("it is there, but is not a file".to_owned());
    }
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(START).read_to_end(&mut bytes)?;
    let most = bundle::announced(&bytes).unwrap_or(0).max(LARGEST);
    file.take((most - START).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return refused(format!("it is longer than {most} bytes"));
    }
    Ok(bytes)
}

/// The folder that a file lies in.
#[must_use]
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Whether [`replace`] could write to `path`, as a file beside it tells that is gone at once.
///
/// # Errors
/// As [`replace`].
pub fn check_target(path: &Path) -> io::Result<()> {
    temporary(folder(&target(path)?)).map(drop)
}

/// Write beside the old file, sync, rename. A link stays one: the file that it leads to is replaced. The new file
/// has the old one's permissions.
///
/// # Errors
/// What is there is no file; or the system's refusal, which leaves all as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = &target(path)?;
    let mut file = temporary(folder(path))?;
    file.write_all(bytes)?;
    if let Ok(there) = fs::metadata(path) {
        file.as_file().set_permissions(there.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The file is there and whole; some systems sync no folders.
    let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// The file that is to be written, where links lead.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = folder(&path).join(to),
            Err(_) if fs::metadata(&path).is_ok_and(|there| !there.is_file()) => {
                return Err(io::Error::new(
                    ErrorKind::InvalidInput,
                    "it is there, but is not a file",
                ));
            }
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "its links lead nowhere"))
}

/// [`replace`], after what is there was copied to [`previous`] in the same way; a file that is not there has
/// no previous one.
///
/// # Errors
/// As [`replace`].
pub fn refresh(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match read(path) {
        Ok(old) => replace(&previous(path), &old)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    replace(path, bytes)
}

/// Where [`refresh`] keeps the old file: `NAME.previous` beside it.
#[must_use]
pub fn previous(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".previous");
    name.into()
}

/// A new file that whoever may read the folder's files may read too.
fn temporary(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut told = None;
    let create = |path: &Path| {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
        file.inspect_err(|error| told = error.raw_os_error())
    };
    let made = tempfile::Builder::new().prefix(".gemmtree-").make_in(folder, create);
    // The path that `tempfile` adds to its error is one that the user does not know.
    made.map_err(|error| told.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refreshed_file_is_kept_beside_the_new_one_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.gtb");
        refresh(&path, b"1").unwrap();
        assert!(!previous(&path).exists());
        refresh(&path, b"2").unwrap();
        refresh(&path, b"3").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"3");
        assert_eq!(fs::read(folder.path().join("b.gtb.previous")).unwrap(), b"2");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(refresh(folder.path(), b"4").is_err());
        let error = refresh(&folder.path().join("none/b.gtb"), b"4").unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn a_link_stays_one_and_the_permissions_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (real, link) = (other.path().join("real"), folder.path().join("link"));
        fs::write(&real, b"1").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        check_target(&link).unwrap();
        replace(&link, b"2").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"2");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
        let round = folder.path().join("round");
        symlink("round", &round).unwrap();
        assert!(replace(&round, b"3").is_err());
    }

    #[test]
    fn what_is_no_file_or_has_no_end_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).is_err());
        let long = folder.path().join("long");
        let file = File::create(&long).unwrap();
        file.set_len(LARGEST).unwrap();
        assert_eq!(read(&long).unwrap().len() as u64, LARGEST);
        file.set_len(LARGEST + 1).unwrap();
        assert!(read(&long).unwrap_err().to_string().contains("longer than 67108864 bytes"));
        // A bundle may be longer, if it says so.
        fs::write(&long, b"GTB\x1a\x00\x02\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00").unwrap();
        let file = OpenOptions::new().write(true).open(&long).unwrap();
        file.set_len(LARGEST + 1).unwrap();
        assert_eq!(read(&long).unwrap().len() as u64, LARGEST + 1);
    }
}
