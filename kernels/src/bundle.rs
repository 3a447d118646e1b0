//! A bundle, `*.gtb`: a model and the program binaries of one driver, in one file.
//!
//! Layout: `GTB` and 0x1A; major and minor format version; two zero bytes; payload length (u32,
//! little-endian); CRC-32 (ISO-HDLC) of all before it and of the payload; then the payload, in
//! postcard: the [`DriverKey`], the model's bytes, and a list of programs, each its name, the
//! CRC-32 of its binary, and the binary. Everything is checked before a driver sees a byte. Format 0.1,
//! whose keys had neither vendor nor compute units, is refused by its version.

use std::collections::BTreeSet;

use selector_core::{Model, ModelError, ProblemClass};
use serde::{Deserialize, Serialize};

use crate::{Configuration, ConfigurationError};

/// The format's major and minor version.
pub const FORMAT_VERSION: (u8, u8) = (0, 2);

const MODEL_MAGIC: [u8; 4] = *b"GTM\x1a";
const BUNDLE_MAGIC: [u8; 4] = *b"GTB\x1a";
const HEADER: usize = 16;
const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

/// The device and the driver that made the binaries; another one may not load them.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DriverKey {
    /// Name of the OpenCL platform.
    pub platform: String,
    /// The device's vendor, without space around it.
    pub vendor: String,
    /// Name of the device, without space around it.
    pub device: String,
    /// Compute units, by which devices of one name are told apart.
    pub compute_units: u32,
    /// Driver version.
    pub driver: String,
    /// Hash of the kernel space whose sources were compiled.
    pub space: u64,
}

impl DriverKey {
    /// Whether this is the same device, whatever its driver and the sources.
    #[must_use]
    pub fn is_device(&self, here: &Self) -> bool {
        let Self { platform, vendor, device, compute_units, driver: _, space: _ } = self;
        let is_named = (platform, vendor, device) == (&here.platform, &here.vendor, &here.device);
        is_named && *compute_units == here.compute_units
    }
}

/// A program of a bundle.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct BundledProgram<'a> {
    /// [`Program::name`](crate::Program::name).
    pub name: &'a str,
    checksum: u32,
    /// What the driver made of it.
    pub binary: &'a [u8],
}

/// A checked bundle.
#[derive(Clone, Debug)]
pub struct Bundle<'a> {
    /// The driver that made the binaries.
    pub key: DriverKey,
    /// The model.
    pub model: Model<'a>,
    /// The model's bytes.
    pub model_bytes: &'a [u8],
    /// The model's kernels by id: the universal kernel, then the kernel list.
    pub kernels: Vec<Configuration>,
    /// The binaries.
    pub programs: Vec<BundledProgram<'a>>,
}

/// Why bytes are not a bundle. Nothing is half-loaded.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// The checksum does not match.
    #[error("checksum mismatch: the bundle is damaged; copy it again")]
    Checksum,
    /// A kernel of the model is unknown to this build.
    #[error("kernel {id} of the model")]
    Kernel {
        /// Its kernel id.
        id: usize,
        /// Why.
        source: ConfigurationError,
    },
    /// The first four bytes are not a bundle's.
    #[error("not a gemmtree bundle")]
    Magic,
    /// The model is not one.
    #[error("the model inside the bundle")]
    Model(#[from] ModelError),
    /// This is a model, which has no binaries yet.
    #[error("this is a model, not a bundle; make one on the device: gemmtree-board compile")]
    ModelNotBundle,
    /// A class has programs, but the universal kernel is not among them.
    #[error("the universal kernel of class {0} is missing")]
    NoUniversal(ProblemClass),
    /// The payload does not decode.
    #[error("the payload does not decode")]
    Payload,
    /// A program's binary does not match its checksum.
    #[error("the binary of `{0}` is damaged")]
    ProgramChecksum(String),
    /// A program that no kernel of the model has, or one that is there twice.
    #[error("`{0}` is not a program of the model, or is there twice")]
    ProgramUnexpected(String),
    /// Longer than the length field can say.
    #[error("the bundle would be longer than 4 GiB")]
    TooLarge,
    /// More bytes than the header announces.
    #[error("{0} bytes follow the end of the bundle")]
    TrailingBytes(usize),
    /// Fewer bytes than the header announces.
    #[error("truncated: {need} bytes announced, {have} given")]
    Truncated {
        /// Bytes announced.
        need: usize,
        /// Bytes given.
        have: usize,
    },
    /// Written in a format this build does not read.
    #[error(
        "bundle format {}.{}, but this build reads {}.{}; compile the model again on the device",
        found.0, found.1, supported.0, supported.1
    )]
    Version {
        /// The bundle's version.
        found: (u8, u8),
        /// The version this build reads.
        supported: (u8, u8),
    },
}

#[derive(Deserialize, Serialize)]
struct Payload<'a> {
    key: DriverKey,
    model: &'a [u8],
    #[serde(borrow)]
    programs: Vec<BundledProgram<'a>>,
}

/// Write a bundle of `model` and its `programs`, name and binary, in their order.
///
/// # Errors
/// [`BundleError`]: what would be written does not parse, for example since a program is missing.
pub fn write(
    key: &DriverKey,
    model: &[u8],
    programs: &[(String, Vec<u8>)],
) -> Result<Vec<u8>, BundleError> {
    let programs = programs.iter().map(|(name, binary)| BundledProgram {
        name,
        checksum: CRC.checksum(binary),
        binary,
    });
    let payload = Payload { key: key.clone(), model, programs: programs.collect() };
    let payload = postcard::to_allocvec(&payload).map_err(|_| BundleError::TooLarge)?;
    let length = u32::try_from(payload.len()).map_err(|_| BundleError::TooLarge)?;
    let mut bytes = BUNDLE_MAGIC.to_vec();
    bytes.extend([FORMAT_VERSION.0, FORMAT_VERSION.1, 0, 0]);
    bytes.extend(length.to_le_bytes());
    bytes.extend(checksum(&bytes, &payload).to_le_bytes());
    bytes.extend(payload);
    Bundle::parse(&bytes)?;
    Ok(bytes)
}

impl<'a> Bundle<'a> {
    /// Check a bundle in full and borrow it.
    ///
    /// # Errors
    /// [`BundleError`] says what is wrong.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BundleError> {
        let Payload { key, model: model_bytes, programs } = decode(payload(bytes)?)?;
        let model = Model::parse(model_bytes)?;
        let kernels = kernels_of(&model)?;
        check_programs(&kernels, &programs)?;
        Ok(Self { key, model, model_bytes, kernels, programs })
    }

    /// The binary of the program with this name.
    #[must_use]
    pub fn binary(&self, program: &str) -> Option<&'a [u8]> {
        self.programs.iter().find(|one| one.name == program).map(|one| one.binary)
    }
}

/// Length of the bundle that begins with `start`, as its header says; `None` if that is no bundle's whole header.
#[must_use]
pub fn announced(start: &[u8]) -> Option<u64> {
    let header = start.first_chunk::<HEADER>()?;
    let [m0, m1, m2, m3, _, _, _, _, l0, l1, l2, l3, ..] = *header;
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    ([m0, m1, m2, m3] == BUNDLE_MAGIC).then(|| u64::from(length).saturating_add(HEADER as u64))
}

/// A model's kernels by id: the universal kernel, then the kernel list.
///
/// # Errors
/// [`BundleError::Kernel`] if this build does not know one.
pub fn kernels_of(model: &Model<'_>) -> Result<Vec<Configuration>, BundleError> {
    let listed = model.kernels().zip(1..).map(|(packed, id)| {
        Configuration::from_packed(&packed).map_err(|source| BundleError::Kernel { id, source })
    });
    std::iter::once(Ok(Configuration::universal())).chain(listed).collect()
}

fn checksum(start: &[u8], payload: &[u8]) -> u32 {
    let mut digest = CRC.digest();
    digest.update(start);
    digest.update(payload);
    digest.finalize()
}

/// Check the header and return the payload.
fn payload(bytes: &[u8]) -> Result<&[u8], BundleError> {
    let truncated = |need| BundleError::Truncated { need, have: bytes.len() };
    if !BUNDLE_MAGIC.iter().zip(bytes).all(|(one, other)| one == other) {
        let is_model = bytes.starts_with(&MODEL_MAGIC);
        return Err(if is_model { BundleError::ModelNotBundle } else { BundleError::Magic });
    }
    let (start, rest) = bytes.split_first_chunk::<12>().ok_or(truncated(HEADER))?;
    let [_, _, _, _, major, minor, r0, r1, length @ ..] = *start;
    if (major, minor) != FORMAT_VERSION {
        return Err(BundleError::Version { found: (major, minor), supported: FORMAT_VERSION });
    }
    let (sum, payload) = rest.split_first_chunk::<4>().ok_or(truncated(HEADER))?;
    let need = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if payload.len() < need {
        return Err(truncated(HEADER.saturating_add(need)));
    }
    if payload.len() > need {
        return Err(BundleError::TrailingBytes(payload.len() - need));
    }
    if u32::from_le_bytes(*sum) != checksum(start, payload) || [r0, r1] != [0, 0] {
        return Err(BundleError::Checksum);
    }
    Ok(payload)
}

fn decode(payload: &[u8]) -> Result<Payload<'_>, BundleError> {
    match postcard::take_from_bytes(payload) {
        Ok((decoded, [])) => Ok(decoded),
        _ => Err(BundleError::Payload),
    }
}

/// Every program belongs to a kernel and is whole, and every class that has one has the universal
/// kernel too.
fn check_programs(
    kernels: &[Configuration],
    programs: &[BundledProgram<'_>],
) -> Result<(), BundleError> {
    let names = |class| kernels.iter().map(move |kernel| kernel.program(class).name);
    let mut expected: BTreeSet<String> = ProblemClass::all().flat_map(names).collect();
    for program in programs {
        if !expected.remove(program.name) {
            return Err(BundleError::ProgramUnexpected(program.name.to_owned()));
        }
        if CRC.checksum(program.binary) != program.checksum {
            return Err(BundleError::ProgramChecksum(program.name.to_owned()));
        }
    }
    for class in ProblemClass::all() {
        let has = |name: &str| programs.iter().any(|program| program.name == name);
        let any = names(class).any(|name| has(&name));
        if any && !has(&Configuration::universal().program(class).name) {
            return Err(BundleError::NoUniversal(class));
        }
    }
    if programs.is_empty() {
        return Err(BundleError::NoUniversal(ProblemClass::F32_NN));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use selector_core::{KernelId, Leaf, Loss, ModelSource, Samples, Tree, TreeSource};

    use super::*;

    fn model() -> Vec<u8> {
        let kernel: Configuration = "tile:4x8x4@16x16".parse().unwrap();
        let leaf = Leaf::new(&[KernelId(1)], Loss::UNKNOWN, Loss::UNKNOWN, Samples::new(1));
        let class = ProblemClass::F32_NN;
        let source = ModelSource {
            device: "device",
            driver: "1",
            method: "test",
            space: None,
            score: None,
            kernels: vec![kernel.packed()],
            trees: vec![Tree::Leaf(leaf)],
            classes: vec![TreeSource { class, measured_as: class, tree: 0 }],
        };
        source.encode().unwrap()
    }

    fn key() -> DriverKey {
        let text = |text: &str| text.to_owned();
        DriverKey {
            platform: text("p"),
            vendor: text("v"),
            device: text("d"),
            compute_units: 4,
            driver: text("1"),
            space: 7,
        }
    }

    fn programs() -> Vec<(String, Vec<u8>)> {
        let kernels = [Configuration::universal(), "tile:4x8x4@16x16".parse().unwrap()];
        let named = kernels.map(|kernel| kernel.program(ProblemClass::F32_NN).name);
        named.into_iter().map(|name| (name, vec![1, 2, 3])).collect()
    }

    #[test]
    fn a_bundle_round_trips() {
        let model = model();
        let bytes = write(&key(), &model, &programs()).unwrap();
        let bundle = Bundle::parse(&bytes).unwrap();
        assert_eq!(bundle.key, key());
        assert_eq!(bundle.model_bytes, model);
        assert_eq!(bundle.kernels.len(), 2);
        assert_eq!(bundle.binary("universal/f32-nn"), Some(&[1, 2, 3][..]));
        assert_eq!(bundle.binary("universal/f16-nn"), None);
    }

    #[test]
    fn a_key_is_of_the_same_device_whatever_the_driver_and_the_sources() {
        let text = "other".to_owned();
        for (other, is_device) in [
            (DriverKey { platform: text.clone(), ..key() }, false),
            (DriverKey { vendor: text.clone(), ..key() }, false),
            (DriverKey { device: text.clone(), ..key() }, false),
            (DriverKey { compute_units: 2, ..key() }, false),
            (DriverKey { driver: text, ..key() }, true),
            (DriverKey { space: 8, ..key() }, true),
        ] {
            assert_eq!(other.is_device(&key()), is_device, "{other:?}");
        }
    }

    #[test]
    fn every_flipped_bit_and_every_length_is_refused() {
        let bytes = write(&key(), &model(), &programs()).unwrap();
        for position in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[position] ^= 1 << bit;
                assert!(Bundle::parse(&damaged).is_err(), "byte {position}, bit {bit}");
            }
            assert!(Bundle::parse(&bytes[..position]).is_err(), "cut at {position}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert_eq!(Bundle::parse(&longer).unwrap_err(), BundleError::TrailingBytes(1));
    }

    #[test]
    fn a_model_and_a_foreign_version_are_named() {
        assert_eq!(Bundle::parse(&model()).unwrap_err(), BundleError::ModelNotBundle);
        let mut bytes = write(&key(), &model(), &programs()).unwrap();
        bytes[4] = 9;
        let message = Bundle::parse(&bytes).unwrap_err().to_string();
        assert!(message.contains("9.2") && message.contains("0.2"), "{message}");
        // The format before, whose keys say less.
        bytes[4..6].copy_from_slice(&[0, 1]);
        let error = Bundle::parse(&bytes).unwrap_err();
        assert_eq!(error, BundleError::Version { found: (0, 1), supported: FORMAT_VERSION });
        assert!(error.to_string().contains("compile the model again"), "{error}");
    }

    #[test]
    fn programs_must_be_the_models_own_and_include_the_universal_kernel() {
        let [universal, tile] = &programs()[..] else { panic!("two programs") };
        let write = |programs: &[(String, Vec<u8>)]| write(&key(), &model(), programs);
        let without = write(std::slice::from_ref(tile));
        assert_eq!(without.unwrap_err(), BundleError::NoUniversal(ProblemClass::F32_NN));
        assert!(matches!(write(&[]), Err(BundleError::NoUniversal(_))));
        let foreign = ("tile:8x8x8/f32-nn".to_owned(), Vec::new());
        let with_foreign = write(&[universal.clone(), foreign]);
        assert!(matches!(with_foreign, Err(BundleError::ProgramUnexpected(_))));
        let twice = write(&[universal.clone(), universal.clone()]);
        assert!(matches!(twice, Err(BundleError::ProgramUnexpected(_))));
        // A kernel's program may be missing: the runtime then uses the next in the leaf.
        assert!(write(std::slice::from_ref(universal)).is_ok());
    }
}
