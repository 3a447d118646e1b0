//! The caller's OpenCL objects: asked about, and held for as long as they are needed.

use cl3::command_queue::{
    CL_QUEUE_CONTEXT, CL_QUEUE_DEVICE, get_command_queue_info, release_command_queue,
    retain_command_queue,
};
use cl3::context::{CL_CONTEXT_DEVICES, get_context_data, retain_context};
use cl3::memory::{CL_MEM_SIZE, get_mem_object_info, retain_mem_object};
use device_runtime::DeviceError;
use device_runtime::opencl::{self, OpenClBuffer};
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::Device;
use opencl3::error_codes::ClError;
use opencl3::memory::Buffer;
use opencl3::types::{cl_command_queue, cl_context, cl_device_id, cl_mem};

use crate::status::Failure;

/// What a driver's code means for a call of `call`.
fn failed(call: &'static str) -> impl Fn(i32) -> Failure {
    move |code| DeviceError::Call { call, code, reason: ClError(code).to_string() }.into()
}

/// Hold a context for work on `device`, which may be one of several that it has.
///
/// # Errors
/// There is no OpenCL library, or the device is none of the context's.
pub(crate) fn context(raw: cl_context, device: cl_device_id) -> Result<Context, Failure> {
    opencl::load()?;
    let devices = get_context_data(raw, CL_CONTEXT_DEVICES).map_err(failed("clGetContextInfo"))?;
    let (devices, _) = devices.as_chunks();
    if !devices.iter().any(|bytes| usize::from_ne_bytes(*bytes) == device as usize) {
        return Err(DeviceError::Foreign("device").into());
    }
    // SAFETY: the context has just answered; `Context` gives back what is taken here.
    unsafe { retain_context(raw) }.map_err(failed("clRetainContext"))?;
    Ok(Context::new(raw, &[device]))
}

/// Hold a queue.
///
/// # Errors
/// The driver's refusal.
pub(crate) fn queue(raw: cl_command_queue, device: cl_device_id) -> Result<CommandQueue, Failure> {
    // SAFETY: the caller's queue lives during the call; `CommandQueue` gives back what is taken here.
    unsafe { retain_command_queue(raw) }.map_err(failed("clRetainCommandQueue"))?;
    let wrapped = CommandQueue::wrap_cl_command_queue(raw, &Device::new(device));
    wrapped.map_err(|ClError(code)| {
        // SAFETY: nothing else gives back what was taken above.
        let _ = unsafe { release_command_queue(raw) };
        failed("clGetDeviceInfo")(code)
    })
}

/// Context and device of a queue.
///
/// # Errors
/// There is no OpenCL library, or the driver's refusal.
pub(crate) fn home(queue: cl_command_queue) -> Result<(cl_context, cl_device_id), Failure> {
    opencl::load()?;
    let ask = |what| {
        let answer = get_command_queue_info(queue, what);
        answer.map(isize::from).map_err(failed("clGetCommandQueueInfo"))
    };
    Ok((ask(CL_QUEUE_CONTEXT)? as cl_context, ask(CL_QUEUE_DEVICE)? as cl_device_id))
}

/// Hold a buffer.
///
/// # Errors
/// It begins where kernels cannot load vectors; or the driver's refusal.
pub(crate) fn buffer(raw: cl_mem) -> Result<OpenClBuffer, Failure> {
    // SAFETY: the caller's buffer lives during the call; `Buffer` gives back what is taken here.
    unsafe { retain_mem_object(raw) }.map_err(failed("clRetainMemObject"))?;
    Ok(OpenClBuffer::new(Buffer::new(raw))?)
}

/// A buffer for the length of a call, which takes no reference.
///
/// # Errors
/// It begins where kernels cannot load vectors; or the driver's refusal.
pub(crate) fn lent(raw: cl_mem) -> Result<OpenClBuffer, Failure> {
    // SAFETY: the caller's buffer lives during the call, and a launch holds it until it is done.
    Ok(unsafe { OpenClBuffer::borrowed(raw) }?)
}

/// Bytes of a buffer.
///
/// # Errors
/// It is none.
pub(crate) fn bytes(raw: cl_mem) -> Result<u64, Failure> {
    let size = get_mem_object_info(raw, CL_MEM_SIZE).map_err(failed("clGetMemObjectInfo"))?;
    Ok(usize::from(size) as u64)
}
