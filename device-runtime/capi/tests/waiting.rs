//! Wait lists and events of the C interface: a call begins after what it is told to wait for, and its event is
//! complete when its last launch is, whatever the order of the queue.
#![expect(clippy::unwrap_used, unsafe_code, reason = "a C caller; and a test ends by a panic")]

mod common;

use std::mem::ManuallyDrop;
use std::ptr;

use cl3::command_queue::{create_command_queue, release_command_queue};
use common::caller::{
    Around, Caller, complete, is_complete, release, release_buffers, sgemm, wait_for,
};
use gemmtree::*;
use kernels::{Problem, reference};
use opencl3::command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
use selector_core::{GemmShape, ProblemClass};

const SIDE: usize = 12;
const LENGTH: usize = SIDE * SIDE;
/// Two launches, the second of which wants what the first leaves in scratch memory.
const PACKED: [&str; 2] = ["packed:ab-8x16x4@8x8", "packed:ab-8x16x4@8x8"];

/// With a queue in order and one without, each with scratch memory and without, which takes the universal
/// kernel.
fn on_each(test: impl Fn(&Caller, *mut Handle)) {
    if common::device().is_none() {
        return;
    }
    let bundle = Caller::bundle(PACKED);
    for properties in [0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE] {
        for scratch in [0, 1 << 16] {
            let caller = Caller::new(properties);
            let handle = caller.handle(&bundle);
            // SAFETY: both are live.
            assert_eq!(unsafe { gemmtree_reserve(handle, caller.queue, scratch) }, 0);
            assert_eq!(id(handle), u32::from(scratch > 0));
            test(&caller, handle);
            caller.finish();
            // SAFETY: it is used no more.
            unsafe { gemmtree_destroy(handle) };
        }
    }
}

/// The kernel that runs.
fn id(handle: *mut Handle) -> u32 {
    #[repr(C)]
    struct Asked([i32; 4], [usize; 4]);
    let asked = Asked([0, 101, 111, 111], [SIDE, SIDE, SIDE, 1]);
    let (mut id, none) = (99, ptr::null_mut());
    // SAFETY: it has the layout of `gemmtree_shape`, as the header gives it.
    let status = unsafe {
        gemmtree_select(handle, (&raw const asked).cast(), &raw mut id, none, 0, ptr::null_mut())
    };
    assert_eq!(status, 0);
    id
}

fn inputs(caller: &Caller) -> [opencl3::types::cl_mem; 2] {
    [1, 2].map(|seed| caller.matrix(&reference::values(LENGTH, seed)))
}

fn is_right(values: &[f32], alpha: f32) {
    let (a, b) = (reference::values(LENGTH, 1), reference::values(LENGTH, 2));
    let size = SIDE as u32;
    let packed = Problem::packed(ProblemClass::F32_NN, GemmShape::new(size, size, size, 1));
    let length = LENGTH as u64;
    let problem = Problem { alpha, ..packed }.check(length, length, length).unwrap();
    let mut expected = vec![0.0; LENGTH];
    reference::gemm(&problem, &a, &b, &mut expected);
    for (found, expected) in values.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-2, "alpha {alpha}: {found}, not {expected}");
    }
}

#[test]
fn a_call_begins_after_all_that_it_waits_for_and_its_event_covers_all_of_it() {
    on_each(|caller, handle| {
        let [a, b] = inputs(caller);
        let c = caller.matrix(&[f32::NAN; LENGTH]);
        let wait = [caller.user_event(), caller.user_event()];
        let around = Around { wait: &wait, event: true };
        let done = sgemm((caller, handle), [SIDE, SIDE], [2.0, 0.0], [a, b, c], around).unwrap();
        caller.flush();
        complete(wait[0]);
        assert!(!is_complete(done));
        complete(wait[1]);
        wait_for(done);
        is_right(&caller.values(c, LENGTH, &[done]), 2.0);
        release(&[done, wait[0], wait[1]]);
        release_buffers(&[a, b, c]);
    });
}

#[test]
fn a_chain_of_calls_adds_up_and_buffers_may_be_released_before_it_ends() {
    on_each(|caller, handle| {
        let [a, b] = inputs(caller);
        let c = caller.matrix(&[0.0; LENGTH]);
        let held = caller.user_event();
        let mut events = vec![held];
        for _ in 0..20 {
            let around = Around { wait: &events[events.len() - 1..], event: true };
            events.extend(sgemm((caller, handle), [SIDE, SIDE], [0.5, 1.0], [a, b, c], around));
        }
        release_buffers(&[a, b]);
        caller.flush();
        assert!(!events.iter().any(|event| is_complete(*event)));
        complete(held);
        is_right(&caller.values(c, LENGTH, &events[20..]), 10.0);
        release(&events);
        release_buffers(&[c]);
    });
}

#[test]
fn where_nothing_is_to_do_the_event_still_waits() {
    on_each(|caller, handle| {
        let [a, b] = inputs(caller);
        for buffers in [[a, b, a], [ptr::null_mut(); 3]] {
            let held = caller.user_event();
            let around = Around { wait: &[held], event: true };
            let rows = if buffers[2].is_null() { 0 } else { SIDE };
            let done = sgemm((caller, handle), [rows, SIDE], [0.0, 1.0], buffers, around).unwrap();
            caller.flush();
            assert!(!is_complete(done));
            complete(held);
            wait_for(done);
            release(&[done, held]);
        }
        release_buffers(&[a, b]);
    });
}

#[test]
fn calls_on_several_queues_of_a_context_follow_their_own() {
    on_each(|caller, handle| {
        let [a, b] = inputs(caller);
        let (context, device) = (caller.context, caller.device);
        // SAFETY: the context is live.
        let queue = unsafe { create_command_queue(context, device, 0) }.unwrap();
        let other = ManuallyDrop::new(Caller { context, device, queue });
        let c = caller.matrix(&[0.0; LENGTH]);
        let held = caller.user_event();
        let mut events = vec![held];
        for number in 0..10 {
            let on = if number % 2 == 0 { caller } else { &other };
            let around = Around { wait: &events[number..], event: true };
            events.extend(sgemm((on, handle), [SIDE, SIDE], [1.0, 1.0], [a, b, c], around));
            on.flush();
        }
        assert!(!events.iter().any(|event| is_complete(*event)));
        complete(held);
        is_right(&caller.values(c, LENGTH, &events[10..]), 10.0);
        release(&events);
        release_buffers(&[a, b, c]);
        // SAFETY: the test's own reference; the handle has one of its own until its next call.
        unsafe { release_command_queue(queue) }.unwrap();
    });
}
