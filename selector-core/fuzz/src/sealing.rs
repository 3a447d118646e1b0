//! Models with a right header, so that what lies behind the checksum is reached.

use crc::{CRC_32_ISO_HDLC, Crc};
use selector_core::{Feature, KernelId, Leaf, Loss, MAX_FEATURES, ProblemClass, Samples};

/// Bytes of a header (FORMAT.md §1).
pub const HEADER: usize = 16;

static CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Write the right header over the first bytes of `blob`, of version 1.0 if its minor version is
/// even, else 1.1; a shorter one stays as it is.
pub fn seal(blob: &mut [u8]) {
    let Some((header, payload)) = blob.split_first_chunk_mut::<HEADER>() else { return };
    let mut digest = CRC.digest();
    let minor = header[5] & 1;
    header[..8].copy_from_slice(&[b'G', b'T', b'M', 0x1a, 1, minor, 0, 0]);
    header[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    digest.update(&header[..12]);
    digest.update(payload);
    header[12..].copy_from_slice(&digest.finalize().to_le_bytes());
}

/// A model of this payload, of the newest version.
#[must_use]
pub fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut blob = vec![1; HEADER];
    blob.extend(payload);
    seal(&mut blob);
    blob
}

/// A payload of `front`, which goes up to the kernel list, and the trees that `entries` make when
/// every right branch begins where the left one ends: the first serves class 0, and so on.
///
/// Features, thresholds, kernels and depth are left as they come.
#[must_use]
pub fn mended(front: &[u8], entries: &[u8]) -> Vec<u8> {
    let (entries, _) = entries.as_chunks::<6>();
    with_trees(front, entries.to_vec())
}

/// A payload of `kernels` kernels, at most 127, whose features and trees come from `bytes`; valid
/// unless a tree is too deep.
#[must_use]
pub fn whole(kernels: u8, bytes: &[u8]) -> Vec<u8> {
    let (numbers, entries) = bytes.split_at(bytes.len().min(MAX_FEATURES));
    let mut features = vec![];
    for number in numbers {
        let feature = Feature::ALL[usize::from(*number) % Feature::ALL.len()];
        if !features.contains(&feature) {
            features.push(feature);
        }
    }
    // Three empty names, no space hash, no score.
    let mut front = vec![0, 0, 0, 0, 0, features.len() as u8];
    front.extend(features.iter().map(|feature| feature.index()));
    front.push(kernels);
    front.extend((0..kernels).flat_map(|family| [family, 0]));
    let (entries, _) = entries.as_chunks::<6>();
    let entries = entries.iter().map(|entry| valid_entry(*entry, kernels, &features));
    with_trees(&front, entries.collect())
}

/// The entry that is meant, but for its right branch.
fn valid_entry([a, b, c, d, e, f]: [u8; 6], kernels: u8, features: &[Feature]) -> [u8; 6] {
    if a < 128 {
        let ids = [a, b, c].map(|id| KernelId(id % (kernels + 1)));
        let unknown = Loss::UNKNOWN;
        let mut kernels = Leaf::new(&ids, unknown, unknown, Samples::NONE).kernels();
        let [a, b, c] = std::array::from_fn(|_| kernels.next().map_or(0, |id| id.0));
        return [a, b, c, d, e, f];
    }
    let lane = (a - 128) % features.len() as u8;
    let largest = features[usize::from(lane)].largest();
    let [low, high] = (u16::from_le_bytes([c, d]) % largest).to_le_bytes();
    [128 | lane, 0, low, high, 0, 0]
}

fn with_trees(front: &[u8], entries: Vec<[u8; 6]>) -> Vec<u8> {
    let (entries, roots) = trees(entries);
    let mut payload = front.to_vec();
    payload.extend(varint(roots.len()));
    for (class, root) in (0..).zip(roots) {
        payload.extend([class, class]);
        payload.extend(varint(root));
    }
    payload.extend(varint(entries.len() * 6));
    payload.extend(entries.concat());
    payload
}

/// Whole trees of these entries, one a class, with a leaf wherever the last one lacks a branch;
/// and where they begin.
fn trees(mut entries: Vec<[u8; 6]>) -> (Vec<[u8; 6]>, Vec<usize>) {
    let mut roots = vec![];
    // Splits whose right branch has not begun, and how many subtrees are still to come.
    let mut open: Vec<usize> = vec![];
    let mut missing = 0;
    let mut index = 0;
    loop {
        if missing == 0 {
            if index == entries.len() || roots.len() == ProblemClass::COUNT {
                entries.truncate(index);
                return (entries, roots);
            }
            roots.push(index);
            missing = 1;
        }
        if index == entries.len() {
            entries.push([0, 0, 0, 255, 255, 0]);
        }
        let is_split = entries[index][0] >= 128;
        index += 1;
        if is_split {
            open.push(index - 1);
            missing += 1;
        } else {
            missing -= 1;
            if let Some(split) = open.pop() {
                entries[split][4..].copy_from_slice(&(index as u16).to_le_bytes());
            }
        }
    }
}

/// The shortest varint of FORMAT.md §2.
fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = vec![];
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
