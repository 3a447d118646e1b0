//! `clCreateContext` and what asks about contexts.

use std::ffi::c_void;

use super::{bytes_of, code, int, made, references};
use crate::faults::{Subject, driver, meet, strike};
use crate::foreign::{answer, list, list_to_zero};
use crate::objects::Context;
use crate::{cl, registry};

pub(crate) extern "C" fn create(
    properties: *const isize,
    count: u32,
    devices: *const usize,
    _notify: usize,
    _user: usize,
    error: *mut i32,
) -> usize {
    made(new(properties, count, devices), error)
}

fn new(properties: *const isize, count: u32, devices: *const usize) -> Result<usize, i32> {
    meet("clCreateContext", Subject::default())?;
    let devices = list(devices, count as usize).filter(|list| !list.is_empty());
    let devices = devices.ok_or(cl::INVALID_VALUE)?;
    let devices = devices.into_iter().map(|device| driver().device(device));
    let devices = devices.collect::<Result<_, _>>()?;
    Ok(registry::create(|_| Context { devices, properties: properties_of(properties) }).0)
}

/// The list with the zero that ends it; empty if there is none.
fn properties_of(first: *const isize) -> Vec<isize> {
    let mut properties = list_to_zero(first);
    if !first.is_null() {
        properties.push(0);
    }
    properties
}

pub(crate) extern "C" fn create_from_type(
    properties: *const isize,
    kind: u64,
    notify: usize,
    user: usize,
    error: *mut i32,
) -> usize {
    if kind & (cl::DEVICE_TYPE_GPU | cl::DEVICE_TYPE_DEFAULT) == 0 {
        return made(Err(cl::DEVICE_NOT_FOUND), error);
    }
    let devices = &driver().devices;
    create(properties, devices.len() as u32, devices.as_ptr(), notify, user, error)
}

pub(crate) extern "C" fn retain(context: usize) -> i32 {
    code(registry::retain::<Context>(context))
}

pub(crate) extern "C" fn release(context: usize) -> i32 {
    code(
        strike("clReleaseContext", Subject::default())
            .and_then(|()| registry::release::<Context>(context)),
    )
}

pub(crate) extern "C" fn info(
    handle: usize,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    let context = match registry::find::<Context>(handle) {
        Ok(context) => context,
        Err(code) => return code,
    };
    let devices = context.devices.iter().filter_map(|at| driver().devices.get(*at).copied());
    let bytes = match name {
        cl::CONTEXT_REFERENCE_COUNT => references(handle),
        cl::CONTEXT_NUM_DEVICES => int(context.devices.len() as u32),
        cl::CONTEXT_DEVICES => bytes_of(&devices.collect::<Vec<_>>()),
        cl::CONTEXT_PROPERTIES => {
            let words: Vec<_> = context.properties.iter().map(|word| *word as usize).collect();
            bytes_of(&words)
        }
        _ => return cl::INVALID_VALUE,
    };
    answer(&bytes, size, value, size_ret)
}
