//! The fixed header of a model: magic, version, length and checksum (FORMAT.md §1 and §8).

use crc::{CRC_32_ISO_HDLC, Crc, Table};

use crate::{ModelError, ProblemClass};

/// The format's newest major and minor version (FORMAT.md §8); the minor ones before are read too.
pub const FORMAT_VERSION: (u8, u8) = (1, 1);

/// Problem classes that minor version 0 knows.
const FIRST_CLASSES: u8 = 8;

const HEADER: usize = 16;
const MAGIC: [u8; 4] = *b"GTM\x1a";

/// One table of 1 KiB: eight times the speed of none, a sixteenth of the size of the fastest.
static CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// A minor version that is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Minor(u8);

impl Minor {
    /// The class with this number, if the version has it.
    pub(crate) const fn class(self, number: u8) -> Option<ProblemClass> {
        match self {
            Self(0) if number >= FIRST_CLASSES => None,
            _ => ProblemClass::from_index(number),
        }
    }

    /// The earliest version that has all classes with these numbers.
    #[cfg(feature = "encode")]
    pub(crate) fn of_classes(numbers: impl IntoIterator<Item = u8>) -> Self {
        Self(u8::from(numbers.into_iter().any(|number| number >= FIRST_CLASSES)))
    }
}

/// The header for `payload`, whose length is `length`.
#[cfg(feature = "encode")]
pub(crate) fn write(minor: Minor, payload: &[u8], length: u32) -> [u8; HEADER] {
    let (major, Minor(minor)) = (FORMAT_VERSION.0, minor);
    let [l0, l1, l2, l3] = length.to_le_bytes();
    let [m0, m1, m2, m3] = MAGIC;
    let start = [m0, m1, m2, m3, major, minor, 0, 0, l0, l1, l2, l3];
    let mut header = [0; HEADER];
    let (front, back) = header.split_at_mut(start.len());
    front.copy_from_slice(&start);
    back.copy_from_slice(&checksum(&start, payload).to_le_bytes());
    header
}

/// Check the header of `blob` and return its minor version and its payload.
///
/// The version comes before the lengths and the checksum, which another version may lay out
/// otherwise.
pub(crate) fn payload(blob: &[u8]) -> Result<(Minor, &[u8]), ModelError> {
    let truncated = |need| ModelError::Truncated { need, have: blob.len() };
    let (start, rest) = blob.split_first_chunk::<12>().ok_or(truncated(HEADER))?;
    let [m0, m1, m2, m3, major, minor, r0, r1, l0, l1, l2, l3] = *start;
    if [m0, m1, m2, m3] != MAGIC {
        return Err(ModelError::Magic);
    }
    if major != FORMAT_VERSION.0 || minor > FORMAT_VERSION.1 {
        return Err(ModelError::Version { found: (major, minor), supported: FORMAT_VERSION });
    }
    let (sum, payload) = rest.split_first_chunk::<4>().ok_or(truncated(HEADER))?;
    let need = usize::try_from(u32::from_le_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
    if payload.len() < need {
        return Err(truncated(HEADER.saturating_add(need)));
    }
    if payload.len() > need {
        return Err(ModelError::TrailingBytes { extra: payload.len() - need });
    }
    if u32::from_le_bytes(*sum) != checksum(start, payload) {
        return Err(ModelError::Checksum);
    }
    if [r0, r1] != [0, 0] {
        return Err(ModelError::Reserved);
    }
    Ok((Minor(minor), payload))
}

/// CRC-32 of all but the checksum's own four bytes.
fn checksum(start: &[u8], payload: &[u8]) -> u32 {
    let mut digest = CRC.digest();
    digest.update(start);
    digest.update(payload);
    digest.finalize()
}

#[cfg(all(test, feature = "encode"))]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn the_checksum_is_the_catalogued_crc_32() {
        assert_eq!(checksum(b"1234", b"56789"), 0xCBF4_3926);
        assert_eq!(checksum(b"", b""), 0);
    }

    #[test]
    fn an_empty_payload_passes_here_in_every_version() {
        for minor in [Minor(0), Minor(1)] {
            assert_eq!(payload(&write(minor, &[], 0)), Ok((minor, &[][..])));
        }
    }

    #[test]
    fn the_version_is_the_earliest_that_has_the_classes() {
        assert_eq!(Minor::of_classes([]), Minor(0));
        assert_eq!(Minor::of_classes([0, 7]), Minor(0));
        assert_eq!(Minor::of_classes([0, 8, 1]), Minor(1));
        for number in 0..=255 {
            let class = ProblemClass::from_index(number);
            assert_eq!(Minor(1).class(number), class);
            assert_eq!(Minor(0).class(number), class.filter(|_| number < 8));
        }
    }

    #[test]
    fn a_reserved_byte_is_refused_even_with_a_right_checksum() {
        for place in [6, 7] {
            let mut blob = Vec::from(write(Minor(0), b"abc", 3));
            blob.extend(b"abc");
            blob[place] = 1;
            let sum = checksum(&blob[..12], b"abc");
            blob[12..16].copy_from_slice(&sum.to_le_bytes());
            assert_eq!(payload(&blob), Err(ModelError::Reserved));
        }
    }

    #[test]
    fn a_foreign_version_is_named_before_anything_else_is_read() {
        let mut foreign = *b"GTM\x1a\x02\x07\x01\x01\xff\xff\xff\xff";
        for found in [(2, 7), (2, 0), (0, 0), (0, 1), (1, 2), (1, 255)] {
            (foreign[4], foreign[5]) = found;
            let expected = ModelError::Version { found, supported: FORMAT_VERSION };
            assert_eq!(payload(&foreign), Err(expected));
        }
    }

    #[test]
    fn a_length_of_four_gibibytes_is_only_a_truncation() {
        let mut blob = write(Minor(0), &[], 0);
        blob[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        let need = HEADER.saturating_add(u32::MAX as usize);
        assert_eq!(payload(&blob), Err(ModelError::Truncated { need, have: HEADER }));
    }
}
