//! The payload: who was measured, the kernel list, the tree heads and the entries
//! (FORMAT.md §2 to §4).

use serde::{Deserialize, Serialize};

use crate::entry::ENTRY;
use crate::{
    Feature, MAX_ENTRIES, MAX_FEATURES, MAX_KERNELS, MAX_PARAMETERS, ModelError, PackedConfig,
    ProblemClass,
};

/// The payload up to the kernel list, which has `kernels` configurations.
#[derive(Serialize)]
pub(crate) struct Head<'a> {
    pub(crate) device: &'a str,
    pub(crate) driver: &'a str,
    pub(crate) method: &'a str,
    pub(crate) space: Option<u64>,
    pub(crate) score: Option<u16>,
    /// Numbers of the features, a byte each.
    pub(crate) features: &'a [u8],
    pub(crate) kernels: u16,
}

/// Where the tree of a class begins.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct TreeHead {
    pub(crate) class: u8,
    pub(crate) measured_as: u8,
    pub(crate) root: u16,
}

pub(crate) type Features = heapless::Vec<Feature, MAX_FEATURES>;
pub(crate) type TreeHeads = heapless::Vec<TreeHead, { ProblemClass::COUNT }>;

/// A payload taken apart; what it says has not been checked.
pub(crate) struct Payload<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) features: Features,
    pub(crate) kernels: Kernels<'a>,
    pub(crate) trees: TreeHeads,
    pub(crate) entries: &'a [[u8; ENTRY]],
}

impl<'a> Payload<'a> {
    /// Take `bytes` apart, to the last one.
    pub(crate) fn read(mut bytes: &'a [u8]) -> Result<Self, ModelError> {
        let head = Head::read(&mut bytes)?;
        let features = read_features(head.features)?;
        let kernels = Kernels::read(usize::from(head.kernels), &mut bytes)?;
        let trees = read_tree_heads(&mut bytes)?;
        let entries = take_bytes(&mut bytes)?;
        if !bytes.is_empty() {
            return Err(ModelError::Payload);
        }
        Ok(Self { head, features, kernels, trees, entries: whole_entries(entries)? })
    }
}

// Read field by field, which takes half the code that serde derives for a struct.
impl<'a> Head<'a> {
    fn read(bytes: &mut &'a [u8]) -> Result<Self, ModelError> {
        Ok(Self {
            device: take_text(bytes)?,
            driver: take_text(bytes)?,
            method: take_text(bytes)?,
            space: take(bytes)?,
            score: take(bytes)?,
            features: take_bytes(bytes)?,
            kernels: take(bytes)?,
        })
    }
}

impl TreeHead {
    fn read(bytes: &mut &[u8]) -> Result<Self, ModelError> {
        Ok(Self { class: take(bytes)?, measured_as: take(bytes)?, root: take(bytes)? })
    }
}

/// Decode one value from the front of `bytes` and move behind it.
fn take<'a, T: Deserialize<'a>>(bytes: &mut &'a [u8]) -> Result<T, ModelError> {
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(|_| ModelError::Payload)?;
    *bytes = rest;
    Ok(value)
}

/// Bytes behind their length. That is a u32 on every machine: postcard's own lengths allow as many
/// digits as the machine's words have.
fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], ModelError> {
    let length = usize::try_from(take::<u32>(bytes)?).map_err(|_| ModelError::Payload)?;
    let (taken, rest) = bytes.split_at_checked(length).ok_or(ModelError::Payload)?;
    *bytes = rest;
    Ok(taken)
}

fn take_text<'a>(bytes: &mut &'a [u8]) -> Result<&'a str, ModelError> {
    str::from_utf8(take_bytes(bytes)?).map_err(|_| ModelError::Payload)
}

/// The count of a list, compared before anything is stored.
fn take_count(
    bytes: &mut &[u8],
    have: usize,
    too_many: impl Fn(usize) -> ModelError,
) -> Result<usize, ModelError> {
    let need = usize::try_from(take::<u32>(bytes)?).unwrap_or(usize::MAX);
    if need > have { Err(too_many(need)) } else { Ok(need) }
}

fn read_features(numbers: &[u8]) -> Result<Features, ModelError> {
    let too_many = ModelError::TooManyFeatures { need: numbers.len(), have: MAX_FEATURES };
    let mut features = Features::new();
    for number in numbers {
        let feature = Feature::from_index(*number).ok_or(ModelError::FeatureUnknown(*number))?;
        if features.contains(&feature) {
            return Err(ModelError::FeatureTwice(*number));
        }
        features.push(feature).map_err(|_| too_many)?;
    }
    Ok(features)
}

/// The configurations of a kernel list, each decoded when it is asked for.
#[derive(Clone, Debug)]
pub struct Kernels<'a> {
    left: usize,
    bytes: &'a [u8],
}

impl<'a> Kernels<'a> {
    /// Check `count` configurations at the front of `rest` and move behind them.
    fn read(count: usize, rest: &mut &'a [u8]) -> Result<Self, ModelError> {
        if count > MAX_KERNELS {
            return Err(ModelError::TooManyKernels { need: count, have: MAX_KERNELS });
        }
        let bytes = *rest;
        for kernel in 1..=count {
            skip_config(kernel, rest)?;
        }
        Ok(Self { left: count, bytes })
    }
}

impl Iterator for Kernels<'_> {
    type Item = PackedConfig;

    fn next(&mut self) -> Option<PackedConfig> {
        self.left = self.left.checked_sub(1)?;
        // Checked once already, so this succeeds.
        take(&mut self.bytes).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Kernels<'_> {}

/// Check configuration `kernel`, from 1, and move behind it.
fn skip_config(kernel: usize, bytes: &mut &[u8]) -> Result<(), ModelError> {
    let have = MAX_PARAMETERS;
    let _family: u8 = take(bytes)?;
    let count =
        take_count(bytes, have, |need| ModelError::TooManyParameters { kernel, need, have })?;
    for _ in 0..count {
        let _value: u16 = take(bytes)?;
    }
    Ok(())
}

fn read_tree_heads(bytes: &mut &[u8]) -> Result<TreeHeads, ModelError> {
    let have = ProblemClass::COUNT;
    let too_many = |need| ModelError::TooManyClasses { need, have };
    let need = take_count(bytes, have, too_many)?;
    let mut heads = TreeHeads::new();
    for _ in 0..need {
        heads.push(TreeHead::read(bytes)?).map_err(|_| too_many(need))?;
    }
    Ok(heads)
}

fn whole_entries(bytes: &[u8]) -> Result<&[[u8; ENTRY]], ModelError> {
    let (entries, ragged) = bytes.as_chunks::<ENTRY>();
    if !ragged.is_empty() {
        return Err(ModelError::RaggedTrees { have: bytes.len() });
    }
    if entries.len() > MAX_ENTRIES {
        return Err(ModelError::TooManyEntries { need: entries.len(), have: MAX_ENTRIES });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_decode_as_the_format_says() {
        let decoded = |mut bytes: &[u8]| take::<u16>(&mut bytes).map(|value| (value, bytes.len()));
        assert_eq!(decoded(&[0xFF, 0xFF, 0x03]), Ok((65535, 0)));
        assert_eq!(decoded(&[0xFF, 0xFF, 0x07]), Err(ModelError::Payload));
        assert_eq!(decoded(&[0xFF]), Err(ModelError::Payload));
        assert_eq!(decoded(&[0x85, 0x00, 0x09]), Ok((5, 1)));
        assert_eq!(decoded(&[0x85, 0x80, 0x00]), Ok((5, 0)));
    }

    #[test]
    fn a_list_that_is_too_long_names_need_and_have() {
        let long = [0, 17];
        let expected = ModelError::TooManyParameters { kernel: 2, need: 17, have: 16 };
        assert_eq!(skip_config(2, &mut &long[..]), Err(expected));
        let huge = [0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1, 2];
        let need = u32::MAX as usize;
        let expected = ModelError::TooManyParameters { kernel: 1, need, have: 16 };
        assert_eq!(skip_config(1, &mut &huge[..]), Err(expected));
    }

    #[test]
    fn a_list_that_is_too_short_does_not_decode() {
        assert_eq!(skip_config(1, &mut &[7, 4, 1, 2][..]), Err(ModelError::Payload));
        assert!(matches!(read_tree_heads(&mut &[1, 0, 0][..]), Err(ModelError::Payload)));
    }

    #[test]
    fn a_configuration_is_its_family_and_values() {
        let bytes = [7, 3, 1, 0xAC, 0x02, 0, 99];
        let mut rest = &bytes[..];
        let config: PackedConfig = take(&mut rest).unwrap();
        assert_eq!((config.family, &config.parameters[..]), (7, &[1, 300, 0][..]));
        assert_eq!(rest, [99]);
        let mut rest = &bytes[..];
        assert_eq!(skip_config(1, &mut rest), Ok(()));
        assert_eq!(rest, [99]);
    }
}
