//! The calls that are made again and again: set arguments, enqueue, join.
//!
//! The bindings' own functions ask for an event with every launch, and want the wait list in a vector.

use std::ptr;

use opencl3::command_queue::CommandQueue;
use opencl3::error_codes::{CL_SUCCESS, ClError};
use opencl3::types::{cl_event, cl_uint};

use super::arguments::Values;
use super::{OpenCl, OpenClBuffer, OpenClEvent, OpenClKernel, failed, library_gone, sizes};
use crate::device::{Armed, Bare};
use crate::{Arguments, DeviceError};
use kernels::{Launch, Launches};

const ENQUEUE: &str = "clEnqueueNDRangeKernel";
const MARKER: &str = "clEnqueueMarkerWithWaitList";

impl OpenCl {
    pub(super) fn set<'k>(
        &self,
        kernel: &'k mut OpenClKernel,
        arguments: &Arguments<'k, OpenClBuffer>,
    ) -> Result<Armed<'k, OpenClKernel>, DeviceError> {
        self.check_mine("kernel", kernel.context)?;
        for (buffer, _) in arguments.matrices() {
            self.check_mine("buffer", buffer.context)?;
        }
        if let Some(buffer) = arguments.scratch() {
            self.check_mine("buffer", buffer.context)?;
        }
        let values = Values::of(arguments);
        kernel.functions.set(self.library, &values, arguments.known_by())?;
        Ok(Armed::new(kernel))
    }

    /// Enqueue a launch; its event goes to `event` unless that is null.
    pub(super) fn enqueue_into(
        &self,
        kernel: &Armed<'_, OpenClKernel>,
        launch: &Launch,
        wait: &[OpenClEvent],
        event: *mut cl_event,
    ) -> Result<(), DeviceError> {
        self.check_mine("kernel", kernel.context)?;
        let function = kernel.functions.get(launch.function)?;
        let offset = sizes(launch.offset)?;
        let (global, local) = (sizes(launch.global)?, sizes(launch.local)?);
        let (count, list) = list(wait)?;
        // What a safe function would have to ask for, though the binding does not: the arrays have the
        // three dimensions announced; `Armed` says that the arguments are set and the buffers live; the
        // kernel checks that it is inside C, and `check` proved that C's extent is inside its buffer; the
        // scratch memory is as large as the configuration says; `event` is null or points to a place for
        // one; `wait` is a list of events, by the layout of `OpenClEvent`.
        let code = self.library.clEnqueueNDRangeKernel(
            self.queue(),
            function.get(),
            3,
            offset.as_ptr(),
            global.as_ptr(),
            local.as_ptr(),
            count,
            list,
            event,
        );
        done(ENQUEUE, code)
    }

    pub(super) fn repeated<'k>(
        &'k self,
        kernel: Armed<'k, OpenClKernel>,
        launches: &Launches,
    ) -> Result<Bare<'k>, DeviceError> {
        self.check_mine("kernel", kernel.context)?;
        let kernel: &'k OpenClKernel = kernel.into_kernel();
        let mut enqueues = Vec::with_capacity(launches.len());
        for launch in launches.iter() {
            let function = kernel.functions.get(launch.function)?;
            let (global, local) = (sizes(launch.global)?, sizes(launch.local)?);
            enqueues.push((function.get(), sizes(launch.offset)?, global, local));
        }
        let (library, queue) = (self.library, self.queue());
        // As above; kernel, buffers and queue are borrowed for as long as the closure lives.
        Ok(Box::new(move || {
            enqueues.iter().try_for_each(|(function, offset, global, local)| {
                let code = library.clEnqueueNDRangeKernel(
                    queue,
                    *function,
                    3,
                    offset.as_ptr(),
                    global.as_ptr(),
                    local.as_ptr(),
                    0,
                    ptr::null(),
                    ptr::null_mut(),
                );
                done(ENQUEUE, code)
            })
        }))
    }

    /// An event of a marker behind these events, or behind all that was enqueued.
    pub(super) fn marker(&self, wait: &[OpenClEvent]) -> Result<OpenClEvent, DeviceError> {
        let (count, list) = list(wait)?;
        let mut event = ptr::null_mut();
        let code =
            self.library.clEnqueueMarkerWithWaitList(self.queue(), count, list, &raw mut event);
        done(MARKER, code)?;
        // SAFETY: the driver has just made it, for us.
        Ok(unsafe { OpenClEvent::from_raw(event) })
    }
}

/// A queue and whether it runs one command after the other.
pub(super) struct Queue {
    pub(super) commands: super::Owned<CommandQueue>,
    pub(super) keeps_order: bool,
    pub(super) records: bool,
}

/// A list of events as OpenCL wants it: no pointer if there is none.
fn list(events: &[OpenClEvent]) -> Result<(cl_uint, *const cl_event), DeviceError> {
    if events.is_empty() {
        return Ok((0, ptr::null()));
    }
    let count = cl_uint::try_from(events.len());
    let count = count.map_err(|_| DeviceError::TooLarge("the number of events"))?;
    Ok((count, events.as_ptr().cast()))
}

fn done(call: &'static str, code: Option<i32>) -> Result<(), DeviceError> {
    match code {
        Some(CL_SUCCESS) => Ok(()),
        Some(code) => Err(failed(call)(ClError(code))),
        None => Err(library_gone(call)),
    }
}
