//! The name of a device, as a user writes it or a file says it.

use trainer::dataset::DatasetError;
use trainer::device_name;

use crate::failure::hinted;

/// The value of `--device`.
pub(super) fn name(text: &str) -> Result<String, String> {
    let fits = device_name::check(text.trim());
    fits.map(|()| text.to_owned()).map_err(|error| format!("{error}; {HINT}"))
}

/// What to do about a name that is none.
pub(super) const HINT: &str = "a name is printable text of at most 255 bytes";

/// The error, with what to do about the name of the device if that is what is wrong.
pub(super) fn explained(error: DatasetError) -> anyhow::Error {
    match error {
        DatasetError::Device { .. } => {
            hinted(error, format_args!("correct the line `# device: …` of the file; {HINT}"))
        }
        _ => error.into(),
    }
}
