//! On a queue that keeps no order the pretend driver runs the last command that may run first.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::process::Command;
use std::{env, thread};

use device_runtime::check::{SourceUnit, check_sources};
use device_runtime::{Arguments, Device, OpenCl};
use fake_icd::{Fake, Script, VARIABLE};
use kernels::{Configuration, Problem};
use opencl3::command_queue::{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CommandQueue};
use opencl3::context::Context;
use selector_core::{GemmShape, ProblemClass};

/// Whether this is the process that works on the pretend driver; if not, test `name` is run in one that is.
fn is_pretending(name: &str) -> bool {
    if env::var_os(VARIABLE).is_some() {
        return true;
    }
    let fake = Fake::new(&Script::default()).unwrap();
    let mut again = Command::new(env::current_exe().unwrap());
    let output = fake.lead(again.args(["--exact", name, "--nocapture"])).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:#?}");
    false
}

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
    if !is_pretending("every_family_is_right_in_the_worst_order") {
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
    if !is_pretending("a_step_that_does_not_wait_for_the_one_before_is_found_out") {
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
    if !is_pretending("contexts_are_made_and_dropped_a_thousand_times_and_threads_have_one_each") {
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
