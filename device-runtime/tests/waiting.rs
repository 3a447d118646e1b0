//! Events in and out: a call begins after what it is told to wait for, and its event is complete when its
//! last launch is, whatever the order of the queue.
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use cl3::event::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, create_user_event, get_event_info,
    retain_event, set_user_event_status, wait_for_events,
};
use common::parted::{parted, with_parted};
use common::{device, model};
use device_runtime::compile::compile;
use device_runtime::opencl::{OpenClBuffer, OpenClEvent};
use device_runtime::{CallOptions, Device, OpenCl, Runtime};
use kernels::bundle::Bundle;
use kernels::{Problem, reference};
use opencl3::command_queue::{
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE, CommandQueue,
};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device as ClDevice};
use opencl3::platform::get_platforms;
use selector_core::{GemmShape, KernelId, ProblemClass};

const SIDE: u32 = 12;
const LENGTH: usize = 144;
const PARTS: u16 = 3;

fn problem(alpha: f32) -> Problem {
    let packed = Problem::packed(ProblemClass::F32_NN, GemmShape::new(SIDE, SIDE, SIDE, 1));
    Problem { alpha, ..packed }
}

fn with_order(keeps_order: bool) -> OpenCl {
    let id = get_platforms().unwrap()[0].get_devices(CL_DEVICE_TYPE_ALL).unwrap()[0];
    let context = Context::from_device(&ClDevice::new(id)).unwrap();
    let order = if keeps_order { 0 } else { CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE };
    let queue = CommandQueue::create_default(&context, CL_QUEUE_PROFILING_ENABLE | order);
    OpenCl::with_queue(context, queue.unwrap()).unwrap()
}

/// A runtime whose first kernel takes two steps and scratch memory if it is there, else the universal
/// one is taken.
fn on(keeps_order: bool, test: impl FnOnce(Runtime<'_, OpenCl>)) {
    let device = with_order(keeps_order);
    let bytes = compile(&device, &model(&[ProblemClass::F32_NN]), &[], |_| {}).unwrap();
    let program = parted(PARTS).program(ProblemClass::F32_NN);
    let binary = device.binary(&device.build(&program).unwrap()).unwrap();
    let bundle = with_parted(Bundle::parse(&bytes).unwrap(), PARTS, &program.name, &binary);
    test(Runtime::load(device, &bundle).unwrap());
}

fn matrix(device: &OpenCl, values: &[f32]) -> OpenClBuffer {
    let mut buffer = device.allocate(4 * values.len() as u64).unwrap();
    device.write(&mut buffer, bytemuck::cast_slice(values)).unwrap();
    buffer
}

fn inputs(device: &OpenCl) -> [OpenClBuffer; 2] {
    [1, 2].map(|seed| matrix(device, &reference::values(LENGTH, seed)))
}

fn nothing(device: &OpenCl) -> OpenClBuffer {
    matrix(device, &[f32::NAN; LENGTH])
}

fn is_right(device: &OpenCl, c: &OpenClBuffer, alpha: f32) {
    let (a, b) = (reference::values(LENGTH, 1), reference::values(LENGTH, 2));
    let mut expected = vec![0.0; LENGTH];
    let length = LENGTH as u64;
    reference::gemm(&problem(alpha).check(length, length, length).unwrap(), &a, &b, &mut expected);
    let mut after = vec![0.0_f32; LENGTH];
    device.read(c, bytemuck::cast_slice_mut(&mut after)).unwrap();
    for (found, expected) in after.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-4, "alpha {alpha}: {found}, not {expected}");
    }
}

/// An event that the test completes.
#[expect(unsafe_code, reason = "the caller's side of OpenCL")]
fn user_event(device: &OpenCl) -> OpenClEvent {
    let event = create_user_event(device.context().get()).unwrap();
    // SAFETY: it was made here, for us.
    unsafe { OpenClEvent::from_raw(event) }
}

fn complete(event: &OpenClEvent) {
    set_user_event_status(event.raw(), CL_COMPLETE).unwrap();
}

fn wait_for(event: &OpenClEvent) {
    wait_for_events(&[event.raw()]).unwrap();
}

fn is_complete(event: &OpenClEvent) -> bool {
    let status = get_event_info(event.raw(), CL_EVENT_COMMAND_EXECUTION_STATUS).unwrap();
    i32::from(status) == CL_COMPLETE
}

fn flush(device: &OpenCl) {
    cl3::command_queue::flush(device.queue()).unwrap();
}

#[test]
fn a_call_begins_after_what_it_waits_for_and_its_event_ends_with_its_last_launch() {
    if device().is_none() {
        return;
    }
    for keeps_order in [true, false] {
        for scratch in [0, 1 << 16] {
            for events in [false, true] {
                on(keeps_order, |mut runtime| {
                    let [a, b] = inputs(runtime.device());
                    let c = nothing(runtime.device());
                    runtime.reserve(scratch).unwrap();
                    runtime.want_events(events);
                    let waits = [user_event(runtime.device()), user_event(runtime.device())];
                    let options = CallOptions { wait: &waits, event: true, scratch: None };
                    let call = runtime.gemm_options(problem(2.0), [&a, &b, &c], &options).unwrap();
                    let expected = if scratch > 0 { KernelId(1) } else { KernelId::UNIVERSAL };
                    assert_eq!(call.kernel, Some(expected));
                    let launches = if scratch > 0 { 2 } else { 1 };
                    assert_eq!(call.events.len(), if events { launches } else { 0 });
                    let done = call.done.as_ref().unwrap();
                    flush(runtime.device());
                    complete(&waits[0]);
                    assert!(!is_complete(done) && call.events.iter().all(|one| !is_complete(one)));
                    complete(&waits[1]);
                    wait_for(done);
                    assert!(call.events.iter().all(is_complete));
                    is_right(runtime.device(), &c, 2.0);
                });
            }
        }
    }
}

#[test]
fn without_order_calls_that_use_the_same_scratch_follow_one_another() {
    if device().is_none() {
        return;
    }
    on(false, |mut runtime| {
        let [a, b] = inputs(runtime.device());
        let outputs = [2.0, 3.0, 4.0, 5.0].map(|alpha| (alpha, nothing(runtime.device())));
        runtime.reserve(1 << 16).unwrap();
        let held = [user_event(runtime.device())];
        let mut ends = Vec::new();
        for (number, (alpha, c)) in outputs.iter().enumerate() {
            // The first waits; each other way of telling an end is in the row.
            let wait = if number == 0 { &held[..] } else { &[] };
            runtime.want_events(number == 2);
            let options = CallOptions { wait, event: number != 1, scratch: None };
            let call = runtime.gemm_options(problem(*alpha), [&a, &b, c], &options).unwrap();
            assert_eq!(call.kernel, Some(KernelId(1)));
            ends.extend(call.done);
        }
        flush(runtime.device());
        assert!(ends.iter().all(|end| !is_complete(end)));
        complete(&held[0]);
        ends.iter().for_each(wait_for);
        for (alpha, c) in &outputs {
            is_right(runtime.device(), c, *alpha);
        }
    });
}

#[test]
fn a_chain_of_calls_adds_up_in_its_own_order() {
    if device().is_none() {
        return;
    }
    for scratch in [0, 1 << 16] {
        on(false, |mut runtime| {
            let [a, b] = inputs(runtime.device());
            let c = matrix(runtime.device(), &[0.0; LENGTH]);
            runtime.reserve(scratch).unwrap();
            let mut last: Option<OpenClEvent> = None;
            for _ in 0..100 {
                let options = CallOptions { wait: last.as_slice(), event: true, scratch: None };
                let more = Problem { beta: 1.0, ..problem(0.5) };
                last = runtime.gemm_options(more, [&a, &b, &c], &options).unwrap().done;
            }
            wait_for(last.as_ref().unwrap());
            let mut after = vec![0.0_f32; LENGTH];
            runtime.device().read(&c, bytemuck::cast_slice_mut(&mut after)).unwrap();
            let once = nothing(runtime.device());
            runtime.gemm(problem(50.0), [&a, &b, &once]).unwrap();
            let mut expected = vec![0.0_f32; LENGTH];
            runtime.device().read(&once, bytemuck::cast_slice_mut(&mut expected)).unwrap();
            for (found, expected) in after.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-2, "{found}, not {expected}");
            }
        });
    }
}

#[test]
fn a_call_with_nothing_to_do_still_ends_after_what_it_waits_for() {
    if device().is_none() {
        return;
    }
    for keeps_order in [true, false] {
        on(keeps_order, |mut runtime| {
            let [a, b] = inputs(runtime.device());
            let held = [user_event(runtime.device())];
            let options = CallOptions { wait: &held, event: true, scratch: None };
            let nothing = Problem { beta: 1.0, ..problem(0.0) };
            let call = runtime.gemm_options(nothing, [&a, &b, &a], &options).unwrap();
            let done = call.done.as_ref().unwrap();
            flush(runtime.device());
            assert!(call.kernel.is_none() && !is_complete(done));
            complete(&held[0]);
            wait_for(done);
        });
    }
}

#[test]
#[expect(unsafe_code, reason = "the caller's side of OpenCL")]
fn a_callers_raw_events_are_waited_for_and_given() {
    if device().is_none() {
        return;
    }
    on(true, |mut runtime| {
        let [a, b] = inputs(runtime.device());
        let c = nothing(runtime.device());
        let raw = [create_user_event(runtime.device().context().get()).unwrap()];
        // SAFETY: the array and its event outlive the borrow.
        let wait = unsafe { OpenClEvent::borrowed(raw.as_ptr(), raw.len()) };
        let options = CallOptions { wait, event: true, scratch: None };
        let done = runtime.gemm_options(problem(1.0), [&a, &b, &c], &options).unwrap().done;
        let done = done.unwrap().into_raw();
        set_user_event_status(raw[0], CL_COMPLETE).unwrap();
        wait_for_events(&[done]).unwrap();
        // SAFETY: both are valid, and given back once; no list is read where there is none.
        unsafe {
            retain_event(done).unwrap();
            drop([OpenClEvent::from_raw(done), OpenClEvent::from_raw(done)]);
            drop(OpenClEvent::from_raw(raw[0]));
            assert!(OpenClEvent::borrowed(std::ptr::null(), 0).is_empty());
        }
        is_right(runtime.device(), &c, 1.0);
    });
}
