//! Which bundle serves a device, where nobody names one in the call.

use std::{env, fs};

use super::cache::Home;
use crate::engine::Engine;
use crate::status::Failure;

/// An engine for a device.
///
/// # Errors
/// No bundle is there.
pub(super) fn engine((context, device): Home) -> Result<Engine, Failure> {
    let path = env::var_os("GEMMTREE_BUNDLE").unwrap_or_default();
    let bundle = fs::read(&path)
        .map_err(|source| Failure::File { path: path.to_string_lossy().into_owned(), source })?;
    Engine::load(context, device, bundle)
}
