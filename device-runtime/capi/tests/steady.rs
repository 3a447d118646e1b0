//! The steady state through C: calls allocate nothing, and contexts that come and go leave nothing behind.
#![expect(clippy::unwrap_used, unsafe_code, reason = "a C caller; and a test ends by a panic")]

#[path = "../../src/bin/gemmtree-board/allocations.rs"]
mod allocations;
mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{env, fs, ptr};

use common::TILES;
use common::caller::{Around, Caller, last_error, release, release_buffers, sgemm};
use device_runtime::opencl;
use gemmtree::*;
use opencl3::command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
use opencl3::types::{cl_event, cl_mem};

const SIDE: usize = 16;
const LENGTH: usize = SIDE * SIDE;

/// The memory of a process tells nothing while another test works, and the environment is everyone's.
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

/// CLBlast's functions find the bundle.
fn name_bundle() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), Caller::bundle(TILES)).unwrap();
    // SAFETY: one test at a time works, and a driver's threads read no such variable.
    unsafe { env::set_var("GEMMTREE_BUNDLE", file.path()) };
    file
}

fn matrices(caller: &Caller) -> [cl_mem; 3] {
    [1.0, 2.0, 3.0].map(|value| caller.matrix(&[value; LENGTH]))
}

/// Allocations of `times` calls, after a few that may allocate.
fn allocations_of(caller: &Caller, times: u64, mut call: impl FnMut(u64)) -> u64 {
    const ROW: u64 = 100;
    (0..ROW).for_each(&mut call);
    caller.finish();
    let before = allocations::made();
    for number in 0..times {
        call(number);
        if number % ROW == 0 {
            caller.finish();
        }
    }
    allocations::made() - before
}

fn clblast(caller: &Caller, m: usize, alpha: f32, [a, b, c]: [cl_mem; 3]) {
    let (mut queue, no_event) = (caller.queue, ptr::null_mut());
    // SAFETY: all of this is live.
    let code = unsafe {
        let queue = &raw mut queue;
        CLBlastSgemm(
            101, 111, 111, m, SIDE, SIDE, alpha, a, 0, SIDE, b, 0, SIDE, 0.0, c, 0, SIDE, queue,
            no_event,
        )
    };
    assert_eq!(code, 0, "{}", last_error());
}

#[test]
fn calls_through_c_allocate_nothing() {
    let _alone = alone();
    if common::device().is_none() {
        return;
    }
    let bundle = Caller::bundle(TILES);
    let _named = name_bundle();
    for properties in [0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE] {
        let caller = Caller::new(properties);
        let handle = caller.handle(&bundle);
        let buffers = matrices(&caller);
        let with = (&caller, handle);
        let same = allocations_of(&caller, 2000, |_| {
            sgemm(with, [SIDE, SIDE], [2.0, 0.0], buffers, Around::default());
        });
        let changing = allocations_of(&caller, 2000, |number| {
            let (m, alpha) = (1 + number as usize % SIDE, (number % 37) as f32);
            sgemm(with, [m, SIDE], [alpha, 0.5], buffers, Around::default());
        });
        let mut last: Option<cl_event> = None;
        let chained = allocations_of(&caller, 2000, |number| {
            let around = Around { wait: last.as_slice(), event: true };
            let next = sgemm(with, [SIDE, SIDE], [number as f32, 0.0], buffers, around);
            release(last.as_slice());
            last = next;
        });
        release(last.as_slice());
        let as_clblast = allocations_of(&caller, 2000, |number| {
            clblast(&caller, 1 + number as usize % SIDE, 1.0, buffers);
        });
        assert_eq!([same, changing, chained, as_clblast], [0; 4], "queue {properties}");
        caller.finish();
        clblast(&caller, SIDE, 3.0, buffers);
        caller.finish();
        let values = caller.values(buffers[2], LENGTH, &[]);
        assert!(values.iter().all(|value| *value == 3.0 * 2.0 * SIDE as f32), "{values:?}");
        release_buffers(&buffers);
        // SAFETY: it is used no more.
        unsafe { gemmtree_destroy(handle) };
    }
    assert_eq!(CLBlastClearCache(), 0);
}

#[test]
fn a_thousand_contexts_through_c_leave_nothing_behind() {
    let _alone = alone();
    if common::device().is_none() {
        return;
    }
    let bundle = Caller::bundle(TILES);
    let _named = name_bundle();
    let own = |alpha: f32, make: fn(&Caller, &[u8]) -> *mut Handle| {
        let caller = Caller::new(0);
        let handle = make(&caller, &bundle);
        let buffers = matrices(&caller);
        sgemm((&caller, handle), [SIDE, SIDE], [alpha, 0.0], buffers, Around::default());
        let values = caller.values(buffers[2], LENGTH, &[]);
        assert!(values.iter().all(|value| *value == alpha * 2.0 * SIDE as f32), "{values:?}");
        release_buffers(&buffers);
        // SAFETY: it is used no more.
        unsafe { gemmtree_destroy(handle) };
    };
    let as_clblast = |alpha: f32| {
        let caller = Caller::new(0);
        let buffers = matrices(&caller);
        clblast(&caller, SIDE, alpha, buffers);
        caller.finish();
        release_buffers(&buffers);
    };
    let strict = |alpha: f32| own(alpha, Caller::strict_handle);
    let standing = |alpha: f32| own(alpha, Caller::handle);
    let rounds = [
        ("handles", 900, &strict as &dyn Fn(f32)),
        ("handles on the ladder", 100, &standing),
        ("CLBlast's", 300, &as_clblast),
    ];
    for (what, times, once) in rounds {
        (0..100_u8).for_each(|round| once(f32::from(round)));
        let before = resident();
        (0..times).for_each(|round: u16| once(f32::from(round % 100)));
        let grown = resident().saturating_sub(before);
        // A kernel or a bundle left behind by each would be many times that.
        assert!(grown < 2 << 20, "{what}: {grown} bytes more after {times}");
    }
    assert_eq!(CLBlastClearCache(), 0);
    assert_eq!(opencl::refused_releases(), 0);
}
