//! The real device: the only file that knows OpenCL, beside its library finder.
//!
//! One device a context and a program; binaries are built after loading, and taken after their
//! kernel exists. Only calls that return errors are used.
#![expect(unsafe_code, reason = "OpenCL is called through its C interface")]

mod library;

use std::ptr;

use kernels::{KERNEL_FUNCTION, Launch, Limits, Program};
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device as ClDevice};
use opencl3::error_codes::ClError;
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::platform::get_platforms;
use opencl3::program::Program as ClProgram;
use opencl3::types::{CL_BLOCKING, cl_mem, cl_uint, cl_ulong};

use super::{Arguments, Device, DeviceError, DeviceInfo};

const PLATFORM_NOT_FOUND: i32 = -1001;
const LIBRARY_FUNCTION_MISSING: i32 = -2001;

/// A device with its context and queue.
pub struct OpenCl {
    info: DeviceInfo,
    device: ClDevice,
    context: Context,
    queue: CommandQueue,
}

/// A kernel and the program it came from.
pub struct OpenClKernel {
    kernel: Kernel,
    program: ClProgram,
}

/// Memory on the device.
pub struct OpenClBuffer {
    buffer: Buffer<u8>,
    bytes: u64,
}

/// A device as [`devices`] finds it.
pub struct Found {
    /// `P:D`, the numbers of platform and device.
    pub index: String,
    /// What it is.
    pub info: DeviceInfo,
    device: ClDevice,
}

/// Every device of every platform.
///
/// # Errors
/// No library, or no platform.
pub fn devices() -> Result<Vec<Found>, DeviceError> {
    library::load()?;
    let platforms = get_platforms().map_err(|ClError(code)| match code {
        PLATFORM_NOT_FOUND => DeviceError::NoPlatform,
        LIBRARY_FUNCTION_MISSING => {
            DeviceError::NoLibrary(vec!["the library found has no OpenCL in it".to_owned()])
        }
        _ => failed("clGetPlatformIDs")(ClError(code)),
    })?;
    if platforms.is_empty() {
        return Err(DeviceError::NoPlatform);
    }
    let mut found = Vec::new();
    for (p, platform) in platforms.iter().enumerate() {
        let name = platform.name().map_err(failed("clGetPlatformInfo"))?;
        // A platform without devices says so by an error.
        let ids = platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default();
        for (d, id) in ids.into_iter().enumerate() {
            let device = ClDevice::new(id);
            let info = describe(&device, &name).map_err(failed("clGetDeviceInfo"))?;
            found.push(Found { index: format!("{p}:{d}"), info, device });
        }
    }
    Ok(found)
}

fn describe(device: &ClDevice, platform: &str) -> Result<DeviceInfo, ClError> {
    let mut items = device.max_work_item_sizes()?.into_iter().map(|size| size as u64);
    let mut item = || items.next().unwrap_or(1);
    let trimmed = |text: String| text.trim().to_owned();
    Ok(DeviceInfo {
        platform: platform.trim().to_owned(),
        name: trimmed(device.name()?),
        vendor: trimmed(device.vendor()?),
        driver: trimmed(device.driver_version()?),
        version: trimmed(device.version()?),
        compute_units: device.max_compute_units()?,
        limits: Limits {
            work_group: device.max_work_group_size()? as u64,
            work_items: [item(), item(), item()],
            local_memory: device.local_mem_size()?,
        },
        largest_buffer: device.max_mem_alloc_size()?,
        memory: device.global_mem_size()?,
        clock_resolution_ns: device.profiling_timer_resolution()? as u64,
        extensions: trimmed(device.extensions()?),
    })
}

impl OpenCl {
    /// Open the device that `wanted` names: `P:D`, or a part of its name or of its platform's,
    /// or `PLATFORM/NAME` with parts of both, whatever the case. Without a wish, the only device there is.
    ///
    /// # Errors
    /// No library, platform or device; several that match; or the driver's refusal.
    pub fn open(wanted: Option<&str>) -> Result<Self, DeviceError> {
        let mut found = devices()?;
        let lines: Vec<String> = found.iter().map(Found::line).collect();
        let matching: Vec<usize> = (0..found.len())
            .filter(|at| wanted.is_none_or(|wanted| found[*at].matches(wanted)))
            .collect();
        match matching[..] {
            [at] => Self::from_found(found.swap_remove(at)),
            [] => {
                let wanted = wanted.unwrap_or("any").to_owned();
                Err(DeviceError::NoDevice { wanted, have: lines })
            }
            _ => {
                Err(DeviceError::Ambiguous(matching.iter().map(|at| lines[*at].clone()).collect()))
            }
        }
    }

    fn from_found(found: Found) -> Result<Self, DeviceError> {
        let Found { info, device, .. } = found;
        let context = Context::from_device(&device).map_err(failed("clCreateContext"))?;
        let queue = CommandQueue::create_default(&context, CL_QUEUE_PROFILING_ENABLE)
            .map_err(failed("clCreateCommandQueue"))?;
        Ok(Self { info, device, context, queue })
    }

    /// Work on the caller's own context and queue; timings need a queue with profiling.
    ///
    /// # Errors
    /// The driver says nothing of the device, or the context has none.
    pub fn with_queue(context: Context, queue: CommandQueue) -> Result<Self, DeviceError> {
        let device = ClDevice::new(context.default_device());
        let platform = device.platform().map_err(failed("clGetDeviceInfo"))?;
        let platform = opencl3::platform::Platform::new(platform);
        let name = platform.name().map_err(failed("clGetPlatformInfo"))?;
        let info = describe(&device, &name).map_err(failed("clGetDeviceInfo"))?;
        Ok(Self { info, device, context, queue })
    }

    /// The context, to make buffers in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    fn finished(&self, program: ClProgram) -> Result<OpenClKernel, DeviceError> {
        let kernel = Kernel::create(&program, KERNEL_FUNCTION).map_err(failed("clCreateKernel"))?;
        Ok(OpenClKernel { kernel, program })
    }
}

impl OpenClBuffer {
    /// Use the caller's own buffer of `bytes` bytes.
    #[must_use]
    pub fn new(buffer: Buffer<u8>, bytes: u64) -> Self {
        Self { buffer, bytes }
    }
}

impl Found {
    /// Index, name and platform on one line.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{}  {} ({})", self.index, self.info.name, self.info.platform)
    }

    fn matches(&self, wanted: &str) -> bool {
        let part = wanted.trim().to_lowercase();
        let name = |part: &str| self.info.name.to_lowercase().contains(part);
        let platform = |part: &str| self.info.platform.to_lowercase().contains(part);
        let both = part.split_once('/').is_some_and(|(one, other)| platform(one) && name(other));
        self.index == part || (!is_index(&part) && (name(&part) || platform(&part) || both))
    }
}

fn is_index(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(':').is_some_and(|(platform, device)| digits(platform) && digits(device))
}

fn failed(call: &'static str) -> impl Fn(ClError) -> DeviceError {
    move |error| DeviceError::Call { call, code: error.0, reason: error.to_string() }
}

fn sizes(values: [u64; 3]) -> Result<[usize; 3], DeviceError> {
    let mut sizes = [0; 3];
    for (size, value) in sizes.iter_mut().zip(values) {
        *size = usize::try_from(value).map_err(|_| DeviceError::TooLarge("a launch"))?;
    }
    Ok(sizes)
}

impl Device for OpenCl {
    type Buffer = OpenClBuffer;
    type Event = Event;
    type Kernel = OpenClKernel;

    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn build(&self, program: &Program) -> Result<OpenClKernel, DeviceError> {
        let mut built = ClProgram::create_from_source(&self.context, program.source)
            .map_err(failed("clCreateProgramWithSource"))?;
        if let Err(error) = built.build(self.context.devices(), &program.options) {
            let log = built.get_build_log(self.device.id()).unwrap_or_default();
            let log = format!("{error}: {}", log.trim());
            return Err(DeviceError::Build { program: program.name.clone(), log });
        }
        self.finished(built)
    }

    fn load(&self, program: &Program, binary: &[u8]) -> Result<OpenClKernel, DeviceError> {
        let devices = self.context.devices();
        // SAFETY: the context has exactly this one device, and there is one binary for it.
        let loaded = unsafe { ClProgram::create_from_binary(&self.context, devices, &[binary]) };
        let mut loaded = loaded.map_err(failed("clCreateProgramWithBinary"))?;
        loaded.build(devices, &program.options).map_err(failed("clBuildProgram"))?;
        self.finished(loaded)
    }

    fn binary(&self, kernel: &OpenClKernel) -> Result<Vec<u8>, DeviceError> {
        let binaries = kernel.program.get_binaries().map_err(failed("clGetProgramInfo"))?;
        match binaries.into_iter().next() {
            Some(binary) if !binary.is_empty() => Ok(binary),
            _ => Err(DeviceError::Call {
                call: "clGetProgramInfo",
                code: 0,
                reason: "the driver gives no binary".to_owned(),
            }),
        }
    }

    fn work_group_limit(&self, kernel: &OpenClKernel) -> Result<u64, DeviceError> {
        let limit = kernel.kernel.get_work_group_size(self.device.id());
        limit.map(|size| size as u64).map_err(failed("clGetKernelWorkGroupInfo"))
    }

    fn allocate(&self, bytes: u64) -> Result<OpenClBuffer, DeviceError> {
        let size = usize::try_from(bytes.max(1)).map_err(|_| DeviceError::TooLarge("a buffer"))?;
        // SAFETY: no host pointer is given.
        let buffer =
            unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, size, ptr::null_mut()) };
        Ok(OpenClBuffer { buffer: buffer.map_err(failed("clCreateBuffer"))?, bytes })
    }

    fn bytes(&self, buffer: &OpenClBuffer) -> u64 {
        buffer.bytes
    }

    fn write(&self, buffer: &mut OpenClBuffer, data: &[u8]) -> Result<(), DeviceError> {
        let (need, have) = (data.len() as u64, buffer.bytes);
        if need > have {
            return Err(DeviceError::BufferTooSmall { need, have });
        }
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: the copy is waited for, and fits the buffer.
        let done = unsafe {
            self.queue.enqueue_write_buffer(&mut buffer.buffer, CL_BLOCKING, 0, data, &[])
        };
        done.map(|_| ()).map_err(failed("clEnqueueWriteBuffer"))
    }

    fn read(&self, buffer: &OpenClBuffer, data: &mut [u8]) -> Result<(), DeviceError> {
        let (need, have) = (data.len() as u64, buffer.bytes);
        if need > have {
            return Err(DeviceError::BufferTooSmall { need, have });
        }
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: the copy is waited for, and fits the buffer.
        let done =
            unsafe { self.queue.enqueue_read_buffer(&buffer.buffer, CL_BLOCKING, 0, data, &[]) };
        done.map(|_| ()).map_err(failed("clEnqueueReadBuffer"))
    }

    fn set_arguments(
        &self,
        kernel: &mut OpenClKernel,
        arguments: &Arguments<'_, OpenClBuffer>,
    ) -> Result<(), DeviceError> {
        let kernel = &kernel.kernel;
        let call = *arguments.problem().problem();
        let k = arguments.problem().effective_k();
        let set = || {
            // SAFETY: types and order are those of the kernel function, which every family's
            // source declares alike; buffers outlive the launch by the driver's own count.
            unsafe {
                kernel.set_arg::<cl_uint>(0, &call.shape.m)?;
                kernel.set_arg::<cl_uint>(1, &call.shape.n)?;
                kernel.set_arg::<cl_uint>(2, &k)?;
                kernel.set_arg::<f32>(3, &call.alpha)?;
                kernel.set_arg::<f32>(4, &call.beta)?;
                for ((buffer, operand), first) in arguments.matrices().into_iter().zip([5, 9, 13]) {
                    // `check` proved that a leading dimension fits 32 bits.
                    let leading = operand.leading as cl_uint;
                    kernel.set_arg::<cl_mem>(first, &buffer.buffer.get())?;
                    kernel.set_arg::<cl_ulong>(first + 1, &operand.offset)?;
                    kernel.set_arg::<cl_uint>(first + 2, &leading)?;
                    kernel.set_arg::<cl_ulong>(first + 3, &operand.stride)?;
                }
            }
            Ok(())
        };
        set().map_err(failed("clSetKernelArg"))
    }

    fn enqueue(&self, kernel: &mut OpenClKernel, launch: &Launch) -> Result<Event, DeviceError> {
        let offset = sizes(launch.offset)?;
        let (global, local) = (sizes(launch.global)?, sizes(launch.local)?);
        // SAFETY: the arrays have the three dimensions announced; the kernel checks that it is
        // inside C, and `check` proved that C's extent is inside its buffer.
        let event = unsafe {
            self.queue.enqueue_nd_range_kernel(
                kernel.kernel.get(),
                3,
                offset.as_ptr(),
                global.as_ptr(),
                local.as_ptr(),
                &[],
            )
        };
        event.map_err(failed("clEnqueueNDRangeKernel"))
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.queue.finish().map_err(failed("clFinish"))
    }

    fn nanoseconds(&self, event: &Event) -> Result<u64, DeviceError> {
        event.wait().map_err(failed("clWaitForEvents"))?;
        let start = event.profiling_command_start().map_err(failed("clGetEventProfilingInfo"))?;
        let end = event.profiling_command_end().map_err(failed("clGetEventProfilingInfo"))?;
        match end.checked_sub(start) {
            Some(nanoseconds) if nanoseconds > 0 && start > 0 => Ok(nanoseconds),
            _ => Err(DeviceError::Clock { end, start }),
        }
    }
}
