//! CLBlast's C interface: its order of checks and its statuses, on engines that each thread keeps for itself.

mod bundles;
mod cache;
mod checks;
mod code;

use half::f16;
use opencl3::types::{cl_command_queue, cl_event, cl_half, cl_mem};
use selector_core::Precision;

use crate::engine::Surroundings;
use crate::guard::guarded_as;
use crate::problem::{Call, Layout, Matrix};
use crate::raw;
use crate::status::Failure;
use code::Code;

/// What all multiplications have, as C gives it.
struct Request {
    precision: Precision,
    layout: i32,
    transposes: [i32; 2],
    sizes: [usize; 3],
    batch: usize,
    factors: [f32; 2],
    buffers: [cl_mem; 3],
    matrices: [Matrix; 3],
    queue: *mut cl_command_queue,
    event: *mut cl_event,
}

fn matrix(offset: usize, leading: usize, stride: usize) -> Matrix {
    Matrix { offset, leading, stride }
}

/// # Safety
/// OpenCL objects are live ones or null, `queue` points to one or is null, and `event` has room for one or is null.
unsafe fn multiply(request: Request) -> i32 {
    let mut refused = None;
    let work = || {
        // SAFETY: as promised by the caller.
        unsafe { run(&request) }.map_err(|error| {
            refused = Some(error.code);
            error.failure
        })
    };
    let otherwise = guarded_as(work, Code::of);
    refused.map_or(otherwise, Code::number)
}

/// # Safety
/// As [`multiply`].
unsafe fn run(request: &Request) -> Result<(), Refused> {
    // SAFETY: null, or points to a queue.
    let queue = unsafe { request.queue.as_ref() }.copied().filter(|queue| !queue.is_null());
    let queue =
        queue.ok_or_else(|| Refused::by(Code::INVALID_COMMAND_QUEUE, "the queue is NULL"))?;
    let call = request.call()?;
    checks::check(&call, request.buffers)?;
    let surroundings = Surroundings { queue, waits: &[], event: !request.event.is_null() };
    let home = raw::home(queue)?;
    let done = cache::with(home, |engine| engine.multiply(&call, request.buffers, &surroundings))?;
    if let Some(event) = done {
        // SAFETY: an event is made only where there is room for one.
        unsafe { request.event.write(event) };
    }
    Ok(())
}

impl Request {
    fn call(&self) -> Result<Call, Refused> {
        let value = |error| Refused { code: Code::INVALID_VALUE, failure: error };
        let [transpose_a, transpose_b] = self.transposes;
        let [alpha, beta] = self.factors;
        Ok(Call {
            precision: self.precision,
            layout: Layout::of_code(self.layout).map_err(value)?,
            transposes: [
                checks::transpose(transpose_a).map_err(value)?,
                checks::transpose(transpose_b).map_err(value)?,
            ],
            sizes: self.sizes,
            batch: self.batch,
            alpha,
            beta,
            matrices: self.matrices,
        })
    }
}

/// A failure that has a code of CLBlast's own.
#[derive(Debug)]
struct Refused {
    code: Code,
    failure: Failure,
}

impl Refused {
    fn by(code: Code, words: impl Into<String>) -> Self {
        Self { code, failure: Failure::Argument(words.into()) }
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self { code: Code::from(&failure), failure }
    }
}

/// See the header.
///
/// # Safety
/// OpenCL objects are live ones or null, `queue` points to one or is null, and `event` has room for one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CLBlastSgemm(
    layout: i32,
    a_transpose: i32,
    b_transpose: i32,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a_buffer: cl_mem,
    a_offset: usize,
    a_leading: usize,
    b_buffer: cl_mem,
    b_offset: usize,
    b_leading: usize,
    beta: f32,
    c_buffer: cl_mem,
    c_offset: usize,
    c_leading: usize,
    queue: *mut cl_command_queue,
    event: *mut cl_event,
) -> i32 {
    let request = Request {
        precision: Precision::F32,
        layout,
        transposes: [a_transpose, b_transpose],
        sizes: [m, n, k],
        batch: 1,
        factors: [alpha, beta],
        buffers: [a_buffer, b_buffer, c_buffer],
        matrices: [
            matrix(a_offset, a_leading, 0),
            matrix(b_offset, b_leading, 0),
            matrix(c_offset, c_leading, 0),
        ],
        queue,
        event,
    };
    // SAFETY: as promised by the caller.
    unsafe { multiply(request) }
}

/// See the header.
///
/// # Safety
/// OpenCL objects are live ones or null, `queue` points to one or is null, and `event` has room for one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CLBlastHgemm(
    layout: i32,
    a_transpose: i32,
    b_transpose: i32,
    m: usize,
    n: usize,
    k: usize,
    alpha: cl_half,
    a_buffer: cl_mem,
    a_offset: usize,
    a_leading: usize,
    b_buffer: cl_mem,
    b_offset: usize,
    b_leading: usize,
    beta: cl_half,
    c_buffer: cl_mem,
    c_offset: usize,
    c_leading: usize,
    queue: *mut cl_command_queue,
    event: *mut cl_event,
) -> i32 {
    let request = Request {
        precision: Precision::F16,
        layout,
        transposes: [a_transpose, b_transpose],
        sizes: [m, n, k],
        batch: 1,
        factors: [single(alpha), single(beta)],
        buffers: [a_buffer, b_buffer, c_buffer],
        matrices: [
            matrix(a_offset, a_leading, 0),
            matrix(b_offset, b_leading, 0),
            matrix(c_offset, c_leading, 0),
        ],
        queue,
        event,
    };
    // SAFETY: as promised by the caller.
    unsafe { multiply(request) }
}

/// See the header.
///
/// # Safety
/// OpenCL objects are live ones or null, `queue` points to one or is null, and `event` has room for one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CLBlastSgemmStridedBatched(
    layout: i32,
    a_transpose: i32,
    b_transpose: i32,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a_buffer: cl_mem,
    a_offset: usize,
    a_leading: usize,
    a_stride: usize,
    b_buffer: cl_mem,
    b_offset: usize,
    b_leading: usize,
    b_stride: usize,
    beta: f32,
    c_buffer: cl_mem,
    c_offset: usize,
    c_leading: usize,
    c_stride: usize,
    batch_count: usize,
    queue: *mut cl_command_queue,
    event: *mut cl_event,
) -> i32 {
    let request = Request {
        precision: Precision::F32,
        layout,
        transposes: [a_transpose, b_transpose],
        sizes: [m, n, k],
        batch: batch_count,
        factors: [alpha, beta],
        buffers: [a_buffer, b_buffer, c_buffer],
        matrices: [
            matrix(a_offset, a_leading, a_stride),
            matrix(b_offset, b_leading, b_stride),
            matrix(c_offset, c_leading, c_stride),
        ],
        queue,
        event,
    };
    // SAFETY: as promised by the caller.
    unsafe { multiply(request) }
}

/// See the header.
///
/// # Safety
/// OpenCL objects are live ones or null, `queue` points to one or is null, and `event` has room for one or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CLBlastHgemmStridedBatched(
    layout: i32,
    a_transpose: i32,
    b_transpose: i32,
    m: usize,
    n: usize,
    k: usize,
    alpha: cl_half,
    a_buffer: cl_mem,
    a_offset: usize,
    a_leading: usize,
    a_stride: usize,
    b_buffer: cl_mem,
    b_offset: usize,
    b_leading: usize,
    b_stride: usize,
    beta: cl_half,
    c_buffer: cl_mem,
    c_offset: usize,
    c_leading: usize,
    c_stride: usize,
    batch_count: usize,
    queue: *mut cl_command_queue,
    event: *mut cl_event,
) -> i32 {
    let request = Request {
        precision: Precision::F16,
        layout,
        transposes: [a_transpose, b_transpose],
        sizes: [m, n, k],
        batch: batch_count,
        factors: [single(alpha), single(beta)],
        buffers: [a_buffer, b_buffer, c_buffer],
        matrices: [
            matrix(a_offset, a_leading, a_stride),
            matrix(b_offset, b_leading, b_stride),
            matrix(c_offset, c_leading, c_stride),
        ],
        queue,
        event,
    };
    // SAFETY: as promised by the caller.
    unsafe { multiply(request) }
}

/// A factor of 16 bits in 32, which changes nothing.
fn single(value: cl_half) -> f32 {
    f16::from_bits(value).to_f32()
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn CLBlastClearCache() -> i32 {
    guarded_as(cache::clear, Code::of)
}
