//! OpenBLAS through its C interface, on CPU devices: on as many threads as these have compute
//! units; the matrices of a batch one after the other.
#![expect(unsafe_code, reason = "the library is called through its C interface")]

use std::ffi::{CStr, c_char, c_int};

use anyhow::ensure;
use device_runtime::shared_library as library;
use kernels::Problem;

use super::{Peer, Stage, Task};

const NAMES: [&str; 2] = ["libopenblas.so.0", "libopenblas.so"];
const ROW_MAJOR: c_int = 101;
const NOT_TRANSPOSED: c_int = 111;

type Sgemm = unsafe extern "C" fn(
    order: c_int,
    transpose_a: c_int,
    transpose_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: f32,
    a: *const f32,
    leading_a: c_int,
    b: *const f32,
    leading_b: c_int,
    beta: f32,
    c: *mut f32,
    leading_c: c_int,
);

struct OpenBlas {
    version: String,
    sgemm: Sgemm,
    c: Vec<f32>,
}

pub(super) fn open(stage: &Stage<'_>) -> anyhow::Result<Box<dyn Peer>> {
    ensure!(stage.is_cpu(), "the device is no CPU");
    let found = library::find(&stage.places().openblas, &NAMES, &[])?;
    let threads = stage.info().compute_units;
    // SAFETY: the types are those of the library's C header; its text is never freed.
    let (sgemm, version) = unsafe {
        let set: unsafe extern "C" fn(c_int) =
            library::function(found.library, "openblas_set_num_threads")?;
        let describe: unsafe extern "C" fn() -> *const c_char =
            library::function(found.library, "openblas_get_config")?;
        set(c_int::try_from(threads)?);
        let sgemm: Sgemm = library::function(found.library, "cblas_sgemm")?;
        (sgemm, CStr::from_ptr(describe()).to_string_lossy().trim().to_owned())
    };
    let version = format!("{version}, {threads} threads");
    Ok(Box::new(OpenBlas { version, sgemm, c: Vec::new() }))
}

impl Peer for OpenBlas {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn begin(&mut self, _stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        self.c = vec![0.0; task.elements_of_c()];
        Ok(())
    }

    fn enqueue(&mut self, _stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        let Problem { shape, alpha, beta, a: of_a, b: of_b, c: of_c, .. } = task.problem;
        let (m, n, k) = (shape.m.try_into()?, shape.n.try_into()?, shape.k.try_into()?);
        let [lead_a, lead_b, lead_c] = [of_a, of_b, of_c].map(|matrix| matrix.leading as c_int);
        let parts = task.a.chunks_exact(of_a.stride as usize);
        let parts = parts.zip(task.b.chunks_exact(of_b.stride as usize));
        let parts = parts.zip(self.c.chunks_exact_mut(of_c.stride as usize));
        let no = NOT_TRANSPOSED;
        for ((a, b), c) in parts {
            let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
            // SAFETY: each slice is one dense matrix of the size announced.
            unsafe {
                (self.sgemm)(
                    ROW_MAJOR, no, no, m, n, k, alpha, a, lead_a, b, lead_b, beta, c, lead_c,
                );
            }
        }
        Ok(())
    }

    fn finish(&mut self, _stage: &Stage<'_>) -> anyhow::Result<()> {
        Ok(())
    }

    fn clear(&mut self, _stage: &Stage<'_>, _task: &mut Task) -> anyhow::Result<()> {
        self.c.fill(f32::NAN);
        Ok(())
    }

    fn result(&mut self, _stage: &Stage<'_>, _task: &Task) -> anyhow::Result<Vec<f32>> {
        Ok(self.c.clone())
    }
}
