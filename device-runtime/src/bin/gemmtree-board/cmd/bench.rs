//! `gemmtree-board bench`: what a call costs beside what it computes, and what a network takes.

use std::fmt;
use std::path::Path;
use std::time::Instant;

use device_runtime::clblast::Clblast;
use device_runtime::opencl::OpenClBuffer;
use device_runtime::overhead::{self, Overhead, Quantiles};
use device_runtime::steady::ToldBy;
use device_runtime::{Device, DeviceInfo, OpenCl, Runtime};
use kernels::Problem;
use selector_core::{GemmShape, ProblemClass};
use serde::Serialize;

use super::DeviceArgs;
use super::network::{self, NetworkArgs};
use super::run::{buffers, inputs};
use super::standing::{BundleArgs, Told};
use crate::allocations;
use crate::output::Output;

/// Measure what a call costs the host beside the driver's enqueue alone, its parts, and the device; or a
/// whole network
#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("from").required(true).args(["bundle", "bundles"]),
    after_help = "Example:\n  gemmtree-board bench --bundle current.gtb\n  \
                  gemmtree-board bench --bundle current.gtb --network vgg16 --output vgg16.csv"
)]
pub(crate) struct Args {
    #[command(flatten)]
    from: BundleArgs,
    /// Sizes to measure
    #[arg(
        long, value_name = "MxKxN[xBATCH]", num_args = 1..,
        default_values = ["16x16x16", "64x64x64", "128x128x128", "256x256x256", "512x512x512"]
    )]
    shapes: Vec<GemmShape>,
    /// Calls for each
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    network: NetworkArgs,
}

impl Args {
    /// The library beside the driver that was named.
    pub(crate) fn library(&self) -> Option<&Path> {
        self.network.clblast.as_deref()
    }
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    if let Some(name) = &args.network.network {
        network::refuse(name, &args.network)?;
    }
    if args.network.clblast.is_some() {
        // One that was named is there, or nothing is begun.
        Clblast::shipped(args.network.clblast.as_slice())?;
    }
    let (device, standing) = args.from.stand(&args.device, &[ProblemClass::F32_NN], out)?;
    if let Some(name) = &args.network.network {
        return network::run(name, &args.network, &standing, device, out);
    }
    let begun = Instant::now();
    let mut runtime = standing.load(device)?;
    let load_ns = begun.elapsed().as_nanos() as u64;
    let place = args.network.clblast.as_slice();
    let mut clblast = match Clblast::shipped(place) {
        Ok(clblast) => Some(clblast),
        Err(error) if place.is_empty() => {
            out.note(format_args!("note: without CLBlast beside it: {error}"));
            None
        }
        Err(error) => return Err(error.into()),
    };
    let mut lines = Vec::new();
    for shape in &args.shapes {
        let problem = Problem::packed(ProblemClass::F32_NN, *shape);
        let (a, b, c) = inputs::<f32>(&problem, runtime.device().info())?;
        let memory = buffers(runtime.device(), [&a, &b, &c])?;
        let memory = memory.each_ref();
        runtime.reserve(runtime.scratch_bytes(&problem)?)?;
        let overhead = Overhead::measure(&mut runtime, problem, memory, args.calls)?;
        let allocations = allocations(&mut runtime, problem, memory, args.calls)?;
        let beside = clblast
            .as_ref()
            .map(|clblast| beside(clblast, &mut runtime, problem, memory, &overhead));
        let beside = match beside.transpose() {
            // One that nobody asked for and that cannot work here is no reason to end.
            Err(error) if place.is_empty() && runtime.device().finish().is_ok() => {
                out.note(format_args!("note: without CLBlast beside it: {error:#}"));
                clblast = None;
                None
            }
            measured => measured?,
        };
        let id = runtime.select(&problem, None)?;
        let name = id.and_then(|id| runtime.configurations().get(usize::from(id.0)));
        let name = name.map(ToString::to_string).unwrap_or_default();
        let is_first = lines.is_empty();
        let line = Line::new(*shape, name, &overhead, allocations, beside, is_first);
        out.result(&line)?;
        lines.push(line);
    }
    out.result(&Summary::of(&lines, runtime.device().info(), load_ns, standing.told()))
}

/// How often calls that repeat a problem allocate, all together.
fn allocations(
    runtime: &mut Runtime<'_, OpenCl>,
    problem: Problem,
    buffers: [&OpenClBuffer; 3],
    calls: u32,
) -> anyhow::Result<u64> {
    let before = allocations::made();
    for _ in 0..calls {
        runtime.gemm(problem, buffers)?;
    }
    let made = allocations::made() - before;
    runtime.device().finish()?;
    Ok(made)
}

/// CLBlast's host times of the same problem, on a queue that records no times: it makes events of its
/// own, which cost some drivers more where they are recorded.
fn beside(
    clblast: &Clblast,
    runtime: &mut Runtime<'_, OpenCl>,
    problem: Problem,
    buffers: [&OpenClBuffer; 3],
    ours: &Overhead,
) -> anyhow::Result<Quantiles> {
    runtime.device_mut().record_times(false)?;
    let measured = {
        let device = runtime.device();
        let (queue, memory) = (device.queue(), buffers.map(OpenClBuffer::memory));
        let call = || {
            // SAFETY: queue and buffers live as long as the borrow of the runtime and the caller's
            // buffers, and hold the problem; there is no event.
            #[expect(unsafe_code, reason = "the library is called through its C interface")]
            let done = unsafe { clblast.gemm(queue, &problem, memory, std::ptr::null_mut()) };
            done.map_err(anyhow::Error::from)
        };
        let finish = || device.finish().map_err(anyhow::Error::from);
        // The first call builds its kernels.
        let row = overhead::row(ours.device, ours.calls);
        call().and_then(|()| finish()).and_then(|()| overhead::rows(ours.calls, row, call, finish))
    };
    runtime.device_mut().record_times(true)?;
    measured
}

/// What calls of one size cost.
#[derive(Serialize)]
struct Line {
    shape: String,
    configuration: String,
    calls: u32,
    select: Quantiles,
    arguments: Quantiles,
    enqueue: Quantiles,
    device: Quantiles,
    /// Whose clock told that.
    told_by: ToldBy,
    bare: Quantiles,
    call: Quantiles,
    changing: Quantiles,
    clblast: Option<Quantiles>,
    over_bare_ns: i64,
    changing_over_bare_ns: i64,
    allocations: u64,
    first_call_ns: u64,
    host_share: f64,
    gflops: f64,
    #[serde(skip)]
    flop: f64,
    #[serde(skip)]
    is_first: bool,
}

impl Line {
    fn new(
        shape: GemmShape,
        configuration: String,
        overhead: &Overhead,
        allocations: u64,
        clblast: Option<Quantiles>,
        is_first: bool,
    ) -> Self {
        let &Overhead { calls, select, arguments, enqueue, device, first_call_ns, .. } = overhead;
        let &Overhead { bare, call, changing, told_by, .. } = overhead;
        let flop = shape.flop();
        Self {
            shape: shape.to_string(),
            configuration,
            calls,
            select,
            arguments,
            enqueue,
            device,
            told_by,
            bare,
            call,
            changing,
            clblast,
            over_bare_ns: overhead.over_bare_ns(),
            changing_over_bare_ns: overhead.changing_over_bare_ns(),
            allocations,
            first_call_ns,
            host_share: overhead.host_share(),
            gflops: flop / device.median_ns.max(1) as f64,
            flop,
            is_first,
        }
    }
}

/// What all sizes say together.
#[derive(Serialize)]
struct Summary {
    event: &'static str,
    device: String,
    platform: String,
    driver: String,
    /// Medians over the sizes.
    over_bare_ns: i64,
    over_bare_p99_ns: i64,
    changing_over_bare_ns: i64,
    bare_ns: u64,
    clblast_host_ns: Option<u64>,
    /// Of all calls together.
    allocations: u64,
    calls: u64,
    /// Side of the square product where host and device take as long as each other.
    break_even_side: Option<f64>,
    load_ns: u64,
    first_call_ns: u64,
    #[serde(flatten)]
    told: Told,
}

impl Summary {
    fn of(lines: &[Line], device: &DeviceInfo, load_ns: u64, told: Told) -> Self {
        let signed = |value: fn(&Line) -> i64| middle(lines.iter().map(value).collect());
        let p99 = |line: &Line| {
            i64::try_from(line.call.p99_ns)
                .unwrap_or(i64::MAX)
                .saturating_sub_unsigned(line.bare.p99_ns)
        };
        let points = lines
            .iter()
            .map(|line| (line.flop, line.call.median_ns as f64, line.device.median_ns as f64));
        let clblast = lines.iter().filter_map(|line| line.clblast).map(|one| one.median_ns);
        Self {
            event: "overhead",
            device: device.name.clone(),
            platform: device.platform.clone(),
            driver: device.driver.clone(),
            over_bare_ns: signed(|line| line.over_bare_ns).unwrap_or(0),
            over_bare_p99_ns: signed(p99).unwrap_or(0),
            changing_over_bare_ns: signed(|line| line.changing_over_bare_ns).unwrap_or(0),
            bare_ns: middle(lines.iter().map(|line| line.bare.median_ns).collect()).unwrap_or(0),
            clblast_host_ns: middle(clblast.collect()),
            allocations: lines.iter().map(|line| line.allocations).sum(),
            calls: lines.iter().map(|line| u64::from(line.calls)).sum(),
            break_even_side: overhead::break_even(&points.collect::<Vec<_>>()),
            load_ns,
            first_call_ns: lines.first().map_or(0, |line| line.first_call_ns),
            told,
        }
    }
}

fn middle<T: Copy + Ord>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// A time in the unit that suits it.
fn scaled(nanoseconds: u64) -> String {
    match nanoseconds {
        0..10_000 => format!("{nanoseconds} ns"),
        10_000..10_000_000 => format!("{:.1} µs", nanoseconds as f64 / 1e3),
        _ => format!("{:.1} ms", nanoseconds as f64 / 1e6),
    }
}

const HEADER: &str = "\
host time in ns, median (99 %)
size            device     bare enqueue      call, repeated    call, changing    over bare  host share  CLBlast";

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_first {
            writeln!(f, "{HEADER}")?;
        }
        let both = |one: Quantiles| format!("{} ({})", one.median_ns, one.p99_ns);
        let clblast = self.clblast.map_or_else(|| "-".to_owned(), both);
        writeln!(
            f,
            "{:<15} {:<10} {:<17} {:<17} {:<17} {:<10} {:>5.1} %    {clblast}",
            self.shape,
            scaled(self.device.median_ns),
            both(self.bare),
            both(self.call),
            both(self.changing),
            format!("{:+}, {:+}", self.over_bare_ns, self.changing_over_bare_ns),
            100.0 * self.host_share,
        )?;
        write!(
            f,
            "    {}: {:.1} GFLOP/s; select {}, arguments {}, enqueue {}",
            self.configuration,
            self.gflops,
            both(self.select),
            both(self.arguments),
            both(self.enqueue),
        )?;
        if self.told_by == ToldBy::Host {
            f.write_str("; device by the host's clock")
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let even = self.break_even_side.map_or_else(
            || "no size measured has host and device take as long as each other".to_owned(),
            |side| {
                format!(
                    "host and device take as long as each other at {side:.0}x{side:.0}x{side:.0}"
                )
            },
        );
        write!(
            f,
            "a call takes {} ns more than the bare enqueue ({} ns at the 99th percentile; {} ns where the problem \
             changes); {even}; {} allocations in {} calls; cold: load {}, first call {}; {}",
            self.over_bare_ns,
            self.over_bare_p99_ns,
            self.changing_over_bare_ns,
            self.allocations,
            self.calls,
            scaled(self.load_ns),
            scaled(self.first_call_ns),
            self.told,
        )
    }
}
