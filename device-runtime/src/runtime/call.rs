//! What a call does: find the kernel, set what has changed of its arguments, enqueue.
//!
//! A call that repeats one of the last problems finds its kernel and launches in `recent`, and the device
//! knows whether its arguments are set. So it allocates nothing, locks nothing, and reads no clock unless
//! host times are wanted. The way of such a call is kept short: behind the driver's own work neither its
//! instructions nor its data are in a cache any more.

use std::mem;

use kernels::{CheckedProblem, Problem};
use selector_core::{KernelId, KernelMask};

use super::laps::Laps;
use super::recent::{Asked, Choice};
use super::{Call, CallOptions, Class, HostTimes, Runtime, RuntimeError};
use crate::device::Armed;
use crate::steps::{self, Refused, Wishes};
use crate::{Arguments, Device, DeviceError, Events};

/// Why a call was not made.
enum Failed {
    /// This kernel could not be launched, and nothing of the call was enqueued.
    Kernel(KernelId, DeviceError),
    /// A later launch of this kernel was refused: C may be written in part.
    Midway(KernelId, DeviceError),
    /// Another kernel would not help.
    Call(RuntimeError),
}

impl<E: Into<RuntimeError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Call(error.into())
    }
}

impl<D: Device> Runtime<'_, D> {
    /// Multiply by the kernel `id`, or else by the one that the model chooses, or where that cannot be
    /// launched by the next of its leaf.
    #[inline]
    pub(super) fn call(
        &mut self,
        id: Option<KernelId>,
        problem: Problem,
        buffers: [&D::Buffer; 3],
        options: &CallOptions<'_, D>,
    ) -> Result<Call<D::Event>, RuntimeError> {
        let done = match self.repeated(id, problem, buffers, options) {
            Some(done) => done,
            None => self.attempt(id, problem, buffers, options),
        };
        match done {
            Ok(call) => Ok(call),
            Err(Failed::Call(error)) => Err(error),
            Err(Failed::Kernel(_, error) | Failed::Midway(_, error)) if id.is_some() => {
                Err(error.into())
            }
            Err(Failed::Kernel(id, error)) => self.give_way(id, error, problem, buffers, options),
            Err(Failed::Midway(id, error)) => Err(self.leave_out(id, problem, error)),
        }
    }

    /// One of the last calls once more, with the memory that its kernel was last set for, on a queue that keeps
    /// the order and for a caller who wants to know nothing of it: most calls. `None` if it is another.
    #[inline]
    fn repeated(
        &mut self,
        id: Option<KernelId>,
        problem: Problem,
        buffers: [&D::Buffer; 3],
        options: &CallOptions<'_, D>,
    ) -> Option<Result<Call<D::Event>, Failed>> {
        let Self { device, programs, recent, scratch, scratch_users, scratch_used, .. } = self;
        let told = self.events || self.host_times || options.event;
        if told || !device.keeps_order() || !scratch_users.is_empty() {
            return None;
        }
        let scratch = options.scratch.or(scratch.buffer());
        let have = scratch.map_or(0, |buffer| device.bytes(buffer));
        let place = recent.find(&Asked { id, problem, scratch: have })?;
        let choice = recent.at(place)?;
        let (id, program) = choice.kernel?;
        let (_, kernel) = programs.get_mut(program)?;
        let scratch = scratch.filter(|_| choice.scratch > 0);
        // What was set before has been checked before.
        if !device.still_set(kernel, choice.known?, buffers, scratch) {
            return None;
        }
        *scratch_used |= scratch.is_some();
        let mut enqueued = 0;
        let launches = &choice.launches;
        match steps::untold(device, &Armed::new(kernel), launches, options.wait, &mut enqueued) {
            Ok(()) => {
                let events = Events::new();
                Some(Ok(Call { kernel: Some(id), events, done: None, host: HostTimes::default() }))
            }
            Err(error) => Some(Err(after_refusal(device, id, Refused { error, enqueued }, false))),
        }
    }

    /// One attempt at a call.
    #[inline(never)]
    fn attempt(
        &mut self,
        id: Option<KernelId>,
        problem: Problem,
        buffers: [&D::Buffer; 3],
        options: &CallOptions<'_, D>,
    ) -> Result<Call<D::Event>, Failed> {
        let mut laps = Laps::new(self.host_times);
        let own = options.scratch;
        let have = own.or(self.scratch.buffer()).map_or(0, |buffer| self.device.bytes(buffer));
        let asked = Asked { id, problem, scratch: have };
        let place = match self.recent.find(&asked) {
            Some(place) => place,
            None => self.learn(&asked)?,
        };
        let Self { device, programs, recent, scratch, scratch_users, scratch_used, events, .. } =
            self;
        let choice = recent.at(place).ok_or(RuntimeError::ClassNotShipped(problem.class))?;
        let Some((id, program)) = choice.kernel else {
            choice.check(buffers.map(|buffer| device.bytes(buffer)))?;
            let done = if options.event { Some(device.join(options.wait)?) } else { None };
            return Ok(Call { kernel: None, events: Events::new(), done, host: laps.select() });
        };
        let kernel = programs.get_mut(program).map(|(_, kernel)| kernel);
        let kernel = kernel.ok_or(RuntimeError::ClassNotShipped(problem.class))?;
        let scratch = own.or(scratch.buffer()).filter(|_| choice.scratch > 0);
        laps.selected();
        let is_set = choice.known.is_some_and(|known| {
            // What was set before has been checked before.
            device.still_set(kernel, known, buffers, scratch)
        });
        let armed = if is_set {
            Armed::new(kernel)
        } else {
            arm(device, (id, kernel), choice, buffers, scratch, own)?
        };
        laps.set();
        // A queue that keeps the order has users to wait for where they are at work on another one.
        let shares = scratch.is_some() && !(device.keeps_order() && scratch_users.is_empty());
        let mut earlier = Events::new();
        let mut wait = options.wait;
        if shares && !scratch_users.is_empty() {
            if !wait.is_empty() {
                scratch_users.push(device.join(wait)?);
            }
            earlier = mem::take(scratch_users);
            wait = &earlier;
        }
        *scratch_used |= scratch.is_some();
        let wishes = Wishes { wait, each: *events, done: options.event, last: shares };
        let enqueued = match steps::in_order(device, &armed, &choice.launches, &wishes) {
            Ok(enqueued) => enqueued,
            Err(refused) => {
                if refused.enqueued == 0 && shares {
                    *scratch_users = earlier;
                }
                return Err(after_refusal(device, id, refused, shares));
            }
        };
        if shares {
            *scratch_users = enqueued.last;
        }
        let host = laps.enqueued();
        Ok(Call { kernel: Some(id), events: enqueued.events, done: enqueued.done, host })
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, asked: &Asked) -> Result<usize, RuntimeError> {
        let choice = self.choice(asked)?;
        Ok(self.recent.learn(asked, choice))
    }

    /// Multiply by the next kernel of the leaf that can be launched, and have those that cannot left out from
    /// now on, unless it was for lack of memory. If none can, the fault is not theirs, and they stay.
    #[cold]
    #[inline(never)]
    fn give_way(
        &mut self,
        id: KernelId,
        error: DeviceError,
        problem: Problem,
        buffers: [&D::Buffer; 3],
        options: &CallOptions<'_, D>,
    ) -> Result<Call<D::Event>, RuntimeError> {
        let before = self.class(problem.class)?.usable;
        let mut refused = vec![(id, error)];
        while let Some((id, _)) = refused.last()
            && *id != KernelId::UNIVERSAL
        {
            let usable = self.class(problem.class)?.usable.without(*id);
            self.use_only(problem, usable);
            match self.attempt(None, problem, buffers, options) {
                Ok(call) => {
                    self.use_only(problem, before);
                    for (id, error) in refused.into_iter().filter(|(_, error)| error.lasts()) {
                        self.leave_out(id, problem, error);
                    }
                    return Ok(call);
                }
                Err(Failed::Kernel(next, error)) if usable.contains(next) => {
                    refused.push((next, error));
                }
                Err(_) => break,
            }
        }
        self.use_only(problem, before);
        let first = refused.into_iter().next().map(|(_, error)| error);
        Err(first.map_or(RuntimeError::ClassNotShipped(problem.class), Into::into))
    }

    /// Use a kernel no more for problems of this class; the error that is the reason.
    #[cold]
    fn leave_out(&mut self, id: KernelId, problem: Problem, error: DeviceError) -> RuntimeError {
        let usable = self.class(problem.class).map(|class| class.usable);
        if let (Ok(usable), true) = (usable, id != KernelId::UNIVERSAL) {
            self.use_only(problem, usable.without(id));
            let configuration = self.configurations.get(usize::from(id.0));
            let name = configuration.map(|one| format!("{one}/{}", problem.class));
            self.left_out.extend(name.map(|name| (name, error.clone())));
        }
        error.into()
    }

    fn use_only(&mut self, problem: Problem, usable: KernelMask) {
        let class = self.classes.get_mut(usize::from(problem.class.index()));
        if let Some(class) = class.and_then(Option::as_mut) {
            class.usable = usable;
        }
        self.recent.forget();
    }

    /// What a call is made of.
    pub(super) fn choice(&self, asked: &Asked) -> Result<Choice, RuntimeError> {
        let problem = asked.problem;
        let size = problem.class.element().bytes();
        let lengths = problem.buffer_lengths()?;
        let [a, b, c] = lengths;
        let checked = problem.check(a, b, c)?;
        let bytes = lengths.map(|elements| elements.saturating_mul(size));
        if !checked.has_work() {
            return Ok(Choice::nothing(checked, bytes));
        }
        let id = match asked.id {
            Some(id) => id,
            None => self.choose(&checked, asked.scratch)?,
        };
        let not_shipped = RuntimeError::ClassNotShipped(problem.class);
        let at = usize::from(id.0);
        let program = self.class(problem.class)?.programs.get(at).copied().flatten();
        let (Some(program), Some(configuration)) = (program, self.configurations.get(at)) else {
            return Err(not_shipped);
        };
        let scratch = configuration.scratch(&checked);
        if scratch > asked.scratch {
            let (need, have) = (scratch, asked.scratch);
            return Err(DeviceError::ScratchTooSmall { need, have }.into());
        }
        Ok(Choice {
            known: None,
            problem: checked,
            bytes,
            kernel: Some((id, program)),
            parts: configuration.parts(&checked),
            scratch,
            launches: configuration.launches(&checked),
        })
    }

    /// The best kernel of the leaf that can run and wants no more than `scratch` bytes.
    pub(super) fn choose(
        &self,
        problem: &CheckedProblem,
        scratch: u64,
    ) -> Result<KernelId, RuntimeError> {
        let &Problem { class, shape, .. } = problem.problem();
        let &Class { ref tree, mut usable, .. } = self.class(class)?;
        let fast = tree.as_ref().map(|tree| tree.choose(shape));
        loop {
            let id = match fast {
                Some(choice) => choice.best_of(usable),
                None => self.model.select(class, shape).best_of(usable),
            };
            // The universal kernel wants none. Any other is asked about once, so this ends.
            if id == KernelId::UNIVERSAL || self.scratch_of(id, problem) <= scratch {
                return Ok(id);
            }
            usable = usable.without(id);
        }
    }
}

impl Choice {
    /// What the kernel is given.
    pub(super) fn arguments<'k, B>(
        &self,
        buffers: [&'k B; 3],
        scratch: Option<&'k B>,
    ) -> Arguments<'k, B> {
        Arguments::of_known(self.problem, buffers, self.parts, scratch, self.known)
    }
}

/// Check the buffers and set the arguments.
#[cold]
#[inline(never)]
fn arm<'k, D: Device>(
    device: &D,
    (id, kernel): (KernelId, &'k mut D::Kernel),
    choice: &Choice,
    buffers: [&'k D::Buffer; 3],
    scratch: Option<&'k D::Buffer>,
    own: Option<&D::Buffer>,
) -> Result<Armed<'k, D::Kernel>, Failed> {
    choice.check(buffers.map(|buffer| device.bytes(buffer)))?;
    let is_own = |matrix: &&D::Buffer| own.is_some_and(|own| device.overlap(own, matrix));
    if scratch.is_some() && buffers.iter().any(is_own) {
        return Err(DeviceError::ScratchIsMatrix.into());
    }
    let armed = device.set_arguments(kernel, &choice.arguments(buffers, scratch));
    armed.map_err(|error| blamed(id, error))
}

/// What a driver's refusal to launch means.
#[cold]
fn after_refusal<D: Device>(device: &D, id: KernelId, refused: Refused, shares: bool) -> Failed {
    if refused.enqueued == 0 {
        return blamed(id, refused.error);
    }
    // A part of it may be at work in the scratch memory, with no event to tell its end.
    match shares.then(|| device.finish()) {
        Some(Err(error)) => error.into(),
        _ if refused.error.may_be_the_kernels() => Failed::Midway(id, refused.error),
        _ => refused.error.into(),
    }
}

/// Whether another kernel may do better.
fn blamed(id: KernelId, error: DeviceError) -> Failed {
    if error.may_be_the_kernels() { Failed::Kernel(id, error) } else { error.into() }
}
