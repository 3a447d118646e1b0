//! Every kernel of a loaded bundle against the reference, on odd shapes.

use bytemuck::Pod;
use half::f16;
use kernels::reference::Element;
use selector_core::{ElementType, KernelId, ProblemClass};

use super::Wrong;
use super::cases::{Pool, seeded};
use super::guard::Guarded;
use crate::{Device, Runtime, RuntimeError};

/// Problems for each kernel and class.
const PROBLEMS: usize = 60;
/// Largest size of a problem.
const LARGEST: u32 = 70;

/// What a kernel did.
#[derive(Clone, Debug)]
pub struct KernelReport {
    /// The kernel.
    pub id: KernelId,
    /// Its configuration.
    pub configuration: String,
    /// The class.
    pub class: ProblemClass,
    /// Problems computed; 0 if the device cannot run the kernel.
    pub problems: usize,
    /// The largest error as a share of its bound, or what is wrong.
    pub outcome: Result<f64, Box<Wrong>>,
}

/// Check every kernel of every class that was shipped; `report` is told each as it is done.
///
/// # Errors
/// The driver refused something; a wrong result is no error but an outcome.
pub fn check_bundle<D: Device>(
    runtime: &mut Runtime<'_, D>,
    seed: u64,
    mut report: impl FnMut(KernelReport),
) -> Result<(), RuntimeError> {
    let names: Vec<String> = runtime.configurations().iter().map(ToString::to_string).collect();
    for class in ProblemClass::all() {
        let Some(usable) = runtime.usable(class) else { continue };
        for (id, configuration) in (0..).map(KernelId).zip(&names) {
            let (problems, outcome) = if !usable.contains(id) {
                (0, Ok(0.0))
            } else if class.element() == ElementType::F32 {
                (PROBLEMS, check_kernel::<D, f32>(runtime, id, class, seed)?)
            } else {
                (PROBLEMS, check_kernel::<D, f16>(runtime, id, class, seed)?)
            };
            let outcome = outcome.map_err(|mut wrong| {
                wrong.kernel.clone_from(configuration);
                wrong
            });
            report(KernelReport {
                id,
                configuration: configuration.clone(),
                class,
                problems,
                outcome,
            });
        }
    }
    Ok(())
}

fn check_kernel<D: Device, T: Element + Pod>(
    runtime: &mut Runtime<'_, D>,
    id: KernelId,
    class: ProblemClass,
    seed: u64,
) -> Result<Result<f64, Box<Wrong>>, RuntimeError> {
    let problems = seeded(class, PROBLEMS, LARGEST, seed);
    let pool = Pool::<T, D::Buffer>::new(runtime.device(), &problems, seed)?;
    let wrong = |problem, mismatch| Box::new(Wrong { kernel: String::new(), problem, mismatch });
    let mut scratch = Guarded::new();
    for problem in &pool.problems {
        let need = runtime.scratch_bytes_with(id, problem)?;
        let memory = scratch.fill(runtime.device(), need)?;
        runtime.gemm_with_scratch(id, *problem, pool.buffers.each_ref(), memory)?;
        if let Some(mismatch) = scratch.written_beyond(runtime.device(), need)? {
            return Ok(Err(wrong(*problem, mismatch)));
        }
    }
    Ok(pool.compare(runtime.device())?.map_err(|found| wrong(found.0, found.1)))
}
