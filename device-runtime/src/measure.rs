//! Measuring one plan row: build, check, warm up, sample.

mod clock;
mod fault;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bytemuck::Pod;
use half::f16;
use kernels::measurement::{Row, Status, Timing};
use kernels::plan::PlanRow;
use kernels::reference;
use kernels::{Configuration, Launches, Operand, Problem};
use selector_core::{ElementType, GemmShape, ProblemClass};

use crate::check::cases::Pool;
use crate::device::Armed;
use crate::scratch::Scratch;
use crate::{Arguments, Device, DeviceError, steps};

pub use clock::Clock;

pub(crate) use clock::{STEPS, is_clocks, step_of};

pub(crate) use fault::plain;

/// Programs kept built.
const KEPT_PROGRAMS: usize = 256;
/// A configuration this many times slower than the best so far is sampled once.
const HOPELESS: u64 = 3;
/// A sample of a stream has as many calls as take about so long, within these numbers: fewer would be
/// waiting more than working, and more only take time.
const STREAM: Duration = Duration::from_micros(400);
const STREAM_CALLS: std::ops::RangeInclusive<u128> = 2..=64;
/// Most calls of a sample by a clock with coarse steps.
const MOST_CALLS: u64 = 1 << 16;
/// A problem on which a kernel must be right before it is timed: odd sizes, padding, a batch, and a k
/// that families which split or block it do.
const PROOF: GemmShape = GemmShape::new(37, 293, 41, 2);
/// Another, as most are timed: without padding, and of sizes that tiles divide.
const WHOLE: GemmShape = GemmShape::new(128, 32, 128, 1);

/// Times configurations on a device.
pub struct Measurer<D: Device> {
    device: D,
    timing: Timing,
    /// Nanoseconds of a step of the device's clock.
    step: u64,
    programs: BTreeMap<String, Built<D::Kernel>>,
    proven: BTreeSet<(String, ProblemClass)>,
    /// Buffers of the shape measured last, and its best time so far.
    current: Option<Current<D::Buffer>>,
}

/// A program's kernel and, once it has run, what its binary takes.
struct Built<K> {
    kernel: K,
    binary_bytes: Option<u64>,
}

struct Current<B> {
    shape: GemmShape,
    class: ProblemClass,
    buffers: [B; 3],
    scratch: Scratch<B>,
    best: Option<u64>,
}

/// Why a row was not measured: what happened would have happened to any other, so none is to blame yet.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The device runs nothing any more, not even the universal kernel: for this process it is lost, by
    /// this row or by one before it.
    #[error("the device runs no kernel any more: {0}")]
    Lost(DeviceError),
    /// The machine lacks what measuring takes: memory, space on disk, a compiler.
    #[error("the machine cannot measure now: {0}")]
    Machine(DeviceError),
    /// The device computes garbage, whatever the kernel.
    #[error("the device computes wrong: not even the universal kernel's result is right")]
    Wrong,
}

/// What a row is about to do; told before it does, so that a crash has a name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// The driver builds the program.
    Build,
    /// The kernel runs.
    Launch,
}

impl<D: Device> Measurer<D> {
    /// Measure on `device`.
    #[must_use]
    pub fn new(device: D) -> Self {
        let (programs, proven) = (BTreeMap::new(), BTreeSet::new());
        let step = device.info().clock_resolution_ns;
        Self { device, timing: Timing::Device, step, programs, proven, current: None }
    }

    /// The same with another timing; [`Timing::Device`] is the first.
    #[must_use]
    pub fn timed(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// The same where [`Clock::of`] has seen steps of so many nanoseconds; the driver's word is what counts at
    /// first.
    #[must_use]
    pub fn stepping(self, step: u64) -> Self {
        Self { step, ..self }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Measure a row. What it does wrong is its status; `note` is told what, and `phase` what is
    /// next.
    ///
    /// # Errors
    /// [`Fault`]: no other row could be measured either. A process has to begin anew.
    pub fn measure(
        &mut self,
        row: &PlanRow,
        mut phase: impl FnMut(Phase),
        mut note: impl FnMut(String),
    ) -> Result<Row, Fault> {
        let (mut samples, mut binary_bytes) = (Vec::new(), None);
        let status = match self.sample(row, &mut phase, &mut samples, &mut binary_bytes) {
            Ok(Status::WrongResult) => match fault::of_wrong_result(&self.device) {
                Some(fault) => return Err(fault),
                None => Status::WrongResult,
            },
            Ok(status) => status,
            Err(error) => {
                note(format!("{} on {}: {error}", row.configuration, row.shape));
                let status = match error {
                    DeviceError::Build { .. } => Status::BuildFailed,
                    _ => Status::LaunchFailed,
                };
                match fault::of(&self.device, row, error) {
                    Some(fault) => return Err(fault),
                    None => status,
                }
            }
        };
        if status != Status::Ok {
            samples.clear();
            binary_bytes = None;
        }
        Ok(Row {
            shape: row.shape,
            class: row.class,
            configuration: row.configuration.to_string(),
            status,
            samples,
            binary_bytes,
        })
    }

    fn sample(
        &mut self,
        row: &PlanRow,
        phase: &mut impl FnMut(Phase),
        samples: &mut Vec<u64>,
        binary_bytes: &mut Option<u64>,
    ) -> Result<Status, DeviceError> {
        let PlanRow { shape, class, configuration, repetitions } = row;
        if configuration.fits(&self.device.info().limits).is_err() {
            return Ok(Status::LaunchFailed);
        }
        phase(Phase::Build);
        let program = configuration.program(*class);
        if !self.programs.contains_key(&program.name) {
            // It vouches for the machine, and may come from the driver's cache where nothing can be built.
            let vouches = *configuration == Configuration::universal();
            if let Some(error) = vouches.then(|| fault::builds_nothing(&self.device)).flatten() {
                return Err(error);
            }
            if self.programs.len() >= KEPT_PROGRAMS {
                self.programs.pop_first();
            }
            let kernel = self.device.build(&program)?;
            self.programs.insert(program.name.clone(), Built { kernel, binary_bytes: None });
        }
        phase(Phase::Launch);
        let Some(built) = self.programs.get_mut(&program.name) else {
            return Ok(Status::BuildFailed);
        };
        let kernel = &mut built.kernel;
        if configuration.work_group() > self.device.work_group_limit(kernel)? {
            return Ok(Status::LaunchFailed);
        }
        let key = (configuration.to_string(), *class);
        if !self.proven.contains(&key) {
            // Only a proof that ran to its end counts.
            if !is_right(&self.device, kernel, configuration, *class)? {
                return Ok(Status::WrongResult);
            }
            self.proven.insert(key);
        }
        if built.binary_bytes.is_none() {
            // A driver that gives no binary still has times.
            built.binary_bytes = self.device.binary(kernel).ok().map(|binary| binary.len() as u64);
        }
        *binary_bytes = built.binary_bytes;
        let is_current =
            self.current.as_ref().is_some_and(|one| (one.shape, one.class) == (*shape, *class));
        if !is_current {
            // The old buffers go first: there may not be room for both.
            self.current = None;
            self.current = Some(Current::allocate(&self.device, *shape, *class)?);
        }
        let Some(current) = &mut self.current else { return Ok(Status::LaunchFailed) };
        let problem = Problem::packed(*class, *shape);
        let mut prepared = Prepared::new(
            &self.device,
            kernel,
            configuration,
            problem,
            current.buffers.each_ref(),
            &mut current.scratch,
        )?;
        // The first launch pays for what the driver does late; it is not kept.
        prepared.warm_up()?;
        let calls = match self.timing {
            Timing::Device => prepared.calls_of_steps(self.step)?,
            Timing::Stream => prepared.stream_calls()?,
        };
        let mut time = || match self.timing {
            Timing::Device => prepared.repeated(calls),
            Timing::Stream => prepared.stream(calls),
        };
        let first = time()?;
        let hopeless = current.best.is_some_and(|best| first > best.saturating_mul(HOPELESS));
        samples.push(first);
        if !hopeless {
            for _ in 1..*repetitions {
                samples.push(time()?);
            }
        }
        let best = samples.iter().min().copied();
        current.best = current.best.into_iter().chain(best).min();
        Ok(Status::Ok)
    }
}

impl<B> Current<B> {
    fn allocate<D: Device<Buffer = B>>(
        device: &D,
        shape: GemmShape,
        class: ProblemClass,
    ) -> Result<Self, DeviceError> {
        let problem = Problem::packed(class, shape);
        let stored = |operand: Operand| operand.stride.saturating_mul(u64::from(shape.batch));
        let matrix = |operand: Operand, seed| {
            let elements = stored(operand);
            let bytes = elements.saturating_mul(class.element().bytes());
            let most = device.info().largest_buffer;
            if bytes > most {
                return Err(DeviceError::LargestBuffer {
                    what: "a matrix",
                    need: bytes,
                    have: most,
                });
            }
            let count = usize::try_from(elements).map_err(|_| DeviceError::TooLarge("a matrix"))?;
            let values = reference::values(count, seed);
            match class.element() {
                ElementType::F32 => filled(device, &values),
                ElementType::F16 => filled(device, &halves(&values)),
            }
        };
        let buffers = [matrix(problem.a, 1)?, matrix(problem.b, 2)?, matrix(problem.c, 3)?];
        Ok(Self { shape, class, buffers, scratch: Scratch::new(), best: None })
    }
}

/// The nearest half-precision values.
pub(crate) fn halves(values: &[f32]) -> Vec<f16> {
    values.iter().map(|value| f16::from_f32(*value)).collect()
}

/// A buffer that holds `values`.
pub(crate) fn filled<D: Device, T: Pod>(
    device: &D,
    values: &[T],
) -> Result<D::Buffer, DeviceError> {
    let bytes = bytemuck::cast_slice(values);
    let mut buffer = device.allocate(bytes.len() as u64)?;
    device.write(&mut buffer, bytes)?;
    Ok(buffer)
}

/// A kernel whose arguments are set.
struct Prepared<'a, D: Device> {
    device: &'a D,
    kernel: Armed<'a, D::Kernel>,
    launches: Launches,
}

impl<'a, D: Device> Prepared<'a, D> {
    fn new(
        device: &'a D,
        kernel: &'a mut D::Kernel,
        configuration: &Configuration,
        problem: Problem,
        buffers: [&'a D::Buffer; 3],
        scratch: &'a mut Scratch<D::Buffer>,
    ) -> Result<Self, DeviceError> {
        let arguments = Arguments::new(device, problem, buffers)
            .map_err(|_| DeviceError::TooLarge("the problem"))?;
        scratch.reserve(device, configuration.scratch(arguments.problem()))?;
        let arguments = arguments.with_scratch(device, configuration, scratch.buffer())?;
        let launches = configuration.launches(arguments.problem());
        let kernel = device.set_arguments(kernel, &arguments)?;
        Ok(Self { device, kernel, launches })
    }

    /// Call once and wait.
    fn warm_up(&mut self) -> Result<(), DeviceError> {
        self.took(1).map(|_| ())
    }

    /// Call so often in a row and wait once: device time of a call in nanoseconds, at least 1.
    fn repeated(&mut self, calls: u32) -> Result<u64, DeviceError> {
        Ok((self.whole(calls)? / u64::from(calls.max(1))).max(1))
    }

    /// The same, of all calls together.
    fn whole(&mut self, calls: u32) -> Result<u64, DeviceError> {
        let mut events = Vec::new();
        for _ in 0..calls {
            events.extend(steps::enqueue(self.device, &self.kernel, &self.launches, true)?);
        }
        self.device.finish()?;
        self.device.nanoseconds(&events)
    }

    /// How many calls in a row last [`clock::STEPS`] steps of `step` nanoseconds: 1 wherever the clock is fine
    /// enough.
    fn calls_of_steps(&mut self, step: u64) -> Result<u32, DeviceError> {
        let wanted = step.saturating_mul(clock::STEPS);
        let mut calls = 1_u64;
        loop {
            let took = self.whole(calls as u32)?;
            if took >= wanted || calls >= MOST_CALLS {
                return Ok(calls as u32);
            }
            // What lasts less than a step may last much less: no leaps.
            let enough = calls.saturating_mul(wanted) / took.max(1) + 1;
            calls = enough.clamp(calls * 2, calls * 8).min(MOST_CALLS);
        }
    }

    /// Call so often in a row and wait once: nanoseconds a call, at least 1.
    fn stream(&mut self, calls: u32) -> Result<u64, DeviceError> {
        let took = self.took(calls)?.as_nanos() / u128::from(calls.max(1));
        Ok(u64::try_from(took).unwrap_or(u64::MAX).max(1))
    }

    /// How many calls a sample of the stream has.
    fn stream_calls(&mut self) -> Result<u32, DeviceError> {
        let few = *STREAM_CALLS.start() as u32;
        let each = self.took(few)?.as_nanos() / u128::from(few);
        let calls =
            (STREAM.as_nanos() / each.max(1)).clamp(*STREAM_CALLS.start(), *STREAM_CALLS.end());
        Ok(calls as u32)
    }

    fn took(&mut self, calls: u32) -> Result<Duration, DeviceError> {
        let begun = Instant::now();
        for _ in 0..calls {
            steps::enqueue(self.device, &self.kernel, &self.launches, false)?;
        }
        self.device.finish()?;
        Ok(begun.elapsed())
    }
}

/// Whether a kernel computes the problems of the proof right, and neither writes nor reads outside of
/// their matrices and its scratch memory.
pub(crate) fn is_right<D: Device>(
    device: &D,
    kernel: &mut D::Kernel,
    configuration: &Configuration,
    class: ProblemClass,
) -> Result<bool, DeviceError> {
    let mut odd = Problem::packed(class, PROOF);
    (odd.alpha, odd.beta) = (1.5, -0.5);
    for operand in [&mut odd.a, &mut odd.b, &mut odd.c] {
        let rows = operand.stride / operand.leading;
        operand.leading += 3;
        operand.stride = rows * operand.leading;
    }
    let problems = [odd, Problem::packed(class, WHOLE)];
    let outcome = match class.element() {
        ElementType::F32 => {
            Pool::<f32, _>::new(device, &problems, 4)?.run(device, kernel, configuration)
        }
        ElementType::F16 => {
            Pool::<f16, _>::new(device, &problems, 4)?.run(device, kernel, configuration)
        }
    };
    Ok(outcome?.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::Mock;
    use crate::parted::parted;

    fn row(configuration: &str, class: &str) -> PlanRow {
        PlanRow {
            shape: GemmShape::new(8, 8, 8, 1),
            class: class.parse().unwrap(),
            configuration: configuration.parse().unwrap(),
            repetitions: 5,
        }
    }

    fn measure(measurer: &mut Measurer<Mock>, configuration: &str) -> Row {
        measurer.measure(&row(configuration, "f32-nn"), |_| {}, |_| {}).unwrap()
    }

    #[test]
    fn a_right_kernel_is_sampled_and_a_hopeless_one_once() {
        let times = [("tile:1x1x1/".to_owned(), 500), ("tile:8x8x8/".to_owned(), 5000)];
        let mut measurer = Measurer::new(Mock { times: times.into(), ..Mock::default() });
        let fast = measure(&mut measurer, "tile:1x1x1@8x8");
        assert_eq!((fast.status, fast.samples), (Status::Ok, vec![500; 5]));
        assert_eq!(measure(&mut measurer, "tile:8x8x8@8x8").samples, [5000]);
    }

    #[test]
    fn a_stream_is_timed_in_calls_without_events() {
        let mut measurer = Measurer::new(Mock::default()).timed(Timing::Stream);
        let row = measure(&mut measurer, "tile:1x1x1@8x8");
        assert_eq!((row.status, row.samples.len()), (Status::Ok, 5));
        let calls = measurer.device().without_event.get();
        let most = u64::try_from(*STREAM_CALLS.end()).unwrap();
        // Each problem of the proof once, one that is not kept, and two to see how long a call takes.
        let before = 2 + 1 + 2;
        assert!((before + 5 * 2..=before + 5 * most).contains(&calls), "{calls}");
        assert_eq!((calls - before) % 5, 0, "every sample has as many calls");
    }

    #[test]
    fn a_program_is_built_once_for_all_its_work_groups() {
        let mut measurer = Measurer::new(Mock::default());
        for work_group in ["8x8", "16x16", "1x64"] {
            measure(&mut measurer, &format!("tile:2x2x2@{work_group}"));
        }
        assert_eq!(measurer.device().built.get(), 1);
    }

    #[test]
    fn configurations_that_share_a_program_have_the_size_of_its_binary() {
        let mut measurer = Measurer::new(Mock::default());
        let mut bytes = |configuration: &str| measure(&mut measurer, configuration).binary_bytes;
        let one = bytes("tile:2x2x2@8x8");
        assert!(one.is_some_and(|bytes| bytes > 0));
        assert_eq!(bytes("tile:2x2x2@16x16"), one);
        // The mock's binary is the program's name.
        assert!(bytes("universal").is_some() && bytes("universal") < one);
    }

    #[test]
    fn every_failure_has_its_status_and_no_time() {
        let list = |start: &str| vec![start.to_owned()];
        let mut measurer = Measurer::new(Mock {
            broken_builds: list("tile:1x"),
            broken_launches: list("tile:2x"),
            wrong_results: list("tile:4x"),
            times: [("tile:8x8x8/".to_owned(), 0)].into(),
            ..Mock::default()
        });
        for (configuration, status) in [
            ("tile:1x1x1@8x8", Status::BuildFailed),
            ("tile:2x1x1@8x8", Status::LaunchFailed),
            ("tile:4x1x1@8x8", Status::WrongResult),
            ("tile:4x1x1@8x8", Status::WrongResult),
            ("tile:8x8x8@8x8", Status::LaunchFailed),
        ] {
            let row = measure(&mut measurer, configuration);
            assert_eq!((row.status, row.samples.len()), (status, 0), "{configuration}");
        }
    }

    #[test]
    fn limits_of_device_and_kernel_rule_a_configuration_out_before_it_is_launched() {
        let mut measurer = Measurer::new(Mock { kernel_work_group: 64, ..Mock::default() });
        assert_eq!(measure(&mut measurer, "tile:1x1x1@16x16").status, Status::LaunchFailed);
        assert_eq!(measure(&mut measurer, "tile:1x1x1@8x8").status, Status::Ok);
    }

    #[test]
    fn half_precision_is_measured_too() {
        let mut measurer = Measurer::new(Mock::default());
        let row = measurer.measure(&row("universal", "f16-tt"), |_| {}, |_| {}).unwrap();
        assert_eq!(row.status, Status::Ok);
    }

    #[test]
    fn steps_are_timed_with_their_gaps_and_scratch_is_kept_while_the_shape_lasts() {
        let mut measurer = Measurer::new(Mock { gap: 5, ..Mock::default() });
        let mut measure = |parts, m| {
            let shape = GemmShape::new(m, 8, 8, 1);
            let row = PlanRow { shape, configuration: parted(parts), ..row("universal", "f32-nn") };
            let before = measurer.device().allocated.get();
            let row = measurer.measure(&row, |_| {}, |_| {}).unwrap();
            assert_eq!((row.status, row.samples), (Status::Ok, vec![2005; 5]));
            measurer.device().allocated.get() - before
        };
        let (proof, matrices, scratch) = (4, 3, 1);
        assert_eq!(measure(4, 8), proof + matrices + scratch);
        assert_eq!(measure(4, 8), 0);
        assert_eq!(measure(2, 8), proof);
        assert_eq!(measure(8, 8), proof + scratch);
        assert_eq!(measure(8, 7), matrices + scratch);
    }

    #[test]
    fn scratch_that_the_device_does_not_have_is_a_failed_launch() {
        let mut mock = Mock::default();
        mock.info.largest_buffer = 1 << 20;
        let mut measurer = Measurer::new(mock);
        let shape = GemmShape::new(512, 8, 256, 1);
        let mut measure = |parts| {
            let row = PlanRow { shape, configuration: parted(parts), ..row("universal", "f32-nn") };
            let mut notes = Vec::new();
            let row = measurer.measure(&row, |_| {}, |note| notes.push(note)).unwrap();
            (row.status, notes.join(""))
        };
        assert_eq!(measure(2), (Status::Ok, String::new()));
        let (status, note) = measure(3);
        assert_eq!(status, Status::LaunchFailed);
        assert!(note.contains("scratch memory of 1572864 bytes"), "{note}");
        assert_eq!(measure(1).0, Status::Ok);
    }
}
