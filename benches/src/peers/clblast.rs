//! CLBlast, on the stage's queue and buffers: as shipped, and with parameters that its own
//! tuners found on the device (`benches/peers/tune-clblast.sh`).
#![expect(unsafe_code, reason = "the library is called through its C interface")]

use std::ptr;

use anyhow::Context;
use cl3::types::cl_event;
use device_runtime::clblast::Clblast;

use super::stage::Event;
use super::{Peer, Stage, Task};

pub(super) fn open(stage: &Stage<'_>) -> anyhow::Result<Box<dyn Peer>> {
    Ok(Box::new(Clblast::shipped(&stage.places().clblast)?))
}

pub(super) fn open_tuned(stage: &Stage<'_>) -> anyhow::Result<Box<dyn Peer>> {
    let path = stage.places().clblast_parameters.as_deref();
    let path = path.context("no parameters are given; benches/peers/tune-clblast.sh finds them")?;
    let places = &stage.places().clblast;
    // SAFETY: the device is the stage's.
    let clblast = unsafe { Clblast::tuned(places, path, stage.device(), &stage.info().name)? };
    Ok(Box::new(clblast))
}

/// Enqueue a multiplication; `event` may be null.
fn call(
    clblast: &Clblast,
    stage: &Stage<'_>,
    task: &Task,
    event: *mut cl_event,
) -> anyhow::Result<()> {
    // SAFETY: queue and buffers live in stage and task, and hold the problem.
    unsafe { clblast.gemm(stage.queue(), &task.problem, task.memory(), event)? };
    Ok(())
}

impl Peer for Clblast {
    fn version(&self) -> String {
        Self::version(self).to_owned()
    }

    fn begin(&mut self, _stage: &Stage<'_>, _task: &Task) -> anyhow::Result<()> {
        Ok(())
    }

    fn enqueue(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        call(self, stage, task, ptr::null_mut())
    }

    /// A call may be several kernels, of which the library gives the last one's event: the time is
    /// from the end of a marker before them, which waits behind another call.
    fn device_nanoseconds(
        &mut self,
        stage: &Stage<'_>,
        task: &Task,
    ) -> anyhow::Result<Option<u64>> {
        stage.recording(|| {
            call(self, stage, task, ptr::null_mut())?;
            let before = stage.marker()?;
            let mut event = ptr::null_mut();
            call(self, stage, task, &raw mut event)?;
            let last = Event(event);
            stage.finish()?;
            Ok(last.end()?.checked_sub(before.end()?))
        })
    }
}
