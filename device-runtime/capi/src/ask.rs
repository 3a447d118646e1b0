//! Questions: which kernel and why, what memory it wants, what a call took.

use std::ffi::c_char;

use opencl3::types::{cl_command_queue, cl_mem};

use crate::engine::Times;
use crate::guard::guarded;
use crate::handle::{self, Handle, null};
use crate::problem::{Call, Layout, Matrix, precision, transpose};
use crate::stands;
use crate::status::Failure;
use crate::text::Room;

/// `gemmtree_shape`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Shape {
    precision: i32,
    layout: i32,
    transpose_a: i32,
    transpose_b: i32,
    m: usize,
    n: usize,
    k: usize,
    batch: usize,
}

impl Shape {
    /// # Safety
    /// `shape` is null or points to one.
    unsafe fn read(shape: *const Self) -> Result<Call, Failure> {
        // SAFETY: null, or points to one.
        let shape = unsafe { shape.as_ref() }.copied().ok_or_else(|| null("shape"))?;
        let anywhere = Matrix { offset: 0, leading: 0, stride: 0 };
        Ok(Call {
            precision: precision(shape.precision)?,
            layout: Layout::of_code(shape.layout)?,
            transposes: [transpose(shape.transpose_a)?, transpose(shape.transpose_b)?],
            sizes: [shape.m, shape.n, shape.k],
            batch: shape.batch,
            alpha: 1.0,
            beta: 0.0,
            matrices: [anywhere; 3],
        })
    }
}

/// See the header.
///
/// # Safety
/// `handle` is a live one or null, `shape` points to one or is null, `bytes` has room for a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_scratch_size(
    handle: *mut Handle,
    shape: *const Shape,
    bytes: *mut usize,
) -> i32 {
    guarded(|| {
        // SAFETY: as promised by the caller.
        let (shape, bytes) = unsafe { (Shape::read(shape)?, bytes.as_mut()) };
        let bytes = bytes.ok_or_else(|| null("bytes"))?;
        // SAFETY: as promised by the caller.
        let wanted = unsafe { handle::with(handle, |engine| engine.scratch_bytes(&shape)) }?;
        *bytes = usize::try_from(wanted).unwrap_or(usize::MAX);
        Ok(())
    })
}

/// See the header.
///
/// # Safety
/// Handle and queue are live ones or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_reserve(
    handle: *mut Handle,
    queue: cl_command_queue,
    bytes: usize,
) -> i32 {
    guarded(|| {
        if queue.is_null() {
            return Err(null("queue"));
        }
        // SAFETY: as promised by the caller.
        unsafe { handle::with(handle, |engine| engine.reserve(queue, bytes as u64)) }
    })
}

/// See the header.
///
/// # Safety
/// Handle and memory are live ones or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_set_scratch(handle: *mut Handle, scratch: cl_mem) -> i32 {
    // SAFETY: as promised by the caller.
    guarded(|| unsafe { handle::with(handle, |engine| engine.set_scratch(scratch)) })
}

/// See the header.
///
/// # Safety
/// `handle` is a live one or null, `shape` points to one or is null, `id` and `length` have room for a number or
/// are null, and `text` has room for `capacity` bytes or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_select(
    handle: *mut Handle,
    shape: *const Shape,
    id: *mut u32,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    guarded(|| {
        // SAFETY: as promised by the caller.
        unsafe {
            let shape = Shape::read(shape)?;
            let (kernel, name) = handle::with(handle, |engine| engine.select(&shape))?;
            if let Some(id) = id.as_mut() {
                *id = kernel.0.into();
            }
            Room { text, capacity, length }.put(&name);
        }
        Ok(())
    })
}

/// See the header.
///
/// # Safety
/// As [`gemmtree_select`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_explain(
    handle: *mut Handle,
    shape: *const Shape,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    guarded(|| {
        // SAFETY: as promised by the caller.
        unsafe {
            let shape = Shape::read(shape)?;
            let why = handle::with(handle, |engine| engine.explain(&shape))?;
            Room { text, capacity, length }.put(&why);
        }
        Ok(())
    })
}

/// See the header.
///
/// # Safety
/// `handle` is a live one or null, `rung` and `length` have room for a number or are null, and `text` has room for
/// `capacity` bytes or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_standing(
    handle: *mut Handle,
    rung: *mut i32,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> i32 {
    guarded(|| {
        // SAFETY: as promised by the caller.
        unsafe {
            handle::with(handle, |engine| {
                let stands = engine.stands();
                if let Some(rung) = rung.as_mut() {
                    *rung = stands::code(stands.rung);
                }
                Room { text, capacity, length }.put(&stands.warnings);
                Ok(())
            })
        }
    })
}

/// See the header.
///
/// # Safety
/// `handle` is a live one or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_set_timing(handle: *mut Handle, wanted: i32) -> i32 {
    guarded(|| {
        // SAFETY: as promised by the caller.
        unsafe {
            handle::with(handle, |engine| {
                engine.set_timing(wanted != 0);
                Ok(())
            })
        }
    })
}

/// See the header.
///
/// # Safety
/// `handle` is a live one or null, and `times` has room for one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_last_times(handle: *mut Handle, times: *mut Times) -> i32 {
    guarded(|| {
        if times.is_null() {
            return Err(null("times"));
        }
        // SAFETY: as promised by the caller.
        unsafe {
            let taken = handle::with(handle, |engine| engine.times())?;
            times.write(taken);
        }
        Ok(())
    })
}
