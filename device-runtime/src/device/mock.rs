//! A pretend device for tests: it computes exactly, plays the times it is told, and fails where it
//! is told to.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use half::f16;
use kernels::reference::{self, Element};
use kernels::{Launch, Launches, Limits, Program, SubGroups};
use selector_core::ElementType;

use super::{Arguments, Armed, Bare, Device, DeviceError, DeviceInfo, Reading};

/// What every binary of the pretend driver begins with.
const BINARY: &[u8] = b"mock:";

/// A device without hardware.
pub struct Mock {
    /// What it says of itself.
    pub info: DeviceInfo,
    /// Nanoseconds of the next launches of programs whose name begins so; 1000 for others.
    pub times: BTreeMap<String, u64>,
    /// Programs that do not build, by the beginning of their name.
    pub broken_builds: Vec<String>,
    /// Programs that do not launch, by the beginning of their name.
    pub broken_launches: Vec<String>,
    /// Programs whose launch is refused with an error code, by the beginning of their name.
    pub refusals: BTreeMap<String, i32>,
    /// The number of a function whose launches are refused, whatever the program, and the error code.
    pub refused_functions: Cell<Option<(usize, i32)>>,
    /// Programs that compute something else, by the beginning of their name.
    pub wrong_results: Vec<String>,
    /// Programs whose launch takes the device down, by the beginning of their name.
    pub deadly: Vec<String>,
    /// Whether the device is gone.
    pub lost: Cell<bool>,
    /// Whether nothing can be built: as if the disk were full.
    pub broken_compiler: bool,
    /// Programs that are built all the same, as from a cache, by the beginning of their name.
    pub cached: Vec<String>,
    /// Whether every program computes something else.
    pub garbage: Cell<bool>,
    /// Bytes of memory that are free; beyond, allocating fails.
    pub free_memory: u64,
    /// Programs that also write the element behind C, by the beginning of their name.
    pub overruns: Vec<String>,
    /// Programs of whose kernels the driver does not tell the limit, by the beginning of their name.
    pub silent: Vec<String>,
    /// Most work-items of a work-group that a kernel can have.
    pub kernel_work_group: u64,
    /// Programs built from source.
    pub built: Cell<u32>,
    /// Binaries that the driver has seen.
    pub loaded: Cell<u32>,
    /// Buffers allocated.
    pub allocated: Cell<u32>,
    /// Nanoseconds between the end of a launch and the beginning of the next.
    pub gap: u64,
    /// Parts and bytes of scratch memory that were set last, if the kernel takes them.
    pub parts_and_scratch: Cell<Option<(u32, u64)>>,
    /// What was enqueued, in order.
    pub enqueued: RefCell<Vec<Enqueued>>,
    /// Whether it neither computes nor keeps what it is given, so that it takes no memory.
    pub idle: bool,
    /// Whether launches run one after the other.
    pub keeps_order: bool,
    /// Launches without an event.
    pub without_event: Cell<u64>,
    /// The device's clock in nanoseconds.
    pub clock: Cell<u64>,
}

/// What the queue of the pretend device was given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Enqueued {
    /// A wait for some events, or for all that was before.
    Join {
        /// How many events.
        of: usize,
    },
    /// A launch.
    Launch {
        /// The number of the function.
        of: usize,
        /// How many events it waits for.
        waits: usize,
    },
}

/// The kernel functions of one program of the pretend device.
pub struct MockKernel {
    program: String,
    functions: usize,
    scratch: bool,
    ready: bool,
}

/// When a launch of the pretend device began and ended.
#[derive(Clone, Copy, Debug)]
pub struct MockEvent {
    start: u64,
    end: u64,
}

/// Memory of the pretend device.
pub struct MockBuffer(Rc<RefCell<Vec<u8>>>);

impl Default for Mock {
    fn default() -> Self {
        Self {
            info: DeviceInfo {
                platform: "mock".to_owned(),
                name: "mock".to_owned(),
                vendor: "mock".to_owned(),
                driver: "1".to_owned(),
                version: "OpenCL 1.2 mock".to_owned(),
                compute_units: 1,
                limits: Limits {
                    work_group: 1024,
                    work_items: [1024, 1024, 64],
                    local_memory: 32_768,
                    sub_groups: SubGroups::NONE,
                },
                largest_buffer: 1 << 30,
                memory: 1 << 32,
                clock_resolution_ns: 1,
                extensions: String::new(),
            },
            times: BTreeMap::new(),
            broken_builds: Vec::new(),
            broken_launches: Vec::new(),
            refusals: BTreeMap::new(),
            refused_functions: Cell::new(None),
            wrong_results: Vec::new(),
            deadly: Vec::new(),
            lost: Cell::new(false),
            broken_compiler: false,
            cached: Vec::new(),
            garbage: Cell::new(false),
            free_memory: u64::MAX,
            overruns: Vec::new(),
            silent: Vec::new(),
            kernel_work_group: 1024,
            built: Cell::new(0),
            loaded: Cell::new(0),
            allocated: Cell::new(0),
            gap: 0,
            parts_and_scratch: Cell::new(None),
            enqueued: RefCell::default(),
            idle: false,
            keeps_order: true,
            without_event: Cell::new(0),
            clock: Cell::new(1),
        }
    }
}

impl Mock {
    /// The same device with another driver.
    #[must_use]
    pub fn with_driver(mut self, driver: &str) -> Self {
        driver.clone_into(&mut self.info.driver);
        self
    }

    fn listed(list: &[String], program: &str) -> bool {
        list.iter().any(|start| program.starts_with(start.as_str()))
    }

    fn refused(call: &'static str, code: i32) -> DeviceError {
        DeviceError::Call { call, code, reason: "told to fail".to_owned() }
    }

    fn alive(&self, call: &'static str) -> Result<(), DeviceError> {
        if self.lost.get() { Err(Self::refused(call, -36)) } else { Ok(()) }
    }

    fn note(&self, enqueued: Enqueued) {
        if !self.idle {
            self.enqueued.borrow_mut().push(enqueued);
        }
    }

    /// Compute the whole problem at once: launches of one call never overlap.
    fn compute<T: Element + bytemuck::Pod>(
        &self,
        arguments: &Arguments<'_, MockBuffer>,
        program: &str,
    ) {
        let [a, b, c] = arguments.matrices().map(|(buffer, _)| buffer);
        let (a, b) = (a.elements::<T>(), b.elements::<T>());
        let mut after = c.elements::<T>();
        reference::gemm(arguments.problem(), &a, &b, &mut after);
        if self.garbage.get() || Self::listed(&self.wrong_results, program) {
            let [.., (_, place)] = arguments.matrices();
            if let Some(first) = after.get_mut(place.offset as usize) {
                *first = T::nearest(first.to_f64() + 1.0);
            }
        }
        if Self::listed(&self.overruns, program) {
            let problem = arguments.problem().problem();
            let [.., end] = problem.buffer_lengths().unwrap_or_default();
            if let Some(behind) = after.get_mut(end as usize) {
                *behind = T::nearest(behind.to_f64() + 1.0);
            }
        }
        c.0.borrow_mut().copy_from_slice(bytemuck::cast_slice(&after));
    }
}

impl MockKernel {
    fn of(program: &Program) -> Self {
        let functions = program.functions.len();
        let Program { name, scratch, .. } = program;
        Self { program: name.clone(), functions, scratch: *scratch, ready: false }
    }
}

impl MockBuffer {
    /// The same memory under another handle.
    #[must_use]
    pub fn alias(&self) -> Self {
        Self(Rc::clone(&self.0))
    }

    fn elements<T: bytemuck::Pod>(&self) -> Vec<T> {
        bytemuck::pod_collect_to_vec(&self.0.borrow())
    }
}

impl Device for Mock {
    type Buffer = MockBuffer;
    type Event = MockEvent;
    type Kernel = MockKernel;

    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn build(&self, program: &Program) -> Result<MockKernel, DeviceError> {
        self.alive("clCreateProgramWithSource")?;
        let broken = self.broken_compiler && !Self::listed(&self.cached, &program.name);
        if broken || Self::listed(&self.broken_builds, &program.name) {
            let log = "told to fail".to_owned();
            return Err(DeviceError::Build { program: program.name.clone(), log });
        }
        self.built.set(self.built.get() + 1);
        Ok(MockKernel::of(program))
    }

    fn load(&self, program: &Program, binary: &[u8]) -> Result<MockKernel, DeviceError> {
        self.loaded.set(self.loaded.get() + 1);
        if binary.strip_prefix(BINARY) == Some(program.name.as_bytes()) {
            Ok(MockKernel::of(program))
        } else {
            Err(Self::refused("clCreateProgramWithBinary", -42))
        }
    }

    fn binary(&self, kernel: &MockKernel) -> Result<Vec<u8>, DeviceError> {
        Ok([BINARY, kernel.program.as_bytes()].concat())
    }

    fn work_group_limit(&self, kernel: &MockKernel) -> Result<u64, DeviceError> {
        if Self::listed(&self.silent, &kernel.program) {
            return Err(Self::refused("clGetKernelWorkGroupInfo", -5));
        }
        Ok(self.kernel_work_group)
    }

    fn allocate(&self, bytes: u64) -> Result<MockBuffer, DeviceError> {
        self.alive("clCreateBuffer")?;
        if bytes > self.free_memory {
            return Err(Self::refused("clCreateBuffer", -4));
        }
        if bytes > self.info.largest_buffer {
            return Err(Self::refused("clCreateBuffer", -61));
        }
        self.allocated.set(self.allocated.get() + 1);
        Ok(MockBuffer(Rc::new(RefCell::new(vec![0; bytes as usize]))))
    }

    fn bytes(&self, buffer: &MockBuffer) -> u64 {
        buffer.0.borrow().len() as u64
    }

    fn overlap(&self, one: &MockBuffer, other: &MockBuffer) -> bool {
        Rc::ptr_eq(&one.0, &other.0)
    }

    fn write(&self, buffer: &mut MockBuffer, data: &[u8]) -> Result<(), DeviceError> {
        let (need, have) = (data.len() as u64, self.bytes(buffer));
        let mut memory = buffer.0.borrow_mut();
        let target = memory.get_mut(..data.len());
        target.ok_or(DeviceError::BufferTooSmall { need, have })?.copy_from_slice(data);
        Ok(())
    }

    fn read(&self, buffer: &MockBuffer, data: &mut [u8]) -> Result<(), DeviceError> {
        let (need, have) = (data.len() as u64, self.bytes(buffer));
        let memory = buffer.0.borrow();
        let source = memory.get(..data.len());
        data.copy_from_slice(source.ok_or(DeviceError::BufferTooSmall { need, have })?);
        Ok(())
    }

    fn set_arguments<'k>(
        &self,
        kernel: &'k mut MockKernel,
        arguments: &Arguments<'k, MockBuffer>,
    ) -> Result<Armed<'k, MockKernel>, DeviceError> {
        match arguments.problem().problem().class.element() {
            _ if self.idle => {}
            ElementType::F32 => self.compute::<f32>(arguments, &kernel.program),
            ElementType::F16 => self.compute::<f16>(arguments, &kernel.program),
        }
        let scratch = arguments.scratch().map_or(0, |buffer| self.bytes(buffer));
        self.parts_and_scratch.set(kernel.scratch.then_some((arguments.parts(), scratch)));
        kernel.ready = true;
        Ok(Armed::new(kernel))
    }

    fn keeps_order(&self) -> bool {
        self.keeps_order
    }

    fn enqueue(
        &self,
        kernel: &Armed<'_, MockKernel>,
        launch: &Launch,
        wait: &[MockEvent],
    ) -> Result<MockEvent, DeviceError> {
        if Self::listed(&self.deadly, &kernel.program) {
            self.lost.set(true);
        }
        self.alive("clEnqueueNDRangeKernel")?;
        let refused = self.refusals.iter().find(|(start, _)| kernel.program.starts_with(*start));
        if let Some((_, code)) = refused {
            return Err(Self::refused("clEnqueueNDRangeKernel", *code));
        }
        if let Some((function, code)) = self.refused_functions.get()
            && function == launch.function
        {
            return Err(Self::refused("clEnqueueNDRangeKernel", code));
        }
        if !kernel.ready || launch.function >= kernel.functions {
            return Err(Self::refused("clEnqueueNDRangeKernel", -52));
        }
        let whole =
            launch.global.iter().zip(launch.local).all(|(global, local)| global % local == 0);
        let items: u64 = launch.local.iter().product();
        if Self::listed(&self.broken_launches, &kernel.program)
            || !whole
            || items > self.kernel_work_group
        {
            return Err(Self::refused("clEnqueueNDRangeKernel", -54));
        }
        self.note(Enqueued::Launch { of: launch.function, waits: wait.len() });
        let told = self.times.iter().find(|(start, _)| kernel.program.starts_with(start.as_str()));
        let start = self.clock.get();
        let end = start + told.map_or(1000, |(_, nanoseconds)| *nanoseconds);
        self.clock.set(end + self.gap);
        Ok(MockEvent { start, end })
    }

    fn launch(
        &self,
        kernel: &Armed<'_, MockKernel>,
        launch: &Launch,
        wait: &[MockEvent],
    ) -> Result<(), DeviceError> {
        self.enqueue(kernel, launch, wait)?;
        self.without_event.set(self.without_event.get() + 1);
        Ok(())
    }

    fn bare<'k>(
        &'k self,
        kernel: Armed<'k, MockKernel>,
        launches: &Launches,
    ) -> Result<Bare<'k>, DeviceError> {
        let launches = launches.clone();
        Ok(Box::new(move || {
            launches.iter().try_for_each(|launch| self.launch(&kernel, launch, &[]))
        }))
    }

    fn join(&self, events: &[MockEvent]) -> Result<MockEvent, DeviceError> {
        self.alive("clEnqueueMarkerWithWaitList")?;
        self.note(Enqueued::Join { of: events.len() });
        let now = self.clock.get();
        let end = events.iter().map(|event| event.end).max().unwrap_or(now);
        Ok(MockEvent { start: end.saturating_sub(1), end })
    }

    fn finish(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn readings(&self, events: &[MockEvent]) -> Result<Vec<Reading>, DeviceError> {
        let read = |MockEvent { start, end }: &MockEvent| match start == end {
            true => Err(DeviceError::Clock { end: *end, start: *start }),
            false => Ok(Reading { start: *start, end: *end }),
        };
        events.iter().map(read).collect()
    }
}
