//! The runtime as a library: threads, contexts that come and go, the caller's own objects.
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::sync::Mutex;
use std::thread;

use common::{device, model};
use device_runtime::compile::compile;
use device_runtime::opencl::{self, OpenClBuffer};
use device_runtime::{Arguments, Device, DeviceError, OpenCl, Runtime, RuntimeError};
use kernels::bundle::Bundle;
use kernels::{Configuration, Problem, reference};
use opencl3::command_queue::{
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE, CommandQueue,
};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device as ClDevice};
use opencl3::platform::get_platforms;
use selector_core::{GemmShape, ProblemClass};

const SIDE: u32 = 4;
const LENGTH: usize = 16;

fn problem(alpha: f32) -> Problem {
    let packed = Problem::packed(ProblemClass::F32_NN, GemmShape::new(SIDE, SIDE, SIDE, 1));
    Problem { alpha, ..packed }
}

fn matrix<D: Device>(device: &D, values: &[f32]) -> D::Buffer {
    let mut buffer = device.allocate(4 * values.len() as u64).unwrap();
    device.write(&mut buffer, bytemuck::cast_slice(values)).unwrap();
    buffer
}

fn expected(alpha: f32) -> Vec<f32> {
    let (a, b) = (reference::values(LENGTH, 1), reference::values(LENGTH, 2));
    let length = LENGTH as u64;
    let mut c = vec![0.0; LENGTH];
    reference::gemm(&problem(alpha).check(length, length, length).unwrap(), &a, &b, &mut c);
    c
}

/// Multiply once into memory of its own, and compare.
fn once(runtime: &mut Runtime<'_, OpenCl>, alpha: f32, a: &OpenClBuffer, b: &OpenClBuffer) {
    let c = matrix(runtime.device(), &[f32::NAN; LENGTH]);
    runtime.gemm(problem(alpha), [a, b, &c]).unwrap();
    is_right(runtime.device(), &c, alpha);
}

fn is_right(device: &OpenCl, c: &OpenClBuffer, alpha: f32) {
    let mut after = vec![0.0_f32; LENGTH];
    device.read(c, bytemuck::cast_slice_mut(&mut after)).unwrap();
    for (found, expected) in after.iter().zip(&expected(alpha)) {
        assert!((found - expected).abs() < 1e-5, "alpha {alpha}: {found}, not {expected}");
    }
}

/// Multiply `times` times with `alpha` and compare each result.
fn multiply(runtime: &mut Runtime<'_, OpenCl>, alpha: f32, times: usize) {
    let device = runtime.device();
    let a = matrix(device, &reference::values(LENGTH, 1));
    let b = matrix(device, &reference::values(LENGTH, 2));
    let c = matrix(device, &[f32::NAN; LENGTH]);
    for _ in 0..times {
        runtime.gemm(problem(alpha), [&a, &b, &c]).unwrap();
        is_right(runtime.device(), &c, alpha);
    }
}

fn bundle(device: &OpenCl) -> Vec<u8> {
    compile(device, &model(&[ProblemClass::F32_NN]), &[], |_| {}).unwrap()
}

#[test]
fn threads_with_a_runtime_each_do_not_mix_their_arguments() {
    let Some(device) = device() else { return };
    let bytes = bundle(&device);
    thread::scope(|scope| {
        for alpha in 1..=8_u8 {
            let bytes = &bytes;
            scope.spawn(move || {
                let bundle = Bundle::parse(bytes).unwrap();
                let mut runtime = Runtime::load(OpenCl::open(None).unwrap(), &bundle).unwrap();
                multiply(&mut runtime, f32::from(alpha), 200);
            });
        }
    });
}

#[test]
fn threads_that_take_turns_with_one_runtime_do_not_mix_their_arguments() {
    let Some(device) = device() else { return };
    let bytes = bundle(&device);
    let bundle = Bundle::parse(&bytes).unwrap();
    let runtime = Mutex::new(Runtime::load(device, &bundle).unwrap());
    thread::scope(|scope| {
        for alpha in 1..=8_u8 {
            let runtime = &runtime;
            scope.spawn(move || {
                for _ in 0..100 {
                    multiply(&mut runtime.lock().unwrap(), f32::from(alpha), 10);
                }
            });
        }
    });
}

#[test]
fn a_runtime_can_move_to_another_thread() {
    let Some(device) = device() else { return };
    let bytes = bundle(&device);
    let bundle = Bundle::parse(&bytes).unwrap();
    let mut runtime = Runtime::load(device, &bundle).unwrap();
    multiply(&mut runtime, 1.0, 1);
    thread::scope(|scope| scope.spawn(move || multiply(&mut runtime, 2.0, 10)).join().unwrap());
}

#[test]
fn contexts_that_come_and_go_do_not_see_each_other() {
    let Some(device) = device() else { return };
    let bytes = bundle(&device);
    let bundle = Bundle::parse(&bytes).unwrap();
    for round in 0..50_u8 {
        let mut runtime = Runtime::load(OpenCl::open(None).unwrap(), &bundle).unwrap();
        multiply(&mut runtime, f32::from(round), 1);
    }
    assert_eq!(opencl::refused_releases(), 0);
}

#[test]
fn what_was_made_elsewhere_is_refused_before_the_driver_sees_it() {
    let (Some(here), Some(elsewhere)) = (device(), device()) else { return };
    let program = Configuration::universal().program(ProblemClass::F32_NN);
    let mut mine = here.build(&program).unwrap();
    let mut foreign = elsewhere.build(&program).unwrap();
    let buffers = [1, 2, 3].map(|seed| matrix(&here, &reference::values(LENGTH, seed)));
    let of_foreign = [1, 2, 3].map(|seed| matrix(&elsewhere, &reference::values(LENGTH, seed)));
    let arguments = Arguments::new(&here, problem(1.0), buffers.each_ref()).unwrap();
    let foreign_arguments = Arguments::new(&here, problem(1.0), of_foreign.each_ref()).unwrap();
    let refused = |what| Err(DeviceError::Foreign(what));
    assert_eq!(here.set_arguments(&mut foreign, &arguments).map(|_| ()), refused("kernel"));
    let set = here.set_arguments(&mut mine, &foreign_arguments);
    assert_eq!(set.map(|_| ()), refused("buffer"));
    let mut bytes = [0; 4];
    assert_eq!(here.read(&of_foreign[0], &mut bytes), refused("buffer"));
    let launches = Configuration::universal().launches(arguments.problem());
    let armed = here.set_arguments(&mut mine, &arguments).unwrap();
    let launched = elsewhere.enqueue(&armed, &launches[0], &[]);
    assert_eq!(launched.err(), Some(DeviceError::Foreign("kernel")));
    assert!(here.enqueue(&armed, &launches[0], &[]).is_ok());
}

#[test]
fn the_callers_own_context_queue_and_buffers_are_used() {
    if device().is_none() {
        return;
    }
    let id = get_platforms().unwrap()[0].get_devices(CL_DEVICE_TYPE_ALL).unwrap()[0];
    let context = Context::from_device(&ClDevice::new(id)).unwrap();
    // The order of the queue is the caller's choice too.
    let properties = CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    let queue = CommandQueue::create_default(&context, properties).unwrap();
    let device = OpenCl::with_queue(context, queue).unwrap();
    let bytes = bundle(&device);
    let bundle = Bundle::parse(&bytes).unwrap();
    let mut runtime = Runtime::load(device, &bundle).unwrap();
    multiply(&mut runtime, 3.0, 20);

    let make = || {
        let context = runtime.device().context();
        own_buffer(context, 4 * LENGTH)
    };
    let (mut a, mut b, small) = (make(), make(), own_buffer(runtime.device().context(), 60));
    for (buffer, seed) in [(&mut a, 1), (&mut b, 2)] {
        let values = reference::values(LENGTH, seed);
        runtime.device().write(buffer, bytemuck::cast_slice(&values)).unwrap();
    }
    let c = make();
    runtime.want_events(true);
    let call = runtime.gemm(problem(2.0), [&a, &b, &c]).unwrap();
    let mut after = vec![0.0_f32; LENGTH];
    runtime.device().read(&c, bytemuck::cast_slice_mut(&mut after)).unwrap();
    assert!(after.iter().zip(expected(2.0)).all(|(one, other)| (one - other).abs() < 1e-5));
    assert!(runtime.nanoseconds(&call).unwrap() > 0);
    // The true size counts, whatever the caller believes.
    let error = runtime.gemm(problem(2.0), [&a, &b, &small]).err();
    assert!(matches!(error, Some(RuntimeError::Problem(_))), "{error:?}");
}

#[test]
fn kernels_and_buffers_are_those_of_both_queues_and_times_are_told_by_one() {
    let Some(mut device) = device() else { return };
    let first = device.queue();
    device.record_times(true).unwrap();
    assert_eq!(device.queue(), first);
    device.record_times(false).unwrap();
    let plain = device.queue();
    assert_ne!(plain, first);
    let bytes = bundle(&device);
    let bundle = Bundle::parse(&bytes).unwrap();
    let mut runtime = Runtime::load(device, &bundle).unwrap();
    let [a, b, c] = [1, 2, 3].map(|seed| {
        let values = reference::values(LENGTH, seed);
        matrix(runtime.device(), &values)
    });
    runtime.want_events(true);
    for (turn, records) in [false, true, false, true].into_iter().enumerate() {
        runtime.device_mut().record_times(records).unwrap();
        assert_eq!(runtime.device().queue(), if records { first } else { plain });
        let alpha = turn as f32 + 1.0;
        let call = runtime.gemm(problem(alpha), [&a, &b, &c]).unwrap();
        let told = runtime.nanoseconds(&call);
        assert_eq!(told.is_ok(), records, "{told:?}");
        let mut after = vec![0.0_f32; LENGTH];
        runtime.device().read(&c, bytemuck::cast_slice_mut(&mut after)).unwrap();
        assert!(after.iter().zip(expected(alpha)).all(|(one, other)| (one - other).abs() < 1e-4));
    }
}

#[expect(unsafe_code, reason = "the caller's side of OpenCL")]
fn own_buffer(context: &Context, bytes: usize) -> OpenClBuffer {
    use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
    // SAFETY: no host pointer is given.
    let buffer =
        unsafe { Buffer::create(context, CL_MEM_READ_WRITE, bytes, std::ptr::null_mut()).unwrap() };
    OpenClBuffer::new(buffer).unwrap()
}

#[test]
#[expect(unsafe_code, reason = "the caller's side of OpenCL")]
fn the_callers_own_memory_is_used_where_vectors_can_be_loaded_from_it() {
    use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR};
    let Some(device) = device() else { return };
    let bytes = bundle(&device);
    let mut memory = vec![0_u128; LENGTH];
    let start: *mut u8 = memory.as_mut_ptr().cast();
    let flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
    let at = |byte: usize| {
        // SAFETY: the memory has 16 times as many bytes, and outlives the buffers.
        let buffer =
            unsafe { Buffer::create(device.context(), flags, 4 * LENGTH, start.add(byte).cast()) };
        OpenClBuffer::new(buffer.unwrap())
    };
    for byte in [1, 4, 8, 24] {
        let error = at(byte).err().unwrap();
        assert!(matches!(error, DeviceError::Misaligned { .. }), "{byte}: {error}");
    }
    let (mut a, c) = (at(0).unwrap(), at(128).unwrap());
    assert!(device.overlap(&a, &at(48).unwrap()) && !device.overlap(&a, &c));
    device.write(&mut a, bytemuck::cast_slice(&reference::values(LENGTH, 1))).unwrap();
    let b = matrix(&device, &reference::values(LENGTH, 2));
    let bundle = Bundle::parse(&bytes).unwrap();
    let mut runtime = Runtime::load(device, &bundle).unwrap();
    runtime.gemm(problem(2.0), [&a, &b, &c]).unwrap();
    let mut after = vec![0.0_f32; LENGTH];
    runtime.device().read(&c, bytemuck::cast_slice_mut(&mut after)).unwrap();
    assert!(after.iter().zip(expected(2.0)).all(|(one, other)| (one - other).abs() < 1e-5));
}

#[test]
fn a_queue_of_another_context_is_refused() {
    if device().is_none() {
        return;
    }
    let id = get_platforms().unwrap()[0].get_devices(CL_DEVICE_TYPE_ALL).unwrap()[0];
    let contexts = [0, 1].map(|_| Context::from_device(&ClDevice::new(id)).unwrap());
    let queue = CommandQueue::create_default(&contexts[1], 0).unwrap();
    let [first, _second] = contexts;
    let error = OpenCl::with_queue(first, queue).err();
    assert_eq!(error, Some(DeviceError::Foreign("queue")));
}

#[test]
fn a_runtime_follows_its_caller_from_queue_to_queue() {
    if device().is_none() {
        return;
    }
    let id = get_platforms().unwrap()[0].get_devices(CL_DEVICE_TYPE_ALL).unwrap()[0];
    let [context, elsewhere] = [0, 1].map(|_| Context::from_device(&ClDevice::new(id)).unwrap());
    let properties = [0, CL_QUEUE_PROFILING_ENABLE, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE];
    let queues = properties.map(|one| CommandQueue::create_default(&context, one).unwrap());
    let foreign = CommandQueue::create_default(&elsewhere, 0).unwrap();
    let device = OpenCl::with_context(context).unwrap();
    let bytes = bundle(&device);
    let bundle = Bundle::parse(&bytes).unwrap();
    let mut runtime = Runtime::load(device, &bundle).unwrap();
    assert_eq!(runtime.device_mut().use_queue(foreign), Err(DeviceError::Foreign("queue")));
    for (alpha, queue) in (1_u8..).zip(queues) {
        let address = queue.get();
        runtime.device_mut().use_queue(queue).unwrap();
        assert_eq!(runtime.device().queue(), address);
        multiply(&mut runtime, f32::from(alpha), 3);
    }
}

#[test]
fn what_was_set_for_other_memory_or_another_problem_is_never_taken_for_this_call() {
    let Some(device) = device() else { return };
    let bytes = bundle(&device);
    let bundle = Bundle::parse(&bytes).unwrap();
    let values = [1, 2].map(|seed| reference::values(LENGTH, seed));
    let [a, b] = [0, 1].map(|at| matrix(&device, &values[at]));
    let mut runtime = Runtime::load(device, &bundle).unwrap();
    // The same problem with memory that comes and goes, whose handles a driver gives again.
    for alpha in [1.0, 1.0, 2.0, 1.0, 2.0, 2.0] {
        once(&mut runtime, alpha, &a, &b);
        let copy = matrix(runtime.device(), &values[0]);
        once(&mut runtime, alpha, &copy, &b);
    }
    // Small memory is refused whatever was set before, and nothing of that is lost.
    let c = matrix(runtime.device(), &[f32::NAN; LENGTH]);
    let small = runtime.device().allocate(32).unwrap();
    for _ in 0..2 {
        runtime.gemm(problem(3.0), [&a, &b, &c]).unwrap();
        let refused = runtime.gemm(problem(3.0), [&small, &b, &c]).err().unwrap();
        assert!(matches!(refused, RuntimeError::Problem(_)), "{refused}");
        is_right(runtime.device(), &c, 3.0);
    }
    let foreign = matrix(&common::device().unwrap(), &values[0]);
    let refused = runtime.gemm(problem(3.0), [&foreign, &b, &c]).err().unwrap();
    assert_eq!(refused, RuntimeError::Device(DeviceError::Foreign("buffer")));
}
