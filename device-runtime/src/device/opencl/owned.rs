//! OpenCL objects whose release may fail without ending the process.
//!
//! The bindings' own destructors panic where the driver refuses, often when all work is done.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

use cl3::context::release_context;
use opencl3::command_queue::{CommandQueue, release_command_queue};
use opencl3::context::Context;
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
    fn release(&mut self) -> Result<(), i32>;
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
        if self.0.release().is_err() {
            refused();
        }
    }
}

impl Release for Buffer<u8> {
    fn release(&mut self) -> Result<(), i32> {
        // SAFETY: `Owned` holds the only reference of ours and calls this once.
        unsafe { release_mem_object(self.get()) }
    }
}

impl Release for CommandQueue {
    fn release(&mut self) -> Result<(), i32> {
        // SAFETY: `Owned` holds the only reference of ours and calls this once.
        unsafe { release_command_queue(self.get()) }
    }
}

impl Release for Context {
    fn release(&mut self) -> Result<(), i32> {
        // SAFETY: `Owned` holds the only reference of ours and calls this once.
        unsafe { release_context(self.get()) }
    }
}

impl Release for Kernel {
    fn release(&mut self) -> Result<(), i32> {
        // SAFETY: `Owned` holds the only reference of ours and calls this once.
        unsafe { release_kernel(self.get()) }
    }
}

impl Release for Program {
    fn release(&mut self) -> Result<(), i32> {
        // SAFETY: `Owned` holds the only reference of ours and calls this once.
        unsafe { release_program(self.get()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stubborn;

    impl Release for Stubborn {
        fn release(&mut self) -> Result<(), i32> {
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
