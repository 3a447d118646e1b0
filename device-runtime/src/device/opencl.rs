//! The real device: the only file that knows OpenCL, beside its library finder.
//!
//! One device a context and a program; binaries are built after loading, and taken after their
//! kernel exists. Only calls that return errors are used.
#![expect(unsafe_code, reason = "OpenCL is called through its C interface")]

mod library;
mod owned;
mod place;

use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cl3::command_queue::enqueue_write_buffer;
use cl3::ext::CL_DEVICE_SUB_GROUP_SIZES_INTEL;
use cl3::load_library;
use kernels::{Launch, Limits, Program, SubGroups};
use opencl3::command_queue::{
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE, CommandQueue,
};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device as ClDevice};
use opencl3::error_codes::{CL_SUCCESS, ClError};
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::platform::get_platforms;
use opencl3::program::Program as ClProgram;
use opencl3::types::{
    CL_BLOCKING, cl_command_queue, cl_context, cl_device_id, cl_event, cl_mem, cl_uint, cl_ulong,
};

pub use owned::refused_releases;

use owned::Owned;
use place::Place;

use super::{Arguments, Device, DeviceError, DeviceInfo};

const PLATFORM_NOT_FOUND: i32 = -1001;
const LIBRARY_FUNCTION_MISSING: i32 = -2001;

/// A device with its context and queue.
pub struct OpenCl {
    info: DeviceInfo,
    device: ClDevice,
    queue: Owned<CommandQueue>,
    /// Whether the queue runs one command after the other.
    keeps_order: bool,
    /// Whether the queue records times.
    records: bool,
    /// The queue that does not while `queue` does, or the other way round, and whether it keeps the
    /// order; made when it is first wanted.
    resting: Option<(Owned<CommandQueue>, bool)>,
    context: Owned<Context>,
}

/// The kernel functions of a program, and the program.
pub struct OpenClKernel {
    functions: Vec<Owned<Kernel>>,
    /// Whether they take parts and scratch memory.
    takes_scratch: bool,
    program: Owned<ClProgram>,
    /// Address of the context, which lives as long as the kernel.
    context: usize,
    /// The buffers set last: OpenCL keeps them alive from the launch on, but not before.
    buffers: [Weak<Owned<Buffer<u8>>>; 3],
    /// The same for the scratch memory, if there is any.
    scratch: Option<Weak<Owned<Buffer<u8>>>>,
}

/// An enqueued launch.
pub struct OpenClEvent(Owned<Event>);

type Memory = Arc<Owned<Buffer<u8>>>;

/// Memory on the device.
pub struct OpenClBuffer {
    buffer: Memory,
    bytes: u64,
    /// Address of the context, which lives as long as the buffer.
    context: usize,
    place: Place,
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
/// The first look of a process at an OpenCL library of an unusual name sets an environment
/// variable: no other thread may then be changing or reading the environment in C.
///
/// # Errors
/// No library, or no platform.
pub fn devices() -> Result<Vec<Found>, DeviceError> {
    // Drivers start up at the first look; PoCL crashes if two threads look at once.
    static LOOKING: Mutex<()> = Mutex::new(());
    let _alone = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Whether a queue of this context and device keeps the order of what is enqueued, and whether it
/// records times.
fn habits(
    queue: &CommandQueue,
    context: cl_context,
    device: cl_device_id,
) -> Result<[bool; 2], DeviceError> {
    let unknown = failed("clGetCommandQueueInfo");
    let home = (queue.context().map_err(&unknown)?, queue.device().map_err(&unknown)?);
    if home != (context, device) {
        return Err(DeviceError::Foreign("queue"));
    }
    let properties = queue.properties().map_err(unknown)?;
    Ok([
        properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0,
        properties & CL_QUEUE_PROFILING_ENABLE != 0,
    ])
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
        let context = Owned::new(context);
        let queue = CommandQueue::create_default(&context, CL_QUEUE_PROFILING_ENABLE)
            .map_err(failed("clCreateCommandQueue"))?;
        let queue = Owned::new(queue);
        Ok(Self { info, device, queue, keeps_order: true, records: true, resting: None, context })
    }

    /// Work on the caller's own context, on a queue of our own until [`Self::use_queue`] names another.
    ///
    /// # Errors
    /// As [`Self::with_queue`].
    pub fn with_context(context: Context) -> Result<Self, DeviceError> {
        let queue = CommandQueue::create_default(&context, 0);
        Self::with_queue(context, queue.map_err(failed("clCreateCommandQueue"))?)
    }

    /// Work on the caller's own context and queue; timings need a queue with profiling.
    ///
    /// # Errors
    /// The context has not exactly one device, or the queue is not the context's; or the driver
    /// says nothing of the device.
    pub fn with_queue(context: Context, queue: CommandQueue) -> Result<Self, DeviceError> {
        let (context, queue) = (Owned::new(context), Owned::new(queue));
        let &[only] = context.devices() else {
            return Err(DeviceError::Foreign("context of several devices"));
        };
        let [keeps_order, records] = habits(&queue, context.get(), only)?;
        let device = ClDevice::new(only);
        let platform = device.platform().map_err(failed("clGetDeviceInfo"))?;
        let platform = opencl3::platform::Platform::new(platform);
        let name = platform.name().map_err(failed("clGetPlatformInfo"))?;
        let info = describe(&device, &name).map_err(failed("clGetDeviceInfo"))?;
        Ok(Self { info, device, queue, keeps_order, records, resting: None, context })
    }

    /// Enqueue on another queue of the same context and device from here on. Nothing is waited for: calls
    /// that must not overlap across queues are the caller's affair, and so is scratch memory that they
    /// share.
    ///
    /// # Errors
    /// [`DeviceError::Foreign`] if the queue is another context's or device's; or the driver does not say.
    pub fn use_queue(&mut self, queue: CommandQueue) -> Result<(), DeviceError> {
        let queue = Owned::new(queue);
        [self.keeps_order, self.records] = habits(&queue, self.context.get(), self.device.id())?;
        (self.queue, self.resting) = (queue, None);
        Ok(())
    }

    /// Whether events of the calls to come tell their times, as they do at first: on some drivers an
    /// event costs twice as much in a queue that records times. What was enqueued is waited for, and
    /// [`Self::queue`] is another one from here on, in the same context.
    ///
    /// # Errors
    /// The driver has no other queue, or a call failed; the queue is as it was.
    pub fn record_times(&mut self, wanted: bool) -> Result<(), DeviceError> {
        if wanted == self.records {
            return Ok(());
        }
        self.finish()?;
        let (queue, keeps_order) = match self.resting.take() {
            Some(resting) => resting,
            None => {
                let properties = if wanted { CL_QUEUE_PROFILING_ENABLE } else { 0 };
                let queue = CommandQueue::create_default(&self.context, properties)
                    .map_err(failed("clCreateCommandQueue"))?;
                (Owned::new(queue), true)
            }
        };
        let active = mem::replace(&mut self.queue, queue);
        self.resting = Some((active, mem::replace(&mut self.keeps_order, keeps_order)));
        self.records = wanted;
        Ok(())
    }

    /// The context, to make buffers in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The queue, to enqueue in between what is the caller's own; it lives as long as `self`, and is
    /// in use until [`Self::record_times`] changes that.
    #[must_use]
    pub fn queue(&self) -> cl_command_queue {
        self.queue.get()
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
            functions,
            takes_scratch: program.scratch,
            program: built,
            context: self.context.get() as usize,
            buffers: [const { Weak::new() }; 3],
            scratch: None,
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
        let buffer = Arc::new(Owned::new(buffer));
        let bytes = buffer.size().map_err(failed("clGetMemObjectInfo"))? as u64;
        let context = buffer.context().map_err(failed("clGetMemObjectInfo"))? as usize;
        let place = Place::of(&buffer).map_err(failed("clGetMemObjectInfo"))?;
        place.check_alignment()?;
        Ok(Self { buffer, bytes, context, place })
    }

    /// The memory, for the caller's own calls; it lives as long as `self`.
    #[must_use]
    pub fn memory(&self) -> cl_mem {
        self.buffer.get()
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
    type Event = OpenClEvent;
    type Kernel = OpenClKernel;

    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn build(&self, program: &Program) -> Result<OpenClKernel, DeviceError> {
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
        for function in &kernel.functions {
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
        let buffer = Arc::new(Owned::new(buffer.map_err(failed("clCreateBuffer"))?));
        let place = Place::own(&buffer);
        Ok(OpenClBuffer { buffer, bytes, context: self.context.get() as usize, place })
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
                self.queue.get(),
                buffer.buffer.get(),
                CL_BLOCKING,
                0,
                data.len(),
                data.as_ptr().cast(),
                0,
                ptr::null(),
            )
        };
        let done = done.map(|event| drop(Owned::new(Event::new(event))));
        done.map_err(|code| failed("clEnqueueWriteBuffer")(ClError(code)))
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
        let done =
            unsafe { self.queue.enqueue_read_buffer(&buffer.buffer, CL_BLOCKING, 0, data, &[]) };
        done.map(|event| drop(Owned::new(event))).map_err(failed("clEnqueueReadBuffer"))
    }

    fn set_arguments(
        &self,
        kernel: &mut OpenClKernel,
        arguments: &Arguments<'_, OpenClBuffer>,
    ) -> Result<(), DeviceError> {
        self.check_mine("kernel", kernel.context)?;
        let matrices = arguments.matrices();
        for buffer in matrices.map(|(buffer, _)| buffer).into_iter().chain(arguments.scratch()) {
            self.check_mine("buffer", buffer.context)?;
        }
        kernel.buffers = matrices.map(|(buffer, _)| Arc::downgrade(&buffer.buffer));
        kernel.scratch = arguments.scratch().map(|buffer| Arc::downgrade(&buffer.buffer));
        for function in &kernel.functions {
            set(function, arguments, kernel.takes_scratch).map_err(failed("clSetKernelArg"))?;
        }
        Ok(())
    }

    fn enqueue(
        &self,
        kernel: &mut OpenClKernel,
        launch: &Launch,
    ) -> Result<OpenClEvent, DeviceError> {
        let mut event = ptr::null_mut();
        self.enqueue_into(kernel, launch, &raw mut event)?;
        Ok(OpenClEvent(Owned::new(Event::from(event))))
    }

    fn launch(&self, kernel: &mut OpenClKernel, launch: &Launch) -> Result<(), DeviceError> {
        self.enqueue_into(kernel, launch, ptr::null_mut())
    }

    fn barrier(&self) -> Result<(), DeviceError> {
        if self.keeps_order {
            return Ok(());
        }
        // SAFETY: the list of events to wait for is empty, which means all that was enqueued.
        let event = unsafe { self.queue.enqueue_barrier_with_wait_list(&[]) };
        event.map(|event| drop(Owned::new(event))).map_err(failed("clEnqueueBarrierWithWaitList"))
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.queue.finish().map_err(failed("clFinish"))
    }

    fn nanoseconds(&self, events: &[OpenClEvent]) -> Result<u64, DeviceError> {
        let (mut first, mut last) = (u64::MAX, 0);
        let profiling = failed("clGetEventProfilingInfo");
        for OpenClEvent(event) in events {
            event.wait().map_err(failed("clWaitForEvents"))?;
            let start = event.profiling_command_start().map_err(&profiling)?;
            let end = event.profiling_command_end().map_err(&profiling)?;
            elapsed(start, end, self.info.clock_resolution_ns)?;
            (first, last) = (first.min(start), last.max(end));
        }
        if events.is_empty() { Ok(0) } else { elapsed(first, last, self.info.clock_resolution_ns) }
    }
}

impl OpenCl {
    /// Enqueue a launch; its event goes to `event` unless that is null.
    fn enqueue_into(
        &self,
        kernel: &OpenClKernel,
        launch: &Launch,
        event: *mut cl_event,
    ) -> Result<(), DeviceError> {
        self.check_mine("kernel", kernel.context)?;
        let [Some(_a), Some(_b), Some(_c)] = kernel.buffers.each_ref().map(Weak::upgrade) else {
            return Err(DeviceError::Foreign("buffer"));
        };
        let scratch = kernel.scratch.as_ref().map(Weak::upgrade);
        if matches!(scratch, Some(None)) {
            return Err(DeviceError::Foreign("buffer"));
        }
        let function = kernel.functions.get(launch.function);
        let function = function.ok_or(DeviceError::NoFunction(launch.function))?;
        let offset = sizes(launch.offset)?;
        let (global, local) = (sizes(launch.global)?, sizes(launch.local)?);
        // The safe binding always asks for an event.
        let library = load_library().as_ref().map_err(|_| library_gone())?;
        // What a safe function would have to ask for, though the binding does not: the arrays have the
        // three dimensions announced; the buffers live; the kernel checks that it is inside C, and
        // `check` proved that C's extent is inside its buffer; the scratch memory is as large as the
        // configuration says; `event` is null or points to a place for one.
        let code = library.clEnqueueNDRangeKernel(
            self.queue.get(),
            function.get(),
            3,
            offset.as_ptr(),
            global.as_ptr(),
            local.as_ptr(),
            0,
            ptr::null(),
            event,
        );
        match code {
            Some(CL_SUCCESS) => Ok(()),
            Some(code) => Err(failed("clEnqueueNDRangeKernel")(ClError(code))),
            None => Err(library_gone()),
        }
    }
}

/// The library has opened a device before, so this is only said if it is not one of OpenCL.
fn library_gone() -> DeviceError {
    DeviceError::NoLibrary(vec!["the library has no clEnqueueNDRangeKernel".to_owned()])
}

/// Set all arguments of one kernel function.
fn set(
    function: &Kernel,
    arguments: &Arguments<'_, OpenClBuffer>,
    takes_scratch: bool,
) -> Result<(), ClError> {
    let call = *arguments.problem().problem();
    let k = arguments.problem().effective_k();
    // SAFETY: types and order are those of the kernel functions, which every family's source
    // declares alike; that the buffers still live is asked at the launch.
    unsafe {
        function.set_arg::<cl_uint>(0, &call.shape.m)?;
        function.set_arg::<cl_uint>(1, &call.shape.n)?;
        function.set_arg::<cl_uint>(2, &k)?;
        function.set_arg::<f32>(3, &call.alpha)?;
        function.set_arg::<f32>(4, &call.beta)?;
        for ((buffer, operand), first) in arguments.matrices().into_iter().zip([5, 9, 13]) {
            // `check` proved that a leading dimension that is read fits 32 bits.
            let leading = operand.leading as cl_uint;
            function.set_arg::<cl_mem>(first, &buffer.buffer.get())?;
            function.set_arg::<cl_ulong>(first + 1, &operand.offset)?;
            function.set_arg::<cl_uint>(first + 2, &leading)?;
            function.set_arg::<cl_ulong>(first + 3, &operand.stride)?;
        }
        if takes_scratch {
            let scratch = arguments.scratch().map_or(ptr::null_mut(), |one| one.buffer.get());
            function.set_arg::<cl_uint>(17, &arguments.parts())?;
            function.set_arg::<cl_mem>(18, &scratch)?;
        }
    }
    Ok(())
}

/// Time between two readings of a clock with steps of `step` nanoseconds: what is shorter than a
/// step counts as one.
fn elapsed(start: u64, end: u64, step: u64) -> Result<u64, DeviceError> {
    match end.checked_sub(start) {
        Some(nanoseconds) if end > 0 => Ok(nanoseconds.max(step).max(1)),
        _ => Err(DeviceError::Clock { end, start }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_zero_and_a_clock_that_runs_backwards_is_an_error() {
        assert_eq!(elapsed(1000, 3500, 1), Ok(2500));
        assert_eq!(elapsed(1000, 1000, 1000), Ok(1000));
        assert_eq!(elapsed(1000, 1000, 0), Ok(1));
        assert_eq!(elapsed(1000, 999, 1), Err(DeviceError::Clock { end: 999, start: 1000 }));
        assert_eq!(elapsed(0, 0, 1), Err(DeviceError::Clock { end: 0, start: 0 }));
    }

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
