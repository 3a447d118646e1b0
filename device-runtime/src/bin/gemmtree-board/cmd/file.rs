//! Files: read whole with a name in the error, replaced atomically.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};
use device_runtime::network::Record;
use kernels::bundle::{Bundle, BundleError};

pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    device_runtime::file::read(path).with_context(|| format!("could not read `{}`", path.display()))
}

/// A bundle may be replaced; anything else that is there may be worth more than a bundle.
pub(super) fn check_bundle_target(path: &Path) -> anyhow::Result<()> {
    check_target(path, "a bundle", |there| {
        !matches!(Bundle::parse(there), Err(BundleError::Magic | BundleError::ModelNotBundle))
    })
}

/// The same for the samples of a network.
pub(super) fn check_samples_target(path: &Path) -> anyhow::Result<()> {
    check_target(path, "a run of a network", |there| {
        there.is_empty() || Record::is_one(&String::from_utf8_lossy(there))
    })
}

/// Whether a file can be written, before there is anything to write.
pub(super) fn check_writable(path: &Path) -> anyhow::Result<()> {
    let failed = || format!("could not write `{}`", path.display());
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        bail!("`{}` is there, but is not a file; name another one", path.display());
    }
    let folder = || format!("the folder `{}`", device_runtime::file::folder(path).display());
    device_runtime::file::check_target(path).with_context(folder).with_context(failed)
}

fn check_target(path: &Path, what: &str, is_one: impl Fn(&[u8]) -> bool) -> anyhow::Result<()> {
    check_writable(path)?;
    let there = match device_runtime::file::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        there => there.with_context(|| format!("could not write `{}`", path.display()))?,
    };
    if !is_one(&there) {
        bail!("`{}` is there, but is not {what}; name another file", path.display());
    }
    Ok(())
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
