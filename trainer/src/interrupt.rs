//! Ctrl-C and a request to end: noticed, so that work in hand is kept.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

static STOP: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();

/// What a shell expects of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// A flag that is set from the first Ctrl-C on; a second one ends the program at once.
///
/// # Errors
/// The system does not let us listen.
pub(crate) fn flag() -> anyhow::Result<&'static AtomicBool> {
    let install = || ctrlc::set_handler(on_signal).map_err(|error| error.to_string());
    let installed = INSTALLED.get_or_init(install).clone();
    installed.map_err(anyhow::Error::msg).context("could not prepare for Ctrl-C")?;
    Ok(&STOP)
}

fn on_signal() {
    if STOP.swap(true, Ordering::Relaxed) {
        std::process::exit(INTERRUPTED);
    }
}
