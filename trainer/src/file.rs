//! Files: read up to a limit, and written so that they appear whole or not at all.

mod read;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) use read::{LARGEST, unpacked};
pub use read::{TooLarge, read, read_unpacked};

/// The bytes of a file that may be about to be replaced; `None` if nothing is there.
///
/// # Errors
/// What is there cannot be read, is a link into a folder that is not there, or is no file: it is not to be replaced then.
pub fn existing(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => through(path).map(|_| None),
        Err(error) => Err(error),
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(there) if !there.is_file() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "is there, but is not a file"))
        }
        Ok(_) => read(path, LARGEST).map(Some),
    }
}

/// Replace the file at `path`, or make it, so that whoever reads it meets the old bytes or the
/// new ones and never a part: a temporary file beside it is written, synced and renamed.
///
/// # Errors
/// What the file system says; the old file is untouched then.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Write through a link, and keep what may be read by whom.
    let target = through(path)?;
    if target.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if fs::metadata(&target).is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is there, but is not a file"));
    }
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut temporary = new_in(folder)?;
    temporary.write_all(bytes)?;
    if let Ok(old) = fs::metadata(&target) {
        temporary.as_file().set_permissions(old.permissions())?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|failed| failed.error)?;
    sync_folder(folder)
}

/// Where a file is written: what a link leads to, even if nothing is there yet.
fn through(path: &Path) -> io::Result<PathBuf> {
    if let Ok(target) = fs::canonicalize(path) {
        return Ok(target);
    }
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&target) else {
            let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
            if target != path && folder.is_some_and(|folder| !folder.is_dir()) {
                let leads =
                    format!("is a link to `{}`, whose folder is not there", target.display());
                return Err(io::Error::new(io::ErrorKind::NotFound, leads));
            }
            return Ok(target);
        };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "is a link that leads in circles"))
}

/// As many links in a row as systems follow.
const MOST_LINKS: usize = 40;

fn new_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".gemmtree-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file; the umask takes away what it must.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // The path that `tempfile` adds to its error is one that the user does not know.
    builder.tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_made_then_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.gtm");
        for bytes in [&b"old and long"[..], b"new"] {
            write_atomically(&path, bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_an_absent_file_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("there");
        assert!(existing(&path).unwrap().is_none());
        fs::write(&path, b"x").unwrap();
        assert_eq!(existing(&path).unwrap().unwrap(), b"x");
        assert_eq!(existing(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        // Reading this would not end.
        let device = existing(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(device.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(existing(&path.join("x")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_nothing_is_written_through_and_one_into_no_folder_is_refused() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("later.gtm", at("link")).unwrap();
        symlink("link", at("link-to-link")).unwrap();
        assert!(existing(&at("link-to-link")).unwrap().is_none());
        write_atomically(&at("link-to-link"), b"x").unwrap();
        assert_eq!(fs::read(at("later.gtm")).unwrap(), b"x");
        assert!(at("link").is_symlink() && at("link-to-link").is_symlink());
        symlink("no/model.gtm", at("lost")).unwrap();
        for error in [existing(&at("lost")).err(), write_atomically(&at("lost"), b"x").err()] {
            let said = error.unwrap().to_string();
            assert!(said.ends_with("no/model.gtm`, whose folder is not there"), "{said}");
        }
    }

    #[test]
    fn where_it_cannot_be_written_nothing_changes() {
        let folder = tempfile::tempdir().unwrap();
        let missing = write_atomically(&folder.path().join("no/model.gtm"), b"x").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let directory = write_atomically(folder.path(), b"x").unwrap_err();
        assert_eq!(directory.kind(), io::ErrorKind::IsADirectory);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
