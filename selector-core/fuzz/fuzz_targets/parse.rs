//! Any bytes: `Model::parse` refuses them, or all that it promises of a model holds.
//!
//! Most inputs get a right header after they were changed, else none would pass the checksum.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use selector_core::Model;
use selector_core_fuzz::{HEADER, check_model, seal};

fuzz_target!(|data: &[u8]| {
    match Model::parse(data) {
        Ok(model) => check_model(&model),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut size = fuzzer_mutate(data, size, max_size);
    if !seed.is_multiple_of(4) {
        size = size.max(HEADER).min(max_size);
        seal(&mut data[..size]);
    }
    size
});
