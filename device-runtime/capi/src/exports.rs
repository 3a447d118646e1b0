//! Every exported function by its name, and what it ends with when there is a panic in it.
//!
//! The headers say what is exported: a function that is in one of them and not here fails a test.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

use crate::guard::provoke::{Place, is_wanted, panic_next};
use crate::status::Status;
use crate::*;

/// How a function tells that something is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Told {
    /// By a code of CLBlast's.
    Code(i32),
    /// Not at all: it gives what it gives where there is nothing to tell.
    Nothing,
    /// By a status of `gemmtree.h`.
    Status(i32),
}

use Told::{Code, Nothing};

/// A multiplication of single numbers in no memory.
macro_rules! multiply {
    (one $function:ident($handle:expr)) => {
        Told::Status($function(
            $handle,
            101,
            111,
            111,
            1,
            1,
            1,
            1.0,
            null_mut(),
            0,
            1,
            null_mut(),
            0,
            1,
            0.0,
            null_mut(),
            0,
            1,
            null_mut(),
            0,
            null_mut(),
            null_mut(),
        ))
    };
    (batch $function:ident($handle:expr)) => {
        Told::Status($function(
            $handle,
            101,
            111,
            111,
            1,
            1,
            1,
            1.0,
            null_mut(),
            0,
            1,
            1,
            null_mut(),
            0,
            1,
            1,
            0.0,
            null_mut(),
            0,
            1,
            1,
            1,
            null_mut(),
            0,
            null_mut(),
            null_mut(),
        ))
    };
    (clblast $function:ident($one:expr)) => {
        Code($function(
            101,
            111,
            111,
            1,
            1,
            1,
            $one,
            null_mut(),
            0,
            1,
            null_mut(),
            0,
            1,
            $one,
            null_mut(),
            0,
            1,
            null_mut(),
            null_mut(),
        ))
    };
    (clblast batch $function:ident($one:expr)) => {
        Code($function(
            101,
            111,
            111,
            1,
            1,
            1,
            $one,
            null_mut(),
            0,
            1,
            1,
            null_mut(),
            0,
            1,
            1,
            $one,
            null_mut(),
            0,
            1,
            1,
            1,
            null_mut(),
            null_mut(),
        ))
    };
}

/// A call of a function with a handle that is null or live, and otherwise with nothing.
type Export = (&'static str, unsafe fn(*mut Handle) -> Told);

#[expect(
    clippy::undocumented_unsafe_blocks,
    reason = "null pointers are allowed everywhere, and there are no others"
)]
const ALL: &[Export] = &[
    ("CLBlastClearCache", |_| Code(CLBlastClearCache())),
    ("CLBlastHgemm", |_| unsafe { multiply!(clblast CLBlastHgemm(0)) }),
    ("CLBlastHgemmStridedBatched", |_| unsafe {
        multiply!(clblast batch CLBlastHgemmStridedBatched(0))
    }),
    ("CLBlastSgemm", |_| unsafe { multiply!(clblast CLBlastSgemm(1.0)) }),
    ("CLBlastSgemmStridedBatched", |_| unsafe {
        multiply!(clblast batch CLBlastSgemmStridedBatched(1.0))
    }),
    ("gemmtree_create_from_file", |_| unsafe {
        Told::Status(gemmtree_create_from_file(null_mut(), null_mut(), null_mut(), null_mut()))
    }),
    ("gemmtree_create_from_memory", |_| unsafe {
        Told::Status(gemmtree_create_from_memory(null_mut(), null_mut(), null_mut(), 0, null_mut()))
    }),
    ("gemmtree_create_strict_from_file", |_| unsafe {
        Told::Status(gemmtree_create_strict_from_file(
            null_mut(),
            null_mut(),
            null_mut(),
            null_mut(),
        ))
    }),
    ("gemmtree_create_strict_from_memory", |_| unsafe {
        Told::Status(gemmtree_create_strict_from_memory(
            null_mut(),
            null_mut(),
            null_mut(),
            0,
            null_mut(),
        ))
    }),
    ("gemmtree_destroy", |handle| unsafe {
        gemmtree_destroy(handle);
        Nothing
    }),
    ("gemmtree_explain", |handle| unsafe {
        Told::Status(gemmtree_explain(handle, null_mut(), null_mut(), 0, null_mut()))
    }),
    ("gemmtree_hgemm", |handle| unsafe { multiply!(one gemmtree_hgemm(handle)) }),
    ("gemmtree_hgemm_strided_batched", |handle| unsafe {
        multiply!(batch gemmtree_hgemm_strided_batched(handle))
    }),
    ("gemmtree_last_error", |_| empty(gemmtree_last_error())),
    ("gemmtree_last_opencl_error", |_| nothing_but(gemmtree_last_opencl_error() == 0)),
    ("gemmtree_last_times", |handle| unsafe {
        Told::Status(gemmtree_last_times(handle, null_mut()))
    }),
    ("gemmtree_reserve", |handle| unsafe { Told::Status(gemmtree_reserve(handle, null_mut(), 0)) }),
    ("gemmtree_save", |handle| unsafe { Told::Status(gemmtree_save(handle, null_mut())) }),
    ("gemmtree_scratch_size", |handle| unsafe {
        Told::Status(gemmtree_scratch_size(handle, null_mut(), null_mut()))
    }),
    ("gemmtree_select", |handle| unsafe {
        Told::Status(gemmtree_select(handle, null_mut(), null_mut(), null_mut(), 0, null_mut()))
    }),
    ("gemmtree_set_half_sums", |handle| unsafe { Told::Status(gemmtree_set_half_sums(handle, 1)) }),
    ("gemmtree_set_scratch", |handle| unsafe {
        Told::Status(gemmtree_set_scratch(handle, null_mut()))
    }),
    ("gemmtree_set_timing", |handle| unsafe { Told::Status(gemmtree_set_timing(handle, 0)) }),
    ("gemmtree_sgemm", |handle| unsafe { multiply!(one gemmtree_sgemm(handle)) }),
    ("gemmtree_sgemm_strided_batched", |handle| unsafe {
        multiply!(batch gemmtree_sgemm_strided_batched(handle))
    }),
    ("gemmtree_standing", |handle| unsafe {
        Told::Status(gemmtree_standing(handle, null_mut(), null_mut(), 0, null_mut()))
    }),
    ("gemmtree_status_text", |_| empty(gemmtree_status_text(1))),
    ("gemmtree_version", |_| nothing_but(!gemmtree_version().is_null())),
];

fn empty(text: *const c_char) -> Told {
    // SAFETY: these functions give no null pointer.
    nothing_but(unsafe { CStr::from_ptr(text) }.is_empty())
}

fn nothing_but(as_documented: bool) -> Told {
    assert!(as_documented);
    Nothing
}

/// Names that are declared in a header: what stands before a parenthesis and begins as ours do.
fn declared(header: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once("/*") {
        names.extend(names_of(before));
        rest = after.split_once("*/").unwrap().1;
    }
    names.extend(names_of(rest));
    names
}

fn names_of(code: &str) -> impl Iterator<Item = &str> {
    let pieces = code.split('(').map(|before| {
        let is_part = |one: char| one.is_ascii_alphanumeric() || one == '_';
        before.rsplit(|one| !is_part(one)).next().unwrap()
    });
    pieces.filter(|name| name.starts_with("gemmtree_") || name.starts_with("CLBlast"))
}

#[test]
fn a_panic_in_any_function_of_the_headers_is_told_and_goes_no_further() {
    let mut names = declared(include_str!("../include/gemmtree.h"));
    names.extend(declared(include_str!("../include/gemmtree_clblast.h")));
    let here: BTreeSet<&str> = ALL.iter().map(|(name, _)| *name).collect();
    assert_eq!(here, names);
    for (name, call) in ALL {
        // What the thread's last failure left would hide that nothing is given.
        std::thread::spawn(move || {
            panic_next(Place::Entry);
            // SAFETY: null pointers are allowed everywhere.
            let told = unsafe { call(null_mut()) };
            assert!(!is_wanted(), "{name} has no guard");
            match told {
                Told::Status(status) => assert_eq!(status, Status::Panicked as i32, "{name}"),
                Code(code) => assert_eq!(code, -2039, "{name}"),
                Nothing => return,
            }
            // SAFETY: the text stays until the thread's next failure.
            let words = unsafe { CStr::from_ptr(gemmtree_last_error()) };
            assert!(words.to_str().unwrap().contains("provoked"), "{name}: {words:?}");
        })
        .join()
        .unwrap();
    }
}
