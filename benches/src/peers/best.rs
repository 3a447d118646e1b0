//! The kernel of the bundle's list that is fastest for a shape here, found by a race of all.

use anyhow::Context;
use selector_core::{KernelId, KernelMask};

use super::stage::CLASS;
use super::{Peer, Stage, Task, ours, race};

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
        let chosen = ours::chosen(stage, task)?;
        let candidates = candidates(stage, task);
        // Its choice races whatever one call of it took, so that the best is no worse.
        let favourite = candidates.iter().position(|id| *id == chosen);
        let winner = race::fastest(stage, candidates.len(), favourite, |place| {
            stage.runtime().gemm_with(candidates[place], task.problem, task.matrices())?;
            Ok(())
        });
        self.kernel = candidates[winner.context("no kernel of the bundle can run")?];
        self.configuration = stage.configuration(self.kernel);
        Ok(())
    }

    fn configuration(&self) -> String {
        self.configuration.clone()
    }

    fn enqueue(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        stage.runtime().gemm_with(self.kernel, task.problem, task.matrices())?;
        Ok(())
    }

    fn device_nanoseconds(
        &mut self,
        stage: &Stage<'_>,
        task: &Task,
    ) -> anyhow::Result<Option<u64>> {
        stage.nanoseconds(|runtime| {
            Ok(runtime.gemm_with(self.kernel, task.problem, task.matrices())?.events)
        })
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
