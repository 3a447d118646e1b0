//! Payloads under a right header, then questions: every way to ask a model agrees.
//!
//! An input ends in a number and the questions. Before them is, if the number is
//! - 0, the payload;
//! - up to 127, that many bytes of payload, then entries whose right branches are mended;
//! - 128 and more, features and entries that are mended in all respects, for a list of that many
//!   kernels less 128.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use selector_core::{Model, ModelError, NodeError};
use selector_core_fuzz::{Questions, check_answers, check_model, mended, sealed, whole};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((rest, questions)) = Questions::split(data) else { return Corpus::Reject };
    let Some((number, body)) = rest.split_last() else { return Corpus::Reject };
    let blob = sealed(&match *number {
        0 => body.to_vec(),
        front @ 1..128 => {
            let (front, entries) = body.split_at(body.len().min(front.into()));
            mended(front, entries)
        }
        more => whole(more - 128, body),
    });
    let model = match Model::parse(&blob) {
        Ok(model) => model,
        Err(ModelError::Node { error: NodeError::TooDeep, .. }) => return Corpus::Keep,
        Err(error) => {
            assert!(*number < 128, "a mended model is refused: {error}");
            return Corpus::Keep;
        }
    };
    check_model(&model);
    check_answers(&model, &questions);
    Corpus::Keep
});
