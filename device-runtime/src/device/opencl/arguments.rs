//! Kernel functions and the arguments that were set last: what has not changed is not set again.

use std::ffi::c_void;
use std::num::NonZeroU64;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use cl3::OpenClRuntime;
use opencl3::error_codes::{CL_SUCCESS, ClError};
use opencl3::kernel::Kernel;
use opencl3::types::{cl_mem, cl_uint};

use super::owned::Owned;
use super::{OpenClBuffer, failed, library_gone};
use crate::{Arguments, DeviceError};

/// Where the arguments of 32 bits stand: m, n, k, alpha, beta, three leading dimensions, parts.
const SHORT: [cl_uint; 9] = [0, 1, 2, 3, 4, 7, 11, 15, 17];
/// Where those of 64 bits stand: an offset and a stride for each matrix.
const LONG: [cl_uint; 6] = [6, 8, 10, 12, 14, 16];
/// Where memory stands: A, B, C, scratch.
const MEMORY: [cl_uint; 4] = [5, 9, 13, 18];

/// Which buffer it is, for as long as the process runs. A driver may give the handle of a buffer that
/// is gone to another one, so handles say nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Identity(u64);

impl Identity {
    /// No memory.
    const NOTHING: Self = Self(0);
    /// A buffer that the caller may release at any time: never known to be the one set before.
    pub(super) const UNKNOWN: Self = Self(u64::MAX);

    /// One that no other buffer has.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    fn is(self, other: Self) -> bool {
        self == other && self != Self::UNKNOWN
    }

    fn all(these: &[Self; 4], others: &[Self; 4]) -> bool {
        these.iter().zip(others).all(|(one, other)| one.is(*other))
    }
}

/// The arguments of one call.
#[derive(Clone, Copy)]
pub(super) struct Values {
    short: [u32; SHORT.len()],
    long: [u64; LONG.len()],
    memory: [Identity; MEMORY.len()],
    handles: [cl_mem; MEMORY.len()],
}

impl Values {
    /// Which memory.
    fn memory(buffers: [&OpenClBuffer; 3], scratch: Option<&OpenClBuffer>) -> [Identity; 4] {
        let [a, b, c] = buffers.map(|buffer| buffer.identity);
        [a, b, c, scratch.map_or(Identity::NOTHING, |buffer| buffer.identity)]
    }

    /// Whether there is nothing to set.
    fn is(&self, other: &Self) -> bool {
        let same_memory = Identity::all(&self.memory, &other.memory);
        self.short == other.short && self.long == other.long && same_memory
    }

    pub(super) fn of(arguments: &Arguments<'_, OpenClBuffer>) -> Self {
        let call = arguments.problem().problem();
        let shape = call.shape;
        let [(a, of_a), (b, of_b), (c, of_c)] = arguments.matrices();
        let scratch = arguments.scratch();
        // `check` proved that a leading dimension that is read fits 32 bits.
        let [lead_a, lead_b, lead_c] = [of_a, of_b, of_c].map(|operand| operand.leading as u32);
        Self {
            short: [
                shape.m,
                shape.n,
                arguments.problem().effective_k(),
                call.alpha.to_bits(),
                call.beta.to_bits(),
                lead_a,
                lead_b,
                lead_c,
                arguments.parts(),
            ],
            long: [of_a.offset, of_a.stride, of_b.offset, of_b.stride, of_c.offset, of_c.stride],
            memory: Self::memory([a, b, c], scratch),
            handles: [
                a.memory(),
                b.memory(),
                c.memory(),
                scratch.map_or(ptr::null_mut(), OpenClBuffer::memory),
            ],
        }
    }
}

/// The kernel functions of a program, whose arguments are the same.
pub(super) struct Functions {
    kernels: Vec<Owned<Kernel>>,
    /// Whether they take parts and scratch memory.
    take_scratch: bool,
    /// What was set last; nothing if the driver refused a part of it.
    set: Option<Values>,
    /// What all of that but the memory is known by.
    known: Option<NonZeroU64>,
}

// SAFETY: the handles in `set` are only handed to the driver, which may be called from any thread; a
// kernel is used by one thread at a time, since it is not shared.
unsafe impl Send for Functions {}

impl Functions {
    pub(super) fn new(kernels: Vec<Owned<Kernel>>, take_scratch: bool) -> Self {
        Self { kernels, take_scratch, set: None, known: None }
    }

    pub(super) fn get(&self, number: usize) -> Result<&Kernel, DeviceError> {
        let kernel = self.kernels.get(number).ok_or(DeviceError::NoFunction(number))?;
        Ok(kernel)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter().map(|kernel| &**kernel)
    }

    /// Whether what was set last is known as `known`, and of this memory.
    #[inline]
    pub(super) fn are_set(
        &self,
        known: NonZeroU64,
        buffers: [&OpenClBuffer; 3],
        scratch: Option<&OpenClBuffer>,
    ) -> bool {
        let is_memory =
            |set: &Values| Identity::all(&set.memory, &Values::memory(buffers, scratch));
        self.known == Some(known) && self.set.as_ref().is_some_and(is_memory)
    }

    /// Set what differs from what was set last; all but the memory is known as `known` from now on.
    ///
    /// # Errors
    /// The driver's refusal.
    pub(super) fn set(
        &mut self,
        library: &OpenClRuntime,
        values: &Values,
        known: Option<NonZeroU64>,
    ) -> Result<(), DeviceError> {
        self.known = known;
        if self.set.as_ref().is_some_and(|set| set.is(values)) {
            return Ok(());
        }
        let before = self.set.take();
        for kernel in &self.kernels {
            self.set_one(library, kernel, values, before.as_ref())?;
        }
        self.set = Some(*values);
        Ok(())
    }

    fn set_one(
        &self,
        library: &OpenClRuntime,
        kernel: &Kernel,
        values: &Values,
        old: Option<&Values>,
    ) -> Result<(), DeviceError> {
        // Parts and scratch memory are the last of their kind.
        let left_out = usize::from(!self.take_scratch);
        let short = values.short.iter().zip(SHORT).take(SHORT.len() - left_out);
        for (at, (value, index)) in short.enumerate() {
            if old.and_then(|old| old.short.get(at)) != Some(value) {
                put(library, kernel, index, value)?;
            }
        }
        for (at, (value, index)) in values.long.iter().zip(LONG).enumerate() {
            if old.and_then(|old| old.long.get(at)) != Some(value) {
                put(library, kernel, index, value)?;
            }
        }
        let memory = values.memory.iter().zip(&values.handles).zip(MEMORY);
        for (at, ((identity, handle), index)) in memory.take(MEMORY.len() - left_out).enumerate() {
            let same = old.and_then(|old| old.memory.get(at)).is_some_and(|old| old.is(*identity));
            if !same {
                put(library, kernel, index, handle)?;
            }
        }
        Ok(())
    }
}

/// Set one argument. Types and order are those of the kernel functions, which every family's source
/// declares alike.
fn put<T>(
    library: &OpenClRuntime,
    kernel: &Kernel,
    index: cl_uint,
    value: &T,
) -> Result<(), DeviceError> {
    let pointer: *const c_void = ptr::from_ref(value).cast();
    match library.clSetKernelArg(kernel.get(), index, size_of::<T>(), pointer) {
        Some(CL_SUCCESS) => Ok(()),
        Some(code) => Err(failed("clSetKernelArg")(ClError(code))),
        None => Err(library_gone("clSetKernelArg")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_itself_alone_and_what_is_unknown_is_never_the_same() {
        let (one, other) = (Identity::new(), Identity::new());
        assert!(one.is(one) && !one.is(other) && !one.is(Identity::NOTHING));
        assert!(Identity::NOTHING.is(Identity::NOTHING));
        assert!(!Identity::UNKNOWN.is(Identity::UNKNOWN));
    }

    #[test]
    fn every_argument_has_a_place_of_its_own() {
        let mut places: Vec<cl_uint> = SHORT.into_iter().chain(LONG).chain(MEMORY).collect();
        places.sort_unstable();
        assert_eq!(places, (0..19).collect::<Vec<_>>());
    }
}
