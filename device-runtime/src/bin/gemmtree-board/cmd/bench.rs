//! `gemmtree-board bench`: what a call costs beside what it computes, and what a network takes.

use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

use device_runtime::Device;
use device_runtime::overhead::{Overhead, Quantiles};
use device_runtime::steady::ToldBy;
use kernels::Problem;
use selector_core::{GemmShape, ProblemClass};
use serde::Serialize;

use super::network::{self, NetworkArgs};
use super::run::{buffers, inputs};
use super::{DeviceArgs, file};
use crate::output::Output;

/// Measure the parts of a call: select, set arguments, enqueue, and the device; or a whole network
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree-board bench --bundle current.gtb\n  \
                        gemmtree-board bench --bundle current.gtb --network vgg16 --output vgg16.csv")]
pub(crate) struct Args {
    /// The bundle
    #[arg(long, value_name = "FILE")]
    bundle: PathBuf,
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

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    if let Some(name) = &args.network.network {
        return network::run(name, &args.network, &args.bundle, args.device.open()?, out);
    }
    let bytes = file::read(&args.bundle)?;
    let bundle = file::parse(&args.bundle, &bytes)?;
    let device = args.device.open()?;
    let begun = Instant::now();
    let mut runtime = file::load(&args.bundle, device, &bundle)?;
    let load_ns = begun.elapsed().as_nanos() as u64;
    for shape in &args.shapes {
        let problem = Problem::packed(ProblemClass::F32_NN, *shape);
        let (a, b, c) = inputs::<f32>(&problem, runtime.device().info())?;
        let memory = buffers(runtime.device(), [&a, &b, &c])?;
        runtime.reserve(runtime.scratch_bytes(&problem)?)?;
        let overhead = Overhead::measure(&mut runtime, problem, memory.each_ref(), args.calls)?;
        let leaf = runtime.leaf(&problem);
        let usable = runtime.usable(problem.class).unwrap_or(selector_core::KernelMask::NONE);
        let id = leaf.best_of(usable);
        let name = runtime.configurations()[usize::from(id.0)].to_string();
        out.result(&Line::new(*shape, name, load_ns, &overhead))?;
    }
    Ok(())
}

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
    load_ns: u64,
    first_call_ns: u64,
    host_share: f64,
    gflops: f64,
}

impl Line {
    fn new(shape: GemmShape, configuration: String, load_ns: u64, overhead: &Overhead) -> Self {
        let &Overhead { calls, select, arguments, enqueue, device, first_call_ns, told_by } =
            overhead;
        let host_share = overhead.host_share();
        let gflops = shape.flop() / device.median_ns.max(1) as f64;
        Self {
            shape: shape.to_string(),
            configuration,
            calls,
            select,
            arguments,
            enqueue,
            device,
            told_by,
            load_ns,
            first_call_ns,
            host_share,
            gflops,
        }
    }
}

/// A time in the unit that suits it.
fn scaled(nanoseconds: u64) -> String {
    match nanoseconds {
        0..10_000 => format!("{nanoseconds} ns"),
        10_000..10_000_000 => format!("{:.1} µs", nanoseconds as f64 / 1e3),
        _ => format!("{:.1} ms", nanoseconds as f64 / 1e6),
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} by {}: {:.1} GFLOP/s, host {:.1} % of a call; cold: load {}, first call {}",
            self.shape,
            self.configuration,
            self.gflops,
            100.0 * self.host_share,
            scaled(self.load_ns),
            scaled(self.first_call_ns),
        )?;
        let part = |one: Quantiles| format!("{} ({})", scaled(one.median_ns), scaled(one.p99_ns));
        write!(
            f,
            "    median (99 %): select {}, arguments {}, enqueue {}, device {}",
            part(self.select),
            part(self.arguments),
            part(self.enqueue),
            part(self.device),
        )?;
        if self.told_by == ToldBy::Host { f.write_str(", by the host's clock") } else { Ok(()) }
    }
}
