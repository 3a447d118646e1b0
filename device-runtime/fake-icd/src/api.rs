//! The OpenCL functions, a file for each kind of object.

pub(crate) mod command;
pub(crate) mod context;
pub(crate) mod event;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod platform;
pub(crate) mod program;
pub(crate) mod queue;

use crate::foreign::put;
use crate::{cl, registry};

/// A result as OpenCL returns it.
fn code(result: Result<(), i32>) -> i32 {
    result.err().unwrap_or(cl::SUCCESS)
}

/// A new object as OpenCL returns it, the code beside it.
fn made(result: Result<usize, i32>, error: *mut i32) -> usize {
    let (handle, code) = match result {
        Ok(handle) => (handle, cl::SUCCESS),
        Err(code) => (0, code),
    };
    put(error, code);
    handle
}

/// A text with the zero behind it.
fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

/// Numbers as they lie in memory.
fn bytes_of(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn int(value: u32) -> Vec<u8> {
    value.to_ne_bytes().to_vec()
}

fn references(handle: usize) -> Vec<u8> {
    int(registry::references(handle))
}
