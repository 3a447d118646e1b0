//! The bundle as it ships: its tree chooses the kernel, scratch memory is reserved before.

use device_runtime::Device;
use selector_core::KernelId;

use super::{Peer, Stage, Task};

#[derive(Default)]
struct Ours {
    configuration: String,
}

pub(super) fn open(_stage: &Stage<'_>) -> anyhow::Result<Box<dyn Peer>> {
    Ok(Box::<Ours>::default())
}

impl Peer for Ours {
    fn version(&self) -> String {
        version()
    }

    fn begin(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        let mut runtime = stage.runtime();
        let bytes = runtime.scratch_bytes(&task.problem)?;
        runtime.reserve(bytes)?;
        let call = runtime.gemm(task.problem, task.matrices())?;
        runtime.device().finish()?;
        let id = call.kernel.unwrap_or(KernelId::UNIVERSAL);
        self.configuration = runtime.configurations()[usize::from(id.0)].to_string();
        Ok(())
    }

    fn configuration(&self) -> String {
        self.configuration.clone()
    }

    fn enqueue(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        stage.runtime().gemm(task.problem, task.matrices())?;
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
        runtime.gemm(task.problem, task.matrices())?;
        runtime.want_events(true);
        let call = runtime.gemm(task.problem, task.matrices())?;
        runtime.want_events(false);
        runtime.device().finish()?;
        Ok(Some(runtime.nanoseconds(&call)?))
    }
}

/// The version of the kernels, whatever chooses among them.
pub(super) fn version() -> String {
    let space = kernels::space::hash();
    format!("gemmtree {}, kernel space {space:016x}", env!("CARGO_PKG_VERSION"))
}
