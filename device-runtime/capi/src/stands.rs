//! From bytes to kernels that run here: up the ladder, or as they are and not otherwise.

use device_runtime::ladder::{InProcess, Options, Report, Rung, Source, climb};
use device_runtime::{Device, OpenCl, RuntimeError};
use kernels::bundle::{Bundle, BundleError};

use crate::status::Failure;

/// A bundle of this driver, and how it came to be.
pub(crate) struct Stands {
    /// The bundle, whose model is that of what was given.
    pub(crate) bytes: Vec<u8>,
    /// The lowest rung that a kernel stands on.
    pub(crate) rung: Rung,
    /// What a user should know, a line each.
    pub(crate) warnings: String,
}

/// Try every program in this process, and build from source what no binary serves.
///
/// # Errors
/// The bytes are no bundle or model; or no kernel can be used.
pub(crate) fn climbed(device: &OpenCl, source: Source<'_>) -> Result<(Stands, Report), Failure> {
    let standing = climb(device, source, Options::default(), &mut InProcess(device))?;
    let (bytes, report) = standing.into_parts();
    let warnings: Vec<String> = report.warnings().iter().map(ToString::to_string).collect();
    let warnings = warnings.join("\n");
    Ok((Stands { bytes, rung: report.rung, warnings }, report))
}

/// What these bytes are: a bundle, unless they are a model.
pub(crate) fn source(bytes: &[u8]) -> Source<'_> {
    match Bundle::parse(bytes) {
        Err(BundleError::ModelNotBundle) => Source::Model(bytes),
        _ => Source::Bundle(bytes),
    }
}

/// Take a bundle as it is.
///
/// # Errors
/// It is none, or of another driver.
pub(crate) fn strict(device: &OpenCl, bytes: Vec<u8>) -> Result<Stands, Failure> {
    let (made_for, here) = (Bundle::parse(&bytes)?.key, device.info().driver_key());
    if made_for != here {
        let (made_for, here) = (Box::new(made_for), Box::new(here));
        return Err(RuntimeError::StaleBinary { made_for, here }.into());
    }
    Ok(Stands { bytes, rung: Rung::Binary, warnings: String::new() })
}

/// `gemmtree_rung`.
pub(crate) const fn code(rung: Rung) -> i32 {
    match rung {
        Rung::Binary => 0,
        Rung::ForeignBinary => 1,
        Rung::Source => 2,
        Rung::Universal => 3,
    }
}
