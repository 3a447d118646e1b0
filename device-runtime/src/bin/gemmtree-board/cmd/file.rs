//! Files: read whole with a name in the error, replaced atomically.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};
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
    device_runtime::file::replace(path, bytes).with_context(failed)
}

/// Check a bundle's bytes, read from `path`.
pub(super) fn parse<'a>(path: &Path, bytes: &'a [u8]) -> anyhow::Result<Bundle<'a>> {
    Bundle::parse(bytes).with_context(|| format!("`{}` cannot be used", path.display()))
}
