//! The nearest of several bundles or models to a device, and what a device's own bundle is called.
//!
//! Only a model can serve another device; its kernels are then built from source.

use std::fmt;

use kernels::bundle::DriverKey;
use selector_core::Model;
use serde::Serialize;

/// How near a bundle or a model is to a device, the nearest first.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// Its binaries are this driver's own.
    Exact,
    /// Of this device, by another driver, or from other sources; or of one of this name, if it says no more.
    OtherDriver,
    /// Of a device of this name with other compute units, or on another platform.
    SameName,
    /// Of a device of the same vendor and family.
    Family,
}

/// What a model knows of the device that it was trained on: nothing but its name and driver.
#[must_use]
pub fn key_of(model: &Model<'_>) -> DriverKey {
    DriverKey {
        platform: String::new(),
        vendor: String::new(),
        device: model.device().trim().to_owned(),
        compute_units: 0,
        driver: model.driver().to_owned(),
        space: model.space().unwrap_or_default(),
    }
}

/// How near what has the key `one` is to `here`; `None` if it is of another kind. What an empty text or no
/// compute units leave open, as in a [model's key](key_of), is not held against it.
#[must_use]
pub fn quality(one: &DriverKey, here: &DriverKey) -> Option<Quality> {
    let same = |one: &str, here: &str| one.is_empty() || one.eq_ignore_ascii_case(here);
    if one == here {
        return Some(Quality::Exact);
    }
    if !same(&one.vendor, &here.vendor) {
        return None;
    }
    if one.device == here.device {
        let units = [0, here.compute_units].contains(&one.compute_units);
        let is_device = units && same(&one.platform, &here.platform);
        return Some(if is_device { Quality::OtherDriver } else { Quality::SameName });
    }
    let family = |key: &DriverKey| family(&key.device, &here.vendor);
    (family(one).is_some() && family(one) == family(here)).then_some(Quality::Family)
}

/// Position of the nearest of `keys` to `here`, and how near it is; `None` if none is of its kind.
///
/// Among those of one quality the one with the nearest number of compute units counts, then the one whose
/// name begins alike the longest, then the first.
#[must_use]
pub fn nearest(keys: &[DriverKey], here: &DriverKey) -> Option<(usize, Quality)> {
    let distance = |key: &DriverKey| match key.compute_units {
        0 => u32::MAX,
        units => units.abs_diff(here.compute_units),
    };
    let alike = |key: &DriverKey| {
        key.device.chars().zip(here.device.chars()).take_while(|(one, other)| one == other).count()
    };
    let known = keys.iter().enumerate();
    let near = known.filter_map(|(at, key)| Some((quality(key, here)?, at, key)));
    let nearest = near.min_by_key(|(quality, at, key)| {
        (*quality, distance(key), std::cmp::Reverse(alike(key)), *at)
    });
    nearest.map(|(quality, at, _)| (at, quality))
}

/// The first words of a device's name without its vendor's, whatever the case, up to the letters before the
/// first digit and not more than two: `mali g` of `Mali-G710 r0p0`. `None` if nothing is left of it.
fn family(name: &str, vendor: &str) -> Option<String> {
    let words = |text: &str| -> Vec<String> {
        let text = text.to_lowercase();
        let words = text.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let vendor = words(vendor);
    // (R), (TM) and (C).
    let says_nothing = |word: &String| vendor.contains(word) || matches!(&**word, "r" | "tm" | "c");
    let mut family = Vec::new();
    for word in words(name).into_iter().filter(|word| !says_nothing(word)).take(2) {
        let letters: String = word.chars().take_while(|one| !one.is_ascii_digit()).collect();
        let is_last = letters.len() < word.len();
        if !letters.is_empty() {
            family.push(letters);
        }
        if is_last {
            break;
        }
    }
    (!family.is_empty()).then(|| family.join(" "))
}

/// What the bundle of a device is called in a folder of bundles, whatever its driver: the readable part of
/// its name, and a hash of all that tells devices apart, so that no two of them share a file.
#[must_use]
pub fn file_name(key: &DriverKey) -> String {
    /// Longest readable part; file systems end at 255 bytes.
    const READABLE: usize = 64;
    let mut readable = String::new();
    for one in key.device.to_lowercase().chars() {
        let one = if one.is_ascii_alphanumeric() { one } else { '-' };
        if one != '-' || !(readable.is_empty() || readable.ends_with('-')) {
            readable.push(one);
        }
    }
    readable.truncate(READABLE);
    let readable = readable.trim_matches('-');
    let readable = if readable.is_empty() { "device" } else { readable };
    let units = key.compute_units.to_string();
    let hash = fnv1a([&key.platform, &key.vendor, &key.device, &units]);
    format!("{readable}-{hash:016x}.gtb")
}

/// The 64-bit hash of Fowler, Noll and Vo of texts and of where each ends: what files are called must not
/// change with a library.
fn fnv1a<const N: usize>(texts: [&String; N]) -> u64 {
    let bytes = texts.into_iter().flat_map(|text| text.bytes().chain([0xFF]));
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "of this device and driver",
            Self::OtherDriver => "of this device, by another driver",
            Self::SameName => {
                "of a device of this name with other compute units or on another platform"
            }
            Self::Family => "of the nearest device of this family",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn key(vendor: &str, device: &str, compute_units: u32) -> DriverKey {
        DriverKey {
            platform: "p".to_owned(),
            vendor: vendor.to_owned(),
            device: device.to_owned(),
            compute_units,
            driver: "1".to_owned(),
            space: 7,
        }
    }

    #[test]
    fn families_are_names_without_vendors_and_numbers() {
        for (name, vendor, expected) in [
            ("Mali-G710 r0p0", "ARM", Some("mali g")),
            ("Mali-T628", "ARM", Some("mali t")),
            ("QUALCOMM Adreno(TM) 640", "QUALCOMM", Some("adreno")),
            ("QUALCOMM", "QUALCOMM", None),
            ("NVIDIA H200", "NVIDIA Corporation", Some("h")),
            ("NVIDIA A100-SXM4-80GB", "NVIDIA Corporation", Some("a")),
            ("NVIDIA GeForce RTX 3090", "NVIDIA Corporation", Some("geforce rtx")),
            ("Intel(R) UHD Graphics 620", "Intel(R) Corporation", Some("uhd graphics")),
            ("pthread-haswell-AMD EPYC", "AuthenticAMD", Some("pthread haswell")),
            ("620", "Intel", None),
            ("", "", None),
        ] {
            assert_eq!(family(name, vendor).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn the_nearest_is_the_same_key_then_the_device_then_its_name_then_its_family() {
        let here = key("ARM", "Mali-G71", 8);
        let other_driver = DriverKey { driver: "2".to_owned(), ..here.clone() };
        let known = [
            key("ARM", "Mali-T628", 8),
            key("ARM", "Mali-G52", 2),
            key("ARM", "Mali-G76", 10),
            key("ARM", "Mali-G710", 10),
            key("NVIDIA", "Mali-G71", 8),
            key("ARM", "Mali-G71", 20),
            other_driver,
            here.clone(),
        ];
        let mut nearest_of = Vec::new();
        for count in (1..=known.len()).rev() {
            nearest_of.push(nearest(&known[..count], &here));
        }
        let expected = [
            Some((7, Quality::Exact)),
            Some((6, Quality::OtherDriver)),
            Some((5, Quality::SameName)),
            Some((3, Quality::Family)),
            Some((3, Quality::Family)),
            Some((2, Quality::Family)),
            Some((1, Quality::Family)),
            None,
        ];
        assert_eq!(nearest_of, expected);
    }

    #[test]
    fn a_model_that_says_no_more_than_a_name_serves_that_name_and_its_family() {
        let here = key("QUALCOMM", "QUALCOMM", 4);
        let of = |device: &str| DriverKey {
            platform: String::new(),
            vendor: String::new(),
            compute_units: 0,
            ..key("", device, 0)
        };
        assert_eq!(quality(&of("QUALCOMM"), &here), Some(Quality::OtherDriver));
        assert_eq!(quality(&of("QUALCOMM Adreno(TM) 640"), &here), None);
        let mali = key("ARM", "Mali-G710 r0p0", 7);
        assert_eq!(quality(&of("Mali-G71"), &mali), Some(Quality::Family));
        assert_eq!(quality(&of("Mali-T628"), &mali), None);
    }

    #[test]
    fn files_are_called_by_readable_names_that_no_two_devices_share() {
        let long = "x".repeat(300);
        let devices = [
            key("QUALCOMM", "QUALCOMM", 2),
            key("ARM", "Mali-T628", 4),
            key("ARM", "Mali-T628", 2),
            key("", "pthread-haswell-AMD EPYC", 2),
            key("", "a/b", 1),
            key("", "a b", 1),
            key("", "A B", 1),
            key("ab", "c", 1),
            key("a", "bc", 1),
            key("", "", 1),
            key("", "..", 1),
            key("", "Ünïcode/..//名", 1),
            key("", &long, 1),
            key("", &long[..299], 1),
        ];
        let names: BTreeSet<String> = devices.iter().map(file_name).collect();
        assert_eq!(names.len(), devices.len());
        for name in &names {
            let allowed =
                |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
            assert!(name.strip_suffix(".gtb").unwrap().chars().all(allowed), "{name}");
            assert!(name.len() <= 85 && !name.starts_with('-'), "{name}");
        }
        assert!(file_name(&devices[3]).starts_with("pthread-haswell-amd-epyc-"));
        // Not of the driver, which changes.
        let updated = DriverKey { driver: "2".to_owned(), ..devices[0].clone() };
        assert_eq!(file_name(&updated), file_name(&devices[0]));
    }
}
