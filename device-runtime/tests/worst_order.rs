//! On a queue that keeps no order the pretend driver runs the last command that may run first.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::thread;

use cl3::event::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, create_user_event, get_event_info,
    set_user_event_status, wait_for_events,
};
use common::pretend::is_pretending;
use device_runtime::check::{SourceUnit, check_sources};
use device_runtime::compile::compile;
use device_runtime::opencl::{OpenClBuffer, OpenClEvent};
use device_runtime::{Arguments, CallOptions, Device, OpenCl, Runtime};
use fake_icd::Script;
use kernels::bundle::Bundle;
use kernels::{Configuration, Problem, reference};
use opencl3::command_queue::{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CommandQueue};
use opencl3::context::Context;
use selector_core::{GemmShape, KernelId, ProblemClass};

/// The pretend device with a queue that keeps no order.
fn out_of_order() -> OpenCl {
    let found = OpenCl::open(None).unwrap();
    let context =
        Context::from_device(&opencl3::device::Device::new(found.context().default_device()));
    let context = context.unwrap();
    let queue =
        CommandQueue::create_default(&context, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE).unwrap();
    OpenCl::with_queue(context, queue).unwrap()
}

#[test]
fn every_family_is_right_in_the_worst_order() {
    if !is_pretending("every_family_is_right_in_the_worst_order", &Script::default()) {
        return;
    }
    let device = out_of_order();
    for unit in SourceUnit::few() {
        let report = check_sources(&device, &unit).unwrap();
        assert!(report.wrong.is_empty(), "{}: {:?}", report.program, report.wrong);
    }
}

#[test]
fn a_step_that_does_not_wait_for_the_one_before_is_found_out() {
    if !is_pretending(
        "a_step_that_does_not_wait_for_the_one_before_is_found_out",
        &Script::default(),
    ) {
        return;
    }
    let device = out_of_order();
    let configuration: Configuration =
        kernels::space::starter().into_iter().find(|one| one.family().name() == "split").unwrap();
    let problem = Problem::packed(ProblemClass::F32_NN, GemmShape::new(8, 4096, 8, 1));
    let mut c = [vec![0_u8; 4 * 64], vec![0_u8; 4 * 64]];
    for (waits, result) in [true, false].into_iter().zip(&mut c) {
        let ones = bytemuck::cast_slice::<f32, u8>(&[1.0; 8 * 4096]).to_vec();
        let [a, b, into] = [ones.len(), ones.len(), result.len()].map(|bytes| {
            let mut buffer = device.allocate(bytes as u64).unwrap();
            device.write(&mut buffer, &ones[..bytes]).unwrap();
            buffer
        });
        let mut kernel = device.build(&configuration.program(problem.class)).unwrap();
        let arguments = Arguments::new(&device, problem, [&a, &b, &into]).unwrap();
        let scratch = device.allocate(configuration.scratch(arguments.problem())).unwrap();
        let arguments = arguments.with_scratch(&device, &configuration, Some(&scratch)).unwrap();
        let launches = configuration.launches(arguments.problem());
        assert!(launches.len() > 1, "k is long enough to be split");
        let armed = device.set_arguments(&mut kernel, &arguments).unwrap();
        let mut before = Vec::new();
        for launch in launches.iter() {
            let wait = if waits { &before[..] } else { &[] };
            let event = device.enqueue(&armed, launch, wait).unwrap();
            before.push(event);
        }
        device.finish().unwrap();
        device.read(&into, result).unwrap();
    }
    let [right, wrong] = c.map(|bytes| bytemuck::pod_collect_to_vec::<u8, f32>(&bytes));
    assert_eq!(right, [4096.0; 64]);
    assert_ne!(wrong, right);
}

#[test]
fn contexts_are_made_and_dropped_a_thousand_times_and_threads_have_one_each() {
    if !is_pretending(
        "contexts_are_made_and_dropped_a_thousand_times_and_threads_have_one_each",
        &Script::default(),
    ) {
        return;
    }
    let universal = Configuration::universal();
    let problem = Problem::packed(ProblemClass::F32_NN, GemmShape::new(4, 4, 4, 1));
    let multiply = |device: &OpenCl| {
        let ones = bytemuck::cast_slice::<f32, u8>(&[1.0; 16]).to_vec();
        let [a, b, c] = [(); 3].map(|()| {
            let mut buffer = device.allocate(64).unwrap();
            device.write(&mut buffer, &ones).unwrap();
            buffer
        });
        common::call(device, &universal, problem, [&a, &b, &c]);
        let mut result = [0; 64];
        device.read(&c, &mut result).unwrap();
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(&result), [4.0; 16]);
    };
    // Handles come again: what was remembered by one would be another's.
    for _ in 0..1000 {
        multiply(&OpenCl::open(None).unwrap());
    }
    assert_eq!(device_runtime::opencl::refused_releases(), 0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let device = OpenCl::open(None).unwrap();
                (0..50).for_each(|_| multiply(&device));
            });
        }
    });
}

/// Edges on all sides, and a k that is long enough to be split.
const EDGED: GemmShape = GemmShape::new(5, 4095, 5, 1);

fn edged() -> Problem {
    Problem::packed(ProblemClass::F32_NN, EDGED)
}

/// A runtime whose kernels take several steps, on a queue that keeps no order.
fn of_steps(test: impl FnOnce(Runtime<'_, OpenCl>, [&OpenClBuffer; 2])) {
    let device = out_of_order();
    let class = ProblemClass::F32_NN;
    let has_steps = |one: &Configuration| one.program(class).functions.len() > 1;
    let kernels: Vec<_> = kernels::space::starter().into_iter().filter(has_steps).collect();
    let model = common::of_kernels(
        &[kernels[0].clone(), kernels[1].clone()],
        &[class],
        Some(kernels::space::hash()),
    );
    let bytes = compile(&device, &model, &[], |_| {}).unwrap();
    let [a, b] = inputs().map(|values| {
        let mut buffer = device.allocate(4 * values.len() as u64).unwrap();
        device.write(&mut buffer, bytemuck::cast_slice(&values)).unwrap();
        buffer
    });
    let runtime = Runtime::load(device, &Bundle::parse(&bytes).unwrap()).unwrap();
    test(runtime, [&a, &b]);
}

fn inputs() -> [Vec<f32>; 2] {
    let length = (EDGED.m * EDGED.k) as usize;
    [1, 2].map(|seed| reference::values(length, seed))
}

fn nothing(device: &OpenCl) -> OpenClBuffer {
    let mut c = device.allocate(100).unwrap();
    device.write(&mut c, bytemuck::cast_slice(&[f32::NAN; 25])).unwrap();
    c
}

fn is_right(found: &[f32]) -> bool {
    let [a, b] = inputs();
    let before = [f32::NAN; 25];
    let lengths = [a.len(), b.len(), before.len()].map(|length| length as u64);
    let mut expected = reference::Expectation::new(&before);
    expected.add(&edged().check(lengths[0], lengths[1], lengths[2]).unwrap(), &a, &b);
    expected.check(found).is_ok()
}

/// Read C as soon as `done` is complete, and wait for nothing else.
#[expect(unsafe_code, reason = "the caller's side of OpenCL")]
fn read_after(device: &OpenCl, c: &OpenClBuffer, done: &OpenClEvent) -> Vec<f32> {
    let mut values = vec![0.0_f32; 25];
    let wait = [done.raw()];
    // SAFETY: the copy is waited for, and as long as both.
    let event = unsafe {
        cl3::command_queue::enqueue_read_buffer(
            device.queue(),
            c.memory(),
            1,
            0,
            100,
            values.as_mut_ptr().cast(),
            1,
            wait.as_ptr(),
        )
    };
    // SAFETY: the driver has just made it, for us.
    drop(unsafe { OpenClEvent::from_raw(event.unwrap()) });
    values
}

#[test]
fn the_event_of_a_call_is_that_of_its_last_step() {
    if !is_pretending("the_event_of_a_call_is_that_of_its_last_step", &Script::default()) {
        return;
    }
    of_steps(|mut runtime, [a, b]| {
        for events in [false, true] {
            let c = nothing(runtime.device());
            runtime.reserve(runtime.scratch_bytes(&edged()).unwrap()).unwrap();
            runtime.want_events(events);
            let options = CallOptions { event: true, ..CallOptions::default() };
            let call = runtime.gemm_options(edged(), [a, b, &c], &options).unwrap();
            assert_ne!(call.kernel, Some(KernelId::UNIVERSAL));
            let found = read_after(runtime.device(), &c, call.done.as_ref().unwrap());
            assert!(is_right(&found), "{found:?}");
        }
        // An event of the first step alone would not do: the driver reads C before the last.
        let c = nothing(runtime.device());
        runtime.want_events(true);
        let call = runtime.gemm(edged(), [a, b, &c]).unwrap();
        assert!(call.events.len() > 1);
        assert!(!is_right(&read_after(runtime.device(), &c, &call.events[0])));
    });
}

#[test]
#[expect(unsafe_code, reason = "the caller's side of OpenCL")]
fn independent_calls_wait_for_nothing_of_one_another() {
    if !is_pretending("independent_calls_wait_for_nothing_of_one_another", &Script::default()) {
        return;
    }
    let is_complete = |event: &OpenClEvent| {
        let status = get_event_info(event.raw(), CL_EVENT_COMMAND_EXECUTION_STATUS).unwrap();
        i32::from(status) == CL_COMPLETE
    };
    of_steps(|mut runtime, [a, b]| {
        let context = runtime.device().context().get();
        // Twice the first is held back: the second is of the same problem, then of another one.
        for alpha in [1.0, 2.0] {
            let [c, d] = [(); 2].map(|()| nothing(runtime.device()));
            // SAFETY: it is made here, for us.
            let held = [unsafe { OpenClEvent::from_raw(create_user_event(context).unwrap()) }];
            // Without scratch memory the universal kernel is taken.
            let options = |wait| CallOptions { wait, scratch: None, event: true };
            let other = Problem { alpha, ..edged() };
            let first = runtime.gemm_options(other, [a, b, &c], &options(&held)).unwrap();
            let second = runtime.gemm_options(edged(), [a, b, &d], &options(&[])).unwrap();
            let universal = Some(KernelId::UNIVERSAL);
            assert_eq!([first.kernel, second.kernel], [universal; 2]);
            let [first, second] = [first.done.unwrap(), second.done.unwrap()];
            // The first is held back, and the second is done all the same.
            wait_for_events(&[second.raw()]).unwrap();
            assert!(is_complete(&second) && !is_complete(&first));
            assert!(is_right(&read_after(runtime.device(), &d, &second)));
            set_user_event_status(held[0].raw(), CL_COMPLETE).unwrap();
            let mut found = read_after(runtime.device(), &c, &first);
            found.iter_mut().for_each(|value| *value /= alpha);
            assert!(is_right(&found));
        }
    });
}
