//! The caller's memory, through the pointers that OpenCL passes.
//!
//! All that is unsafe about them is here, and rests on what OpenCL asks of every caller: a pointer is null
//! or valid for what the call announces, until the command that uses it has ended.
#![expect(unsafe_code, reason = "OpenCL passes pointers")]

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::slice;

use crate::cl;

/// Write `value` to `place`, unless that is null.
pub(crate) fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: it is not null, so it is valid for a value of its type.
        unsafe { ptr::write_unaligned(place, value) }
    }
}

/// What stands at `place`; `None` if that is null.
pub(crate) fn get<T: Copy>(place: *const T) -> Option<T> {
    // SAFETY: it is not null, so it is valid for a value of its type.
    (!place.is_null()).then(|| unsafe { ptr::read_unaligned(place) })
}

/// `count` values from `first` on; `None` if that is null though there should be some.
pub(crate) fn list<T: Copy>(first: *const T, count: usize) -> Option<Vec<T>> {
    if count == 0 {
        return Some(Vec::new());
    }
    // SAFETY: it is not null, so it is valid for as many values as announced.
    (!first.is_null()).then(|| unsafe { slice::from_raw_parts(first, count) }.to_vec())
}

/// Values from `first` on up to a zero; none if that is null.
pub(crate) fn list_to_zero(first: *const isize) -> Vec<isize> {
    let mut values = Vec::new();
    while let Some(value) = get(first.wrapping_add(values.len())).filter(|value| *value != 0) {
        values.push(value);
    }
    values
}

/// A text; empty if `first` is null.
pub(crate) fn text(first: *const c_char) -> String {
    if first.is_null() {
        return String::new();
    }
    // SAFETY: it is not null, so it points to a text that ends by a zero.
    unsafe { CStr::from_ptr(first) }.to_string_lossy().into_owned()
}

/// Copy `bytes` to where `to` points, which has room for them.
pub(crate) fn copy_out(to: usize, bytes: &[u8]) {
    // SAFETY: the caller announced that many bytes, none of which are the driver's own.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) }
}

/// Copy `count` bytes from where `from` points.
pub(crate) fn copy_in(from: usize, count: usize) -> Vec<u8> {
    list(from as *const u8, count).unwrap_or_default()
}

/// Answer a query: the bytes if there is room for them, and how many there are.
pub(crate) fn answer(bytes: &[u8], size: usize, place: *mut c_void, size_ret: *mut usize) -> i32 {
    if !place.is_null() {
        if size < bytes.len() {
            return cl::INVALID_VALUE;
        }
        copy_out(place as usize, bytes);
    }
    put(size_ret, bytes.len());
    cl::SUCCESS
}

/// Call a function that the caller asked to have called about an event.
pub(crate) fn call_back(function: usize, event: usize, status: i32, user: usize) {
    type Callback = extern "C" fn(usize, i32, usize);
    // SAFETY: the caller gave the function for this very call.
    let function = unsafe { std::mem::transmute::<*const (), Callback>(function as *const ()) };
    function(event, status, user);
}

/// End the process as a driver does that follows a bad pointer.
pub(crate) fn crash() -> ! {
    let nowhere = ptr::without_provenance_mut::<u8>(8);
    // SAFETY: there is none, which is what it is for: nothing is mapped there.
    unsafe { ptr::write_volatile(nowhere, 1) };
    std::process::abort()
}

/// Memory of a buffer: the driver's own or the caller's. Used by one command at a time.
pub(crate) struct Memory {
    first: usize,
    bytes: usize,
    /// What is freed at the end.
    own: Option<Box<[u128]>>,
}

impl Memory {
    /// Memory of the driver's own; what it holds at first is no number.
    pub(crate) fn new(bytes: usize) -> Self {
        let mut own = vec![u128::MAX; bytes.div_ceil(16)].into_boxed_slice();
        Self { first: own.as_mut_ptr() as usize, bytes, own: Some(own) }
    }

    /// The caller's, `bytes` from `first` on.
    pub(crate) fn of_caller(first: usize, bytes: usize) -> Self {
        Self { first, bytes, own: None }
    }

    /// Where it begins.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// Whether it is the driver's own.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Some of its bytes; `None` beyond its end.
    pub(crate) fn read(&self, from: usize, count: usize) -> Option<Vec<u8>> {
        let end = from.checked_add(count)?;
        (end <= self.bytes).then(|| copy_in(self.first + from, count))
    }

    /// Replace some of its bytes; `None` beyond its end.
    pub(crate) fn write(&self, to: usize, bytes: &[u8]) -> Option<()> {
        let end = to.checked_add(bytes.len())?;
        (end <= self.bytes).then(|| copy_out(self.first + to, bytes))
    }
}

/// Call a function that the caller asked to have called about a program.
pub(crate) fn call_back_program(function: usize, program: usize, user: usize) {
    type Callback = extern "C" fn(usize, usize);
    // SAFETY: the caller gave the function for this very call.
    let function = unsafe { std::mem::transmute::<*const (), Callback>(function as *const ()) };
    function(program, user);
}
