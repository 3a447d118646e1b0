//! What the runtime asks of a GPU, and nothing more.

mod clock;
pub mod mock;
pub mod opencl;

use std::num::NonZeroU64;
use std::ops::Deref;

pub use clock::Reading;
pub(crate) use clock::span;

use kernels::bundle::DriverKey;
use kernels::{
    CheckedProblem, Configuration, Launch, Launches, Limits, Misfit, Operand, Problem,
    ProblemError, Program,
};

/// Bytes that the largest load of a kernel takes at once: where buffers begin is a multiple of it.
pub(crate) const ALIGNMENT: u64 = 16;

/// One device with a queue of its own or of the caller.
///
/// Kernels, buffers and events belong to the device that made them.
pub trait Device {
    /// Memory on the device.
    type Buffer;
    /// An enqueued launch.
    type Event;
    /// A program's kernel functions, ready to launch.
    type Kernel;

    /// Which device this is and what it allows.
    fn info(&self) -> &DeviceInfo;

    /// Build a program from source and create its kernel functions.
    ///
    /// # Errors
    /// The driver's build log, or its refusal.
    fn build(&self, program: &Program) -> Result<Self::Kernel, DeviceError>;

    /// Load a program from a binary that this driver made, and create its kernel functions.
    ///
    /// The caller has compared the driver's key and the binary's checksum: some drivers crash on a
    /// binary that is not theirs.
    ///
    /// # Errors
    /// The driver's refusal.
    fn load(&self, program: &Program, binary: &[u8]) -> Result<Self::Kernel, DeviceError>;

    /// The binary of a kernel's program, taken after the kernel was created: before that some
    /// drivers have compiled nothing yet.
    ///
    /// # Errors
    /// The driver's refusal, or an empty binary.
    fn binary(&self, kernel: &Self::Kernel) -> Result<Vec<u8>, DeviceError>;

    /// Most work-items of a work-group that the device can run of each of this kernel's functions.
    ///
    /// # Errors
    /// The driver's refusal.
    fn work_group_limit(&self, kernel: &Self::Kernel) -> Result<u64, DeviceError>;

    /// Allocate memory.
    ///
    /// # Errors
    /// The driver's refusal.
    fn allocate(&self, bytes: u64) -> Result<Self::Buffer, DeviceError>;

    /// Size of a buffer.
    fn bytes(&self, buffer: &Self::Buffer) -> u64;

    /// Whether two buffers have memory in common: they are the same, or parts of one that overlap.
    fn overlap(&self, one: &Self::Buffer, other: &Self::Buffer) -> bool;

    /// Copy `data` to the beginning of a buffer, and wait.
    ///
    /// # Errors
    /// The driver's refusal, or a buffer that is too small.
    fn write(&self, buffer: &mut Self::Buffer, data: &[u8]) -> Result<(), DeviceError>;

    /// Copy the beginning of a buffer to `data`, and wait.
    ///
    /// # Errors
    /// The driver's refusal, or a buffer that is too small.
    fn read(&self, buffer: &Self::Buffer, data: &mut [u8]) -> Result<(), DeviceError>;

    /// Set the arguments of a kernel, the same for each of its functions; what has not changed since
    /// it was set last is not set again.
    ///
    /// # Errors
    /// The driver's refusal.
    fn set_arguments<'k>(
        &self,
        kernel: &'k mut Self::Kernel,
        arguments: &Arguments<'k, Self::Buffer>,
    ) -> Result<Armed<'k, Self::Kernel>, DeviceError>;

    /// Whether the kernel's arguments are still those that were set last, of the call that was
    /// [known](Arguments::known_by) as `known`, with these very buffers; a device that cannot tell says no.
    fn still_set(
        &self,
        _kernel: &Self::Kernel,
        _known: NonZeroU64,
        _buffers: [&Self::Buffer; 3],
        _scratch: Option<&Self::Buffer>,
    ) -> bool {
        false
    }

    /// Whether launches run one after the other. Where they do not, each begins when it can, unless
    /// it is told to wait.
    fn keeps_order(&self) -> bool;

    /// Enqueue one of a kernel's functions; it begins after the events in `wait`.
    ///
    /// # Errors
    /// The driver's refusal.
    fn enqueue(
        &self,
        kernel: &Armed<'_, Self::Kernel>,
        launch: &Launch,
        wait: &[Self::Event],
    ) -> Result<Self::Event, DeviceError>;

    /// Enqueue as [`Self::enqueue`] does, but ask for no event: some drivers take less than half the
    /// time for that.
    ///
    /// # Errors
    /// The driver's refusal.
    fn launch(
        &self,
        kernel: &Armed<'_, Self::Kernel>,
        launch: &Launch,
        wait: &[Self::Event],
    ) -> Result<(), DeviceError>;

    /// These launches and nothing else, to be repeated: what a call is measured against.
    ///
    /// # Errors
    /// There is no such function, or the launch does not fit this machine's sizes.
    fn bare<'k>(
        &'k self,
        kernel: Armed<'k, Self::Kernel>,
        launches: &Launches,
    ) -> Result<Bare<'k>, DeviceError>;

    /// An event that is complete when all of these are; without any, when all is that was enqueued
    /// before. Does not wait.
    ///
    /// # Errors
    /// The driver's refusal.
    fn join(&self, events: &[Self::Event]) -> Result<Self::Event, DeviceError>;

    /// Wait until all that was enqueued is done.
    ///
    /// # Errors
    /// A launch failed.
    fn finish(&self) -> Result<(), DeviceError>;

    /// What the device's clock says of some launches, waited for, in order; it need not make sense.
    ///
    /// # Errors
    /// A launch failed, or the driver gives no times.
    fn readings(&self, events: &[Self::Event]) -> Result<Vec<Reading>, DeviceError>;

    /// Device time of some launches, waited for, in nanoseconds: from the beginning of the first to
    /// the end of the last, the gaps between them included; 0 of none.
    ///
    /// # Errors
    /// A launch failed, or the device's clock gives no time for one.
    fn nanoseconds(&self, events: &[Self::Event]) -> Result<u64, DeviceError> {
        clock::span(&self.readings(events)?, self.info().clock_resolution_ns)
    }
}

/// Launches that are repeated by each call.
pub type Bare<'k> = Box<dyn FnMut() -> Result<(), DeviceError> + 'k>;

/// A kernel whose arguments are set. Their buffers cannot be dropped, nor other arguments be set,
/// for as long as it lives: OpenCL keeps buffers alive from the launch on, but not before.
///
/// ```compile_fail,E0505
/// use device_runtime::mock::Mock;
/// use device_runtime::{Arguments, Device, DeviceError};
/// use kernels::{Configuration, Problem};
/// use selector_core::{GemmShape, ProblemClass};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Mock::default();
/// let mut kernel = device.build(&Configuration::universal().program(ProblemClass::F32_NN))?;
/// let (a, b, c) = (device.allocate(64)?, device.allocate(64)?, device.allocate(64)?);
/// let problem = Problem::packed(ProblemClass::F32_NN, GemmShape::new(4, 4, 4, 1));
/// let arguments = Arguments::new(&device, problem, [&a, &b, &c])?;
/// let launches = Configuration::universal().launches(arguments.problem());
/// let armed = device.set_arguments(&mut kernel, &arguments)?;
/// drop(a);
/// device.launch(&armed, &launches[0], &[])?;
/// # Ok(())
/// # }
/// ```
pub struct Armed<'k, K>(&'k mut K);

impl<'k, K> Armed<'k, K> {
    /// The caller has set the arguments, whose buffers live as long as `'k`.
    pub(crate) fn new(kernel: &'k mut K) -> Self {
        Self(kernel)
    }

    pub(crate) fn into_kernel(self) -> &'k mut K {
        self.0
    }
}

impl<K> Deref for Armed<'_, K> {
    type Target = K;

    fn deref(&self) -> &K {
        self.0
    }
}

/// A problem and the buffers that hold it: what a kernel is given.
pub struct Arguments<'a, B> {
    problem: CheckedProblem,
    buffers: [&'a B; 3],
    parts: u32,
    scratch: Option<&'a B>,
    known: Option<NonZeroU64>,
}

impl<'a, B> Arguments<'a, B> {
    /// Check `problem` against the buffers of A, B and C.
    ///
    /// # Errors
    /// [`ProblemError`] names the matrix that does not fit.
    pub fn new<D: Device<Buffer = B>>(
        device: &D,
        problem: Problem,
        buffers: [&'a B; 3],
    ) -> Result<Self, ProblemError> {
        let size = problem.class.element().bytes();
        let [a, b, c] = buffers.map(|buffer| device.bytes(buffer) / size);
        Ok(Self { problem: problem.check(a, b, c)?, buffers, parts: 1, scratch: None, known: None })
    }

    /// What is known to fit its buffers, into how many parts k is split, and what scratch memory; and what
    /// all of it but the buffers is known by.
    pub(crate) fn of_known(
        problem: CheckedProblem,
        buffers: [&'a B; 3],
        parts: u32,
        scratch: Option<&'a B>,
        known: Option<NonZeroU64>,
    ) -> Self {
        Self { problem, buffers, parts, scratch, known }
    }

    /// The same for the kernel of `configuration`: into how many parts it splits k and, if it wants
    /// any, its scratch memory, which must share none with A, B and C.
    ///
    /// # Errors
    /// [`DeviceError::ScratchTooSmall`] if it wants more than `scratch` holds,
    /// [`DeviceError::ScratchIsMatrix`] if that has memory in common with the buffer of a matrix.
    pub fn with_scratch<D: Device<Buffer = B>>(
        self,
        device: &D,
        configuration: &Configuration,
        scratch: Option<&'a B>,
    ) -> Result<Self, DeviceError> {
        let need = configuration.scratch(&self.problem);
        let have = scratch.map_or(0, |buffer| device.bytes(buffer));
        if need > have {
            return Err(DeviceError::ScratchTooSmall { need, have });
        }
        let scratch = scratch.filter(|_| need > 0);
        let is_scratch = |matrix: &&B| scratch.is_some_and(|one| device.overlap(one, matrix));
        if self.buffers.iter().any(is_scratch) {
            return Err(DeviceError::ScratchIsMatrix);
        }
        let parts = configuration.parts(&self.problem);
        Ok(Self { parts, scratch, ..self })
    }

    /// The problem.
    #[must_use]
    pub fn problem(&self) -> &CheckedProblem {
        &self.problem
    }

    /// Memory of A, B and C, and where in it they lie.
    #[must_use]
    pub fn matrices(&self) -> [(&'a B, Operand); 3] {
        let [a, b, c] = self.buffers;
        let call = self.problem.problem();
        [(a, call.a), (b, call.b), (c, call.c)]
    }

    /// Parts that k is split into.
    #[must_use]
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// A number that stands for everything here but the buffers, on this kernel: whatever else is set, and
    /// that the matrices fit. None if it is used once.
    #[must_use]
    pub fn known_by(&self) -> Option<NonZeroU64> {
        self.known
    }

    /// The scratch memory, if the kernel wants any.
    #[must_use]
    pub fn scratch(&self) -> Option<&'a B> {
        self.scratch
    }
}

/// Which device this is and what it allows.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// Name of the platform, trimmed.
    pub platform: String,
    /// Name of the device, trimmed.
    pub name: String,
    /// Vendor, trimmed.
    pub vendor: String,
    /// Driver version.
    pub driver: String,
    /// OpenCL version.
    pub version: String,
    /// Compute units.
    pub compute_units: u32,
    /// Limits on kernels.
    pub limits: Limits,
    /// Bytes of the largest buffer.
    pub largest_buffer: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Step of the profiling clock in nanoseconds.
    pub clock_resolution_ns: u64,
    /// Extensions, separated by spaces.
    pub extensions: String,
}

impl DeviceInfo {
    /// Whether kernels can multiply and add in 16 bits; where not, the classes `f16h` are computed
    /// as those of `f16`.
    #[must_use]
    pub fn half_arithmetic(&self) -> bool {
        self.extensions.split_whitespace().any(|one| one == "cl_khr_fp16")
    }

    /// The key of binaries that this driver makes from this build's sources.
    #[must_use]
    pub fn driver_key(&self) -> DriverKey {
        DriverKey {
            platform: self.platform.clone(),
            vendor: self.vendor.clone(),
            device: self.name.clone(),
            compute_units: self.compute_units,
            driver: self.driver.clone(),
            space: kernels::space::hash(),
        }
    }
}

/// Whether a kernel can run, whose driver allows work-groups of `limit` work-items for it.
///
/// # Errors
/// [`DeviceError::Misfit`].
pub(crate) fn check_fits(
    limits: &Limits,
    configuration: &Configuration,
    limit: u64,
) -> Result<(), DeviceError> {
    let (need, have) = (configuration.work_group(), limit);
    let own = if need > have { Err(Misfit::WorkGroup { need, have }) } else { Ok(()) };
    configuration
        .fits(limits)
        .and(own)
        .map_err(|misfit| DeviceError::Misfit { kernel: configuration.to_string(), misfit })
}

/// What went wrong on the device.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// Several devices match.
    #[error("several devices match:{}", list(.0))]
    Ambiguous(Vec<String>),
    /// A buffer is too small for a copy.
    #[error("a copy of {need} bytes does not fit a buffer of {have}")]
    BufferTooSmall {
        /// Bytes to copy.
        need: u64,
        /// Bytes of the buffer.
        have: u64,
    },
    /// The driver does not build a program.
    #[error("the driver does not build `{program}`:\n{log}")]
    Build {
        /// The program.
        program: String,
        /// The driver's words.
        log: String,
    },
    /// A call to the driver failed.
    #[error("{call} failed: {reason} ({code})")]
    Call {
        /// The OpenCL function.
        call: &'static str,
        /// OpenCL's error code.
        code: i32,
        /// Its name.
        reason: String,
    },
    /// The profiling clock gave no time for a launch.
    #[error("the device's clock gives no time for a launch (end {end}, start {start})")]
    Clock {
        /// Counter at the end.
        end: u64,
        /// Counter at the start.
        start: u64,
    },
    /// What was made on another device, or is gone.
    #[error("the {0} belongs to another device or is gone")]
    Foreign(&'static str),
    /// An image where a buffer is wanted: they are one type in C.
    #[error("memory is an image, where a buffer is wanted")]
    NotABuffer,
    /// What no buffer of the device can hold.
    #[error("{what} of {need} bytes is beyond the device's largest buffer of {have}")]
    LargestBuffer {
        /// A matrix, or scratch memory.
        what: &'static str,
        /// Bytes needed.
        need: u64,
        /// Bytes of the largest buffer.
        have: u64,
    },
    /// A kernel wants more than the device, or the driver for this kernel, allows.
    #[error("{kernel} {misfit}")]
    Misfit {
        /// The configuration.
        kernel: String,
        /// What it wants.
        misfit: Misfit,
    },
    /// No device at all, or none that matches.
    #[error("no OpenCL device matches `{wanted}`; there are:{}", list(.have))]
    NoDevice {
        /// What was asked for.
        wanted: String,
        /// The devices there are.
        have: Vec<String>,
    },
    /// A caller's memory that kernels cannot load vectors from.
    #[error(
        "{what} is {address:#x}, not a multiple of {ALIGNMENT} bytes, which kernels load at once; align \
         it, or begin the buffer before it and say where the matrix begins by its offset"
    )]
    Misaligned {
        /// A host pointer, or the origin of a sub-buffer.
        what: &'static str,
        /// Where the memory begins, in bytes.
        address: u64,
    },
    /// A launch of a function that the program does not have.
    #[error("the program has no kernel function number {0}")]
    NoFunction(usize),
    /// The OpenCL library was not found.
    #[error("no OpenCL library could be loaded; tried:{}", list(.0))]
    NoLibrary(Vec<String>),
    /// A library of such a name is there, but it has no OpenCL in it.
    #[error("no OpenCL in any library; tried:{}", list(.0))]
    NotOpenCl(Vec<String>),
    /// The library is there, but no driver.
    #[error("the OpenCL library finds no platform: no driver is installed")]
    NoPlatform,
    /// Scratch memory would overwrite a matrix.
    #[error(
        "the buffer given as scratch memory has memory in common with that of a matrix; give another one"
    )]
    ScratchIsMatrix,
    /// A call that was made without events has no device time.
    #[error("the call was made without events; ask for them before it")]
    NoEvents,
    /// A kernel wants more scratch memory than it is given.
    #[error(
        "the kernel needs {need} bytes of scratch memory, but is given {have}; reserve them first"
    )]
    ScratchTooSmall {
        /// Bytes needed.
        need: u64,
        /// Bytes given.
        have: u64,
    },
    /// A text that the driver would read to its first zero byte only.
    #[error("the {what} of `{program}` have a zero byte in them, which ends a text in C")]
    ZeroByte {
        /// Which of its texts.
        what: &'static str,
        /// The program.
        program: String,
    },
    /// A kernel is built and runs, but is wrong.
    #[error("{0} computes something else than the reference")]
    WrongResult(String),
    /// The driver says nothing of the size of a number it gave.
    #[error("{0} does not fit this machine's sizes")]
    TooLarge(&'static str),
}

impl DeviceError {
    /// Whether another kernel may do better with the same call: not where the fault is that of the queue, of
    /// the events or of the caller's memory.
    pub(crate) fn may_be_the_kernels(&self) -> bool {
        /// No device, failed before, context, queue, memory object, wait list.
        const OTHERS: [i32; 8] = [-1, -2, -14, -33, -34, -36, -38, -57];
        match self {
            Self::Call { code, .. } => !OTHERS.contains(code),
            _ => false,
        }
    }

    /// Whether the same call is likely to fail again: not for lack of memory, of the device or of the host.
    pub(crate) fn lasts(&self) -> bool {
        !matches!(self, Self::Call { code: -4 | -6, .. })
    }
}

fn list(lines: &[String]) -> String {
    if lines.is_empty() { " none".to_owned() } else { format!("\n    {}", lines.join("\n    ")) }
}
