//! A configuration as the model carries it; what the numbers mean is the kernels' affair.

use serde::{Deserialize, Serialize};

/// Most parameters a configuration can have.
pub const MAX_PARAMETERS: usize = 16;

/// A kernel family by number and the values of its parameters (FORMAT.md §3).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PackedConfig {
    /// The family's number in the kernel registry, which only ever grows.
    pub family: u8,
    /// Values in the order that the family declares.
    pub parameters: heapless::Vec<u16, MAX_PARAMETERS>,
}
