//! The caller's side of the C interface: OpenCL objects as a C program has them, and calls with them.
#![allow(unsafe_code, reason = "what C does is unsafe")]

use std::ffi::c_void;
use std::ptr;

use cl3::command_queue::{
    create_command_queue, enqueue_read_buffer, enqueue_write_buffer, finish, flush,
    release_command_queue,
};
use cl3::context::{create_context, release_context};
use cl3::device::{CL_DEVICE_TYPE_ALL, get_device_ids};
use cl3::event::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, create_user_event, get_event_info,
    release_event, set_user_event_status, wait_for_events,
};
use cl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use cl3::platform::get_platform_ids;
use device_runtime::compile::compile;
use gemmtree::*;
use opencl3::types::{CL_BLOCKING, cl_command_queue, cl_context, cl_device_id, cl_event, cl_mem};
use selector_core::ProblemClass;

type Create =
    unsafe extern "C" fn(cl_context, cl_device_id, *const c_void, usize, *mut *mut Handle) -> i32;

/// A context with the first device, and a queue.
pub(crate) struct Caller {
    pub(crate) context: cl_context,
    pub(crate) device: cl_device_id,
    pub(crate) queue: cl_command_queue,
}

impl Caller {
    /// With these properties of the queue.
    pub(crate) fn new(properties: u64) -> Self {
        let platform = get_platform_ids().unwrap()[0];
        let device = get_device_ids(platform, CL_DEVICE_TYPE_ALL).unwrap()[0];
        let context = create_context(&[device], ptr::null(), None, ptr::null_mut()).unwrap();
        // SAFETY: the context is live.
        let queue = unsafe { create_command_queue(context, device, properties) }.unwrap();
        Self { context, device, queue }
    }

    /// A bundle of two kernels for the device there is and class f32-nn.
    pub(crate) fn bundle(kernels: [&str; 2]) -> Vec<u8> {
        let device = super::device().unwrap();
        compile(&device, &super::model(kernels), &[ProblemClass::F32_NN], |_| {}).unwrap()
    }

    /// A handle whose kernels stand on the ladder.
    pub(crate) fn handle(&self, bundle: &[u8]) -> *mut Handle {
        self.made_by(gemmtree_create_from_memory, bundle)
    }

    /// A handle of a bundle as it is.
    pub(crate) fn strict_handle(&self, bundle: &[u8]) -> *mut Handle {
        self.made_by(gemmtree_create_strict_from_memory, bundle)
    }

    fn made_by(&self, create: Create, bundle: &[u8]) -> *mut Handle {
        let mut handle = ptr::null_mut();
        let (start, length) = (bundle.as_ptr().cast(), bundle.len());
        // SAFETY: all of this is live.
        let status = unsafe { create(self.context, self.device, start, length, &raw mut handle) };
        assert_eq!(status, 0, "{}", last_error());
        handle
    }

    /// A buffer with these bytes.
    pub(crate) fn buffer(&self, bytes: &[u8]) -> cl_mem {
        // SAFETY: no host pointer is given, and what is written lives until it is.
        unsafe {
            let size = bytes.len();
            let buffer = create_buffer(self.context, CL_MEM_READ_WRITE, size, ptr::null_mut());
            let buffer = buffer.unwrap();
            let from = bytes.as_ptr().cast_mut().cast::<c_void>();
            let written = enqueue_write_buffer(
                self.queue,
                buffer,
                CL_BLOCKING,
                0,
                size,
                from,
                0,
                ptr::null(),
            );
            release_event(written.unwrap()).unwrap();
            buffer
        }
    }

    /// A buffer of numbers.
    pub(crate) fn matrix(&self, values: &[f32]) -> cl_mem {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.buffer(&bytes)
    }

    /// What a buffer holds, after these events.
    pub(crate) fn read(&self, buffer: cl_mem, length: usize, after: &[cl_event]) -> Vec<u8> {
        let mut bytes = vec![0_u8; length];
        let wait = if after.is_empty() { ptr::null() } else { after.as_ptr() };
        let (to, count) = (bytes.as_mut_ptr().cast(), after.len() as u32);
        // SAFETY: the memory is as long as is read.
        unsafe {
            let read =
                enqueue_read_buffer(self.queue, buffer, CL_BLOCKING, 0, length, to, count, wait);
            release_event(read.unwrap()).unwrap();
        }
        bytes
    }

    /// What a buffer of numbers holds.
    pub(crate) fn values(&self, buffer: cl_mem, length: usize, after: &[cl_event]) -> Vec<f32> {
        let bytes = self.read(buffer, 4 * length, after);
        bytes.chunks_exact(4).map(|one| f32::from_ne_bytes(one.try_into().unwrap())).collect()
    }

    /// An event that the test completes.
    pub(crate) fn user_event(&self) -> cl_event {
        create_user_event(self.context).unwrap()
    }

    pub(crate) fn flush(&self) {
        flush(self.queue).unwrap();
    }

    pub(crate) fn finish(&self) {
        finish(self.queue).unwrap();
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // SAFETY: made by `new`, released once.
        unsafe {
            release_command_queue(self.queue).unwrap();
            release_context(self.context).unwrap();
        }
    }
}

pub(crate) fn complete(event: cl_event) {
    set_user_event_status(event, CL_COMPLETE).unwrap();
}

pub(crate) fn is_complete(event: cl_event) -> bool {
    let status = get_event_info(event, CL_EVENT_COMMAND_EXECUTION_STATUS).unwrap();
    i32::from(status) == CL_COMPLETE
}

pub(crate) fn wait_for(event: cl_event) {
    wait_for_events(&[event]).unwrap();
}

pub(crate) fn release(events: &[cl_event]) {
    for event in events {
        // SAFETY: the caller gives up its reference.
        unsafe { release_event(*event) }.unwrap();
    }
}

pub(crate) fn release_buffers(buffers: &[cl_mem]) {
    for buffer in buffers {
        // SAFETY: the caller gives up its reference.
        unsafe { release_mem_object(*buffer) }.unwrap();
    }
}

/// The words of the thread's last failure.
pub(crate) fn last_error() -> String {
    // SAFETY: the text stays until the thread's next failure.
    let text = unsafe { std::ffi::CStr::from_ptr(gemmtree_last_error()) };
    text.to_string_lossy().into_owned()
}

/// What a square multiplication waits for, and whether its event is wanted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Around<'a> {
    pub(crate) wait: &'a [cl_event],
    pub(crate) event: bool,
}

/// C = alpha * A * B + beta * C of packed row-major matrices of `rows` x `side` and `side` x `side`.
pub(crate) fn sgemm(
    (caller, handle): (&Caller, *mut Handle),
    [rows, side]: [usize; 2],
    [alpha, beta]: [f32; 2],
    [a, b, c]: [cl_mem; 3],
    around: Around<'_>,
) -> Option<cl_event> {
    let mut event = ptr::null_mut();
    let out = if around.event { &raw mut event } else { ptr::null_mut() };
    let wait = if around.wait.is_empty() { ptr::null() } else { around.wait.as_ptr() };
    // SAFETY: all of this is live.
    let status = unsafe {
        gemmtree_sgemm(
            handle,
            101,
            111,
            111,
            rows,
            side,
            side,
            alpha,
            a,
            0,
            side,
            b,
            0,
            side,
            beta,
            c,
            0,
            side,
            caller.queue,
            around.wait.len() as u32,
            wait,
            out,
        )
    };
    assert_eq!(status, 0, "{}", last_error());
    around.event.then_some(event)
}
