//! What a command reads it never writes over.

use std::fs;
use std::path::Path;

use anyhow::anyhow;

use crate::failure::Hint as _;

/// Refuse an output that is one of the files read, also where it is forced.
///
/// # Errors
/// It is.
pub(super) fn keep_inputs(output: &Path, inputs: &[&Path]) -> anyhow::Result<()> {
    let same = |path: &Path| {
        let real = |path: &Path| fs::canonicalize(path).ok();
        real(path).is_some() && real(path) == real(output)
    };
    if !inputs.iter().any(|path| same(path)) {
        return Ok(());
    }
    let refused: anyhow::Result<()> =
        Err(anyhow!("`{}` is read by this command; nothing was written", output.display()));
    refused.hint("choose another name")
}
