//! The dispatch table through which the loader calls the driver.

use std::ffi::{c_char, c_void};
use std::sync::LazyLock;

use crate::api::{command, context, event, kernel, memory, platform, program, queue};
use crate::{cl, foreign};

/// Says of a function that it is not there.
extern "C" fn missing() -> i32 {
    cl::INVALID_OPERATION
}

/// The same of a function that gives an object.
extern "C" fn missing_object() -> usize {
    0
}

/// The names in the order of the Khronos headers (`CL/cl_icd.h`).
const NAMES: &str = "
    clGetPlatformIDs clGetPlatformInfo clGetDeviceIDs clGetDeviceInfo clCreateContext
    clCreateContextFromType clRetainContext clReleaseContext clGetContextInfo clCreateCommandQueue
    clRetainCommandQueue clReleaseCommandQueue clGetCommandQueueInfo clSetCommandQueueProperty
    clCreateBuffer clCreateImage2D clCreateImage3D clRetainMemObject clReleaseMemObject
    clGetSupportedImageFormats clGetMemObjectInfo clGetImageInfo clCreateSampler clRetainSampler
    clReleaseSampler clGetSamplerInfo clCreateProgramWithSource clCreateProgramWithBinary
    clRetainProgram clReleaseProgram clBuildProgram clUnloadCompiler clGetProgramInfo
    clGetProgramBuildInfo clCreateKernel clCreateKernelsInProgram clRetainKernel clReleaseKernel
    clSetKernelArg clGetKernelInfo clGetKernelWorkGroupInfo clWaitForEvents clGetEventInfo
    clRetainEvent clReleaseEvent clGetEventProfilingInfo clFlush clFinish clEnqueueReadBuffer
    clEnqueueWriteBuffer clEnqueueCopyBuffer clEnqueueReadImage clEnqueueWriteImage
    clEnqueueCopyImage clEnqueueCopyImageToBuffer clEnqueueCopyBufferToImage clEnqueueMapBuffer
    clEnqueueMapImage clEnqueueUnmapMemObject clEnqueueNDRangeKernel clEnqueueTask
    clEnqueueNativeKernel clEnqueueMarker clEnqueueWaitForEvents clEnqueueBarrier
    clGetExtensionFunctionAddress clCreateFromGLBuffer clCreateFromGLTexture2D
    clCreateFromGLTexture3D clCreateFromGLRenderbuffer clGetGLObjectInfo clGetGLTextureInfo
    clEnqueueAcquireGLObjects clEnqueueReleaseGLObjects clGetGLContextInfoKHR
    clGetDeviceIDsFromD3D10KHR clCreateFromD3D10BufferKHR clCreateFromD3D10Texture2DKHR
    clCreateFromD3D10Texture3DKHR clEnqueueAcquireD3D10ObjectsKHR clEnqueueReleaseD3D10ObjectsKHR
    clSetEventCallback clCreateSubBuffer clSetMemObjectDestructorCallback clCreateUserEvent
    clSetUserEventStatus clEnqueueReadBufferRect clEnqueueWriteBufferRect clEnqueueCopyBufferRect
    clCreateSubDevicesEXT clRetainDeviceEXT clReleaseDeviceEXT clCreateEventFromGLsyncKHR
    clCreateSubDevices clRetainDevice clReleaseDevice clCreateImage clCreateProgramWithBuiltInKernels
    clCompileProgram clLinkProgram clUnloadPlatformCompiler clGetKernelArgInfo clEnqueueFillBuffer
    clEnqueueFillImage clEnqueueMigrateMemObjects clEnqueueMarkerWithWaitList
    clEnqueueBarrierWithWaitList clGetExtensionFunctionAddressForPlatform clCreateFromGLTexture
    clGetDeviceIDsFromD3D11KHR clCreateFromD3D11BufferKHR clCreateFromD3D11Texture2DKHR
    clCreateFromD3D11Texture3DKHR clCreateFromDX9MediaSurfaceKHR clEnqueueAcquireD3D11ObjectsKHR
    clEnqueueReleaseD3D11ObjectsKHR clGetDeviceIDsFromDX9MediaAdapterKHR
    clEnqueueAcquireDX9MediaSurfacesKHR clEnqueueReleaseDX9MediaSurfacesKHR clCreateFromEGLImageKHR
    clEnqueueAcquireEGLObjectsKHR clEnqueueReleaseEGLObjectsKHR clCreateEventFromEGLSyncKHR
    clCreateCommandQueueWithProperties clCreatePipe clGetPipeInfo clSVMAlloc clSVMFree
    clEnqueueSVMFree clEnqueueSVMMemcpy clEnqueueSVMMemFill clEnqueueSVMMap clEnqueueSVMUnmap
    clCreateSamplerWithProperties clSetKernelArgSVMPointer clSetKernelExecInfo
    clGetKernelSubGroupInfoKHR clCloneKernel clCreateProgramWithIL clEnqueueSVMMigrateMem
    clGetDeviceAndHostTimer clGetHostTimer clGetKernelSubGroupInfo clSetDefaultDeviceCommandQueue
    clSetProgramReleaseCallback clSetProgramSpecializationConstant clCreateBufferWithProperties
    clCreateImageWithProperties clSetContextDestructorCallback";

/// Address of a driver function; `None` if it has no such one.
fn function(name: &str) -> Option<*const ()> {
    Some(match name {
        "clBuildProgram" => program::build as *const (),
        "clCreateBuffer" => memory::create_buffer as *const (),
        "clCreateCommandQueue" => queue::create as *const (),
        "clCreateCommandQueueWithProperties" => queue::create_with_properties as *const (),
        "clCreateContext" => context::create as *const (),
        "clCreateContextFromType" => context::create_from_type as *const (),
        "clCreateKernel" => kernel::create as *const (),
        "clCreateKernelsInProgram" => kernel::create_all as *const (),
        "clCreateProgramWithBinary" => program::create_with_binary as *const (),
        "clCreateProgramWithSource" => program::create_with_source as *const (),
        "clCreateSubBuffer" => memory::create_sub_buffer as *const (),
        "clCreateUserEvent" => event::create_user as *const (),
        "clEnqueueBarrier" => command::barrier_of_all as *const (),
        "clEnqueueBarrierWithWaitList" => command::barrier as *const (),
        "clEnqueueCopyBuffer" => command::copy as *const (),
        "clEnqueueFillBuffer" => command::fill as *const (),
        "clEnqueueMapBuffer" => command::map as *const (),
        "clEnqueueMarker" => command::marker_of_all as *const (),
        "clEnqueueMarkerWithWaitList" => command::marker as *const (),
        "clEnqueueNDRangeKernel" => command::launch as *const (),
        "clEnqueueReadBuffer" => command::read as *const (),
        "clEnqueueUnmapMemObject" => command::unmap as *const (),
        "clEnqueueWaitForEvents" => command::wait_for_events as *const (),
        "clEnqueueWriteBuffer" => command::write as *const (),
        "clFinish" => queue::finish as *const (),
        "clFlush" => queue::flush as *const (),
        "clGetCommandQueueInfo" => queue::info as *const (),
        "clGetContextInfo" => context::info as *const (),
        "clGetDeviceIDs" => platform::device_ids as *const (),
        "clGetDeviceInfo" => platform::device_info as *const (),
        "clGetEventInfo" => event::info as *const (),
        "clGetEventProfilingInfo" => event::profiling_info as *const (),
        "clGetExtensionFunctionAddress" => clGetExtensionFunctionAddress as *const (),
        "clGetExtensionFunctionAddressForPlatform" => address_for_platform as *const (),
        "clGetKernelInfo" => kernel::info as *const (),
        "clGetKernelWorkGroupInfo" => kernel::work_group_info as *const (),
        "clGetMemObjectInfo" => memory::info as *const (),
        "clGetPlatformIDs" | "clIcdGetPlatformIDsKHR" => clIcdGetPlatformIDsKHR as *const (),
        "clGetPlatformInfo" => platform::info as *const (),
        "clGetProgramBuildInfo" => program::build_info as *const (),
        "clGetProgramInfo" => program::info as *const (),
        "clReleaseCommandQueue" => queue::release as *const (),
        "clReleaseContext" => context::release as *const (),
        "clReleaseDevice" | "clRetainDevice" => platform::keep_device as *const (),
        "clReleaseEvent" => event::release as *const (),
        "clReleaseKernel" => kernel::release as *const (),
        "clReleaseMemObject" => memory::release as *const (),
        "clReleaseProgram" => program::release as *const (),
        "clRetainCommandQueue" => queue::retain as *const (),
        "clRetainContext" => context::retain as *const (),
        "clRetainEvent" => event::retain as *const (),
        "clRetainKernel" => kernel::retain as *const (),
        "clRetainMemObject" => memory::retain as *const (),
        "clRetainProgram" => program::retain as *const (),
        "clSetEventCallback" => event::set_callback as *const (),
        "clSetKernelArg" => kernel::set_argument as *const (),
        "clSetUserEventStatus" => event::set_user_status as *const (),
        "clUnloadCompiler" | "clUnloadPlatformCompiler" => platform::unload_compiler as *const (),
        "clWaitForEvents" => event::wait as *const (),
        _ => return None,
    })
}

/// Where the table lies, which every handle begins with.
pub(crate) fn address() -> usize {
    static TABLE: LazyLock<Vec<usize>> = LazyLock::new(|| {
        let gives_object = |name: &str| name.starts_with("clCreate") || name.contains("Alloc");
        let absent = |name: &str| {
            if gives_object(name) { missing_object as *const () } else { missing as *const () }
        };
        let entry = |name: &str| function(name).unwrap_or_else(|| absent(name)) as usize;
        NAMES.split_whitespace().map(entry).collect()
    });
    TABLE.as_ptr() as usize
}

/// The platform, as the loader asks for it.
#[expect(unsafe_code, reason = "the loader looks for this name")]
#[allow(non_snake_case, reason = "the loader looks for this name")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn clIcdGetPlatformIDsKHR(
    entries: u32,
    platforms: *mut usize,
    count: *mut u32,
) -> i32 {
    platform::ids(entries, platforms, count)
}

/// A function by its name, as the loader asks for it.
#[expect(unsafe_code, reason = "the loader looks for this name")]
#[allow(non_snake_case, reason = "the loader looks for this name")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn clGetExtensionFunctionAddress(name: *const c_char) -> *const c_void {
    function(&foreign::text(name)).map_or(std::ptr::null(), <*const ()>::cast)
}

extern "C" fn address_for_platform(_platform: usize, name: *const c_char) -> *const c_void {
    clGetExtensionFunctionAddress(name)
}
