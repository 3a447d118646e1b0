//! Comparing kernels with the reference: those of a bundle, or the whole kernel space from source.

mod bundle;
pub(crate) mod cases;
pub(crate) mod guard;
mod sources;

use kernels::Problem;
use kernels::reference::Mismatch;

pub use bundle::{KernelReport, check_bundle};
pub use sources::{Problems, SourceReport, SourceUnit, check_sources};

/// A kernel that computed something else.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "{kernel} is wrong on {}: {mismatch} (class {}, alpha {}, beta {}, A {:?}, B {:?}, C {:?})",
    .problem.shape, .problem.class, .problem.alpha, .problem.beta,
    .problem.a, .problem.b, .problem.c
)]
pub struct Wrong {
    /// Configuration and class.
    pub kernel: String,
    /// The problem.
    pub problem: Problem,
    /// What is wrong.
    pub mismatch: Mismatch,
}
