//! The real device: the only file that knows OpenCL, beside its library finder.
//!
//! One device a context and a program; binaries are built after loading, and taken after their
//! kernel exists. Only calls that return errors are used.
#![expect(unsafe_code, reason = "OpenCL is called through its C interface")]

mod arguments;
mod call;
mod event;
pub mod layers;
mod library;
mod owned;
mod place;

use std::mem::{self, ManuallyDrop};
use std::num::NonZeroU64;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use cl3::command_queue::enqueue_write_buffer;
use cl3::context::retain_context;
use cl3::event::{
    CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_START, get_event_profiling_info, wait_for_events,
};
use cl3::ext::CL_DEVICE_SUB_GROUP_SIZES_INTEL;
use cl3::{OpenClRuntime, load_library};
use kernels::{Launch, Launches, Limits, Program, SubGroups};
use opencl3::command_queue::{
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE, CommandQueue,
};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device as ClDevice};
use opencl3::error_codes::ClError;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_OBJECT_BUFFER, CL_MEM_READ_WRITE, ClMem};
use opencl3::platform::{Platform, get_platforms};
use opencl3::program::Program as ClProgram;
use opencl3::types::{CL_BLOCKING, cl_command_queue, cl_mem};

pub use event::OpenClEvent;
pub use library::load;
pub use owned::refused_releases;

use arguments::{Functions, Identity};
use call::Queue;
use owned::Owned;
use place::Place;

use super::{Arguments, Armed, Bare, Device, DeviceError, DeviceInfo, Reading};

const PLATFORM_NOT_FOUND: i32 = -1001;
const LIBRARY_FUNCTION_MISSING: i32 = -2001;
const INVALID_QUEUE_PROPERTIES: i32 = -35;

/// A device with its context and queue.
pub struct OpenCl {
    info: DeviceInfo,
    device: ClDevice,
    queue: Queue,
    /// The queue that records times while `queue` does not, or the other way round; made when it is
    /// first wanted.
    resting: Option<Queue>,
    context: Owned<Context>,
    library: &'static OpenClRuntime,
}

/// The kernel functions of a program, and the program.
pub struct OpenClKernel {
    functions: Functions,
    program: Owned<ClProgram>,
    /// Address of the context, which lives as long as the kernel.
    context: usize,
}

/// Memory on the device.
pub struct OpenClBuffer {
    memory: Memory,
    bytes: u64,
    /// Address of the context, which lives as long as the buffer.
    context: usize,
    place: Place,
    identity: Identity,
}

/// Memory that is released with the handle, or that is the caller's.
enum Memory {
    Borrowed(ManuallyDrop<Buffer<u8>>),
    Owned(Owned<Buffer<u8>>),
}

/// A device as [`devices`] finds it.
pub struct Found {
    /// `P:D`, the numbers of platform and device.
    pub index: String,
    /// What it is.
    pub info: DeviceInfo,
    device: ClDevice,
}

/// Every device of every platform that says what it is; one that does not hides no other.
///
/// OpenCL is [loaded](load) first, which says what that asks of threads.
///
/// # Errors
/// No library, or no platform; or there are devices, but none that says what it is: the first one's refusal.
pub fn devices() -> Result<Vec<Found>, DeviceError> {
    Ok(look()?.found)
}

/// What a look at every platform finds.
struct Look {
    found: Vec<Found>,
    /// Platforms and devices that do not say what they are, by their number, and why.
    sick: Vec<(String, DeviceError)>,
}

fn look() -> Result<Look, DeviceError> {
    // Drivers start up at the first look; PoCL crashes if two threads look at once.
    static LOOKING: Mutex<()> = Mutex::new(());
    let _alone = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
    load()?;
    let platforms = get_platforms().map_err(|ClError(code)| match code {
        PLATFORM_NOT_FOUND => DeviceError::NoPlatform,
        LIBRARY_FUNCTION_MISSING => {
            DeviceError::NotOpenCl(vec!["the library found has no clGetPlatformIDs".to_owned()])
        }
        _ => failed("clGetPlatformIDs")(ClError(code)),
    })?;
    if platforms.is_empty() {
        return Err(DeviceError::NoPlatform);
    }
    let mut look = Look { found: Vec::new(), sick: Vec::new() };
    for (p, platform) in platforms.iter().enumerate() {
        if let Err(error) = look.at(p, platform) {
            look.sick.push((format!("{p}"), error));
        }
    }
    match look.sick.first() {
        Some((_, error)) if look.found.is_empty() => Err(error.clone()),
        _ => Ok(look),
    }
}

impl Look {
    fn at(&mut self, p: usize, platform: &Platform) -> Result<(), DeviceError> {
        let name = platform.name().map_err(failed("clGetPlatformInfo"))?;
        // To the bindings, a platform that says that it has no device is well.
        let ids = platform.get_devices(CL_DEVICE_TYPE_ALL).map_err(failed("clGetDeviceIDs"))?;
        for (d, id) in ids.into_iter().enumerate() {
            let (index, device) = (format!("{p}:{d}"), ClDevice::new(id));
            match describe(&device, &name) {
                Ok(info) => self.found.push(Found { index, info, device }),
                Err(error) => self.sick.push((index, failed("clGetDeviceInfo")(error))),
            }
        }
        Ok(())
    }

    /// All that there is, a line each.
    fn lines(&self) -> Vec<String> {
        let sick = self.sick.iter().map(|(at, error)| format!("{at}  cannot be used: {error}"));
        self.found.iter().map(Found::line).chain(sick).collect()
    }
}

fn describe(device: &ClDevice, platform: &str) -> Result<DeviceInfo, ClError> {
    let mut items = device.max_work_item_sizes()?.into_iter().map(|size| size as u64);
    let mut item = || items.next().unwrap_or(1);
    let trimmed = |text: String| text.trim().to_owned();
    let extensions = trimmed(device.extensions()?);
    let sub_groups = sub_groups(&extensions, || device.get_data(CL_DEVICE_SUB_GROUP_SIZES_INTEL));
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
            sub_groups,
        },
        largest_buffer: device.max_mem_alloc_size()?,
        memory: device.global_mem_size()?,
        clock_resolution_ns: device.profiling_timer_resolution()? as u64,
        extensions,
    })
}

/// Widths of sub-groups that kernels may require on a device with these extensions; `sizes` asks the
/// driver for them, an array of `size_t`. A driver that does not answer has none.
fn sub_groups<E>(extensions: &str, sizes: impl Fn() -> Result<Vec<u8>, E>) -> SubGroups {
    let has = |name| extensions.split_whitespace().any(|extension| extension == name);
    if !has("cl_intel_subgroups") || !has("cl_intel_required_subgroup_size") {
        return SubGroups::NONE;
    }
    let sizes = sizes().unwrap_or_default();
    let (widths, _) = sizes.as_chunks();
    widths.iter().map(|width| usize::from_ne_bytes(*width) as u64).collect()
}

impl OpenCl {
    /// Open the device that `wanted` names: `P:D`, or a part of its name or of its platform's,
    /// or `PLATFORM/NAME` with parts of both, whatever the case. Without a wish, the only device there is.
    ///
    /// OpenCL is [loaded](load) first, which says what that asks of threads.
    ///
    /// # Errors
    /// No library, platform or device; several that match; or the driver's refusal.
    pub fn open(wanted: Option<&str>) -> Result<Self, DeviceError> {
        let look = look()?;
        let lines = look.lines();
        let is_wanted = |found: &Found| wanted.is_none_or(|wanted| found.matches(wanted));
        let mut matching: Vec<Found> = look.found.into_iter().filter(is_wanted).collect();
        match (matching.pop(), matching.is_empty()) {
            (Some(found), true) => Self::from_found(found),
            (Some(last), false) => {
                matching.push(last);
                Err(DeviceError::Ambiguous(matching.iter().map(Found::line).collect()))
            }
            (None, _) => {
                let wanted = wanted.unwrap_or("any").to_owned();
                Err(DeviceError::NoDevice { wanted, have: lines })
            }
        }
    }

    fn from_found(found: Found) -> Result<Self, DeviceError> {
        let Found { info, device, .. } = found;
        let context = Context::from_device(&device).map_err(failed("clCreateContext"))?;
        let context = Owned::new(context);
        // A device whose queues record no times is timed by the host.
        let queue = match Queue::new(&context, CL_QUEUE_PROFILING_ENABLE) {
            Err(DeviceError::Call { code: INVALID_QUEUE_PROPERTIES, .. }) => {
                Queue::new(&context, 0)
            }
            other => other,
        }?;
        Ok(Self { info, device, queue, resting: None, context, library: runtime()? })
    }

    /// Work on the caller's own context, on a queue of our own until [`Self::use_queue`] names another.
    ///
    /// OpenCL is [loaded](load) first; where the caller has made the context through the bindings, their choice of
    /// a library holds.
    ///
    /// # Errors
    /// As [`Self::with_queue`].
    pub fn with_context(context: Context) -> Result<Self, DeviceError> {
        Self::on(Owned::new(context), |context, _| Queue::new(context, 0))
    }

    /// The same device and context, with a queue of its own: for the runtime of another thread.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn sibling(&self) -> Result<Self, DeviceError> {
        let context = self.context.get();
        // SAFETY: the context lives as long as `self`; `Context` gives back what is taken here.
        let retained = unsafe { retain_context(context) };
        retained.map_err(|code| failed("clRetainContext")(ClError(code)))?;
        Self::with_context(Context::new(context, &[self.device.id()]))
    }

    /// Work on the caller's own context and queue; timings need a queue with profiling.
    ///
    /// `context` must name the one device to work on. The driver may know it with several: it is what
    /// [`Context::devices`] lists that counts, so that a caller chooses one by [`Context::new`]. OpenCL is loaded as
    /// by [`Self::with_context`].
    ///
    /// # Errors
    /// [`DeviceError::Foreign`] if `context` does not list exactly one device, or if the driver says that the queue
    /// is another context's or device's; no library; or the driver says nothing of the device.
    pub fn with_queue(context: Context, queue: CommandQueue) -> Result<Self, DeviceError> {
        let queue = Owned::new(queue);
        Self::on(Owned::new(context), |context, device| Queue::of(queue, context, device))
    }

    fn on(
        context: Owned<Context>,
        queue: impl FnOnce(&Context, &ClDevice) -> Result<Queue, DeviceError>,
    ) -> Result<Self, DeviceError> {
        load()?;
        let (info, device) = only_device(&context)?;
        let queue = queue(&context, &device)?;
        Ok(Self { info, device, queue, resting: None, context, library: runtime()? })
    }

    /// Enqueue on another queue of the same context and device from here on. Nothing is waited for: calls
    /// that must not overlap across queues are the caller's affair. A runtime that uses scratch memory changes
    /// its queue by [`Runtime::change_queue`](crate::Runtime::change_queue).
    ///
    /// # Errors
    /// [`DeviceError::Foreign`] if the queue is another context's or device's; or the driver does not say.
    pub fn use_queue(&mut self, queue: CommandQueue) -> Result<(), DeviceError> {
        let queue = Queue::of(Owned::new(queue), &self.context, &self.device)?;
        // What waits for an event of the old queue elsewhere would wait for ever if it were never sent.
        self.queue.commands.flush().map_err(failed("clFlush"))?;
        self.queue = queue;
        self.resting = None;
        Ok(())
    }

    /// Whether events of the calls to come tell their times, as they do at first: on some drivers an
    /// event costs twice as much in a queue that records times. What was enqueued is waited for, and
    /// [`Self::queue`] is another one from here on, in the same context.
    ///
    /// # Errors
    /// The driver has no other queue, or a call failed; the queue is as it was.
    pub fn record_times(&mut self, wanted: bool) -> Result<(), DeviceError> {
        if wanted == self.queue.records {
            return Ok(());
        }
        self.finish()?;
        let queue = match self.resting.take() {
            Some(resting) => resting,
            None => Queue::new(&self.context, if wanted { CL_QUEUE_PROFILING_ENABLE } else { 0 })?,
        };
        self.resting = Some(mem::replace(&mut self.queue, queue));
        Ok(())
    }

    /// The context, to make buffers in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Whether a buffer is of this context, so that calls here can use it.
    #[must_use]
    pub fn owns(&self, buffer: &OpenClBuffer) -> bool {
        self.check_mine("buffer", buffer.context).is_ok()
    }

    /// The queue, to enqueue in between what is the caller's own; it lives as long as `self`, and is
    /// in use until [`Self::record_times`] changes that.
    #[must_use]
    pub fn queue(&self) -> cl_command_queue {
        self.queue.commands.get()
    }

    fn finished(
        &self,
        program: &Program,
        built: Owned<ClProgram>,
    ) -> Result<OpenClKernel, DeviceError> {
        let mut functions = Vec::with_capacity(program.functions.len());
        for name in program.functions {
            let kernel = Kernel::create(&built, name).map_err(failed("clCreateKernel"))?;
            functions.push(Owned::new(kernel));
        }
        Ok(OpenClKernel {
            functions: Functions::new(functions, program.scratch),
            program: built,
            context: self.context.get() as usize,
        })
    }

    /// Refuse what was made on another device before the driver sees it.
    fn check_mine(&self, what: &'static str, context: usize) -> Result<(), DeviceError> {
        if context == self.context.get() as usize {
            Ok(())
        } else {
            Err(DeviceError::Foreign(what))
        }
    }
}

impl OpenClBuffer {
    /// Use the caller's own buffer, which may be a part of another (a sub-buffer) or lie in the
    /// caller's memory (`CL_MEM_USE_HOST_PTR`).
    ///
    /// # Errors
    /// [`DeviceError::Misaligned`] if it begins where kernels cannot load vectors; or the driver does
    /// not tell its size and place.
    pub fn new(buffer: Buffer<u8>) -> Result<Self, DeviceError> {
        Self::of(Memory::Owned(Owned::new(buffer)), Identity::new())
    }

    /// Use memory that the caller releases. Its arguments are set again by every call, since the
    /// driver may have given its handle to another buffer in the meantime; what is made of it here
    /// asks the driver for its size and place, and takes no reference.
    ///
    /// # Safety
    /// `memory` is a valid buffer, and lives as long as what is returned.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub unsafe fn borrowed(memory: cl_mem) -> Result<Self, DeviceError> {
        Self::of(Memory::Borrowed(ManuallyDrop::new(Buffer::new(memory))), Identity::UNKNOWN)
    }

    fn of(memory: Memory, identity: Identity) -> Result<Self, DeviceError> {
        let buffer = memory.buffer();
        if buffer.mem_type().map_err(failed("clGetMemObjectInfo"))? != CL_MEM_OBJECT_BUFFER {
            return Err(DeviceError::NotABuffer);
        }
        let bytes = buffer.size().map_err(failed("clGetMemObjectInfo"))? as u64;
        let context = buffer.context().map_err(failed("clGetMemObjectInfo"))? as usize;
        let place = Place::of(buffer).map_err(failed("clGetMemObjectInfo"))?;
        place.check_alignment()?;
        Ok(Self { memory, bytes, context, place, identity })
    }

    /// The memory, for the caller's own calls; it lives as long as `self`.
    #[must_use]
    pub fn memory(&self) -> cl_mem {
        self.memory.buffer().get()
    }
}

impl Memory {
    fn buffer(&self) -> &Buffer<u8> {
        match self {
            Self::Borrowed(buffer) => buffer,
            Self::Owned(buffer) => buffer,
        }
    }
}

impl Queue {
    /// One of our own, which keeps the order.
    fn new(context: &Context, properties: u64) -> Result<Self, DeviceError> {
        let commands = CommandQueue::create_default(context, properties)
            .map_err(failed("clCreateCommandQueue"))?;
        let records = properties & CL_QUEUE_PROFILING_ENABLE != 0;
        Ok(Self { commands: Owned::new(commands), keeps_order: true, records })
    }

    /// A caller's.
    fn of(
        commands: Owned<CommandQueue>,
        context: &Context,
        device: &ClDevice,
    ) -> Result<Self, DeviceError> {
        let told = failed("clGetCommandQueueInfo");
        let same_context = commands.context().map_err(&told)? == context.get();
        if !same_context || commands.device().map_err(&told)? != device.id() {
            return Err(DeviceError::Foreign("queue"));
        }
        let properties = commands.properties().map_err(&told)?;
        let keeps_order = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0;
        let records = properties & CL_QUEUE_PROFILING_ENABLE != 0;
        Ok(Self { commands, keeps_order, records })
    }
}

/// The only device of a context, and what it is.
fn only_device(context: &Context) -> Result<(DeviceInfo, ClDevice), DeviceError> {
    let only = match context.devices() {
        &[only] => only,
        [] => return Err(DeviceError::Foreign("context without a device")),
        _ => return Err(DeviceError::Foreign("context of several devices")),
    };
    let device = ClDevice::new(only);
    let platform = device.platform().map_err(failed("clGetDeviceInfo"))?;
    let platform = Platform::new(platform);
    let name = platform.name().map_err(failed("clGetPlatformInfo"))?;
    let info = describe(&device, &name).map_err(failed("clGetDeviceInfo"))?;
    Ok((info, device))
}

/// The library's functions.
fn runtime() -> Result<&'static OpenClRuntime, DeviceError> {
    load()?;
    load_library().as_ref().map_err(|_| library_gone("OpenCL"))
}

impl Found {
    /// Index, name, platform and compute units on one line: twins differ by the first at least.
    #[must_use]
    pub fn line(&self) -> String {
        let DeviceInfo { name, platform, compute_units, .. } = &self.info;
        format!("{}  {name} ({platform}, {compute_units} compute units)", self.index)
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

/// That the bindings can hand a program's texts over; they panic on one that ends early in C.
fn check_texts(program: &Program) -> Result<(), DeviceError> {
    let refused = |what| Err(DeviceError::ZeroByte { what, program: program.name.clone() });
    if program.options.contains('\0') {
        return refused("build options");
    }
    if program.functions.iter().any(|name| name.contains('\0')) {
        return refused("kernel functions");
    }
    Ok(())
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
    type Event = OpenClEvent;
    type Kernel = OpenClKernel;

    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn build(&self, program: &Program) -> Result<OpenClKernel, DeviceError> {
        check_texts(program)?;
        let built = ClProgram::create_from_source(&self.context, program.source)
            .map_err(failed("clCreateProgramWithSource"))?;
        let mut built = Owned::new(built);
        if let Err(error) = built.build(self.context.devices(), &program.options) {
            let log = built.get_build_log(self.device.id()).unwrap_or_default();
            let log = format!("{error}: {}", log.trim());
            return Err(DeviceError::Build { program: program.name.clone(), log });
        }
        self.finished(program, built)
    }

    fn load(&self, program: &Program, binary: &[u8]) -> Result<OpenClKernel, DeviceError> {
        check_texts(program)?;
        let devices = self.context.devices();
        // SAFETY: the context has exactly this one device, and there is one binary for it.
        let loaded = unsafe { ClProgram::create_from_binary(&self.context, devices, &[binary]) };
        let mut loaded = Owned::new(loaded.map_err(failed("clCreateProgramWithBinary"))?);
        loaded.build(devices, &program.options).map_err(failed("clBuildProgram"))?;
        self.finished(program, loaded)
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
        let mut least = self.info.limits.work_group;
        for function in kernel.functions.iter() {
            let limit = function.get_work_group_size(self.device.id());
            least = least.min(limit.map_err(failed("clGetKernelWorkGroupInfo"))? as u64);
        }
        Ok(least)
    }

    fn allocate(&self, bytes: u64) -> Result<OpenClBuffer, DeviceError> {
        let size = usize::try_from(bytes.max(1)).map_err(|_| DeviceError::TooLarge("a buffer"))?;
        // SAFETY: no host pointer is given.
        let buffer =
            unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, size, ptr::null_mut()) };
        let buffer = Owned::new(buffer.map_err(failed("clCreateBuffer"))?);
        let (place, context) = (Place::own(&buffer), self.context.get() as usize);
        let (memory, identity) = (Memory::Owned(buffer), Identity::new());
        Ok(OpenClBuffer { memory, bytes, context, place, identity })
    }

    fn bytes(&self, buffer: &OpenClBuffer) -> u64 {
        buffer.bytes
    }

    fn overlap(&self, one: &OpenClBuffer, other: &OpenClBuffer) -> bool {
        one.place.overlaps(one.bytes, &other.place, other.bytes)
    }

    fn write(&self, buffer: &mut OpenClBuffer, data: &[u8]) -> Result<(), DeviceError> {
        let (need, have) = (data.len() as u64, buffer.bytes);
        if need > have {
            return Err(DeviceError::BufferTooSmall { need, have });
        }
        if data.is_empty() {
            return Ok(());
        }
        self.check_mine("buffer", buffer.context)?;
        // A launch that still reads the buffer would read half of each; a caller's queue need not
        // keep the order.
        self.finish()?;
        // SAFETY: the copy is waited for, and fits the buffer. The bindings' own method wants the
        // buffer for itself, which the arguments of a kernel share.
        let done = unsafe {
            enqueue_write_buffer(
                self.queue(),
                buffer.memory(),
                CL_BLOCKING,
                0,
                data.len(),
                data.as_ptr().cast(),
                0,
                ptr::null(),
            )
        };
        let event = done.map_err(|code| failed("clEnqueueWriteBuffer")(ClError(code)))?;
        // SAFETY: the driver has just made it, for us.
        drop(unsafe { OpenClEvent::from_raw(event) });
        Ok(())
    }

    fn read(&self, buffer: &OpenClBuffer, data: &mut [u8]) -> Result<(), DeviceError> {
        let (need, have) = (data.len() as u64, buffer.bytes);
        if need > have {
            return Err(DeviceError::BufferTooSmall { need, have });
        }
        if data.is_empty() {
            return Ok(());
        }
        self.check_mine("buffer", buffer.context)?;
        // A caller's queue need not keep the order.
        self.finish()?;
        // SAFETY: the copy is waited for, and fits the buffer.
        let done = unsafe {
            self.queue.commands.enqueue_read_buffer(
                buffer.memory.buffer(),
                CL_BLOCKING,
                0,
                data,
                &[],
            )
        };
        done.map(|event| drop(OpenClEvent::from(event))).map_err(failed("clEnqueueReadBuffer"))
    }

    fn set_arguments<'k>(
        &self,
        kernel: &'k mut OpenClKernel,
        arguments: &Arguments<'k, OpenClBuffer>,
    ) -> Result<Armed<'k, OpenClKernel>, DeviceError> {
        self.set(kernel, arguments)
    }

    fn still_set(
        &self,
        kernel: &OpenClKernel,
        known: NonZeroU64,
        buffers: [&OpenClBuffer; 3],
        scratch: Option<&OpenClBuffer>,
    ) -> bool {
        kernel.functions.are_set(known, buffers, scratch)
    }

    fn keeps_order(&self) -> bool {
        self.queue.keeps_order
    }

    fn enqueue(
        &self,
        kernel: &Armed<'_, OpenClKernel>,
        launch: &Launch,
        wait: &[OpenClEvent],
    ) -> Result<OpenClEvent, DeviceError> {
        let mut event = ptr::null_mut();
        self.enqueue_into(kernel, launch, wait, &raw mut event)?;
        // SAFETY: the driver has just made it, for us.
        Ok(unsafe { OpenClEvent::from_raw(event) })
    }

    fn launch(
        &self,
        kernel: &Armed<'_, OpenClKernel>,
        launch: &Launch,
        wait: &[OpenClEvent],
    ) -> Result<(), DeviceError> {
        self.enqueue_into(kernel, launch, wait, ptr::null_mut())
    }

    fn bare<'k>(
        &'k self,
        kernel: Armed<'k, OpenClKernel>,
        launches: &Launches,
    ) -> Result<Bare<'k>, DeviceError> {
        self.repeated(kernel, launches)
    }

    fn join(&self, events: &[OpenClEvent]) -> Result<OpenClEvent, DeviceError> {
        self.marker(events)
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.queue.commands.finish().map_err(failed("clFinish"))
    }

    fn readings(&self, events: &[OpenClEvent]) -> Result<Vec<Reading>, DeviceError> {
        let profiling = failed("clGetEventProfilingInfo");
        let mut readings = Vec::with_capacity(events.len());
        for event in events {
            wait_for_events(&[event.raw()])
                .map_err(|code| failed("clWaitForEvents")(ClError(code)))?;
            let read = |what| -> Result<u64, DeviceError> {
                let time = get_event_profiling_info(event.raw(), what);
                Ok(time.map_err(|code| profiling(ClError(code)))?.into())
            };
            let (start, end) = (read(CL_PROFILING_COMMAND_START)?, read(CL_PROFILING_COMMAND_END)?);
            readings.push(Reading { start, end });
        }
        Ok(readings)
    }
}

/// The library lacks what every one of OpenCL 1.2 has.
fn library_gone(call: &'static str) -> DeviceError {
    DeviceError::NotOpenCl(vec![format!("the library has no {call}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_groups_want_both_extensions_and_the_drivers_widths() {
        let both = "cl_khr_icd cl_intel_subgroups cl_intel_required_subgroup_size";
        let sizes = || Ok::<_, ()>([8_usize, 16].map(usize::to_ne_bytes).concat());
        assert_eq!(sub_groups(both, sizes), [8, 16].into_iter().collect());
        for one in
            ["", "cl_intel_subgroups", "cl_intel_subgroups_short cl_intel_required_subgroup_size"]
        {
            assert_eq!(sub_groups(one, sizes), SubGroups::NONE, "{one}");
        }
        assert_eq!(sub_groups(both, || Err(())), SubGroups::NONE);
    }

    #[test]
    fn a_number_is_an_index_and_nothing_else() {
        assert!(is_index("0:1") && !is_index("0:") && !is_index("mali") && !is_index("0:1:2"));
    }
}
