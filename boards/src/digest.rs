//! SHA-256 of a file, to compare what was sent with what arrived.

use std::fmt;

use sha2::Digest as _;

/// SHA-256 of some bytes; as text, 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_sha_256() {
        let text = Digest::of(b"abc").to_string();
        assert!(text.starts_with("ba7816bf8f01cfea") && text.len() == 64, "{text}");
    }
}
