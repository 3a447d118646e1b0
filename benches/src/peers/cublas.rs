//! cuBLAS in plain f32, on the CUDA device that has the OpenCL device's name.
//!
//! The driver's interface allocates and copies, so that no CUDA runtime is needed besides what
//! cuBLAS itself brings.
#![expect(unsafe_code, reason = "the libraries are called through their C interface")]

use std::env;
use std::ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_void};
use std::path::Path;
use std::ptr;

use anyhow::{bail, ensure};
use device_runtime::shared_library as library;
use kernels::Problem;

use super::{Peer, Stage, Task};

const NAMES: [&str; 4] = ["libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"];
/// What it needs and may lie beside it.
const NEEDED: [&str; 3] = ["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"];
const DRIVER: [&str; 2] = ["libcuda.so.1", "libcuda.so"];
/// Lets every product be rounded, whatever the mode.
const FORCES_TF32: &str = "NVIDIA_TF32_OVERRIDE";
const NOT_TRANSPOSED: c_int = 0;
/// f32 is multiplied as f32, not in a narrower type.
const DEFAULT_MATH: c_int = 0;

type Address = u64;
type Handle = *mut c_void;

type StridedBatched = unsafe extern "C" fn(
    handle: Handle,
    transpose_a: c_int,
    transpose_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const f32,
    a: Address,
    leading_a: c_int,
    stride_a: c_longlong,
    b: Address,
    leading_b: c_int,
    stride_b: c_longlong,
    beta: *const f32,
    c: Address,
    leading_c: c_int,
    stride_c: c_longlong,
    batch: c_int,
) -> c_int;

type Sgemm = unsafe extern "C" fn(
    handle: Handle,
    transpose_a: c_int,
    transpose_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const f32,
    a: Address,
    leading_a: c_int,
    b: Address,
    leading_b: c_int,
    beta: *const f32,
    c: Address,
    leading_c: c_int,
) -> c_int;

/// What is used of the driver; no call to it is timed but `synchronize`.
struct Driver {
    allocate: unsafe extern "C" fn(*mut Address, usize) -> c_int,
    free: unsafe extern "C" fn(Address) -> c_int,
    to_device: unsafe extern "C" fn(Address, *const c_void, usize) -> c_int,
    to_host: unsafe extern "C" fn(*mut c_void, Address, usize) -> c_int,
    synchronize: unsafe extern "C" fn() -> c_int,
}

struct Cublas {
    version: String,
    driver: &'static Driver,
    handle: Handle,
    one: Sgemm,
    batched: StridedBatched,
    matrices: Option<[Memory; 3]>,
}

/// Memory of the CUDA device.
struct Memory {
    address: Address,
    bytes: usize,
    driver: &'static Driver,
}

pub(super) fn open(stage: &Stage<'_>) -> anyhow::Result<Box<dyn Peer>> {
    if env::var(FORCES_TF32).is_ok_and(|value| value != "0") {
        bail!("{FORCES_TF32} is set, so that its products would be rounded; unset it");
    }
    let driver = open_driver(&stage.info().name)?;
    let found = library::find(&stage.places().cublas, &NAMES, &NEEDED)?;
    // SAFETY: the types are those of the library's C header, the same since version 11.
    let (create, math, version, one, batched) = unsafe {
        let create: unsafe extern "C" fn(*mut Handle) -> c_int =
            library::function(found.library, "cublasCreate_v2")?;
        let math: unsafe extern "C" fn(Handle, c_int) -> c_int =
            library::function(found.library, "cublasSetMathMode")?;
        let version: unsafe extern "C" fn(Handle, *mut c_int) -> c_int =
            library::function(found.library, "cublasGetVersion_v2")?;
        let one: Sgemm = library::function(found.library, "cublasSgemm_v2")?;
        let batched: StridedBatched =
            library::function(found.library, "cublasSgemmStridedBatched")?;
        (create, math, version, one, batched)
    };
    let (mut handle, mut number) = (ptr::null_mut(), 0);
    // SAFETY: a context is current; the pointers are to variables of the types announced.
    unsafe {
        done("cublasCreate", create(&raw mut handle))?;
        done("cublasSetMathMode", math(handle, DEFAULT_MATH))?;
        done("cublasGetVersion", version(handle, &raw mut number))?;
    }
    let version = format!("cuBLAS {number}, f32 without TF32, {}", shown(&found.path));
    Ok(Box::new(Cublas { version, driver, handle, one, batched, matrices: None }))
}

fn shown(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The driver, with the primary context of the device called `name` current.
fn open_driver(name: &str) -> anyhow::Result<&'static Driver> {
    let found = library::find(&[], &DRIVER, &[])?;
    let library = found.library;
    let mut names = Vec::new();
    // SAFETY: the types are those of the driver's C header; what is pointed to outlives each call.
    unsafe {
        let start: unsafe extern "C" fn(c_uint) -> c_int = library::function(library, "cuInit")?;
        let count: unsafe extern "C" fn(*mut c_int) -> c_int =
            library::function(library, "cuDeviceGetCount")?;
        let describe: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int =
            library::function(library, "cuDeviceGetName")?;
        let retain: unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int =
            library::function(library, "cuDevicePrimaryCtxRetain")?;
        let make_current: unsafe extern "C" fn(*mut c_void) -> c_int =
            library::function(library, "cuCtxSetCurrent")?;
        done("cuInit", start(0))?;
        let mut devices = 0;
        done("cuDeviceGetCount", count(&raw mut devices))?;
        for device in 0..devices {
            let mut text = [0; 256];
            done("cuDeviceGetName", describe(text.as_mut_ptr(), 255, device))?;
            let here = CStr::from_ptr(text.as_ptr()).to_string_lossy().trim().to_owned();
            if here == name {
                let mut context = ptr::null_mut();
                done("cuDevicePrimaryCtxRetain", retain(&raw mut context, device))?;
                done("cuCtxSetCurrent", make_current(context))?;
                return Ok(Box::leak(Box::new(Driver {
                    allocate: library::function(library, "cuMemAlloc_v2")?,
                    free: library::function(library, "cuMemFree_v2")?,
                    to_device: library::function(library, "cuMemcpyHtoD_v2")?,
                    to_host: library::function(library, "cuMemcpyDtoH_v2")?,
                    synchronize: library::function(library, "cuCtxSynchronize")?,
                })));
            }
            names.push(here);
        }
    }
    bail!("no CUDA device is called `{name}`; there are: {}", names.join(", "))
}

fn done(call: &str, status: c_int) -> anyhow::Result<()> {
    ensure!(status == 0, "{call} returns {status}");
    Ok(())
}

impl Memory {
    /// As many elements as `values`, and their values.
    fn filled(driver: &'static Driver, values: &[f32]) -> anyhow::Result<Self> {
        let (mut address, bytes) = (0, size_of_val(values));
        // SAFETY: the address is written to a variable that outlives the call.
        done("cuMemAlloc", unsafe { (driver.allocate)(&raw mut address, bytes) })?;
        let memory = Self { address, bytes, driver };
        memory.write(values)?;
        Ok(memory)
    }

    /// Copy `values` to its beginning.
    fn write(&self, values: &[f32]) -> anyhow::Result<()> {
        let bytes = size_of_val(values);
        ensure!(bytes <= self.bytes, "more values than the memory holds");
        let values = values.as_ptr().cast();
        // SAFETY: the memory is as large as what is copied to it.
        done("cuMemcpyHtoD", unsafe { (self.driver.to_device)(self.address, values, bytes) })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was allocated by this driver and is freed once. A failure leaks it.
        let _ = unsafe { (self.driver.free)(self.address) };
    }
}

impl Peer for Cublas {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn begin(&mut self, _stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        // The old matrices go first: there may not be room for both.
        self.matrices = None;
        let c = vec![0.0; task.elements_of_c()];
        let filled = |values| Memory::filled(self.driver, values);
        self.matrices = Some([filled(&task.a)?, filled(&task.b)?, filled(&c)?]);
        Ok(())
    }

    /// It is column-major: with A and B exchanged, and m and n, its C is the row-major one.
    fn enqueue(&mut self, _stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        let Some([a, b, c]) = &self.matrices else { bail!("no matrices") };
        let Problem { shape, alpha, beta, a: of_a, b: of_b, c: of_c, .. } = task.problem;
        let number = |value: u32| c_int::try_from(value);
        let (m, n, k) = (number(shape.m)?, number(shape.n)?, number(shape.k)?);
        let batch = number(shape.batch)?;
        let [lead_a, lead_b, lead_c] = [of_a, of_b, of_c].map(|matrix| matrix.leading as c_int);
        let [step_a, step_b, step_c] = [of_a, of_b, of_c].map(|matrix| matrix.stride as c_longlong);
        let (alpha, beta, no) = (&raw const alpha, &raw const beta, NOT_TRANSPOSED);
        let (a, b, c) = (a.address, b.address, c.address);
        // SAFETY: the matrices hold the problem; the factors are read before the call returns.
        let status = unsafe {
            if batch == 1 {
                (self.one)(
                    self.handle,
                    no,
                    no,
                    n,
                    m,
                    k,
                    alpha,
                    b,
                    lead_b,
                    a,
                    lead_a,
                    beta,
                    c,
                    lead_c,
                )
            } else {
                (self.batched)(
                    self.handle,
                    no,
                    no,
                    n,
                    m,
                    k,
                    alpha,
                    b,
                    lead_b,
                    step_b,
                    a,
                    lead_a,
                    step_a,
                    beta,
                    c,
                    lead_c,
                    step_c,
                    batch,
                )
            }
        };
        done("cublasSgemm", status)
    }

    fn finish(&mut self, _stage: &Stage<'_>) -> anyhow::Result<()> {
        // SAFETY: a context is current.
        done("cuCtxSynchronize", unsafe { (self.driver.synchronize)() })
    }

    fn clear(&mut self, _stage: &Stage<'_>, task: &mut Task) -> anyhow::Result<()> {
        let Some([_, _, c]) = &self.matrices else { bail!("no matrices") };
        c.write(&vec![f32::NAN; task.elements_of_c()])
    }

    fn result(&mut self, _stage: &Stage<'_>, task: &Task) -> anyhow::Result<Vec<f32>> {
        let Some([_, _, c]) = &self.matrices else { bail!("no matrices") };
        let mut values = vec![0.0_f32; task.elements_of_c()];
        let bytes = size_of_val(&values[..]);
        // SAFETY: C has as many elements; the copy is waited for.
        let status = unsafe { (self.driver.to_host)(values.as_mut_ptr().cast(), c.address, bytes) };
        done("cuMemcpyDtoH", status)?;
        Ok(values)
    }
}
