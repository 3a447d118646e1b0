//! A loaded bundle: select, set arguments, enqueue.
//!
//! What a call does is in `call`.

mod call;
mod laps;
mod recent;

use std::mem;
use std::time::Duration;

use kernels::bundle::{Bundle, DriverKey};
use kernels::{CheckedProblem, Configuration, Problem, ProblemError, Program};
use selector_core::{FastTree, KernelId, KernelMask, Leaf, Model, ProblemClass};

use crate::device::check_fits;
use crate::scratch::Scratch;
use crate::{Bare, Device, DeviceError, Events};
use recent::{Asked, Recent};

/// Splits of the largest tree that is unpacked; a larger one is walked in the bundle.
const SPLITS: usize = 2048;

/// The kernels of a bundle on one device, each made once.
///
/// A call needs `&mut self`, since a kernel's arguments are set before it is enqueued; threads
/// that multiply at the same time take a runtime each. It may move to another thread, but not be
/// shared:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<device_runtime::Runtime<'_, device_runtime::OpenCl>>();
/// ```
///
/// A call that repeats one of the last few dozen problems mostly does not walk the tree (64 are remembered, each in
/// one of two places). No call allocates, unless a problem takes more than four launches.
///
/// Some kernels want scratch memory. A call allocates none: where the kernel that the model chooses
/// wants more than was [reserved](Self::reserve), the next of the leaf that is content is taken, in
/// the end the universal one. [`Self::scratch_bytes`] says what the first choice wants. The memory
/// is used by one call after the other; [`Self::gemm_scratch`] takes the caller's own instead.
pub struct Runtime<'a, D: Device> {
    device: D,
    model: Model<'a>,
    configurations: Vec<Configuration>,
    programs: Vec<(String, D::Kernel)>,
    classes: [Option<Class<'a>>; ProblemClass::COUNT],
    left_out: Vec<(String, DeviceError)>,
    scratch: Scratch<D::Buffer>,
    /// Events of the last call that used scratch memory, on a queue that does not keep the order; or of all
    /// that was enqueued on the queue before, if a call there used it.
    scratch_users: Events<D::Event>,
    /// Whether a call has used scratch memory on this queue.
    scratch_used: bool,
    recent: Recent,
    events: bool,
    host_times: bool,
}

/// The kernels of one problem class.
struct Class<'a> {
    /// The tree, unpacked; `None` if it is too large for that.
    tree: Option<Box<FastTree<'a, SPLITS>>>,
    usable: KernelMask,
    /// Position in `programs` by kernel id.
    programs: Vec<Option<usize>>,
}

/// Why a bundle cannot be loaded or a call not be made.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The bundle has no kernel for the class.
    #[error("the bundle has no kernels for class {0}; compile it with --class {0}")]
    ClassNotShipped(ProblemClass),
    /// The device failed.
    #[error("the device failed")]
    Device(#[from] DeviceError),
    /// The problem does not fit its buffers.
    #[error("the problem does not fit its buffers")]
    Problem(#[from] ProblemError),
    /// The binaries were made by another driver, or from other sources.
    #[error(
        "the bundle was made for {}, but this is {}; compile it again on this device",
        key(.made_for), key(.here)
    )]
    StaleBinary {
        /// What made it.
        made_for: Box<DriverKey>,
        /// What is here.
        here: Box<DriverKey>,
    },
}

fn key(key: &DriverKey) -> String {
    let DriverKey { platform, vendor, device, compute_units, driver, space } = key;
    format!(
        "`{device}` of {vendor} ({platform}, {compute_units} compute units, driver {driver}, kernel space \
         {space:016x})"
    )
}

/// What a call did.
pub struct Call<E> {
    /// The kernel that was launched; `None` if there was nothing to do.
    pub kernel: Option<KernelId>,
    /// One event a launch, in order; none unless [asked for](Runtime::want_events).
    pub events: Events<E>,
    /// The event of the whole call, complete when its last launch is; none unless
    /// [asked for](CallOptions::event).
    pub done: Option<E>,
    /// Host time; zero unless [asked for](Runtime::want_host_times).
    pub host: HostTimes,
}

/// What a call may be told beside its problem and buffers.
pub struct CallOptions<'c, D: Device> {
    /// Events that the call begins after.
    pub wait: &'c [D::Event],
    /// The caller's own scratch memory, in place of what was reserved; see
    /// [`Runtime::gemm_scratch`].
    pub scratch: Option<&'c D::Buffer>,
    /// Whether [`Call::done`] is wanted.
    pub event: bool,
}

impl<D: Device> Default for CallOptions<'_, D> {
    fn default() -> Self {
        Self { wait: &[], scratch: None, event: false }
    }
}

impl<D: Device> Clone for CallOptions<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for CallOptions<'_, D> {}

/// Host time of a call, by part.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct HostTimes {
    /// Check the problem, walk the tree.
    pub select: Duration,
    /// Set the kernel's arguments.
    pub arguments: Duration,
    /// Enqueue the launches.
    pub enqueue: Duration,
}

impl<'a, D: Device> Runtime<'a, D> {
    /// Load every program of `bundle` from its binary and create its kernel.
    ///
    /// A kernel that the device's limits rule out, or that the driver refuses, is left out of
    /// every choice; the universal kernel is always there.
    ///
    /// # Errors
    /// [`RuntimeError::StaleBinary`] before the driver has seen a byte; or the driver's refusal of a universal
    /// kernel, or limits that rule it out ([`DeviceError::Misfit`]).
    pub fn load(device: D, bundle: &Bundle<'a>) -> Result<Self, RuntimeError> {
        let here = device.info().driver_key();
        if bundle.key != here {
            let made_for = Box::new(bundle.key.clone());
            return Err(RuntimeError::StaleBinary { made_for, here: Box::new(here) });
        }
        let mut runtime = Self {
            device,
            model: bundle.model.clone(),
            configurations: bundle.kernels.clone(),
            programs: Vec::new(),
            classes: [const { None }; ProblemClass::COUNT],
            left_out: Vec::new(),
            scratch: Scratch::new(),
            scratch_users: Events::new(),
            scratch_used: false,
            recent: Recent::new(),
            events: false,
            host_times: false,
        };
        for class in ProblemClass::all() {
            let shipped = Configuration::universal().program(class).name;
            if bundle.binary(&shipped).is_some() {
                runtime.load_class(class, bundle)?;
            }
        }
        Ok(runtime)
    }

    fn load_class(&mut self, class: ProblemClass, bundle: &Bundle<'_>) -> Result<(), RuntimeError> {
        let mut usable = KernelMask::NONE;
        let mut programs = Vec::new();
        for (id, configuration) in bundle.kernels.iter().enumerate() {
            let program = configuration.program(class);
            let is_out = self.left_out.iter().any(|(name, _)| *name == program.name);
            let Some(binary) = bundle.binary(&program.name).filter(|_| !is_out) else {
                programs.push(None);
                continue;
            };
            match self.load_kernel(configuration, &program, binary) {
                Ok(at) => {
                    programs.push(Some(at));
                    usable = usable.with(KernelId(id as u8));
                    continue;
                }
                // Without it a call might find none.
                Err(error) if id == 0 => return Err(error.into()),
                Err(DeviceError::Misfit { .. }) => {}
                Err(error) => self.left_out.push((program.name, error)),
            }
            programs.push(None);
        }
        let mut tree = Box::new(FastTree::empty());
        let tree = tree.load(&self.model, class).is_ok().then_some(tree);
        if let Some(place) = self.classes.get_mut(usize::from(class.index())) {
            *place = Some(Class { tree, usable, programs });
        }
        Ok(())
    }

    /// Position in `programs` of a kernel's program, which is loaded once.
    fn load_kernel(
        &mut self,
        configuration: &Configuration,
        program: &Program,
        binary: &[u8],
    ) -> Result<usize, DeviceError> {
        let limits = self.device.info().limits.clone();
        check_fits(&limits, configuration, u64::MAX)?;
        let known = self.programs.iter().position(|(name, _)| *name == program.name);
        let at = match known {
            Some(at) => at,
            None => {
                let kernel = self.device.load(program, binary)?;
                self.programs.push((program.name.clone(), kernel));
                self.programs.len() - 1
            }
        };
        let (_, kernel) = self.programs.get(at).ok_or(DeviceError::Foreign("kernel"))?;
        check_fits(&limits, configuration, self.device.work_group_limit(kernel)?)?;
        Ok(at)
    }

    /// Multiply: choose the kernel, set its arguments and enqueue it; returns before it is done.
    ///
    /// Where the driver does not launch the kernel, the next of the leaf is taken, in the end the universal one;
    /// the kernel is [left out](Self::left_out) from then on, unless none could be launched.
    ///
    /// # Errors
    /// The problem does not fit its buffers, its class was not shipped, or the driver refuses.
    pub fn gemm(
        &mut self,
        problem: Problem,
        buffers: [&D::Buffer; 3],
    ) -> Result<Call<D::Event>, RuntimeError> {
        self.call(None, problem, buffers, &CallOptions::default())
    }

    /// Multiply after some events, with the caller's scratch memory, or with an event of the whole
    /// call.
    ///
    /// On a queue that does not keep the order, a call begins when what it waits for is complete,
    /// whatever else was enqueued; only calls of one runtime that use scratch memory also follow one
    /// another.
    ///
    /// # Errors
    /// As [`Self::gemm_scratch`]. What was enqueued before the driver refused runs all the same.
    pub fn gemm_options(
        &mut self,
        problem: Problem,
        buffers: [&D::Buffer; 3],
        options: &CallOptions<'_, D>,
    ) -> Result<Call<D::Event>, RuntimeError> {
        self.call(None, problem, buffers, options)
    }

    /// Multiply with the caller's own scratch memory, in place of what was reserved. It must share
    /// none with the matrices, and is the call's until the call is done. Where it is too small for a
    /// kernel, the next is taken.
    ///
    /// # Errors
    /// As [`Self::gemm`]; [`DeviceError::ScratchIsMatrix`] if it is the buffer of a matrix.
    pub fn gemm_scratch(
        &mut self,
        problem: Problem,
        buffers: [&D::Buffer; 3],
        scratch: &D::Buffer,
    ) -> Result<Call<D::Event>, RuntimeError> {
        self.call(
            None,
            problem,
            buffers,
            &CallOptions { scratch: Some(scratch), ..CallOptions::default() },
        )
    }

    /// Multiply with the kernel `id`, whatever the model says; for checks and comparisons.
    ///
    /// # Errors
    /// As [`Self::gemm`]; [`RuntimeError::ClassNotShipped`] also if the bundle lacks the kernel,
    /// [`DeviceError::ScratchTooSmall`] if it wants more than was reserved.
    pub fn gemm_with(
        &mut self,
        id: KernelId,
        problem: Problem,
        buffers: [&D::Buffer; 3],
    ) -> Result<Call<D::Event>, RuntimeError> {
        self.gemm_with_scratch(id, problem, buffers, None)
    }

    /// [`Self::gemm_with`] the caller's own scratch memory, if there is any.
    pub(crate) fn gemm_with_scratch(
        &mut self,
        id: KernelId,
        problem: Problem,
        buffers: [&D::Buffer; 3],
        own: Option<&D::Buffer>,
    ) -> Result<Call<D::Event>, RuntimeError> {
        let options = CallOptions { scratch: own, ..CallOptions::default() };
        self.call(Some(id), problem, buffers, &options)
    }

    /// Bytes of scratch memory that the kernel wants that a call would launch if it had them; 0 if
    /// there is nothing to do. A kernel that wants more than a buffer of the device can hold is none.
    ///
    /// # Errors
    /// No buffers hold the problem, or its class was not shipped.
    pub fn scratch_bytes(&self, problem: &Problem) -> Result<u64, RuntimeError> {
        self.wanted(problem, |runtime, checked| {
            runtime.choose(checked, runtime.device.info().largest_buffer)
        })
    }

    /// Bytes of scratch memory that the kernel `id` wants.
    ///
    /// # Errors
    /// No buffers hold the problem.
    pub fn scratch_bytes_with(&self, id: KernelId, problem: &Problem) -> Result<u64, RuntimeError> {
        self.wanted(problem, |_, _| Ok(id))
    }

    /// Whether the calls to come give events, which [`Self::nanoseconds`] wants; at first they do not:
    /// on some drivers a launch takes more than twice as long with one. Returns whether calls gave events
    /// until now.
    pub fn want_events(&mut self, wanted: bool) -> bool {
        mem::replace(&mut self.events, wanted)
    }

    /// Whether the calls to come tell their [host times](Call::host); at first they do not, since reading
    /// the clock takes a good part of what a call does. Returns whether they did until now.
    pub fn want_host_times(&mut self, wanted: bool) -> bool {
        mem::replace(&mut self.host_times, wanted)
    }

    /// Have at least this much scratch memory for the calls to come. Growing waits for the calls
    /// that were made.
    ///
    /// # Errors
    /// More than a buffer of the device can hold; or the driver has no such memory: then none is
    /// left, and kernels that want some give way to others.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), RuntimeError> {
        Ok(self.scratch.reserve(&self.device, bytes)?)
    }

    fn wanted(
        &self,
        problem: &Problem,
        kernel: impl Fn(&Self, &CheckedProblem) -> Result<KernelId, RuntimeError>,
    ) -> Result<u64, RuntimeError> {
        let [a, b, c] = problem.buffer_lengths()?;
        let checked = problem.check(a, b, c)?;
        if !checked.has_work() {
            return Ok(0);
        }
        Ok(self.scratch_of(kernel(self, &checked)?, &checked))
    }

    fn scratch_of(&self, id: KernelId, problem: &CheckedProblem) -> u64 {
        let configuration = self.configurations.get(usize::from(id.0));
        configuration.map_or(0, |configuration| configuration.scratch(problem))
    }

    /// The driver's part of a call alone, to be repeated, all arguments set; `None` if there is nothing
    /// to do. The memory that was reserved is the scratch memory.
    ///
    /// # Errors
    /// As [`Self::gemm`].
    pub fn bare<'k>(
        &'k mut self,
        problem: Problem,
        buffers: [&'k D::Buffer; 3],
    ) -> Result<Option<Bare<'k>>, RuntimeError> {
        let have = self.scratch.bytes(&self.device);
        let choice = self.choice(&Asked { id: None, problem, scratch: have })?;
        choice.check(buffers.map(|buffer| self.device.bytes(buffer)))?;
        let program = choice.kernel.and_then(|(_, at)| self.programs.get_mut(at));
        let Some((_, kernel)) = program else { return Ok(None) };
        let scratch = self.scratch.buffer().filter(|_| choice.scratch > 0);
        let arguments = choice.arguments(buffers, scratch);
        let armed = self.device.set_arguments(kernel, &arguments)?;
        Ok(Some(self.device.bare(armed, &choice.launches)?))
    }

    fn class(&self, class: ProblemClass) -> Result<&Class<'a>, RuntimeError> {
        let shipped = self.classes.get(usize::from(class.index())).and_then(Option::as_ref);
        shipped.ok_or(RuntimeError::ClassNotShipped(class))
    }

    /// Device time of a finished call in nanoseconds, from the beginning of its first launch to the
    /// end of its last; 0 if nothing was launched.
    ///
    /// # Errors
    /// A launch failed, or the clock gave no time; [`DeviceError::NoEvents`] if none were
    /// [asked for](Self::want_events).
    pub fn nanoseconds(&self, call: &Call<D::Event>) -> Result<u64, RuntimeError> {
        if call.kernel.is_some() && call.events.is_empty() {
            return Err(DeviceError::NoEvents.into());
        }
        Ok(self.device.nanoseconds(&call.events)?)
    }

    /// The kernel that a call would launch with the scratch memory there is, or the caller's `own`; `None` if
    /// there would be nothing to do.
    ///
    /// # Errors
    /// No buffers hold the problem, or its class was not shipped.
    pub fn select(
        &self,
        problem: &Problem,
        own: Option<&D::Buffer>,
    ) -> Result<Option<KernelId>, RuntimeError> {
        let [a, b, c] = problem.buffer_lengths()?;
        let checked = problem.check(a, b, c)?;
        if !checked.has_work() {
            return Ok(None);
        }
        let scratch = own.or(self.scratch.buffer());
        self.choose(&checked, scratch.map_or(0, |buffer| self.device.bytes(buffer))).map(Some)
    }

    /// The model of the bundle.
    #[must_use]
    pub const fn model(&self) -> &Model<'a> {
        &self.model
    }

    /// What the model says of a problem, before it is known which kernels are usable.
    #[must_use]
    pub fn leaf(&self, problem: &Problem) -> Leaf {
        self.model.select(problem.class, problem.shape)
    }

    /// Programs that the driver refused to load, or to launch when they were chosen, and why.
    #[must_use]
    pub fn left_out(&self) -> &[(String, DeviceError)] {
        &self.left_out
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Have the device enqueue elsewhere from here on, as by [`OpenCl::use_queue`](crate::OpenCl::use_queue). Calls
    /// to come that use scratch memory wait for those of before that did.
    ///
    /// # Errors
    /// Those of `change`, or the driver gives no event; then all is as it was.
    pub fn change_queue(
        &mut self,
        change: impl FnOnce(&mut D) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let users = if self.scratch_used { Some(self.device.join(&[])?) } else { None };
        change(&mut self.device)?;
        self.scratch_users.extend(users);
        self.scratch_used = false;
        Ok(())
    }

    /// The device, to change how it works, but for its queue: see [`Self::change_queue`]. It stays the one that
    /// the kernels were loaded on: on another in its place every call is refused.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// The kernels by id: the universal one, then the kernel list.
    #[must_use]
    pub fn configurations(&self) -> &[Configuration] {
        &self.configurations
    }

    /// The kernels that can run for a class; `None` if the class was not shipped.
    #[must_use]
    pub fn usable(&self, class: ProblemClass) -> Option<KernelMask> {
        self.class(class).ok().map(|class| class.usable)
    }
}

#[cfg(test)]
mod tests {
    use kernels::reference;
    use selector_core::{GemmShape, Loss, ModelSource, Samples, Tree, TreeSource};

    use super::*;
    use crate::compile::compile;
    use crate::mock::{Enqueued, Mock, MockBuffer};
    use crate::overhead::Overhead;
    use crate::parted::{parted, with_parted};
    use crate::steady::ToldBy;

    const KERNEL: &str = "tile:4x8x4@16x16";

    fn model() -> Vec<u8> {
        model_of(&[KERNEL])
    }

    /// A model whose only leaf ranks these kernels.
    fn model_of(kernels: &[&str]) -> Vec<u8> {
        let ids: Vec<KernelId> = (1..).map(KernelId).take(kernels.len()).collect();
        let packed = |name: &&str| name.parse::<Configuration>().unwrap().packed();
        let class = ProblemClass::F32_NN;
        let source = ModelSource {
            device: "mock",
            driver: "1",
            method: "test",
            space: None,
            score: None,
            kernels: kernels.iter().map(packed).collect(),
            trees: vec![Tree::Leaf(Leaf::new(&ids, Loss::UNKNOWN, Loss::UNKNOWN, Samples::new(1)))],
            classes: vec![TreeSource { class, measured_as: class, tree: 0 }],
        };
        source.encode().unwrap()
    }

    fn bundle(device: &Mock) -> Vec<u8> {
        compile(device, &model(), &[ProblemClass::F32_NN], |_| {}).unwrap()
    }

    fn problem(m: u32, k: u32, n: u32) -> Problem {
        Problem::packed(ProblemClass::F32_NN, GemmShape::new(m, k, n, 1))
    }

    fn run(runtime: &mut Runtime<'_, Mock>, problem: Problem) -> (Option<KernelId>, Vec<f32>) {
        let elements = |values: &[f32]| {
            let mut buffer = runtime.device().allocate(4 * values.len() as u64).unwrap();
            runtime.device().write(&mut buffer, bytemuck::cast_slice(values)).unwrap();
            buffer
        };
        let a = elements(&reference::values(64, 1));
        let b = elements(&reference::values(64, 2));
        let c = elements(&[f32::NAN; 64]);
        let call = runtime.gemm(problem, [&a, &b, &c]).unwrap();
        let mut after = vec![0.0; 64];
        runtime.device().read(&c, bytemuck::cast_slice_mut(&mut after)).unwrap();
        (call.kernel, after)
    }

    #[test]
    fn a_call_launches_what_the_model_says_from_binaries_only() {
        let bytes = bundle(&Mock::default());
        let bundle = Bundle::parse(&bytes).unwrap();
        let mut runtime = Runtime::load(Mock::default(), &bundle).unwrap();
        let (kernel, after) = run(&mut runtime, problem(4, 4, 4));
        assert_eq!(kernel, Some(KernelId(1)));
        let (a, b) = (reference::values(64, 1), reference::values(64, 2));
        let checked = problem(4, 4, 4).check(64, 64, 64).unwrap();
        let mut expected = vec![f32::NAN; 64];
        reference::gemm(&checked, &a, &b, &mut expected);
        assert_eq!(after[..16], expected[..16]);
        assert!(after[16..].iter().all(|value| value.is_nan()));
        assert_eq!(runtime.device().built.get(), 0);
        assert_eq!(runtime.device().loaded.get(), 2);
    }

    #[test]
    fn another_driver_is_refused_before_it_sees_a_byte() {
        let bytes = bundle(&Mock::default());
        let bundle = Bundle::parse(&bytes).unwrap();
        let error = Runtime::load(Mock::default().with_driver("2"), &bundle).err().unwrap();
        assert!(matches!(error, RuntimeError::StaleBinary { .. }), "{error}");
    }

    #[test]
    fn a_kernel_that_does_not_fit_gives_way_to_the_universal_one() {
        let bytes = bundle(&Mock::default());
        let bundle = Bundle::parse(&bytes).unwrap();
        let small = Mock { kernel_work_group: 64, ..Mock::default() };
        let mut runtime = Runtime::load(small, &bundle).unwrap();
        let (kernel, after) = run(&mut runtime, problem(4, 4, 4));
        assert_eq!(kernel, Some(KernelId::UNIVERSAL));
        assert!(!after[0].is_nan());
    }

    #[test]
    fn a_kernel_of_which_the_driver_does_not_tell_the_limit_is_left_out_and_no_other() {
        let bytes = bundle(&Mock::default());
        let bundle = Bundle::parse(&bytes).unwrap();
        let silent = |name: &str| Mock { silent: vec![name.to_owned()], ..Mock::default() };
        let mut runtime = Runtime::load(silent("tile"), &bundle).unwrap();
        assert_eq!(run(&mut runtime, problem(4, 4, 4)).0, Some(KernelId::UNIVERSAL));
        assert_eq!(runtime.left_out().len(), 1);
        let refused = Runtime::load(silent("universal"), &bundle).err().unwrap();
        assert!(matches!(refused, RuntimeError::Device(DeviceError::Call { .. })), "{refused}");
    }

    #[test]
    fn a_device_that_cannot_run_the_universal_kernel_is_refused_at_load() {
        let bytes = bundle(&Mock::default());
        let bundle = Bundle::parse(&bytes).unwrap();
        let device = Mock { kernel_work_group: 0, ..Mock::default() };
        let refused = Runtime::load(device, &bundle).err().unwrap();
        let RuntimeError::Device(error @ DeviceError::Misfit { .. }) = refused else {
            panic!("{refused}")
        };
        assert!(error.to_string().starts_with("universal needs work-groups"), "{error}");
    }

    #[test]
    fn a_binary_that_the_driver_refuses_costs_its_own_kernel_only() {
        let device = Mock::default();
        let names = [Configuration::universal(), KERNEL.parse().unwrap()]
            .map(|kernel| kernel.program(ProblemClass::F32_NN).name);
        let write = |binaries: [&str; 2]| {
            let programs = names.clone().into_iter().zip(binaries.map(|one| one.into())).collect();
            let programs: Vec<(String, Vec<u8>)> = programs;
            kernels::bundle::write(&device.info().driver_key(), &model(), &programs).unwrap()
        };
        let bytes = write([&format!("mock:{}", names[0]), "junk"]);
        let bundle = Bundle::parse(&bytes).unwrap();
        let mut runtime = Runtime::load(Mock::default(), &bundle).unwrap();
        assert_eq!(run(&mut runtime, problem(4, 4, 4)).0, Some(KernelId::UNIVERSAL));
        assert_eq!(runtime.left_out()[0].0, names[1]);
        let bytes = write(["junk", &format!("mock:{}", names[1])]);
        let bundle = Bundle::parse(&bytes).unwrap();
        assert!(matches!(Runtime::load(Mock::default(), &bundle), Err(RuntimeError::Device(_))));
    }

    #[test]
    fn a_kernel_that_is_not_launched_gives_way_to_the_next_of_its_leaf_and_is_remembered() {
        let model = model_of(&[KERNEL, "tile:1x1x1@8x8"]);
        let bytes = compile(&Mock::default(), &model, &[], |_| {}).unwrap();
        let bundle = Bundle::parse(&bytes).unwrap();
        for (refuses, kernel, left_out) in [
            (vec!["tile:4x8x4"], 2, vec!["tile:4x8x4@16x16/f32-nn"]),
            (vec!["tile"], 0, vec!["tile:4x8x4@16x16/f32-nn", "tile:1x1x1@8x8/f32-nn"]),
        ] {
            let refusals = refuses.into_iter().map(|program| (program.to_owned(), -5)).collect();
            let device = Mock { refusals, ..Mock::default() };
            let mut runtime = Runtime::load(device, &bundle).unwrap();
            for _ in 0..2 {
                let (launched, after) = run(&mut runtime, problem(4, 4, 4));
                assert_eq!((launched, after[0].is_nan()), (Some(KernelId(kernel)), false));
                let names: Vec<&str> = runtime.left_out().iter().map(|(name, _)| &**name).collect();
                assert_eq!(names, left_out);
            }
            let refused = runtime.left_out()[0].1.clone();
            assert!(matches!(refused, DeviceError::Call { code: -5, .. }), "{refused}");
            let buffer = runtime.device().allocate(64).unwrap();
            let by_number = runtime.gemm_with(KernelId(1), problem(4, 4, 4), [&buffer; 3]);
            assert!(by_number.is_err());
        }
    }

    #[test]
    fn a_kernel_that_lacks_memory_once_gives_way_once() {
        let bytes = bundle(&Mock::default());
        let bundle = Bundle::parse(&bytes).unwrap();
        let device = Mock { refusals: [("tile".to_owned(), -4)].into(), ..Mock::default() };
        let mut runtime = Runtime::load(device, &bundle).unwrap();
        assert_eq!(run(&mut runtime, problem(4, 4, 4)).0, Some(KernelId::UNIVERSAL));
        assert!(runtime.left_out().is_empty());
        runtime.device_mut().refusals.clear();
        let second = run(&mut runtime, problem(4, 4, 5)).0;
        assert_eq!((second, run(&mut runtime, problem(4, 4, 4)).0), (Some(KernelId(1)), second));
    }

    #[test]
    fn a_kernel_that_fails_midway_is_an_error_once_and_left_out_then() {
        of_two_steps(Mock::default(), |mut runtime, buffers| {
            runtime.reserve(128).unwrap();
            runtime.device().refused_functions.set(Some((1, -5)));
            let error = runtime.gemm(problem(4, 4, 4), buffers).err().unwrap();
            assert!(matches!(error, RuntimeError::Device(DeviceError::Call { code: -5, .. })));
            assert_eq!(runtime.left_out().len(), 1);
            let call = runtime.gemm(problem(4, 4, 4), buffers).unwrap();
            assert_eq!(call.kernel, Some(KernelId(2)));
        });
    }

    #[test]
    fn what_is_at_work_in_the_scratch_memory_is_waited_for_after_a_refusal_and_on_another_queue() {
        let waits =
            |runtime: &Runtime<'_, Mock>| -> Vec<Enqueued> { runtime.device().enqueued.take() };
        of_two_steps(Mock { keeps_order: false, ..Mock::default() }, |mut runtime, buffers| {
            runtime.reserve(128).unwrap();
            runtime.gemm(problem(4, 4, 4), buffers).unwrap();
            runtime.device().refused_functions.set(Some((0, -57)));
            assert!(runtime.gemm(problem(4, 4, 4), buffers).is_err());
            runtime.device().refused_functions.set(None);
            waits(&runtime);
            runtime.gemm(problem(4, 4, 4), buffers).unwrap();
            assert_eq!(waits(&runtime)[0], Enqueued::Launch { of: 0, waits: 1 });
        });
        of_two_steps(Mock::default(), |mut runtime, buffers| {
            runtime.reserve(128).unwrap();
            runtime.gemm(problem(4, 4, 4), buffers).unwrap();
            waits(&runtime);
            runtime.change_queue(|_| Ok(())).unwrap();
            assert_eq!(waits(&runtime), [Enqueued::Join { of: 0 }]);
            // A call without scratch memory need not wait; the next with it does, and then no more.
            runtime.gemm(problem(4, 1, 4), buffers).unwrap();
            for expected in [1, 0] {
                waits(&runtime);
                runtime.gemm(problem(4, 4, 4), buffers).unwrap();
                assert_eq!(waits(&runtime)[0], Enqueued::Launch { of: 0, waits: expected });
            }
            waits(&runtime);
            runtime.change_queue(|_| Ok(())).unwrap();
            runtime.change_queue(|_| Ok(())).unwrap();
            assert_eq!(waits(&runtime), [Enqueued::Join { of: 0 }]);
        });
    }

    #[test]
    fn what_is_not_the_kernels_fault_leaves_every_kernel_in_use() {
        let bytes = bundle(&Mock::default());
        let bundle = Bundle::parse(&bytes).unwrap();
        // A queue that is gone is no kernel's fault, nor is what befalls all of them.
        for (program, code) in [("tile", -36), ("", -5)] {
            let refusals = [(program.to_owned(), code)].into();
            let device = Mock { refusals, ..Mock::default() };
            let mut runtime = Runtime::load(device, &bundle).unwrap();
            let usable = runtime.usable(ProblemClass::F32_NN);
            let buffer = runtime.device().allocate(64).unwrap();
            let error = runtime.gemm(problem(4, 4, 4), [&buffer; 3]).err().unwrap();
            let RuntimeError::Device(DeviceError::Call { code: told, .. }) = error else {
                panic!("{error}")
            };
            assert_eq!((told, runtime.usable(ProblemClass::F32_NN)), (code, usable));
            assert!(runtime.left_out().is_empty());
            runtime.device_mut().refusals.clear();
            assert_eq!(run(&mut runtime, problem(4, 4, 4)).0, Some(KernelId(1)));
        }
    }

    #[test]
    fn nothing_to_do_launches_nothing() {
        let bytes = bundle(&Mock::default());
        let bundle = Bundle::parse(&bytes).unwrap();
        let mut runtime = Runtime::load(Mock::default(), &bundle).unwrap();
        assert_eq!(run(&mut runtime, problem(0, 4, 4)).0, None);
        let kept = Problem { alpha: 0.0, beta: 1.0, ..problem(4, 4, 4) };
        assert_eq!(run(&mut runtime, kept).0, None);
        // Without products C is still scaled.
        assert_eq!(run(&mut runtime, problem(4, 0, 4)).1[..16], [0.0; 16]);
    }

    #[test]
    fn problems_that_do_not_fit_and_classes_not_shipped_are_typed_errors() {
        let bytes = bundle(&Mock::default());
        let bundle = Bundle::parse(&bytes).unwrap();
        let mut runtime = Runtime::load(Mock::default(), &bundle).unwrap();
        let buffer = runtime.device().allocate(64).unwrap();
        let large = runtime.gemm(problem(5, 4, 4), [&buffer, &buffer, &buffer]);
        assert!(matches!(large, Err(RuntimeError::Problem(_))));
        let class = ProblemClass::from_index(3).unwrap();
        let other = Problem::packed(class, GemmShape::new(4, 4, 4, 1));
        let other = runtime.gemm(other, [&buffer, &buffer, &buffer]);
        assert_eq!(other.err(), Some(RuntimeError::ClassNotShipped(class)));
    }

    /// A runtime whose leaf ranks `parted:2`, which wants 128 bytes for 4x4x4, before `KERNEL`.
    fn of_two_steps(device: Mock, test: impl FnOnce(Runtime<'_, Mock>, [&MockBuffer; 3])) {
        let model = model_of(&["tile:1x1x1@8x8", KERNEL]);
        let bytes = compile(&Mock::default(), &model, &[], |_| {}).unwrap();
        let program = parted(2).program(ProblemClass::F32_NN).name;
        let binary = format!("mock:{program}");
        let bundle = Bundle::parse(&bytes).unwrap();
        let bundle = with_parted(bundle, 2, &program, binary.as_bytes());
        let buffers = [(); 3].map(|()| device.allocate(64).unwrap());
        device.allocated.set(0);
        test(Runtime::load(device, &bundle).unwrap(), buffers.each_ref());
    }

    #[test]
    fn a_kernel_that_wants_more_scratch_than_there_is_gives_way_to_the_next_of_its_leaf() {
        of_two_steps(Mock::default(), |mut runtime, buffers| {
            let problem = problem(4, 4, 4);
            assert_eq!(runtime.scratch_bytes(&problem), Ok(128));
            assert_eq!(runtime.scratch_bytes_with(KernelId(2), &problem), Ok(0));
            let nothing = Problem { alpha: 0.0, beta: 1.0, ..problem };
            assert_eq!(runtime.scratch_bytes(&nothing), Ok(0));
            for (reserved, kernel, allocated) in [(0, 2, 0), (127, 2, 1), (128, 1, 2), (5, 1, 2)] {
                runtime.reserve(reserved).unwrap();
                let call = runtime.gemm(problem, buffers).unwrap();
                assert_eq!(call.kernel, Some(KernelId(kernel)));
                assert_eq!(runtime.device().allocated.get(), allocated);
                let given = (kernel == 1).then_some((2, 128));
                assert_eq!(runtime.device().parts_and_scratch.get(), given);
            }
            // More parts, or more of C, than what is there.
            let mut two = self::problem(2, 4, 4);
            assert_eq!(runtime.scratch_bytes(&two), Ok(64));
            two.shape.batch = 2;
            assert_eq!(runtime.scratch_bytes(&two), Ok(128));
            let huge = self::problem(65_535, 4, 65_535);
            let huge = Problem { shape: GemmShape { batch: 1 << 31, ..huge.shape }, ..huge };
            // More than any buffer holds: a call takes the next kernel, which wants none.
            assert_eq!(runtime.scratch_bytes_with(KernelId(1), &huge), Ok(u64::MAX));
            assert_eq!(runtime.scratch_bytes(&huge), Ok(0));
            assert!(runtime.reserve(u64::MAX).is_err());
            assert_eq!(runtime.gemm(problem, buffers).unwrap().kernel, Some(KernelId(1)));
        });
    }

    #[test]
    fn the_scratch_asked_for_can_be_reserved_and_is_that_of_the_kernel_that_is_launched() {
        let mut small = Mock::default();
        small.info.largest_buffer = 127;
        of_two_steps(small, |mut runtime, buffers| {
            let problem = problem(4, 4, 4);
            assert_eq!(runtime.scratch_bytes_with(KernelId(1), &problem), Ok(128));
            let bytes = runtime.scratch_bytes(&problem).unwrap();
            runtime.reserve(bytes).unwrap();
            assert_eq!(
                (bytes, runtime.gemm(problem, buffers).unwrap().kernel),
                (0, Some(KernelId(2)))
            );
        });
    }

    #[test]
    fn a_kernel_asked_for_by_its_number_does_not_give_way() {
        of_two_steps(Mock::default(), |mut runtime, buffers| {
            let refused = runtime.gemm_with(KernelId(1), problem(4, 4, 4), buffers).err();
            let too_small = DeviceError::ScratchTooSmall { need: 128, have: 0 };
            assert_eq!(refused, Some(RuntimeError::Device(too_small)));
            runtime.reserve(128).unwrap();
            let call = runtime.gemm_with(KernelId(1), problem(4, 4, 4), buffers).unwrap();
            assert_eq!(call.kernel, Some(KernelId(1)));
        });
    }

    #[test]
    fn the_callers_own_scratch_stands_in_for_what_is_reserved() {
        of_two_steps(Mock::default(), |mut runtime, buffers| {
            let [small, large] = [100, 300].map(|bytes| runtime.device().allocate(bytes).unwrap());
            let call = runtime.gemm_scratch(problem(4, 4, 4), buffers, &large).unwrap();
            assert_eq!(call.kernel, Some(KernelId(1)));
            assert_eq!(runtime.device().parts_and_scratch.get(), Some((2, 300)));
            runtime.reserve(128).unwrap();
            let call = runtime.gemm_scratch(problem(4, 4, 4), buffers, &small).unwrap();
            assert_eq!(call.kernel, Some(KernelId(2)));
            let matrix = runtime.device().allocate(200).unwrap();
            let [a, b, _] = buffers;
            let shared = runtime.gemm_scratch(problem(4, 4, 4), [a, b, &matrix], &matrix).err();
            assert_eq!(shared, Some(RuntimeError::Device(DeviceError::ScratchIsMatrix)));
            // The same memory under another handle.
            let alias = matrix.alias();
            let shared = runtime.gemm_scratch(problem(4, 4, 4), [a, b, &matrix], &alias).err();
            assert_eq!(shared, Some(RuntimeError::Device(DeviceError::ScratchIsMatrix)));
        });
    }

    #[test]
    fn steps_run_in_order_and_their_gaps_are_part_of_the_time() {
        use Enqueued::Launch;
        of_two_steps(Mock { gap: 7, ..Mock::default() }, |mut runtime, buffers| {
            let call = runtime.gemm(problem(4, 4, 4), buffers).unwrap();
            assert_eq!((call.events.len(), runtime.device().without_event.get()), (0, 1));
            let none = Err(RuntimeError::Device(DeviceError::NoEvents));
            assert_eq!(runtime.nanoseconds(&call), none);
            runtime.device().enqueued.take();
            runtime.want_events(true);
            let call = runtime.gemm(problem(4, 4, 4), buffers).unwrap();
            assert_eq!(runtime.select(&problem(4, 4, 4), None), Ok(call.kernel));
            assert_eq!(runtime.device().enqueued.take(), [Launch { of: 0, waits: 0 }]);
            assert_eq!(runtime.nanoseconds(&call), Ok(1000));
            runtime.reserve(128).unwrap();
            let call = runtime.gemm(problem(4, 4, 4), buffers).unwrap();
            let seen = runtime.device().enqueued.take();
            assert_eq!(seen, [Launch { of: 0, waits: 0 }, Launch { of: 1, waits: 0 }]);
            assert_eq!(runtime.nanoseconds(&call), Ok(2007));
            // One part wants no memory, and one step.
            let call = runtime.gemm(problem(4, 1, 4), buffers).unwrap();
            assert_eq!(call.kernel, Some(KernelId(1)));
            assert_eq!(runtime.device().enqueued.take(), [Launch { of: 2, waits: 0 }]);
            assert_eq!(runtime.device().parts_and_scratch.get(), Some((1, 0)));
            let nothing = runtime.gemm(problem(0, 4, 4), buffers).unwrap();
            assert_eq!(runtime.nanoseconds(&nothing), Ok(0));
            assert_eq!(runtime.select(&problem(0, 4, 4), None), Ok(None));
        });
    }

    #[test]
    fn without_order_calls_wait_for_one_another_only_where_they_share_scratch() {
        let device = || Mock { keeps_order: false, ..Mock::default() };
        of_two_steps(device(), |mut runtime, buffers| {
            let waits = |runtime: &Runtime<'_, Mock>| -> Vec<usize> {
                let seen = runtime.device().enqueued.take();
                let waits = |one: &Enqueued| match one {
                    Enqueued::Launch { waits, .. } => Some(*waits),
                    Enqueued::Join { .. } => None,
                };
                seen.iter().filter_map(waits).collect()
            };
            for _ in 0..2 {
                runtime.gemm(problem(4, 4, 4), buffers).unwrap();
                assert_eq!(waits(&runtime), [0]);
            }
            runtime.reserve(128).unwrap();
            runtime.device().enqueued.take();
            for expected in [[0, 1], [1, 1], [1, 1]] {
                runtime.gemm(problem(4, 4, 4), buffers).unwrap();
                assert_eq!(waits(&runtime), expected);
            }
            // What a caller waits for comes to what used the memory before.
            let event = [runtime.device().join(&[]).unwrap()];
            let options = CallOptions { wait: &event, ..CallOptions::default() };
            runtime.gemm_options(problem(4, 4, 4), buffers, &options).unwrap();
            assert_eq!(waits(&runtime), [2, 1]);
            // A call without scratch memory waits for none of them.
            runtime.gemm(problem(4, 1, 4), buffers).unwrap();
            assert_eq!(waits(&runtime), [0]);
        });
    }

    #[test]
    fn measuring_what_calls_cost_leaves_events_as_they_were() {
        let broken = || Mock { times: [("".to_owned(), 0)].into(), ..Mock::default() };
        for (mock, told_by) in [(Mock::default(), ToldBy::Device), (broken(), ToldBy::Host)] {
            of_two_steps(mock, |mut runtime, buffers| {
                for wanted in [true, false] {
                    runtime.want_events(wanted);
                    let overhead = Overhead::measure(&mut runtime, problem(4, 4, 4), buffers, 2);
                    assert_eq!(overhead.map(|one| (one.calls, one.told_by)), Ok((2, told_by)));
                    let call = runtime.gemm(problem(4, 4, 4), buffers).unwrap();
                    assert_eq!(!call.events.is_empty(), wanted);
                }
            });
        }
    }

    #[test]
    fn the_check_of_a_bundle_gives_each_kernel_the_scratch_it_wants() {
        of_two_steps(Mock::default(), |mut runtime, _| {
            let mut problems = Vec::new();
            crate::check::check_bundle(&mut runtime, 1, |report| {
                assert!(report.outcome.is_ok(), "{report:?}");
                problems.push(report.problems > 0);
            })
            .unwrap();
            assert_eq!(problems, [true; 3]);
        });
    }
}
