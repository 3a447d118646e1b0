//! What the driver is to be and to do, as a test writes it down and the driver reads it.

use serde::{Deserialize, Serialize};

/// Names the file that holds the script, as JSON.
pub const VARIABLE: &str = "GEMMTREE_FAKE_ICD";

/// The platform, its devices, and what goes wrong.
///
/// The default is a driver that is well: one device without 16-bit arithmetic, whose clock has steps of a
/// nanosecond.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Name of the platform.
    pub platform: String,
    /// Whether the library says that it has no platform.
    pub no_platform: bool,
    /// Milliseconds that finding the platform takes.
    pub platform_delay_ms: u64,
    /// Names of the devices, blanks included.
    pub devices: Vec<String>,
    /// Compute units of each device; a device without a number here has 4.
    pub compute_units: Vec<u32>,
    /// The vendor, blanks included.
    pub vendor: String,
    /// The driver version, which its binaries carry too.
    pub driver: String,
    /// The OpenCL version.
    pub version: String,
    /// The device extensions.
    pub extensions: String,
    /// Bytes of memory of each device.
    pub memory: u64,
    /// Bytes of the largest buffer.
    pub largest_buffer: u64,
    /// Bytes of local memory.
    pub local_memory: u64,
    /// Most work-items of a work-group.
    pub work_group: u64,
    /// What becomes of a binary that another driver version made.
    pub stale_binaries: StaleBinaries,
    /// Whether a kernel function is compiled when it is created: a binary has those that were.
    pub lazy_kernels: bool,
    /// Whether a sub-buffer may begin at any byte, though the device says that it may not.
    pub loose_sub_buffers: bool,
    /// The clock of the profiling information.
    pub clock: Clock,
    /// How long launches last; the first that matches counts.
    pub times: Vec<Time>,
    /// Whether launches last that long on the host's clock too.
    pub paced: bool,
    /// What goes wrong, and when.
    pub rules: Vec<Rule>,
}

/// What becomes of a binary that another driver version made.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StaleBinaries {
    /// It is refused: `CL_INVALID_BINARY`.
    #[default]
    Refused,
    /// It is taken, and its kernels compute something else.
    Wrong,
    /// The process ends by a signal.
    Crash,
}

/// The clock of the profiling information.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clock {
    /// Nanoseconds of a step: times are rounded down to a multiple of it.
    pub step_ns: u64,
    /// Nanoseconds that the device says a step has.
    pub told_ns: u64,
    /// Nanoseconds between a command's end and the next one's beginning.
    pub gap_ns: u64,
    /// What is wrong with it.
    pub oddity: Option<Oddity>,
    /// The launches whose times are odd, as in [`Rule::of`]; all, if empty.
    pub of: String,
    /// Whether no queue records times: a queue that should is refused by `CL_INVALID_QUEUE_PROPERTIES`.
    pub refuses_profiling: bool,
}

/// What is wrong with a launch's times.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Oddity {
    /// The end lies before the start.
    EndBeforeStart,
    /// All four times are zero.
    Zero,
    /// The call succeeds but writes nothing.
    Unwritten,
    /// The call fails by `CL_PROFILING_INFO_NOT_AVAILABLE`.
    Unavailable,
}

/// How long a launch lasts.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Time {
    /// The launches, as in [`Rule::of`].
    pub of: String,
    /// The shape `MxKxNxBATCH`; any, if empty.
    pub shape: String,
    /// Nanoseconds.
    pub ns: u64,
}

/// Something that goes wrong.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The OpenCL function, such as `clBuildProgram`, or [`RESULT`].
    pub at: String,
    /// The calls it is for: the beginning of a program's name, such as `tile:` or `tile:4x4x8/f32-nn`, or a
    /// configuration, such as `tile:4x4x8@8x8`, of which a build sees only the program; all, if empty.
    #[serde(default)]
    pub of: String,
    /// Only for programs made from a binary, or only for those from source; both, if left out.
    #[serde(default)]
    pub from_binary: Option<bool>,
    /// How many such calls of a process go well before.
    #[serde(default)]
    pub after: u64,
    /// How many go wrong then; all, if left out.
    #[serde(default)]
    pub times: Option<u64>,
    /// Only in one process: the first that comes to it.
    #[serde(default)]
    pub once: bool,
    /// What happens.
    pub does: Fault,
}

/// Stands in [`Rule::at`] for what a kernel computes.
pub const RESULT: &str = "result";

/// The OpenCL functions that [`Rule::at`] may name.
pub const FUNCTIONS: &[&str] = &[
    "clBuildProgram",
    "clCreateBuffer",
    "clCreateCommandQueue",
    "clCreateContext",
    "clCreateKernel",
    "clCreateProgramWithBinary",
    "clCreateProgramWithSource",
    "clCreateSubBuffer",
    "clEnqueueBarrierWithWaitList",
    "clEnqueueCopyBuffer",
    "clEnqueueFillBuffer",
    "clEnqueueMapBuffer",
    "clEnqueueMarkerWithWaitList",
    "clEnqueueNDRangeKernel",
    "clEnqueueReadBuffer",
    "clEnqueueWriteBuffer",
    "clFinish",
    "clFlush",
    "clGetDeviceIDs",
    "clGetDeviceInfo",
    "clGetEventProfilingInfo",
    "clGetPlatformIDs",
    "clReleaseCommandQueue",
    "clReleaseContext",
    "clReleaseEvent",
    "clReleaseKernel",
    "clReleaseMemObject",
    "clReleaseProgram",
    "clSetKernelArg",
    "clWaitForEvents",
];

/// What happens to a call.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The process ends by SIGABRT.
    Abort,
    /// The process ends by SIGSEGV.
    Crash,
    /// The call takes so many milliseconds longer.
    DelayMs(u64),
    /// The call fails by this code.
    Fail(i32),
    /// The call does not come back.
    Hang,
    /// The device is lost for this process: this and all later work fails by this code.
    Lose(i32),
    /// The result is another one; at [`RESULT`] only.
    Wrong,
}

impl Fault {
    /// One of each.
    pub const ALL: [Self; 7] = [
        Self::Abort,
        Self::Crash,
        Self::DelayMs(50),
        Self::Fail(-5),
        Self::Hang,
        Self::Lose(-2),
        Self::Wrong,
    ];
}

impl Oddity {
    /// All there are.
    pub const ALL: [Self; 4] =
        [Self::EndBeforeStart, Self::Zero, Self::Unwritten, Self::Unavailable];
}

impl StaleBinaries {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Refused, Self::Wrong, Self::Crash];
}

impl Default for Script {
    fn default() -> Self {
        Self {
            platform: "Pretend".to_owned(),
            no_platform: false,
            platform_delay_ms: 0,
            devices: vec!["Pretend GPU".to_owned()],
            compute_units: Vec::new(),
            vendor: "gemmtree".to_owned(),
            driver: "1.0".to_owned(),
            version: "OpenCL 1.2 pretend".to_owned(),
            extensions: String::new(),
            memory: 1 << 30,
            largest_buffer: 1 << 28,
            local_memory: 32 << 10,
            work_group: 256,
            stale_binaries: StaleBinaries::default(),
            lazy_kernels: false,
            loose_sub_buffers: false,
            clock: Clock::default(),
            times: Vec::new(),
            paced: false,
            rules: Vec::new(),
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            step_ns: 1,
            told_ns: 1,
            gap_ns: 100,
            oddity: None,
            of: String::new(),
            refuses_profiling: false,
        }
    }
}

impl Script {
    /// The same script with one more thing that goes wrong.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }
}

impl Rule {
    /// `does` at every call of `at`.
    #[must_use]
    pub fn new(at: &str, does: Fault) -> Self {
        let at = at.to_owned();
        Self { at, of: String::new(), from_binary: None, after: 0, times: None, once: false, does }
    }

    /// Only for what [`Self::of`] says.
    #[must_use]
    pub fn of(self, of: &str) -> Self {
        Self { of: of.to_owned(), ..self }
    }

    /// After this many calls that go well.
    #[must_use]
    pub fn after(self, after: u64) -> Self {
        Self { after, ..self }
    }

    /// This many times.
    #[must_use]
    pub fn times(self, times: u64) -> Self {
        Self { times: Some(times), ..self }
    }

    /// In one process only.
    #[must_use]
    pub fn once(self) -> Self {
        Self { once: true, ..self }
    }

    /// Only for programs that were made from a binary.
    #[must_use]
    pub fn from_binary(self) -> Self {
        Self { from_binary: Some(true), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_back_and_what_it_does_not_say_is_well() {
        let rule = Rule::new("clFinish", Fault::Fail(-5)).of("tile:").after(3).times(1).once();
        let script = Script::default().with(rule.from_binary());
        let text = serde_json::to_string(&script).unwrap();
        assert_eq!(serde_json::from_str::<Script>(&text).unwrap(), script);
        assert_eq!(serde_json::from_str::<Script>("{}").unwrap(), Script::default());
        assert!(serde_json::from_str::<Script>(r#"{"drivr":"2"}"#).is_err());
    }
}
