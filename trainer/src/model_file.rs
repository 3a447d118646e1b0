//! Model files as the programs on the host read them.

use std::path::{Path, PathBuf};

use kernels::Configuration;
use selector_core::{KernelId, Model, ModelError};

use crate::file;

/// Largest file that is read; no model has so much.
const LARGEST: u64 = 1 << 24;

/// Why a file is not a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelFileError {
    /// The file cannot be read.
    #[error("could not read model `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the file system says.
        source: std::io::Error,
    },
    /// It is no model, or a damaged one.
    #[error("`{path}` is not a model that can be used: {error}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: ModelError,
    },
}

/// The bytes of a model file.
///
/// # Errors
/// [`ModelFileError::Read`].
pub fn read(path: &Path) -> Result<Vec<u8>, ModelFileError> {
    file::read(path, LARGEST)
        .map_err(|source| ModelFileError::Read { path: path.to_owned(), source })
}

/// The model in `blob`, which was read from `path`.
///
/// # Errors
/// [`ModelFileError::Invalid`].
pub fn parse<'a>(path: &Path, blob: &'a [u8]) -> Result<Model<'a>, ModelFileError> {
    Model::parse(blob).map_err(|error| ModelFileError::Invalid { path: path.to_owned(), error })
}

/// Name of a kernel of the model; where this build does not know its family, its numbers.
#[must_use]
pub fn kernel_name(model: &Model<'_>, id: KernelId) -> String {
    let Some(packed) = model.kernel(id) else { return Configuration::universal().to_string() };
    match Configuration::from_packed(&packed) {
        Ok(configuration) => configuration.to_string(),
        Err(_) => format!("family {} {:?} (of another build)", packed.family, packed.parameters),
    }
}
