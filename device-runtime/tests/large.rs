//! Positions beyond 2³¹ elements: an index of 31 bits would wrap there, silently. The host's part runs
//! everywhere, each family's where a buffer may be so large.
#![expect(
    unsafe_code,
    clippy::unwrap_used,
    reason = "the caller's side of OpenCL; a test ends by a panic"
)]

mod common;

use std::ptr;

use cl3::command_queue::{enqueue_read_buffer, enqueue_write_buffer};
use common::sample::of_every_family;
use common::{call, device};
use device_runtime::mock::Mock;
use device_runtime::opencl::OpenClBuffer;
use device_runtime::{Arguments, Device, OpenCl};
use half::f16;
use kernels::{Configuration, Operand, Problem, ProblemError, reference};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::types::CL_BLOCKING;
use selector_core::GemmShape;

/// Rows of this length put the second one beyond 2³¹ elements.
const LEADING: u64 = (1 << 31) + 16;
const SIDE: usize = 8;

fn matrix(device: &OpenCl, elements: u64) -> OpenClBuffer {
    let bytes = 2 * elements as usize;
    // SAFETY: no host pointer is given.
    let buffer = unsafe {
        Buffer::create(device.context(), CL_MEM_READ_WRITE, bytes, ptr::null_mut()).unwrap()
    };
    OpenClBuffer::new(buffer).unwrap()
}

fn write(device: &OpenCl, buffer: &OpenClBuffer, element: u64, values: &[f16]) {
    let (queue, at, bytes) =
        (device.queue(), 2 * element as usize, bytemuck::cast_slice::<_, u8>(values));
    // SAFETY: the copy is waited for, and inside the buffer.
    unsafe {
        enqueue_write_buffer(
            queue,
            buffer.memory(),
            CL_BLOCKING,
            at,
            bytes.len(),
            bytes.as_ptr().cast(),
            0,
            ptr::null(),
        )
        .unwrap();
    }
}

fn read(device: &OpenCl, buffer: &OpenClBuffer, element: u64, values: &mut [f16]) {
    let bytes = bytemuck::cast_slice_mut::<_, u8>(values);
    // SAFETY: the copy is waited for, and inside the buffer.
    unsafe {
        enqueue_read_buffer(
            device.queue(),
            buffer.memory(),
            CL_BLOCKING,
            2 * element as usize,
            bytes.len(),
            bytes.as_mut_ptr().cast(),
            0,
            ptr::null(),
        )
        .unwrap();
    }
}

/// Rows of `values`, so far apart as `operand` says.
fn put(device: &OpenCl, buffer: &OpenClBuffer, operand: Operand, values: &[f16], columns: usize) {
    for (row, values) in (0..).zip(values.chunks(columns)) {
        write(device, buffer, row * operand.leading, values);
    }
}

/// 2×2×8, side by side.
fn near() -> Problem {
    Problem::packed("f16-nn".parse().unwrap(), GemmShape::new(2, 2, SIDE as u32, 1))
}

/// The same with rows of this length in the operand of this number.
fn far_in(operand: usize, leading: u64) -> Problem {
    let mut problem = near();
    [&mut problem.a, &mut problem.b, &mut problem.c][operand].leading = leading;
    problem
}

/// Compute 2×2×8 with far rows in the operand of this number; how far C is from what it should be.
fn error(
    device: &OpenCl,
    configuration: &Configuration,
    far: usize,
    buffers: [&OpenClBuffer; 3],
) -> f32 {
    let (near, problem) = (near(), far_in(far, LEADING));
    let [a, b] = [(1, 4), (2, 16)].map(|(seed, length)| -> Vec<f16> {
        reference::values(length, seed).into_iter().map(f16::from_f32).collect()
    });
    put(device, buffers[0], problem.a, &a, 2);
    put(device, buffers[1], problem.b, &b, SIDE);
    put(device, buffers[2], problem.c, &[f16::NAN; 16], SIDE);
    call(device, configuration, problem, buffers);
    let mut expected = [f16::ZERO; 16];
    reference::gemm(&near.check(4, 16, 16).unwrap(), &a, &b, &mut expected);
    let mut found = [f16::ZERO; 16];
    for (row, found) in (0..).zip(found.chunks_mut(SIDE)) {
        read(device, buffers[2], row * problem.c.leading, found);
    }
    let errors =
        found.iter().zip(&expected).map(|(one, other)| (one.to_f32() - other.to_f32()).abs());
    // NaN is not below anything.
    errors.fold(0.0, |worst, error| if error <= worst { worst } else { error })
}

#[test]
fn buffers_that_end_before_the_far_row_does_are_refused_by_what_it_needs() {
    let device = Mock::default();
    let buffers = [(); 3].map(|()| device.allocate(64).unwrap());
    let enough = near().buffer_lengths().unwrap();
    for (far, (matrix, columns)) in [('A', 2), ('B', 8), ('C', 8)].into_iter().enumerate() {
        let problem = far_in(far, LEADING);
        let need = LEADING + columns;
        let mut lengths = enough;
        lengths[far] = need;
        assert_eq!(problem.buffer_lengths(), Ok(lengths));
        assert!(problem.check(lengths[0], lengths[1], lengths[2]).is_ok());
        lengths[far] -= 1;
        let refused = |have| Err(ProblemError::BufferTooSmall { matrix, need, have });
        let short = problem.check(lengths[0], lengths[1], lengths[2]);
        assert_eq!(short.map(|_| ()), refused(need - 1));
        // 32 elements of a real buffer, which a position that wrapped would be within.
        let arguments = Arguments::new(&device, problem, buffers.each_ref());
        assert_eq!(arguments.map(|_| ()), refused(32));
        let beyond = far_in(far, (1 << 32) - columns);
        assert_eq!(beyond.buffer_lengths(), Err(ProblemError::TooLarge { matrix }));
    }
}

#[test]
fn rows_that_begin_beyond_two_to_the_31_elements_are_read_and_written_where_they_are() {
    let Some(device) = device() else { return };
    let length = LEADING + SIDE as u64;
    if device.info().largest_buffer < 2 * length {
        println!("skipped: no buffer of the device holds {} bytes", 2 * length);
        return;
    }
    // Of its 4 GiB only the pages of two rows are ever touched.
    let (large, small) = (matrix(&device, length), [(); 2].map(|()| matrix(&device, 64)));
    let limits = &device.info().limits;
    for configuration in of_every_family(1) {
        if configuration.fits(limits).is_err() {
            continue;
        }
        for far in 0..3 {
            let [one, other] = &small;
            let mut buffers = [one, other, other];
            (buffers[far], buffers[(far + 1) % 3], buffers[(far + 2) % 3]) = (&large, one, other);
            let error = error(&device, &configuration, far, buffers);
            assert!(error < 1e-2, "{configuration}, operand {far}: {error}");
        }
    }
}
