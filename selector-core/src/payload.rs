//! The payload: who was measured, the kernel list, the tree heads and the entries
//! (FORMAT.md §2 to §4).

use serde::{Deserialize, Serialize};

use crate::entry::ENTRY;
use crate::{MAX_ENTRIES, MAX_KERNELS, MAX_PARAMETERS, ModelError, PackedConfig, ProblemClass};

/// The payload up to the kernel list, which has `kernels` configurations.
#[derive(Deserialize, Serialize)]
pub(crate) struct Head<'a> {
    pub(crate) device: &'a str,
    pub(crate) driver: &'a str,
    pub(crate) method: &'a str,
    pub(crate) space: Option<u64>,
    pub(crate) score: Option<u16>,
    pub(crate) kernels: u16,
}

/// Where the tree of a class begins.
#[derive(Clone, Copy, Deserialize, Serialize)]
pub(crate) struct TreeHead {
    pub(crate) class: u8,
    pub(crate) measured_as: u8,
    pub(crate) root: u16,
}

pub(crate) type Kernels = heapless::Vec<PackedConfig, MAX_KERNELS>;
pub(crate) type TreeHeads = heapless::Vec<TreeHead, { ProblemClass::COUNT }>;

/// A payload taken apart; what it says has not been checked.
pub(crate) struct Payload<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) kernels: Kernels,
    pub(crate) trees: TreeHeads,
    pub(crate) entries: &'a [[u8; ENTRY]],
}

impl<'a> Payload<'a> {
    /// Take `bytes` apart, to the last one.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let (head, rest) = take::<Head<'a>>(bytes)?;
        let (kernels, rest) = read_kernels(usize::from(head.kernels), rest)?;
        let (trees, rest) = read_tree_heads(rest)?;
        let (entries, rest) = take::<&'a [u8]>(rest)?;
        if !rest.is_empty() {
            return Err(ModelError::Payload);
        }
        Ok(Self { head, kernels, trees, entries: whole_entries(entries)? })
    }
}

/// Decode one value from the front of `bytes`; returns what follows it.
fn take<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), ModelError> {
    postcard::take_from_bytes(bytes).map_err(|_| ModelError::Payload)
}

/// The count of a list, compared before anything is stored.
fn take_count(
    bytes: &[u8],
    have: usize,
    too_many: impl Fn(usize) -> ModelError,
) -> Result<(usize, &[u8]), ModelError> {
    let (count, rest) = take::<u32>(bytes)?;
    let need = usize::try_from(count).unwrap_or(usize::MAX);
    if need > have { Err(too_many(need)) } else { Ok((need, rest)) }
}

fn read_kernels(need: usize, bytes: &[u8]) -> Result<(Kernels, &[u8]), ModelError> {
    let too_many = ModelError::TooManyKernels { need, have: MAX_KERNELS };
    if need > MAX_KERNELS {
        return Err(too_many);
    }
    let mut kernels = Kernels::new();
    let mut rest = bytes;
    for kernel in 1..=need {
        let (config, after) = read_config(kernel, rest)?;
        kernels.push(config).map_err(|_| too_many)?;
        rest = after;
    }
    Ok((kernels, rest))
}

fn read_config(kernel: usize, bytes: &[u8]) -> Result<(PackedConfig, &[u8]), ModelError> {
    let have = MAX_PARAMETERS;
    let too_many = |need| ModelError::TooManyParameters { kernel, need, have };
    let (family, rest) = take::<u8>(bytes)?;
    let (need, mut rest) = take_count(rest, have, too_many)?;
    let mut parameters = heapless::Vec::new();
    for _ in 0..need {
        let (value, after) = take::<u16>(rest)?;
        parameters.push(value).map_err(|_| too_many(need))?;
        rest = after;
    }
    Ok((PackedConfig { family, parameters }, rest))
}

fn read_tree_heads(bytes: &[u8]) -> Result<(TreeHeads, &[u8]), ModelError> {
    let have = ProblemClass::COUNT;
    let too_many = |need| ModelError::TooManyClasses { need, have };
    let (need, mut rest) = take_count(bytes, have, too_many)?;
    let mut heads = TreeHeads::new();
    for _ in 0..need {
        let (head, after) = take::<TreeHead>(rest)?;
        heads.push(head).map_err(|_| too_many(need))?;
        rest = after;
    }
    Ok((heads, rest))
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
        let decoded = |bytes| take::<u16>(bytes).map(|(value, rest)| (value, rest.len()));
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
        assert_eq!(read_config(2, &long), Err(expected));
        let huge = [0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1, 2];
        let need = u32::MAX as usize;
        let expected = ModelError::TooManyParameters { kernel: 1, need, have: 16 };
        assert_eq!(read_config(1, &huge), Err(expected));
    }

    #[test]
    fn a_list_that_is_too_short_does_not_decode() {
        assert_eq!(read_config(1, &[7, 4, 1, 2]), Err(ModelError::Payload));
        assert!(matches!(read_tree_heads(&[1, 0, 0]), Err(ModelError::Payload)));
    }

    #[test]
    fn a_configuration_is_its_family_and_values() {
        let (config, rest) = read_config(1, &[7, 3, 1, 0xAC, 0x02, 0, 99]).unwrap();
        assert_eq!((config.family, &config.parameters[..]), (7, &[1, 300, 0][..]));
        assert_eq!(rest, [99]);
    }
}
