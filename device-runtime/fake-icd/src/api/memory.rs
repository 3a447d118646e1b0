//! `clCreateBuffer`, `clCreateSubBuffer` and what asks about memory.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{bytes_of, code, int, made, references};
use crate::faults::{Subject, driver, give_back, meet, strike, take};
use crate::foreign::{Memory, answer, copy_in, list};
use crate::objects::{Buffer, Context};
use crate::{cl, registry};

/// Bytes that a sub-buffer's origin must be a multiple of.
pub(crate) const ALIGNMENT: usize = 128;

pub(crate) extern "C" fn create_buffer(
    context: usize,
    flags: u64,
    size: usize,
    host: usize,
    error: *mut i32,
) -> usize {
    made(new(context, flags, size, host), error)
}

fn new(context: usize, flags: u64, size: usize, host: usize) -> Result<usize, i32> {
    meet("clCreateBuffer", Subject::default())?;
    let context = registry::hold::<Context>(context)?;
    let uses_host = flags & cl::MEM_USE_HOST_PTR != 0;
    let copies = flags & cl::MEM_COPY_HOST_PTR != 0;
    if uses_host && (copies || flags & cl::MEM_ALLOC_HOST_PTR != 0) {
        return Err(cl::INVALID_VALUE);
    }
    if (uses_host || copies) != (host != 0) {
        return Err(cl::INVALID_HOST_PTR);
    }
    if size == 0 || size as u64 > driver().script.largest_buffer {
        return Err(cl::INVALID_BUFFER_SIZE);
    }
    let memory = if uses_host {
        Memory::of_caller(host, size)
    } else {
        take(size as u64)?;
        Memory::new(size)
    };
    if copies && memory.write(0, &copy_in(host, size)).is_none() {
        give_back(size as u64);
        return Err(cl::INVALID_VALUE);
    }
    let host = if uses_host { host } else { 0 };
    let (handle, _) = registry::create(|_| Buffer {
        context,
        flags,
        host,
        size,
        memory: Arc::new(memory),
        origin: 0,
        parent: None,
        maps: AtomicU32::new(0),
    });
    Ok(handle)
}

pub(crate) extern "C" fn create_sub_buffer(
    buffer: usize,
    flags: u64,
    kind: u32,
    region: *const usize,
    error: *mut i32,
) -> usize {
    made(part(buffer, flags, kind, region), error)
}

fn part(buffer: usize, flags: u64, kind: u32, region: *const usize) -> Result<usize, i32> {
    meet("clCreateSubBuffer", Subject::default())?;
    let parent = registry::hold::<Buffer>(buffer)?;
    if parent.parent.is_some() {
        return Err(cl::INVALID_MEM_OBJECT);
    }
    let region = list(region, 2).filter(|_| kind == cl::BUFFER_CREATE_TYPE_REGION);
    let Some(&[origin, size]) = region.as_deref() else { return Err(cl::INVALID_VALUE) };
    if size == 0 {
        return Err(cl::INVALID_BUFFER_SIZE);
    }
    parent.check(origin, size)?;
    if !origin.is_multiple_of(ALIGNMENT) && !driver().script.loose_sub_buffers {
        return Err(cl::MISALIGNED_SUB_BUFFER_OFFSET);
    }
    let context = registry::hold::<Context>(parent.context.handle())?;
    let host = if parent.host == 0 { 0 } else { parent.host + origin };
    // What is not said is the parent's.
    let inherited = cl::MEM_USE_HOST_PTR | cl::MEM_ALLOC_HOST_PTR | cl::MEM_COPY_HOST_PTR;
    let flags =
        (flags | parent.flags & inherited) | if flags & 7 == 0 { parent.flags & 7 } else { 0 };
    let memory = Arc::clone(&parent.memory);
    let (handle, _) = registry::create(|_| Buffer {
        context,
        flags,
        host,
        size,
        memory,
        origin,
        parent: Some(parent),
        maps: AtomicU32::new(0),
    });
    Ok(handle)
}

pub(crate) extern "C" fn retain(buffer: usize) -> i32 {
    code(registry::retain::<Buffer>(buffer))
}

pub(crate) extern "C" fn release(buffer: usize) -> i32 {
    code(
        strike("clReleaseMemObject", Subject::default())
            .and_then(|()| registry::release::<Buffer>(buffer)),
    )
}

pub(crate) extern "C" fn info(
    handle: usize,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    let buffer = match registry::find::<Buffer>(handle) {
        Ok(buffer) => buffer,
        Err(code) => return code,
    };
    let bytes = match name {
        cl::MEM_TYPE => int(cl::MEM_OBJECT_BUFFER),
        cl::MEM_FLAGS => buffer.flags.to_ne_bytes().to_vec(),
        cl::MEM_SIZE => bytes_of(&[buffer.size]),
        cl::MEM_HOST_PTR => bytes_of(&[buffer.host]),
        cl::MEM_MAP_COUNT => int(buffer.maps.load(Ordering::Relaxed)),
        cl::MEM_REFERENCE_COUNT => references(handle),
        cl::MEM_CONTEXT => bytes_of(&[buffer.context.handle()]),
        cl::MEM_ASSOCIATED_MEMOBJECT => {
            bytes_of(&[buffer.parent.as_ref().map_or(0, registry::Held::handle)])
        }
        cl::MEM_OFFSET => bytes_of(&[buffer.origin]),
        _ => return cl::INVALID_VALUE,
    };
    answer(&bytes, size, value, size_ret)
}
