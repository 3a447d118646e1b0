//! The steady state: calls allocate nothing, and neither calls nor contexts leave anything behind.
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

#[path = "../src/bin/gemmtree-board/allocations.rs"]
mod allocations;
mod common;

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use common::parted::{parted, with_parted};
use common::{device, model};
use device_runtime::compile::compile;
use device_runtime::mock::Mock;
use device_runtime::opencl::{self, OpenClBuffer, OpenClEvent};
use device_runtime::{CallOptions, Device, OpenCl, Runtime};
use kernels::bundle::Bundle;
use kernels::{Problem, reference};
use selector_core::{GemmShape, KernelId, ProblemClass};

const SIDE: u32 = 16;

fn problem(m: u32, alpha: f32) -> Problem {
    let packed = Problem::packed(ProblemClass::F32_NN, GemmShape::new(m, SIDE, SIDE, 1));
    Problem { alpha, ..packed }
}

/// The memory of a process tells nothing while another test works.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of memory that the process has.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    1024 * line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap()
}

/// Allocations of `times` calls, whatever each is told, after a few that may allocate.
fn allocations_of<D: Device>(
    runtime: &mut Runtime<'_, D>,
    times: u64,
    row: u64,
    mut call: impl FnMut(&mut Runtime<'_, D>, u64),
) -> u64 {
    (0..row).for_each(|number| call(runtime, number));
    runtime.device().finish().unwrap();
    let before = allocations::made();
    for number in 0..times {
        call(runtime, number);
        if number % row == 0 {
            runtime.device().finish().unwrap();
        }
    }
    allocations::made() - before
}

#[test]
fn what_is_allocated_is_counted() {
    let before = allocations::made();
    let list = std::hint::black_box(vec![1_u8]);
    assert_eq!((allocations::made() - before, list.len()), (1, 1));
}

#[test]
fn a_million_calls_allocate_nothing_and_memory_is_flat() {
    let _alone = alone();
    let class = ProblemClass::F32_NN;
    let bytes = compile(&Mock::default(), &model(&[class]), &[], |_| {}).unwrap();
    let bundle = Bundle::parse(&bytes).unwrap();
    let program = parted(2).program(class).name;
    let binary = format!("mock:{program}");
    let parts = with_parted(bundle.clone(), 2, &program, binary.as_bytes());
    for (bundle, keeps_order) in [(&bundle, true), (&parts, true), (&parts, false)] {
        let device = Mock { idle: true, keeps_order, ..Mock::default() };
        let buffers = [(); 3].map(|()| device.allocate(4096).unwrap());
        let buffers = buffers.each_ref();
        let mut runtime = Runtime::load(device, bundle).unwrap();
        runtime.reserve(1 << 20).unwrap();
        let before = resident();
        let same = allocations_of(&mut runtime, 1_000_000, 1000, |runtime, _| {
            runtime.gemm(problem(SIDE, 2.0), buffers).unwrap();
        });
        let changing = allocations_of(&mut runtime, 100_000, 1000, |runtime, number| {
            let m = 1 + (number % 16) as u32;
            runtime.gemm(problem(m, (number % 37) as f32), buffers).unwrap();
        });
        let wait = [runtime.device().join(&[]).unwrap()];
        runtime.want_events(true);
        runtime.want_host_times(true);
        let options = CallOptions { wait: &wait, event: true, scratch: None };
        let told = allocations_of(&mut runtime, 100_000, 1000, |runtime, _| {
            let call = runtime.gemm_options(problem(SIDE, 2.0), buffers, &options).unwrap();
            assert!(call.done.is_some() && !call.events.spilled());
        });
        assert_eq!([same, changing, told], [0; 3], "keeps order: {keeps_order}");
        assert!(resident() < before + (1 << 20), "{before} bytes became {}", resident());
    }
}

fn matrices(device: &OpenCl) -> [OpenClBuffer; 3] {
    let length = (SIDE * SIDE) as usize;
    [1, 2, 3].map(|seed| {
        let mut buffer = device.allocate(4 * length as u64).unwrap();
        device.write(&mut buffer, bytemuck::cast_slice(&reference::values(length, seed))).unwrap();
        buffer
    })
}

fn expected(alpha: f32) -> Vec<f32> {
    let length = (SIDE * SIDE) as usize;
    let (a, b) = (reference::values(length, 1), reference::values(length, 2));
    let mut c = vec![0.0; length];
    let [of_a, of_b, of_c] = [length as u64; 3];
    reference::gemm(&problem(SIDE, alpha).check(of_a, of_b, of_c).unwrap(), &a, &b, &mut c);
    c
}

fn is_right(device: &OpenCl, c: &OpenClBuffer, alpha: f32) {
    let mut after = vec![0.0_f32; (SIDE * SIDE) as usize];
    device.read(c, bytemuck::cast_slice_mut(&mut after)).unwrap();
    for (found, expected) in after.iter().zip(expected(alpha)) {
        let error = (found - expected).abs();
        assert!(error < 1e-3 * alpha.abs().max(1.0), "alpha {alpha}: {found}, not {expected}");
    }
}

#[test]
fn calls_on_a_driver_allocate_nothing_of_ours() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let bytes = compile(&device, &model(&[ProblemClass::F32_NN]), &[], |_| {}).unwrap();
    let bundle = Bundle::parse(&bytes).unwrap();
    let memory = matrices(&device);
    let buffers = memory.each_ref();
    let mut runtime = Runtime::load(device, &bundle).unwrap();
    let same = allocations_of(&mut runtime, 20_000, 100, |runtime, _| {
        runtime.gemm(problem(SIDE, 2.0), buffers).unwrap();
    });
    let changing = allocations_of(&mut runtime, 5000, 100, |runtime, number| {
        let m = 1 + (number % 16) as u32;
        runtime.gemm(problem(m, (number % 37) as f32), buffers).unwrap();
    });
    let mut last: Option<OpenClEvent> = None;
    let chained = allocations_of(&mut runtime, 5000, 100, |runtime, number| {
        let wait = last.as_slice();
        let options = CallOptions { wait, event: true, scratch: None };
        let call = runtime.gemm_options(problem(SIDE, number as f32), buffers, &options).unwrap();
        last = call.done;
    });
    assert_eq!([same, changing, chained], [0; 3]);
    is_right(runtime.device(), &memory[2], 4999.0);
}

#[test]
fn arguments_that_change_back_and_forth_are_those_of_each_call() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let bytes = compile(&device, &model(&[ProblemClass::F32_NN]), &[], |_| {}).unwrap();
    let bundle = Bundle::parse(&bytes).unwrap();
    let mut runtime = Runtime::load(device, &bundle).unwrap();
    // Buffers come and go, so that drivers give their handles out again.
    for round in 0..200_u32 {
        let memory = matrices(runtime.device());
        let other = matrices(runtime.device());
        let alpha = f32::from(1 + (round % 5) as u8);
        let [a, b, c] = memory.each_ref();
        for (buffers, alpha) in [
            ([a, b, c], alpha),
            ([a, b, &other[2]], alpha),
            ([&other[0], &other[1], c], -alpha),
            ([a, b, c], alpha),
        ] {
            runtime.gemm(problem(SIDE, alpha), buffers).unwrap();
            is_right(runtime.device(), buffers[2], alpha);
        }
        // A handle that is not ours to know.
        #[expect(unsafe_code, reason = "the caller's side of OpenCL")]
        // SAFETY: the buffer outlives what is made of its handle.
        let raw = unsafe { OpenClBuffer::borrowed(other[2].memory()).unwrap() };
        runtime.gemm(problem(SIDE, 7.0), [a, b, &raw]).unwrap();
        is_right(runtime.device(), &other[2], 7.0);
    }
}

#[test]
fn eight_threads_of_ten_thousand_calls_with_their_own_alpha_are_all_right() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let bytes = compile(&device, &model(&[ProblemClass::F32_NN]), &[], |_| {}).unwrap();
    thread::scope(|scope| {
        for thread in 1..=8_u8 {
            let bytes = &bytes;
            scope.spawn(move || {
                let bundle = Bundle::parse(bytes).unwrap();
                let mut runtime = Runtime::load(OpenCl::open(None).unwrap(), &bundle).unwrap();
                let memory = matrices(runtime.device());
                for call in 0..10_000_u32 {
                    let alpha = f32::from(thread) + f32::from((call % 2) as u8) * 0.5;
                    runtime.gemm(problem(SIDE, alpha), memory.each_ref()).unwrap();
                    if call % 97 == 0 {
                        is_right(runtime.device(), &memory[2], alpha);
                    }
                }
                is_right(runtime.device(), &memory[2], f32::from(thread) + 0.5);
            });
        }
    });
}

#[test]
fn a_thousand_contexts_that_come_and_go_leave_nothing_behind() {
    let _alone = alone();
    let Some(device) = device() else { return };
    let bytes = compile(&device, &model(&[ProblemClass::F32_NN]), &[], |_| {}).unwrap();
    let bundle = Bundle::parse(&bytes).unwrap();
    let once = |alpha: f32| {
        let mut runtime = Runtime::load(OpenCl::open(None).unwrap(), &bundle).unwrap();
        let memory = matrices(runtime.device());
        let call = runtime.gemm(problem(SIDE, alpha), memory.each_ref()).unwrap();
        assert_ne!(call.kernel, Some(KernelId::UNIVERSAL));
        is_right(runtime.device(), &memory[2], alpha);
    };
    (0..100_u8).for_each(|round| once(f32::from(round)));
    let before = resident();
    (0..900_u16).for_each(|round| once(f32::from(round)));
    let grown = resident().saturating_sub(before);
    assert!(grown < 900 * 1024, "{grown} bytes more after 900 contexts");
    assert_eq!(opencl::refused_releases(), 0);
}
