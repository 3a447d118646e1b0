//! CLBlast, on the stage's queue and buffers: as shipped, and with parameters that its own
//! tuners found on the device (`benches/peers/tune-clblast.sh`).
#![expect(unsafe_code, reason = "the library is called through its C interface")]

mod parameters;
mod second;

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use anyhow::{Context, ensure};
use cl3::types::{cl_command_queue, cl_event, cl_mem};
use kernels::Problem;

use super::library::{self, Found};
use super::stage::Event;
use super::{Peer, Stage, Task};
use parameters::Parameters;

const NAMES: [&str; 2] = ["libclblast.so.1", "libclblast.so"];
const SUCCESS: c_int = 0;
const ROW_MAJOR: c_int = 101;
const NOT_TRANSPOSED: c_int = 111;
const SINGLE: c_int = 32;

type Sgemm = unsafe extern "C" fn(
    layout: c_int,
    transpose_a: c_int,
    transpose_b: c_int,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a: cl_mem,
    offset_a: usize,
    leading_a: usize,
    b: cl_mem,
    offset_b: usize,
    leading_b: usize,
    beta: f32,
    c: cl_mem,
    offset_c: usize,
    leading_c: usize,
    queue: *mut cl_command_queue,
    event: *mut cl_event,
) -> c_int;

type SgemmStridedBatched = unsafe extern "C" fn(
    layout: c_int,
    transpose_a: c_int,
    transpose_b: c_int,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a: cl_mem,
    offset_a: usize,
    leading_a: usize,
    stride_a: usize,
    b: cl_mem,
    offset_b: usize,
    leading_b: usize,
    stride_b: usize,
    beta: f32,
    c: cl_mem,
    offset_c: usize,
    leading_c: usize,
    stride_c: usize,
    batch: usize,
    queue: *mut cl_command_queue,
    event: *mut cl_event,
) -> c_int;

type OverrideParameters = unsafe extern "C" fn(
    device: *mut c_void,
    kernel: *const c_char,
    precision: c_int,
    count: usize,
    names: *const *const c_char,
    values: *const usize,
) -> c_int;

struct Clblast {
    version: String,
    one: Sgemm,
    batched: SgemmStridedBatched,
}

pub(super) fn open(stage: &Stage<'_>) -> anyhow::Result<Box<dyn Peer>> {
    let found = library::find(&stage.places().clblast, &NAMES, &[])?;
    Ok(Box::new(Clblast::new(&found, version(&found.path))?))
}

pub(super) fn open_tuned(stage: &Stage<'_>) -> anyhow::Result<Box<dyn Peer>> {
    let path = stage.places().clblast_parameters.as_deref();
    let path = path.context("no parameters are given; benches/peers/tune-clblast.sh finds them")?;
    let parameters = Parameters::read(path)?;
    parameters.check_device(&stage.info().name)?;
    let shipped = library::find(&stage.places().clblast, &NAMES, &[])?;
    // A library's parameters are one for all its users, so the tuned one is a library of its own.
    let found = second::load(&shipped)?;
    let clblast = Clblast::new(&found, format!("{}, {parameters}", version(&shipped.path)))?;
    parameters.put(&found, stage)?;
    Ok(Box::new(clblast))
}

/// The file's name after following links: Debian's ends with the version.
fn version(path: &Path) -> String {
    let named = super::library::mapped(path).unwrap_or_else(|| path.to_owned());
    let name = named.file_name().map(|name| name.to_string_lossy().into_owned());
    format!("CLBlast, {}", name.unwrap_or_default())
}

impl Clblast {
    fn new(found: &Found, version: String) -> anyhow::Result<Self> {
        // SAFETY: the types are those of the library's C header, the same since version 1.4.
        let (one, batched) = unsafe {
            (
                library::function(found.library, "CLBlastSgemm")?,
                library::function(found.library, "CLBlastSgemmStridedBatched")?,
            )
        };
        Ok(Self { version, one, batched })
    }

    /// Enqueue a multiplication; `event` may be null.
    fn call(&self, stage: &Stage<'_>, task: &Task, event: *mut cl_event) -> anyhow::Result<()> {
        let Problem { shape, alpha, beta, a, b, c, .. } = task.problem;
        let [m, n, k, batch] =
            [shape.m, shape.n, shape.k, shape.batch].map(|dimension| dimension as usize);
        let [buffer_a, buffer_b, buffer_c] = task.memory();
        let [lead_a, lead_b, lead_c] = [a, b, c].map(|matrix| matrix.leading as usize);
        let [step_a, step_b, step_c] = [a, b, c].map(|matrix| matrix.stride as usize);
        let mut queue = stage.queue();
        let (layout, no) = (ROW_MAJOR, NOT_TRANSPOSED);
        // SAFETY: queue and buffers live in stage and task, and hold the problem.
        let status = unsafe {
            if batch == 1 {
                (self.one)(
                    layout,
                    no,
                    no,
                    m,
                    n,
                    k,
                    alpha,
                    buffer_a,
                    0,
                    lead_a,
                    buffer_b,
                    0,
                    lead_b,
                    beta,
                    buffer_c,
                    0,
                    lead_c,
                    &raw mut queue,
                    event,
                )
            } else {
                (self.batched)(
                    layout,
                    no,
                    no,
                    m,
                    n,
                    k,
                    alpha,
                    buffer_a,
                    0,
                    lead_a,
                    step_a,
                    buffer_b,
                    0,
                    lead_b,
                    step_b,
                    beta,
                    buffer_c,
                    0,
                    lead_c,
                    step_c,
                    batch,
                    &raw mut queue,
                    event,
                )
            }
        };
        ensure!(status == SUCCESS, "CLBlast returns {status}");
        Ok(())
    }
}

impl Peer for Clblast {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn begin(&mut self, _stage: &Stage<'_>, _task: &Task) -> anyhow::Result<()> {
        Ok(())
    }

    fn enqueue(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        self.call(stage, task, ptr::null_mut())
    }

    /// A call may be several kernels, of which the library gives the last one's event: the time is
    /// from the end of a marker before them, which waits behind another call.
    fn device_nanoseconds(
        &mut self,
        stage: &Stage<'_>,
        task: &Task,
    ) -> anyhow::Result<Option<u64>> {
        stage.recording(|| {
            self.call(stage, task, ptr::null_mut())?;
            let before = stage.marker()?;
            let mut event = ptr::null_mut();
            self.call(stage, task, &raw mut event)?;
            let last = Event(event);
            stage.finish()?;
            Ok(last.end()?.checked_sub(before.end()?))
        })
    }
}
