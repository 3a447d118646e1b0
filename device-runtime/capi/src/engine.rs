//! The kernels of one bundle on one device of the caller's context, and calls of them.

use std::sync::Arc;
use std::time::Duration;

use device_runtime::ladder::Source;
use device_runtime::opencl::{OpenClBuffer, OpenClEvent};
use device_runtime::{Call, CallOptions, Device, DeviceError, Events, HostTimes, OpenCl, Runtime};
use kernels::Problem;
use kernels::bundle::Bundle;
use opencl3::types::{cl_command_queue, cl_context, cl_device_id, cl_event, cl_mem};
use selector_core::{KernelId, Precision};

use crate::problem::Call as Asked;
use crate::stands::{self, Stands};
use crate::status::Failure;
use crate::{explain, raw};

/// A context and a device of it.
pub(crate) type Home = (cl_context, cl_device_id);

type Loaded<'a> = Runtime<'a, OpenCl>;

self_cell::self_cell!(
    /// A runtime and the bundle, in which its model lies.
    struct Kernels {
        owner: Arc<Stands>,
        #[not_covariant]
        dependent: Loaded,
    }
);

/// A bundle on a device. What is here is one thread's at a time.
pub(crate) struct Engine {
    kernels: Kernels,
    device: cl_device_id,
    /// How numbers of 16 bits are added up.
    pub(crate) half: Precision,
    /// Whether calls are timed.
    timing: bool,
    /// The last call that was.
    timed: Option<Call<OpenClEvent>>,
    scratch: Option<OpenClBuffer>,
}

// SAFETY: OpenCL objects may be used by any thread, and kernels by one at a time: calls take `&mut self`.
unsafe impl Send for Engine {}

/// What a call is enqueued with.
pub(crate) struct Surroundings<'a> {
    /// Where.
    pub(crate) queue: cl_command_queue,
    /// What it begins after.
    pub(crate) waits: &'a [cl_event],
    /// Whether an event is wanted.
    pub(crate) event: bool,
}

/// `gemmtree_times`: what a timed call took, in nanoseconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(C)]
pub struct Times {
    select: u64,
    arguments: u64,
    enqueue: u64,
    device: u64,
}

impl Engine {
    /// The kernels of a bundle or model, which is checked in full before a driver sees a byte. If that is
    /// `strict`, only as a bundle of this driver has them; else whatever stands.
    ///
    /// # Errors
    /// [`Failure::Bundle`], a bundle of another driver, no kernel that can be used, or the driver's refusal.
    pub(crate) fn load(home: Home, bytes: Vec<u8>, strict: bool) -> Result<Self, Failure> {
        // Before a driver is asked for anything.
        let source = stands::source(&bytes);
        if let (Source::Bundle(bytes), _) | (Source::Model(bytes), true) = (source, strict) {
            Bundle::parse(bytes)?;
        }
        let device = Self::open(home)?;
        let stands = if strict {
            stands::strict(&device, bytes)?
        } else {
            stands::climbed(&device, source)?.0
        };
        Self::of(home, device, Arc::new(stands))
    }

    /// The device of a context, with a queue of its own until a call names one.
    ///
    /// # Errors
    /// It is none of the context's; or the driver's refusal.
    pub(crate) fn open((context, device): Home) -> Result<OpenCl, Failure> {
        Ok(OpenCl::with_context(raw::context(context, device)?)?)
    }

    /// The kernels that stand on `device`, which is that of `home`.
    ///
    /// # Errors
    /// The driver's refusal.
    pub(crate) fn of(
        (_, device): Home,
        opencl: OpenCl,
        stands: Arc<Stands>,
    ) -> Result<Self, Failure> {
        let kernels = Kernels::try_new(stands, |stands| {
            Ok::<_, Failure>(Runtime::load(opencl, &Bundle::parse(&stands.bytes)?)?)
        })?;
        let half = Precision::F16;
        Ok(Self { kernels, device, half, timing: false, timed: None, scratch: None })
    }

    /// The bundle that was loaded, and how it came to be.
    pub(crate) fn stands(&self) -> &Stands {
        self.kernels.borrow_owner()
    }

    /// Multiply; the event that was wanted is complete when all of the call is, and before that, all that it
    /// waits for.
    ///
    /// # Errors
    /// [`Failure`]; nothing of the call runs if its arguments are at fault.
    pub(crate) fn multiply(
        &mut self,
        call: &Asked,
        buffers: [cl_mem; 3],
        surroundings: &Surroundings<'_>,
    ) -> Result<Option<cl_event>, Failure> {
        self.timed = None;
        let problem = call.problem()?;
        let [a, b, c] = buffers;
        let buffers = lent(&problem, if call.exchanges() { [b, a, c] } else { [a, b, c] })?;
        self.follow(surroundings.queue)?;
        let Self { kernels, scratch, timed, timing, .. } = self;
        let scratch = scratch.as_ref();
        kernels.with_dependent_mut(|_, runtime| {
            let Surroundings { waits, event, .. } = *surroundings;
            // SAFETY: the caller's events live during the call.
            let wait = unsafe { OpenClEvent::borrowed(waits.as_ptr(), waits.len()) };
            let mut done = match &buffers {
                Some(buffers) => {
                    let options = CallOptions { wait, scratch, event };
                    runtime.gemm_options(problem, buffers.each_ref(), &options)?
                }
                None => nothing(if event { Some(runtime.device().join(wait)?) } else { None }),
            };
            let event = done.done.take().map(OpenClEvent::into_raw);
            *timed = timing.then_some(done);
            Ok(event)
        })
    }

    /// Enqueue on this queue from here on.
    fn follow(&mut self, queue: cl_command_queue) -> Result<(), Failure> {
        let device = self.device;
        self.kernels.with_dependent_mut(|_, runtime| {
            // The queue of before is held, so that no other has its address.
            if runtime.device().queue() != queue {
                let queue = raw::queue(queue, device)?;
                runtime.change_queue(|opencl| opencl.use_queue(queue))?;
            }
            Ok(())
        })
    }

    /// What the kernel of choice wants.
    ///
    /// # Errors
    /// As [`Self::select`].
    pub(crate) fn scratch_bytes(&self, shape: &Asked) -> Result<u64, Failure> {
        let problem = shape.packed()?;
        self.kernels.with_dependent(|_, runtime| Ok(runtime.scratch_bytes(&problem)?))
    }

    /// Have at least this much scratch memory.
    ///
    /// # Errors
    /// A queue of another context, or the driver's refusal.
    pub(crate) fn reserve(&mut self, queue: cl_command_queue, bytes: u64) -> Result<(), Failure> {
        self.follow(queue)?;
        self.kernels.with_dependent_mut(|_, runtime| Ok(runtime.reserve(bytes)?))
    }

    /// Use the caller's own scratch memory, or none of the caller's.
    ///
    /// # Errors
    /// It is none that kernels can use, or another context's; what was used before stays in use.
    pub(crate) fn set_scratch(&mut self, scratch: cl_mem) -> Result<(), Failure> {
        let scratch = if scratch.is_null() { None } else { Some(raw::buffer(scratch)?) };
        let is_ours = |buffer: &OpenClBuffer| {
            self.kernels.with_dependent(|_, runtime| runtime.device().owns(buffer))
        };
        if !scratch.as_ref().is_none_or(is_ours) {
            return Err(DeviceError::Foreign("buffer").into());
        }
        self.scratch = scratch;
        Ok(())
    }

    /// The kernel that a call would launch, and its name; the universal one where there is nothing to do.
    ///
    /// # Errors
    /// The class was not shipped, or no buffers hold the matrices.
    pub(crate) fn select(&self, shape: &Asked) -> Result<(KernelId, String), Failure> {
        let problem = shape.packed()?;
        self.kernels.with_dependent(|_, runtime| {
            let id =
                runtime.select(&problem, self.scratch.as_ref())?.unwrap_or(KernelId::UNIVERSAL);
            Ok((id, explain::name(runtime, id)))
        })
    }

    /// Why.
    ///
    /// # Errors
    /// As [`Self::select`].
    pub(crate) fn explain(&self, shape: &Asked) -> Result<String, Failure> {
        let problem = shape.packed()?;
        self.kernels.with_dependent(|_, runtime| {
            Ok(explain::text(runtime, &problem, self.scratch.as_ref())?)
        })
    }

    /// Whether the calls to come are timed.
    pub(crate) fn set_timing(&mut self, wanted: bool) {
        self.timing = wanted;
        self.timed = None;
        self.kernels.with_dependent_mut(|_, runtime| {
            runtime.want_events(wanted);
            runtime.want_host_times(wanted);
        });
    }

    /// What the last timed call took; waits for it.
    ///
    /// # Errors
    /// [`Failure::NotTimed`], or the clock gives no time.
    pub(crate) fn times(&self) -> Result<Times, Failure> {
        let call = self.timed.as_ref().ok_or(Failure::NotTimed)?;
        let device = self.kernels.with_dependent(|_, runtime| runtime.nanoseconds(call))?;
        let HostTimes { select, arguments, enqueue } = call.host;
        let [select, arguments, enqueue] = [select, arguments, enqueue].map(nanoseconds);
        Ok(Times { select, arguments, enqueue, device })
    }
}

/// The buffers of a problem, for a call; `None` if there are none, and none are needed. Where A or B is not
/// read, C stands in for it.
fn lent(problem: &Problem, buffers: [cl_mem; 3]) -> Result<Option<[OpenClBuffer; 3]>, Failure> {
    let needs = problem.buffer_lengths()?;
    for ((name, buffer), need) in ["A", "B", "C"].into_iter().zip(buffers).zip(needs) {
        if buffer.is_null() && need > 0 {
            return Err(Failure::Argument(format!("the buffer of {name} is NULL")));
        }
    }
    let [a, b, c] = buffers;
    if c.is_null() {
        return Ok(None);
    }
    let or_c = |buffer: cl_mem| raw::lent(if buffer.is_null() { c } else { buffer });
    Ok(Some([or_c(a)?, or_c(b)?, raw::lent(c)?]))
}

/// A call that launches nothing.
fn nothing(done: Option<OpenClEvent>) -> Call<OpenClEvent> {
    Call { kernel: None, events: Events::new(), done, host: HostTimes::default() }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
