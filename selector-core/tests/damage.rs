//! Whatever happens to a model's bytes, a damaged one is refused.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{sample, seal, shape};
use proptest::prelude::*;
use selector_core::{FORMAT_VERSION, FastTree, Model, ModelError, ProblemClass};

fn blob() -> Vec<u8> {
    sample().encode().unwrap()
}

#[test]
fn every_changed_byte_is_refused() {
    let mut blob = blob();
    assert!(Model::parse(&blob).is_ok());
    for place in 0..blob.len() {
        let right = blob[place];
        for wrong in (0..=255).filter(|wrong| *wrong != right) {
            blob[place] = wrong;
            assert!(Model::parse(&blob).is_err(), "byte {place}: {right} became {wrong}");
        }
        blob[place] = right;
    }
}

#[test]
fn every_two_flipped_bits_near_each_other_are_refused() {
    let mut blob = blob();
    for first in 0..blob.len() * 8 {
        for second in first + 1..(first + 40).min(blob.len() * 8) {
            for bit in [first, second] {
                blob[bit / 8] ^= 1 << (bit % 8);
            }
            assert!(Model::parse(&blob).is_err(), "bits {first} and {second}");
            for bit in [first, second] {
                blob[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

#[test]
fn every_truncation_names_what_is_missing() {
    let blob = blob();
    for have in 0..blob.len() {
        let need = if have < 16 { 16 } else { blob.len() };
        let expected = ModelError::Truncated { need, have };
        assert_eq!(Model::parse(&blob[..have]).unwrap_err(), expected);
    }
}

#[test]
fn bytes_behind_the_end_are_counted() {
    let mut blob = blob();
    for extra in 1..20 {
        blob.push(0);
        assert_eq!(Model::parse(&blob).unwrap_err(), ModelError::TrailingBytes { extra });
    }
}

#[test]
fn a_foreign_version_names_all() {
    let mut blob = blob();
    for found in [(0, 0), (0, 1), (1, 2), (1, 255), (2, 0), (2, 1), (255, 255)] {
        (blob[4], blob[5]) = found;
        let error = Model::parse(&blob).unwrap_err();
        assert_eq!(error, ModelError::Version { found, supported: FORMAT_VERSION });
        let text = error.to_string();
        assert!(text.contains(&format!("version {}.{},", found.0, found.1)), "{text}");
        assert!(text.contains("reads 1.0 to 1.1;"), "{text}");
    }
}

/// A model of the format before this one, as it was written then.
#[test]
fn a_model_of_version_0_1_is_refused_by_both_numbers() {
    let old = include_bytes!("golden/refused/2-version-0.1.gtm");
    let error = Model::parse(old).unwrap_err();
    assert_eq!(error, ModelError::Version { found: (0, 1), supported: FORMAT_VERSION });
}

#[test]
fn other_files_are_not_models() {
    for other in [&b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00"[..], b"m,k,n,batch,time\n", &[0; 99]]
    {
        assert_eq!(Model::parse(other).unwrap_err(), ModelError::Magic);
    }
}

/// Parse, and if that passes, ask everything there is to ask.
fn ask_everything(blob: &[u8], shape: selector_core::GemmShape) {
    let Ok(model) = Model::parse(blob) else { return };
    for class in ProblemClass::all() {
        let leaf = model.select(class, shape);
        let fast = FastTree::<128>::new(&model, class).map(Box::new);
        assert!(fast.is_err() || fast.is_ok_and(|fast| fast.select(shape) == leaf));
        assert!(leaf.kernels().all(|id| usize::from(id.0) <= model.kernels().len()));
        assert!(model.path(class, shape).count() <= selector_core::MAX_DEPTH);
        assert_eq!(model.root(class).is_some(), model.measured_as(class).is_some());
    }
}

proptest! {
    #[test]
    fn no_bytes_lead_to_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), shape in shape()) {
        ask_everything(&bytes, shape);
        ask_everything(&seal(&bytes), shape);
    }

    #[test]
    fn a_payload_damaged_before_it_was_sealed_is_refused_or_harmless(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        shape in shape(),
    ) {
        let mut payload = blob().split_off(16);
        for (place, byte) in damage {
            let place = place.index(payload.len());
            payload[place] = byte;
        }
        ask_everything(&seal(&payload), shape);
    }
}
