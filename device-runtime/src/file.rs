//! Files that are replaced whole: a reader sees the old one or the new one.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Write beside the old file, sync, rename.
///
/// # Errors
/// What is there is no file; or the system's refusal, which leaves all as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is there, but is not a file"));
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = temporary(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// [`replace`], after what is there was copied to [`previous`] in the same way; a file that is not there has
/// no previous one.
///
/// # Errors
/// As [`replace`].
pub fn refresh(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::read(path) {
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
    let mut builder = tempfile::Builder::new();
    builder.prefix(".gemmtree-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask takes away what it must.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // The path that `tempfile` adds to its error is one that the user does not know.
    builder.tempfile_in(folder).map_err(|error| error.kind().into())
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
        assert!(refresh(&folder.path().join("none/b.gtb"), b"4").is_err());
    }
}
