//! The kernel of the bundle's list that is fastest for a shape here, found by trying each.

use std::time::Instant;

use anyhow::Context;
use device_runtime::Device;
use selector_core::{KernelId, KernelMask};

use super::stage::CLASS;
use super::{Peer, Stage, Task, ours};

/// Calls of a trial; the first trial tells how slow a kernel is.
const CALLS: u32 = 4;
/// Kernels that are tried more closely.
const FINALISTS: usize = 3;
/// Trials of each of them.
const TRIALS: u32 = 5;

struct Best {
    kernel: KernelId,
    configuration: String,
}

pub(super) fn open(_stage: &Stage<'_>) -> anyhow::Result<Box<dyn Peer>> {
    Ok(Box::new(Best { kernel: KernelId::UNIVERSAL, configuration: String::new() }))
}

impl Peer for Best {
    fn version(&self) -> String {
        ours::version()
    }

    fn begin(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        let mut tried = Vec::new();
        for id in candidates(stage, task) {
            // The first call pays for what the driver does late.
            if seconds(stage, task, id, 1).is_ok()
                && let Ok(time) = seconds(stage, task, id, 1)
            {
                tried.push((time, id));
            }
        }
        tried.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        tried.truncate(FINALISTS);
        let mut finals = Vec::new();
        for (_, id) in tried {
            let mut least = f64::INFINITY;
            for _ in 0..TRIALS {
                least = least.min(seconds(stage, task, id, CALLS)?);
            }
            finals.push((least, id));
        }
        let best = finals.into_iter().min_by(|(one, _), (other, _)| one.total_cmp(other));
        let (_, id) = best.context("no kernel of the bundle can run")?;
        self.kernel = id;
        self.configuration = stage.runtime().configurations()[usize::from(id.0)].to_string();
        Ok(())
    }

    fn configuration(&self) -> String {
        self.configuration.clone()
    }

    fn enqueue(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        stage.runtime().gemm_with(self.kernel, task.problem, task.matrices())?;
        Ok(())
    }

    fn finish(&mut self, stage: &Stage<'_>) -> anyhow::Result<()> {
        stage.finish()
    }

    fn result(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<Vec<f32>> {
        stage.read(task)
    }

    fn device_nanoseconds(
        &mut self,
        stage: &Stage<'_>,
        task: &Task,
    ) -> anyhow::Result<Option<u64>> {
        let mut runtime = stage.runtime();
        runtime.gemm_with(self.kernel, task.problem, task.matrices())?;
        runtime.want_events(true);
        let call = runtime.gemm_with(self.kernel, task.problem, task.matrices())?;
        runtime.want_events(false);
        runtime.device().finish()?;
        Ok(Some(runtime.nanoseconds(&call)?))
    }
}

/// The kernels of the list that can run here; their scratch memory is reserved afterwards. The
/// universal kernel only if there is no other: it is far too slow to be tried on large shapes.
fn candidates(stage: &Stage<'_>, task: &Task) -> Vec<KernelId> {
    let mut runtime = stage.runtime();
    let usable = runtime.usable(CLASS).unwrap_or(KernelMask::NONE);
    let count = runtime.configurations().len();
    let ids = (1..count).map(|id| KernelId(id as u8)).filter(|id| usable.contains(*id));
    let mut fit = Vec::new();
    for id in ids {
        let bytes = runtime.scratch_bytes_with(id, &task.problem);
        if bytes.is_ok_and(|bytes| runtime.reserve(bytes).is_ok()) {
            fit.push(id);
        }
    }
    if fit.is_empty() {
        fit.push(KernelId::UNIVERSAL);
    }
    fit
}

/// Seconds of a call, mean of `calls` made back to back.
fn seconds(stage: &Stage<'_>, task: &Task, id: KernelId, calls: u32) -> anyhow::Result<f64> {
    let mut runtime = stage.runtime();
    let begun = Instant::now();
    for _ in 0..calls {
        runtime.gemm_with(id, task.problem, task.matrices())?;
    }
    runtime.device().finish()?;
    Ok(begun.elapsed().as_secs_f64() / f64::from(calls))
}
