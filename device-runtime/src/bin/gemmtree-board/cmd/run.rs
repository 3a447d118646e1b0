//! `gemmtree-board run`: one multiplication through the selector, checked.

use std::fmt;
use std::time::{Duration, Instant};

use ::half::f16;
use anyhow::Context;
use bytemuck::Pod;
use device_runtime::overhead::Quantiles;
use device_runtime::steady::{Steady, ToldBy};
use device_runtime::{Device, DeviceError, DeviceInfo, HostTimes, OpenCl, Runtime};
use kernels::Problem;
use kernels::reference::{Element, Expectation, values};
use selector_core::{ElementType, GemmShape, ProblemClass};
use serde::Serialize;

use super::standing::{BundleArgs, Told};
use super::{DeviceArgs, half};
use crate::output::Output;

/// Above this many operations the reference would take too long.
const CHECKED_FLOP: f64 = 4e8;
/// Calls of the steady state.
const STEADY_CALLS: u32 = 7;

/// Multiply once, with the kernel that the model chooses
#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("from").required(true).args(["bundle", "bundles"]),
    after_help = "Examples:\n  gemmtree-board run --bundle current.gtb --shape 784x1152x256\n  \
                  gemmtree-board run --bundles bundles/ --shape 784x1152x256 --refresh"
)]
pub(crate) struct Args {
    #[command(flatten)]
    from: BundleArgs,
    /// Sizes of the multiplication
    #[arg(long, value_name = "MxKxN[xBATCH]")]
    shape: GemmShape,
    /// Precision (f32, f16, or f16h, which may compute in 16 bits) and transposes
    #[arg(long, default_value_t = ProblemClass::F32_NN)]
    class: ProblemClass,
    #[command(flatten)]
    device: DeviceArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let (device, standing) = args.from.stand(&args.device, &[args.class], out)?;
    let mut runtime = standing.load(device)?;
    if let Some(warning) = half::warning(&runtime.device().info().into(), [args.class]) {
        out.note(warning);
    }
    match args.class.element() {
        ElementType::F32 => multiply::<f32>(args, &mut runtime, standing.told(), out),
        ElementType::F16 => multiply::<f16>(args, &mut runtime, standing.told(), out),
    }
}

fn multiply<T: Element + Pod>(
    args: &Args,
    runtime: &mut Runtime<'_, OpenCl>,
    told: Told,
    out: &mut Output,
) -> anyhow::Result<()> {
    let problem = Problem::packed(args.class, args.shape);
    let (a, b, before) = inputs::<T>(&problem, runtime.device().info())?;
    let [buffer_a, buffer_b, buffer_c] = buffers(runtime.device(), [&a, &b, &before])?;
    runtime.reserve(runtime.scratch_bytes(&problem)?)?;
    // The first call pays for what the driver does late.
    let begun = Instant::now();
    runtime.gemm(problem, [&buffer_a, &buffer_b, &buffer_c])?;
    runtime.device().finish()?;
    let cold_ns = nanoseconds(begun.elapsed());
    runtime.want_host_times(true);
    let call = runtime.gemm(problem, [&buffer_a, &buffer_b, &buffer_c])?;
    runtime.device().finish()?;
    runtime.want_host_times(false);
    let steady =
        Steady::measure(runtime, problem, [&buffer_a, &buffer_b, &buffer_c], STEADY_CALLS)?;
    let device_ns = Quantiles::of(steady.samples).median_ns;
    let checked = check(runtime, problem, [&a, &b, &before], &buffer_c)?;
    out.result(&Done {
        event: "done",
        shape: args.shape.to_string(),
        class: args.class.to_string(),
        kernel: call.kernel.map(|id| id.0),
        configuration: call.kernel.and_then(|id| {
            runtime.configurations().get(usize::from(id.0)).map(ToString::to_string)
        }),
        cold_ns,
        host_ns: host_ns(call.host),
        device_ns,
        told_by: steady.told_by,
        gflops: args.shape.flop() / (device_ns.max(1) as f64),
        checked,
        told,
    })
}

fn host_ns(host: HostTimes) -> u64 {
    nanoseconds(host.select + host.arguments + host.enqueue)
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

type Matrices<T> = (Vec<T>, Vec<T>, Vec<T>);

/// Seeded A and B, and a C of NaN, which must vanish.
pub(super) fn inputs<T: Element>(
    problem: &Problem,
    device: &DeviceInfo,
) -> anyhow::Result<Matrices<T>> {
    let batch = u64::from(problem.shape.batch);
    let length = |stride: u64| {
        let elements = stride.saturating_mul(batch);
        let (need, have) = (elements.saturating_mul(size_of::<T>() as u64), device.largest_buffer);
        if need > have {
            return Err(DeviceError::LargestBuffer { what: "a matrix", need, have });
        }
        usize::try_from(elements).map_err(|_| DeviceError::TooLarge("a matrix"))
    };
    let (a, b) = (length(problem.a.stride)?, length(problem.b.stride)?);
    let filled = |length, seed| -> Vec<T> {
        values(length, seed).into_iter().map(|value| T::nearest(f64::from(value))).collect()
    };
    Ok((filled(a, 1), filled(b, 2), vec![T::nearest(f64::NAN); length(problem.c.stride)?]))
}

pub(super) fn buffers<T: Pod, const N: usize>(
    device: &OpenCl,
    matrices: [&Vec<T>; N],
) -> anyhow::Result<[<OpenCl as Device>::Buffer; N]> {
    let mut buffers = Vec::new();
    for matrix in matrices {
        let mut buffer = device.allocate(size_of_val(&matrix[..]) as u64)?;
        device.write(&mut buffer, bytemuck::cast_slice(matrix))?;
        buffers.push(buffer);
    }
    buffers.try_into().ok().context("as many buffers as matrices")
}

/// Compare with the reference, unless that would take too long.
fn check<T: Element + Pod>(
    runtime: &Runtime<'_, OpenCl>,
    problem: Problem,
    [a, b, before]: [&[T]; 3],
    c: &<OpenCl as Device>::Buffer,
) -> anyhow::Result<bool> {
    if problem.shape.flop() > CHECKED_FLOP {
        return Ok(false);
    }
    let mut after = before.to_vec();
    runtime.device().read(c, bytemuck::cast_slice_mut(&mut after))?;
    let checked = problem.check(a.len() as u64, b.len() as u64, before.len() as u64)?;
    let mut expectation = Expectation::new(before);
    expectation.add(&checked, a, b);
    expectation.check(&after).context("the result is wrong")?;
    Ok(true)
}

#[derive(Serialize)]
struct Done {
    event: &'static str,
    shape: String,
    class: String,
    kernel: Option<u8>,
    configuration: Option<String>,
    /// Cold start: the first call, until its result is there.
    cold_ns: u64,
    /// Launch: host time of a later call, until it is enqueued.
    host_ns: u64,
    /// Steady state: a later call on the device.
    device_ns: u64,
    /// Whose clock told the last.
    told_by: ToldBy,
    gflops: f64,
    checked: bool,
    #[serde(flatten)]
    told: Told,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.configuration.as_deref().unwrap_or("nothing to do");
        let verdict = if self.checked { "right" } else { "too large to check" };
        write!(
            f,
            "{} {}: kernel {} ({name}), {:.1} µs on the device ({:.1} GFLOP/s), {:.1} µs on the host, the first \
             call {:.1} µs, {verdict}",
            self.shape,
            self.class,
            self.kernel.unwrap_or(0),
            self.device_ns as f64 / 1e3,
            self.gflops,
            self.host_ns as f64 / 1e3,
            self.cold_ns as f64 / 1e3,
        )?;
        if self.told_by == ToldBy::Host {
            f.write_str(", by the host's clock")?;
        }
        write!(f, ", {}", self.told)
    }
}
