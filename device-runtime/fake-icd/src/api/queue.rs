//! `clCreateCommandQueue…`, `clFlush`, `clFinish`.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

use super::{bytes_of, code, made, references};
use crate::faults::{Subject, driver, meet, strike};
use crate::foreign::{answer, list_to_zero};
use crate::objects::{Context, Queue};
use crate::registry::lock;
use crate::{cl, execute, registry};

/// What a queue can be asked to do.
pub(crate) fn known_properties() -> u64 {
    let records =
        if driver().script.clock.refuses_profiling { 0 } else { cl::QUEUE_PROFILING_ENABLE };
    cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | records
}

pub(crate) extern "C" fn create(
    context: usize,
    device: usize,
    properties: u64,
    error: *mut i32,
) -> usize {
    made(new(context, device, properties), error)
}

pub(crate) extern "C" fn create_with_properties(
    context: usize,
    device: usize,
    properties: *const isize,
    error: *mut i32,
) -> usize {
    let words = list_to_zero(properties);
    let wanted = match &words[..] {
        [] => Ok(0),
        // A value of 0 ends the list for a reader of words.
        [name] if *name == cl::QUEUE_PROPERTIES as isize => Ok(0),
        [name, value] if *name == cl::QUEUE_PROPERTIES as isize => Ok(*value as u64),
        _ => Err(cl::INVALID_VALUE),
    };
    made(wanted.and_then(|wanted| new(context, device, wanted)), error)
}

fn new(context: usize, device: usize, properties: u64) -> Result<usize, i32> {
    meet("clCreateCommandQueue", Subject::default())?;
    let context = registry::hold::<Context>(context)?;
    let device = driver().device(device)?;
    if !context.devices.contains(&device) {
        return Err(cl::INVALID_DEVICE);
    }
    if properties & !known_properties() != 0 {
        return Err(cl::INVALID_QUEUE_PROPERTIES);
    }
    let (pending, failure) = (Mutex::new(VecDeque::new()), AtomicI32::new(cl::SUCCESS));
    let (handle, queue) =
        registry::create(|_| Queue { context, device, properties, pending, failure });
    execute::add_queue(&queue);
    Ok(handle)
}

pub(crate) extern "C" fn retain(queue: usize) -> i32 {
    code(registry::retain::<Queue>(queue))
}

pub(crate) extern "C" fn release(queue: usize) -> i32 {
    // A release flushes.
    execute::advance();
    code(
        strike("clReleaseCommandQueue", Subject::default())
            .and_then(|()| registry::release::<Queue>(queue)),
    )
}

pub(crate) extern "C" fn info(
    handle: usize,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    let queue = match registry::find::<Queue>(handle) {
        Ok(queue) => queue,
        Err(code) => return code,
    };
    let bytes = match name {
        cl::QUEUE_CONTEXT => bytes_of(&[queue.context.handle()]),
        cl::QUEUE_DEVICE => {
            bytes_of(driver().devices.get(queue.device..=queue.device).unwrap_or_default())
        }
        cl::QUEUE_REFERENCE_COUNT => references(handle),
        cl::QUEUE_PROPERTIES => queue.properties.to_ne_bytes().to_vec(),
        _ => return cl::INVALID_VALUE,
    };
    answer(&bytes, size, value, size_ret)
}

pub(crate) extern "C" fn flush(queue: usize) -> i32 {
    let flushed = registry::find::<Queue>(queue).and_then(|_| meet("clFlush", Subject::default()));
    if flushed.is_ok() {
        execute::advance();
    }
    code(flushed)
}

/// Wait for all that is in a queue; like most drivers it tells that some of it failed.
pub(crate) extern "C" fn finish(queue: usize) -> i32 {
    code(registry::find::<Queue>(queue).and_then(|queue| {
        meet("clFinish", Subject::default())?;
        execute::wait(|| lock(&queue.pending).is_empty());
        match queue.failure.swap(cl::SUCCESS, Ordering::Relaxed) {
            cl::SUCCESS => Ok(()),
            code => Err(code),
        }
    }))
}
