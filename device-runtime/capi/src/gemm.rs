//! The multiplications.

use std::{ptr, slice};

use opencl3::types::{cl_command_queue, cl_event, cl_mem};
use selector_core::Precision;

use crate::engine::Surroundings;
use crate::guard::guarded;
use crate::handle::{self, Handle, null};
use crate::problem::{Call, Layout, Matrix, precision, transpose};
use crate::status::Failure;

/// What all multiplications have, as C gives it.
struct Request {
    handle: *mut Handle,
    layout: i32,
    transposes: [i32; 2],
    sizes: [usize; 3],
    batch: usize,
    factors: [f32; 2],
    buffers: [cl_mem; 3],
    matrices: [Matrix; 3],
    queue: cl_command_queue,
    waits: (u32, *const cl_event),
    event: *mut cl_event,
}

fn matrix(offset: usize, leading: usize, stride: usize) -> Matrix {
    Matrix { offset, leading, stride }
}

impl Request {
    /// # Safety
    /// Handle and OpenCL objects are live ones or null; the list of events is null or as long as it says; `event`
    /// is null or has room for one.
    unsafe fn run(self, is_half: bool) -> Result<(), Failure> {
        let [transpose_a, transpose_b] = self.transposes;
        let transposes = [transpose(transpose_a)?, transpose(transpose_b)?];
        let layout = Layout::of_code(self.layout)?;
        if self.queue.is_null() {
            return Err(null("queue"));
        }
        // SAFETY: as promised by the caller.
        let waits = unsafe { events(self.waits) }?;
        let surroundings = Surroundings { queue: self.queue, waits, event: !self.event.is_null() };
        // SAFETY: as promised by the caller.
        let done = unsafe {
            handle::with(self.handle, |engine| {
                let [alpha, beta] = self.factors;
                let call = Call {
                    precision: if is_half { engine.half } else { Precision::F32 },
                    layout,
                    transposes,
                    sizes: self.sizes,
                    batch: self.batch,
                    alpha,
                    beta,
                    matrices: self.matrices,
                };
                engine.multiply(&call, self.buffers, &surroundings)
            })
        }?;
        if let Some(event) = done {
            // SAFETY: an event is made only where there is room for one.
            unsafe { self.event.write(event) };
        }
        Ok(())
    }
}

/// The events of a wait list.
///
/// # Safety
/// The list is null or as long as it says.
unsafe fn events<'a>((count, list): (u32, *const cl_event)) -> Result<&'a [cl_event], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if list.is_null() {
        return Err(Failure::Argument(format!("wait_list is NULL, but has {count} events")));
    }
    // SAFETY: not null, and as long as it says.
    let list = unsafe { slice::from_raw_parts(list, count as usize) };
    if list.contains(&ptr::null_mut()) {
        return Err(null("an event of the wait list"));
    }
    Ok(list)
}

/// See the header.
///
/// # Safety
/// Handle and OpenCL objects are live ones or null, `wait_list` is null or has `wait_count` events, and `event` is
/// null or has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_sgemm(
    handle: *mut Handle,
    layout: i32,
    transpose_a: i32,
    transpose_b: i32,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a: cl_mem,
    a_offset: usize,
    a_leading: usize,
    b: cl_mem,
    b_offset: usize,
    b_leading: usize,
    beta: f32,
    c: cl_mem,
    c_offset: usize,
    c_leading: usize,
    queue: cl_command_queue,
    wait_count: u32,
    wait_list: *const cl_event,
    event: *mut cl_event,
) -> i32 {
    let request = Request {
        handle,
        layout,
        transposes: [transpose_a, transpose_b],
        sizes: [m, n, k],
        batch: 1,
        factors: [alpha, beta],
        buffers: [a, b, c],
        matrices: [
            matrix(a_offset, a_leading, 0),
            matrix(b_offset, b_leading, 0),
            matrix(c_offset, c_leading, 0),
        ],
        queue,
        waits: (wait_count, wait_list),
        event,
    };
    // SAFETY: as promised by the caller.
    guarded(|| unsafe { request.run(false) })
}

/// See the header.
///
/// # Safety
/// Handle and OpenCL objects are live ones or null, `wait_list` is null or has `wait_count` events, and `event` is
/// null or has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_hgemm(
    handle: *mut Handle,
    layout: i32,
    transpose_a: i32,
    transpose_b: i32,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a: cl_mem,
    a_offset: usize,
    a_leading: usize,
    b: cl_mem,
    b_offset: usize,
    b_leading: usize,
    beta: f32,
    c: cl_mem,
    c_offset: usize,
    c_leading: usize,
    queue: cl_command_queue,
    wait_count: u32,
    wait_list: *const cl_event,
    event: *mut cl_event,
) -> i32 {
    let request = Request {
        handle,
        layout,
        transposes: [transpose_a, transpose_b],
        sizes: [m, n, k],
        batch: 1,
        factors: [alpha, beta],
        buffers: [a, b, c],
        matrices: [
            matrix(a_offset, a_leading, 0),
            matrix(b_offset, b_leading, 0),
            matrix(c_offset, c_leading, 0),
        ],
        queue,
        waits: (wait_count, wait_list),
        event,
    };
    // SAFETY: as promised by the caller.
    guarded(|| unsafe { request.run(true) })
}

/// See the header.
///
/// # Safety
/// Handle and OpenCL objects are live ones or null, `wait_list` is null or has `wait_count` events, and `event` is
/// null or has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_sgemm_strided_batched(
    handle: *mut Handle,
    layout: i32,
    transpose_a: i32,
    transpose_b: i32,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a: cl_mem,
    a_offset: usize,
    a_leading: usize,
    a_stride: usize,
    b: cl_mem,
    b_offset: usize,
    b_leading: usize,
    b_stride: usize,
    beta: f32,
    c: cl_mem,
    c_offset: usize,
    c_leading: usize,
    c_stride: usize,
    batch: usize,
    queue: cl_command_queue,
    wait_count: u32,
    wait_list: *const cl_event,
    event: *mut cl_event,
) -> i32 {
    let request = Request {
        handle,
        layout,
        transposes: [transpose_a, transpose_b],
        sizes: [m, n, k],
        batch,
        factors: [alpha, beta],
        buffers: [a, b, c],
        matrices: [
            matrix(a_offset, a_leading, a_stride),
            matrix(b_offset, b_leading, b_stride),
            matrix(c_offset, c_leading, c_stride),
        ],
        queue,
        waits: (wait_count, wait_list),
        event,
    };
    // SAFETY: as promised by the caller.
    guarded(|| unsafe { request.run(false) })
}

/// See the header.
///
/// # Safety
/// Handle and OpenCL objects are live ones or null, `wait_list` is null or has `wait_count` events, and `event` is
/// null or has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_hgemm_strided_batched(
    handle: *mut Handle,
    layout: i32,
    transpose_a: i32,
    transpose_b: i32,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a: cl_mem,
    a_offset: usize,
    a_leading: usize,
    a_stride: usize,
    b: cl_mem,
    b_offset: usize,
    b_leading: usize,
    b_stride: usize,
    beta: f32,
    c: cl_mem,
    c_offset: usize,
    c_leading: usize,
    c_stride: usize,
    batch: usize,
    queue: cl_command_queue,
    wait_count: u32,
    wait_list: *const cl_event,
    event: *mut cl_event,
) -> i32 {
    let request = Request {
        handle,
        layout,
        transposes: [transpose_a, transpose_b],
        sizes: [m, n, k],
        batch,
        factors: [alpha, beta],
        buffers: [a, b, c],
        matrices: [
            matrix(a_offset, a_leading, a_stride),
            matrix(b_offset, b_leading, b_stride),
            matrix(c_offset, c_leading, c_stride),
        ],
        queue,
        waits: (wait_count, wait_list),
        event,
    };
    // SAFETY: as promised by the caller.
    guarded(|| unsafe { request.run(true) })
}

/// See the header.
///
/// # Safety
/// `handle` is a live one or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_set_half_sums(handle: *mut Handle, half: i32) -> i32 {
    guarded(|| {
        let half = precision(half)?;
        if half == Precision::F32 {
            return Err(Failure::Argument("32 bits are no half precision".to_owned()));
        }
        // SAFETY: as promised by the caller.
        unsafe {
            handle::with(handle, |engine| {
                engine.half = half;
                Ok(())
            })
        }
    })
}
