//! Events: the runtime's own, and those of a caller who speaks OpenCL.

use std::mem::{self, ManuallyDrop};
use std::slice;

use cl3::event::release_event;
use opencl3::event::Event;
use opencl3::types::cl_event;

use super::owned;

/// When a launch is done. It has the layout of the `cl_event` that it owns.
#[repr(transparent)]
pub struct OpenClEvent(cl_event);

// SAFETY: OpenCL allows calls with an event from any thread, several at once.
unsafe impl Send for OpenClEvent {}
// SAFETY: as above.
unsafe impl Sync for OpenClEvent {}

impl OpenClEvent {
    /// Take over an event, which is released when this is dropped.
    ///
    /// # Safety
    /// `event` is a valid event, a reference to which the caller gives up.
    #[must_use]
    pub const unsafe fn from_raw(event: cl_event) -> Self {
        Self(event)
    }

    /// The caller's events, to be waited for; none if `count` is 0.
    ///
    /// # Safety
    /// Unless `count` is 0, `events` points to so many valid events, which stay as they are for `'e`.
    #[must_use]
    pub const unsafe fn borrowed<'e>(events: *const cl_event, count: usize) -> &'e [Self] {
        if count == 0 || events.is_null() {
            return &[];
        }
        // SAFETY: the caller vouches for the events; this type has the layout of one.
        unsafe { slice::from_raw_parts(events.cast(), count) }
    }

    /// The event; it lives as long as `self`.
    #[must_use]
    pub const fn raw(&self) -> cl_event {
        self.0
    }

    /// Hand over the event: the caller releases it.
    #[must_use]
    pub const fn into_raw(self) -> cl_event {
        let event = self.0;
        mem::forget(self);
        event
    }
}

impl From<Event> for OpenClEvent {
    fn from(event: Event) -> Self {
        Self(ManuallyDrop::new(event).get())
    }
}

impl Drop for OpenClEvent {
    fn drop(&mut self) {
        // SAFETY: this is the reference that `from_raw` was given.
        if unsafe { release_event(self.0) }.is_err() {
            owned::refused();
        }
    }
}
