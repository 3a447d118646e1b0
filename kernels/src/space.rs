//! The kernel space: every configuration worth measuring, and a hash that says which one it is.

use sha2::{Digest, Sha256};

use crate::Configuration;
use crate::families;

/// Every configuration but the universal kernel, family by family, in a fixed order.
#[must_use]
pub fn all() -> Vec<Configuration> {
    let shipped = families::ALL.iter().skip(1);
    shipped.flat_map(|family| families::configurations(*family)).collect()
}

/// The hash of the space's names and sources: measurements with different hashes do not mix.
#[must_use]
pub fn hash() -> u64 {
    let mut digest = Sha256::new();
    for family in families::ALL {
        for text in [family.name(), family.source()] {
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        }
    }
    for configuration in all() {
        digest.update(configuration.to_string());
        digest.update(b"\n");
    }
    let hash = digest.finalize();
    hash.iter().take(8).fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}
