//! The device that all peers multiply on, and one problem in its memory.
#![expect(unsafe_code, reason = "OpenCL is called through its C interface")]

use std::cell::{RefCell, RefMut};
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use cl3::command_queue::{CL_QUEUE_DEVICE, enqueue_marker_with_wait_list, get_command_queue_info};
use cl3::device::{CL_DEVICE_TYPE, CL_DEVICE_TYPE_CPU, get_device_info};
use cl3::event::{
    CL_PROFILING_COMMAND_END, get_event_profiling_info, release_event, wait_for_events,
};
use cl3::types::{cl_command_queue, cl_device_id, cl_event, cl_mem};
use device_runtime::opencl::OpenClBuffer;
use device_runtime::{Device, DeviceError, DeviceInfo, OpenCl, Runtime};
use kernels::Problem;
use kernels::reference::values;
use rustix::time::{ClockId, clock_gettime};
use selector_core::{GemmShape, KernelId, ProblemClass};

use super::Places;

/// The class that is compared.
pub(super) const CLASS: ProblemClass = ProblemClass::F32_NN;

/// How long it is watched whether other threads are at work.
const WATCH: Duration = Duration::from_millis(12);
/// Threads that take less than this share of a core are at rest.
const AT_REST: f64 = 0.1;
/// Longest wait for them.
const LONGEST: Duration = Duration::from_secs(1);

/// Launches of a call.
pub(super) type Events = device_runtime::Events<<OpenCl as Device>::Event>;

/// A loaded bundle with its device and queue, and where to look for peers.
pub struct Stage<'a> {
    runtime: RefCell<Runtime<'a, OpenCl>>,
    info: DeviceInfo,
    device: cl_device_id,
    is_cpu: bool,
    places: Places,
}

/// A dense problem, alpha 1 and beta 0, with its matrices here and on the device.
pub struct Task {
    pub(super) problem: Problem,
    pub(super) a: Vec<f32>,
    pub(super) b: Vec<f32>,
    /// C is everyone's.
    pub(super) buffers: [OpenClBuffer; 3],
}

/// An event that is given back.
pub(super) struct Event(pub(super) cl_event);

impl<'a> Stage<'a> {
    /// The stage of a loaded bundle. Its queue records no times: what a library does with events of its
    /// own would cost more in one that does.
    ///
    /// # Errors
    /// The driver does not tell what its device is, or has no such queue.
    pub fn new(mut runtime: Runtime<'a, OpenCl>, places: Places) -> anyhow::Result<Self> {
        runtime.device_mut().record_times(false)?;
        let queue = runtime.device().queue();
        let told = |code| anyhow::anyhow!("the driver does not describe its device ({code})");
        let device: isize = get_command_queue_info(queue, CL_QUEUE_DEVICE).map_err(told)?.into();
        let device = device as cl_device_id;
        let kind: u64 = get_device_info(device, CL_DEVICE_TYPE).map_err(told)?.into();
        let is_cpu = kind & CL_DEVICE_TYPE_CPU != 0;
        let info = runtime.device().info().clone();
        Ok(Self { runtime: RefCell::new(runtime), info, device, is_cpu, places })
    }

    /// Which device it is.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Whether the device is this machine's processor.
    #[must_use]
    pub fn is_cpu(&self) -> bool {
        self.is_cpu
    }

    /// The bundle's runtime; what it gives is held for one call only.
    pub(super) fn runtime(&self) -> RefMut<'_, Runtime<'a, OpenCl>> {
        self.runtime.borrow_mut()
    }

    /// The queue, for as long as nothing changes whether it [records](Self::recording) times.
    pub(super) fn queue(&self) -> cl_command_queue {
        self.runtime().device().queue()
    }

    pub(super) fn device(&self) -> cl_device_id {
        self.device
    }

    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    /// The problem of `shape`, its matrices on the device.
    ///
    /// # Errors
    /// They do not fit.
    pub fn task(&self, shape: GemmShape) -> anyhow::Result<Task> {
        let problem = Problem::packed(CLASS, shape);
        let largest = self.info.largest_buffer;
        let lengths = problem.buffer_lengths()?;
        ensure!(!lengths.contains(&0), "nothing to multiply");
        for elements in lengths {
            let need = elements.saturating_mul(4);
            let error = DeviceError::LargestBuffer { what: "a matrix", need, have: largest };
            ensure!(need <= largest, error);
        }
        let [a, b, c] = lengths.map(|elements| elements as usize);
        let (a, b) = (values(a, 1), values(b, 2));
        let runtime = self.runtime();
        let filled = |values: &[f32]| -> anyhow::Result<OpenClBuffer> {
            let mut buffer = runtime.device().allocate(4 * values.len() as u64)?;
            runtime.device().write(&mut buffer, bytemuck::cast_slice(values))?;
            Ok(buffer)
        };
        let buffers = [filled(&a)?, filled(&b)?, filled(&vec![f32::NAN; c])?];
        Ok(Task { problem, a, b, buffers })
    }

    /// Let C hold NaN everywhere.
    pub(super) fn clear(&self, task: &mut Task) -> anyhow::Result<()> {
        let nothing = vec![f32::NAN; task.elements_of_c()];
        let [.., c] = &mut task.buffers;
        Ok(self.runtime().device().write(c, bytemuck::cast_slice(&nothing))?)
    }

    /// What C holds.
    pub(super) fn read(&self, task: &Task) -> anyhow::Result<Vec<f32>> {
        let mut values = vec![0.0; task.elements_of_c()];
        let [.., c] = &task.buffers;
        self.runtime().device().read(c, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// Wait for all that was enqueued.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        Ok(self.runtime().device().finish()?)
    }

    /// The name of a kernel of the bundle.
    pub(super) fn configuration(&self, id: KernelId) -> String {
        let runtime = self.runtime();
        runtime.configurations().get(usize::from(id.0)).map(ToString::to_string).unwrap_or_default()
    }

    /// Nanoseconds on the device of a call that follows another like it.
    pub(super) fn nanoseconds(
        &self,
        mut call: impl FnMut(&mut Runtime<'a, OpenCl>) -> anyhow::Result<Events>,
    ) -> anyhow::Result<Option<u64>> {
        self.recording(|| {
            let mut runtime = self.runtime();
            call(&mut runtime)?;
            let wanted = runtime.want_events(true);
            let events = call(&mut runtime);
            runtime.want_events(wanted);
            runtime.device().finish()?;
            Ok(Some(runtime.device().nanoseconds(&events?)?))
        })
    }

    /// Do something on a queue whose events tell their times, a second one.
    pub(super) fn recording<T>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.runtime().device_mut().record_times(true)?;
        let done = work();
        self.runtime().device_mut().record_times(false)?;
        done
    }

    /// Wait until no thread of this process is at work: on a CPU what still looks for work after its
    /// last call would take the device from whoever is next. Not every system's clock tells; it is at
    /// least a pause.
    pub(super) fn settle(&self) {
        if self.is_cpu {
            settle(LONGEST, || clock_gettime(ClockId::ProcessCPUTime).try_into().ok());
        }
    }

    /// An event that ends when all that was enqueued before has.
    pub(super) fn marker(&self) -> anyhow::Result<Event> {
        // SAFETY: the queue lives in the runtime; the list of events is empty.
        let event = unsafe { enqueue_marker_with_wait_list(self.queue(), 0, ptr::null()) };
        event.map(Event).map_err(|code| anyhow::anyhow!("clEnqueueMarkerWithWaitList: {code}"))
    }
}

/// Wait until less than a share of time passes on the process's own clock, or for `longest`.
fn settle(longest: Duration, clock: impl Fn() -> Option<Duration>) {
    let begun = Instant::now();
    while begun.elapsed() < longest {
        let (before, watched) = (clock(), Instant::now());
        thread::sleep(WATCH);
        let Some((before, after)) = before.zip(clock()) else { return };
        let used = after.saturating_sub(before).as_secs_f64();
        if used < AT_REST * watched.elapsed().as_secs_f64() {
            return;
        }
    }
}

impl Task {
    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> GemmShape {
        self.problem.shape
    }

    /// A, B and C on the device.
    pub(super) fn matrices(&self) -> [&OpenClBuffer; 3] {
        self.buffers.each_ref()
    }

    /// Their memory; alive as long as the task.
    pub(super) fn memory(&self) -> [cl_mem; 3] {
        self.matrices().map(OpenClBuffer::memory)
    }

    pub(super) fn elements_of_c(&self) -> usize {
        let GemmShape { m, n, batch, .. } = self.shape();
        m as usize * n as usize * batch as usize
    }
}

impl Event {
    /// Wait for it; the reading of the device's clock when it ended.
    pub(super) fn end(&self) -> anyhow::Result<u64> {
        wait_for_events(&[self.0]).map_err(|code| anyhow::anyhow!("clWaitForEvents: {code}"))?;
        let end = get_event_profiling_info(self.0, CL_PROFILING_COMMAND_END);
        let end = end.map_err(|code| anyhow::anyhow!("error {code}"));
        Ok(end.context("the device tells no time of an event")?.into())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: this is the only reference of ours. A driver that refuses leaks an event.
        let _ = unsafe { release_event(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn settling_ends_when_the_clock_of_work_stands_still_and_waits_no_longer_than_asked() {
        let asked = Cell::new(0_u32);
        let busy_at_first = || {
            asked.set(asked.get() + 1);
            Some(Duration::from_secs(u64::from(asked.get().min(6))))
        };
        settle(Duration::from_secs(3600), busy_at_first);
        // Six readings differ; the two of the fourth look do not.
        assert_eq!(asked.get(), 8);
        let always_busy = || {
            asked.set(asked.get() + 1);
            Some(Duration::from_secs(u64::from(asked.get())))
        };
        settle(3 * WATCH, always_busy);
        assert!(asked.get() > 8);
        let before = asked.get();
        settle(Duration::ZERO, always_busy);
        assert_eq!(asked.get(), before);
        settle(Duration::from_secs(3600), || None);
    }
}
