//! OpenCL objects whose release may fail without ending the process.
//!
//! The bindings' own destructors panic where the driver refuses, often when all work is done.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};

use cl3::context::{release_context, retain_context};
use cl3::program::retain_program;
use opencl3::command_queue::{CommandQueue, release_command_queue};
use opencl3::context::Context;
use opencl3::error_codes::CL_INVALID_VALUE;
use opencl3::kernel::{Kernel, release_kernel};
use opencl3::memory::{Buffer, ClMem, release_mem_object};
use opencl3::program::{Program, release_program};

static REFUSED: AtomicU64 = AtomicU64::new(0);

/// How often a driver has refused to release an object; each is a leak of the driver's.
#[must_use]
pub fn refused_releases() -> u64 {
    REFUSED.load(Ordering::Relaxed)
}

/// A driver has refused to release an object.
pub(super) fn refused() {
    REFUSED.fetch_add(1, Ordering::Relaxed);
}

/// One kind of object.
pub(super) trait Release {
    /// Give up the object; it is not used afterwards.
    fn release(object: &mut ManuallyDrop<Self>) -> Result<(), i32>
    where
        Self: Sized;
}

/// An object that is released once, whatever the driver says to it.
pub(super) struct Owned<T: Release>(ManuallyDrop<T>);

impl<T: Release> Owned<T> {
    pub(super) fn new(object: T) -> Self {
        Self(ManuallyDrop::new(object))
    }
}

impl<T: Release> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Release> DerefMut for Owned<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Release> Drop for Owned<T> {
    fn drop(&mut self) {
        if T::release(&mut self.0).is_err() {
            refused();
        }
    }
}

impl Release for Buffer<u8> {
    fn release(object: &mut ManuallyDrop<Self>) -> Result<(), i32> {
        // SAFETY: `Owned` holds the only reference of ours and calls this once.
        unsafe { release_mem_object(object.get()) }
    }
}

impl Release for CommandQueue {
    fn release(object: &mut ManuallyDrop<Self>) -> Result<(), i32> {
        // SAFETY: `Owned` holds the only reference of ours and calls this once.
        unsafe { release_command_queue(object.get()) }
    }
}

impl Release for Kernel {
    fn release(object: &mut ManuallyDrop<Self>) -> Result<(), i32> {
        // SAFETY: `Owned` holds the only reference of ours and calls this once.
        unsafe { release_kernel(object.get()) }
    }
}

impl Release for Context {
    fn release(object: &mut ManuallyDrop<Self>) -> Result<(), i32> {
        // SAFETY: the object is ours until here; what is taken is given back.
        let sound =
            unsafe { retain_context(object.get()).and_then(|()| release_context(object.get())) };
        sound.and_then(|()| with_its_memory(object))
    }
}

impl Release for Program {
    fn release(object: &mut ManuallyDrop<Self>) -> Result<(), i32> {
        // SAFETY: the object is ours until here; what is taken is given back.
        let sound =
            unsafe { retain_program(object.get()).and_then(|()| release_program(object.get())) };
        sound.and_then(|()| with_its_memory(object))
    }
}

/// Have the bindings release an object that has memory on the heap too. A driver that has just released it
/// is not likely to refuse, which would be a panic.
fn with_its_memory<T>(object: &mut ManuallyDrop<T>) -> Result<(), i32> {
    let drop = panic::catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: `Owned` calls this once, and does not use the object afterwards.
        unsafe { ManuallyDrop::drop(object) }
    }));
    drop.map_err(|_| CL_INVALID_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stubborn;

    impl Release for Stubborn {
        fn release(_object: &mut ManuallyDrop<Self>) -> Result<(), i32> {
            Err(-36)
        }
    }

    #[test]
    fn a_refused_release_is_counted_and_ends_nothing() {
        let before = refused_releases();
        drop(Owned::new(Stubborn));
        assert_eq!(refused_releases(), before + 1);
    }
}
