//! The bundle or model of a folder that is nearest to a device.

use std::path::{Path, PathBuf};
use std::{fs, io};

use device_runtime::file;
use device_runtime::nearest::{Quality, file_name, key_of, nearest, quality};
use kernels::bundle::{Bundle, BundleError, DriverKey};
use selector_core::Model;

/// What is nearest.
pub(super) struct Near {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    pub(super) quality: Quality,
}

impl Near {
    /// The device's own bundle by its name, else the nearest of all; `None` if none is of the device's kind.
    /// What cannot be used is `passed_over`. A folder that is not there has none.
    pub(super) fn find(
        folder: &Path,
        here: &DriverKey,
        passed_over: &mut Vec<String>,
    ) -> Option<Self> {
        let own = folder.join(file_name(here));
        if let Ok((bytes, key)) = read(&own)
            && let Some(quality @ (Quality::Exact | Quality::OtherDriver)) = quality(&key, here)
        {
            return Some(Self { path: own, bytes, quality });
        }
        let (mut paths, mut keys) = (Vec::new(), Vec::new());
        for path in listed(folder) {
            match read(&path) {
                Ok((_, key)) => {
                    paths.push(path);
                    keys.push(key);
                }
                Err(why) => passed_over.push(format!("`{}` is passed over: {why}", path.display())),
            }
        }
        let (at, quality) = nearest(&keys, here)?;
        let path = paths.into_iter().nth(at)?;
        let (bytes, _) = read(&path).ok()?;
        Some(Self { path, bytes, quality })
    }

    /// Whether its choices are those of another device.
    pub(super) fn is_of_another_device(&self) -> bool {
        self.quality > Quality::OtherDriver
    }
}

/// Bundles and models, by name: of two that are equally near the first counts.
fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_ours = |path: &PathBuf| path.extension().is_some_and(|one| one == "gtb" || one == "gtm");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_ours).collect();
    paths.sort();
    paths
}

/// The bytes of a bundle or model, and what it was made for.
fn read(path: &Path) -> Result<(Vec<u8>, DriverKey), String> {
    let bytes = file::read(path).map_err(|error: io::Error| error.to_string())?;
    let key = match Bundle::parse(&bytes) {
        Ok(bundle) => bundle.key,
        Err(BundleError::ModelNotBundle) => {
            key_of(&Model::parse(&bytes).map_err(|error| error.to_string())?)
        }
        Err(error) => return Err(error.to_string()),
    };
    Ok((bytes, key))
}
