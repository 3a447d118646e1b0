//! The bundle as it ships: its tree chooses the kernel, scratch memory is reserved before.

use anyhow::ensure;
use device_runtime::Device;
use selector_core::KernelId;

use super::{Peer, Stage, Task};

#[derive(Default)]
struct Ours {
    kernel: Option<KernelId>,
    configuration: String,
}

pub(super) fn open(_stage: &Stage<'_>) -> anyhow::Result<Box<dyn Peer>> {
    Ok(Box::<Ours>::default())
}

/// Reserve what the kernel that the tree chooses wants; which kernel that is.
pub(super) fn chosen(stage: &Stage<'_>, task: &Task) -> anyhow::Result<KernelId> {
    let mut runtime = stage.runtime();
    let bytes = runtime.scratch_bytes(&task.problem)?;
    runtime.reserve(bytes)?;
    let call = runtime.gemm(task.problem, task.matrices())?;
    runtime.device().finish()?;
    Ok(call.kernel.unwrap_or(KernelId::UNIVERSAL))
}

impl Peer for Ours {
    fn version(&self) -> String {
        version()
    }

    fn begin(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        let id = chosen(stage, task)?;
        self.kernel = Some(id);
        self.configuration = stage.configuration(id);
        Ok(())
    }

    fn configuration(&self) -> String {
        self.configuration.clone()
    }

    fn enqueue(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        let call = stage.runtime().gemm(task.problem, task.matrices())?;
        // What is timed is what the row names.
        ensure!(call.kernel == self.kernel, "a call took another kernel than the first");
        Ok(())
    }

    fn device_nanoseconds(
        &mut self,
        stage: &Stage<'_>,
        task: &Task,
    ) -> anyhow::Result<Option<u64>> {
        stage.nanoseconds(|runtime| Ok(runtime.gemm(task.problem, task.matrices())?.events))
    }
}

/// The version of the kernels, whatever chooses among them.
pub(super) fn version() -> String {
    let space = kernels::space::hash();
    format!("gemmtree {}, kernel space {space:016x}", env!("CARGO_PKG_VERSION"))
}
