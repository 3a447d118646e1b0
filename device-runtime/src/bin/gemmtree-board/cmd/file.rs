//! Files: read whole with a name in the error, replaced atomically.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, bail};
use device_runtime::{OpenCl, Runtime};
use kernels::bundle::{Bundle, BundleError};

pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("could not read `{}`", path.display()))
}

/// A bundle may be replaced; anything else that is there may be worth more than a bundle.
pub(super) fn check_target(path: &Path) -> anyhow::Result<()> {
    let there = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
        Ok(there) if !there.is_file() => {
            bail!("`{}` is there, but is not a file; name another one", path.display())
        }
        Ok(_) => fs::read(path),
    };
    let there = there.with_context(|| format!("could not write `{}`", path.display()))?;
    match Bundle::parse(&there) {
        Err(BundleError::Magic | BundleError::ModelNotBundle) => {
            bail!("`{}` is there, but is not a bundle; name another file", path.display())
        }
        _ => Ok(()),
    }
}

/// Write beside the old file, sync, rename: a reader sees the old file or the new one.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let failed = || format!("could not write `{}`", path.display());
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        bail!("`{}` is there, but is not a file", path.display());
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = temporary(folder).with_context(failed)?;
    file.write_all(bytes).with_context(failed)?;
    file.as_file().sync_all().with_context(failed)?;
    file.persist(path).with_context(failed)?;
    Ok(())
}

/// A new file that whoever may read the folder's files may read too.
fn temporary(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
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

/// Check a bundle's bytes, read from `path`.
pub(super) fn parse<'a>(path: &Path, bytes: &'a [u8]) -> anyhow::Result<Bundle<'a>> {
    Bundle::parse(bytes).with_context(|| format!("`{}` cannot be used", path.display()))
}

/// Load a bundle on a device, from binaries only.
pub(super) fn load<'a>(
    path: &Path,
    device: OpenCl,
    bundle: &Bundle<'a>,
) -> anyhow::Result<Runtime<'a, OpenCl>> {
    Runtime::load(device, bundle).with_context(|| format!("could not load `{}`", path.display()))
}
