//! `gemmtree-board bench --network`: a network's multiplications, or all of its inference, beside CLBlast.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use device_runtime::clblast::ClblastError;
use device_runtime::network::{
    Checked, Header, Options, Peer, Plan, Report, Stage, agree, check, inference, one_best, race,
};
use device_runtime::{Device, DeviceInfo, OpenCl};
use kernels::networks;

use super::file;
use super::standing::Stands;
use crate::output::Output;

/// Networks whose whole inference is run.
const WHOLE: &str = "vgg16";
/// Pixels of a side of its images, and of the least that leave something.
const SIDE: u32 = 224;
const LEAST_SIDE: u32 = 32;
/// Columns of a convolution take at most this part of the device's memory.
const PART: u64 = 8;
/// Seed of the orders of the rounds.
const SEED: u64 = 1;

/// Options of a run with a network.
#[derive(clap::Args)]
#[command(next_help_heading = "A whole network")]
pub(super) struct NetworkArgs {
    /// Time a network's multiplications by the tree's choice, by the one best kernel and by CLBlast, in
    /// turn; of vgg16 the whole inference
    #[arg(long, value_name = "NAME", conflicts_with_all = ["shapes", "calls"])]
    pub(super) network: Option<String>,
    /// Images at once
    #[arg(long, requires = "network", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    batch: u16,
    /// Samples of each; all take turns, in each round in another order
    #[arg(long, requires = "network", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Least milliseconds of a sample
    #[arg(long, requires = "network", default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    sample: u64,
    /// Pixels of a side of an image, for vgg16
    #[arg(long, requires = "network", default_value_t = SIDE, value_parser = clap::value_parser!(u32).range(i64::from(LEAST_SIDE)..=4096))]
    side: u32,
    /// CLBlast's library, or its folder; else it is looked for where the system has its libraries
    #[arg(long, value_name = "PATH", help_heading = "Options")]
    pub(super) clblast: Option<PathBuf>,
    /// What CLBlast's own tuners found on this device, for a second CLBlast
    #[arg(long, value_name = "FILE", requires = "network")]
    clblast_parameters: Option<PathBuf>,
    /// Compute the inference on the host in double precision too, and compare
    #[arg(long, requires = "network")]
    verify: bool,
    /// Write every sample here
    #[arg(long, value_name = "FILE.csv", requires = "network")]
    output: Option<PathBuf>,
}

pub(super) fn run(
    name: &str,
    args: &NetworkArgs,
    stands: &Stands,
    device: OpenCl,
    out: &mut Output,
) -> anyhow::Result<()> {
    let plan = plan(name, args, device.info())?;
    let info = device.info().clone();
    let (others, mut skipped) = others(args, &device)?;
    let runtime = stands.load(device)?;
    out.note(stands.told());
    let mut stage = Stage::new(runtime, plan).context("the network does not fit the device")?;
    out.note("trying every kernel of the bundle for the one that is best for all layers");
    let one = one_best(&mut stage, |_, _, _| ())?;
    // Scratch memory of both ways to choose is there before anything is timed.
    stage.reserve_for(one)?;
    stage.reserve()?;
    let mut peers = vec![Peer::Ours, Peer::OursOne(one)];
    let mut results = Vec::new();
    for peer in &peers {
        results.push(check(&mut stage, peer).context("what the bundle computes is wrong")?);
    }
    for peer in others {
        match check(&mut stage, &peer) {
            Ok(checked) => {
                results.push(checked);
                peers.push(peer);
            }
            Err(error) => {
                skipped.push(format!("{}: {:#}", peer.name(), anyhow::Error::from(error)))
            }
        }
    }
    let apart = apart(&peers, &results)?;
    let apart_from_host = verified(args, &stage, &results)?;
    let kernels = stage.chosen()?;
    let sample = Duration::from_millis(args.sample);
    let options = Options { rounds: args.rounds, sample, seed: SEED };
    let (times, rest) =
        race(&mut stage, &peers, options, |done, total, what| out.progress(done, total, what))?;
    let header = Header {
        network: name.to_owned(),
        images: args.batch.into(),
        side: args.side,
        device: info.name,
        platform: info.platform,
        driver: info.driver,
        rounds: args.rounds,
        whole: stage.plan().is_whole(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        skipped,
        checked: results.first().map_or(0, |one| one.values),
        apart,
        apart_from_host,
    };
    let name = stage.configuration(one).map(ToString::to_string).unwrap_or_default();
    let report =
        Report::new(header, stage.plan(), (&peers, &times), rest.as_ref(), (&kernels, &name));
    if let Some(path) = &args.output {
        file::replace(path, report.csv().as_bytes())?;
        out.note(format_args!("wrote `{}`", path.display()));
    }
    out.result(&report)
}

/// What is done, in as few parts as memory allows.
fn plan(name: &str, args: &NetworkArgs, device: &DeviceInfo) -> anyhow::Result<Plan> {
    let network = networks::by_name(name)?;
    let limit = device.largest_buffer.min(device.memory / PART);
    if name == WHOLE {
        return Ok(Plan::whole(networks::vgg16(args.side), args.batch, limit)?);
    }
    Ok(Plan::multiplications(network.layers(), args.batch, limit))
}

/// Refuse what no network has and what cannot be written, before a device is opened.
pub(super) fn refuse(name: &str, args: &NetworkArgs) -> anyhow::Result<()> {
    networks::by_name(name)?;
    if let Some(path) = &args.output {
        file::check_samples_target(path)?;
    }
    if let Some(path) = &args.clblast_parameters {
        file::read(path)?;
    }
    if name == WHOLE {
        return Ok(());
    }
    if args.side != SIDE {
        bail!("`{name}` has images of {SIDE} pixels a side; --side is for {WHOLE}");
    }
    if args.verify {
        bail!("only the multiplications of `{name}` are done; --verify is for {WHOLE}");
    }
    Ok(())
}

/// CLBlast as shipped and tuned, and why what is missing is; what was named may not be.
fn others(args: &NetworkArgs, device: &OpenCl) -> anyhow::Result<(Vec<Peer>, Vec<String>)> {
    let places: Vec<PathBuf> = args.clblast.iter().cloned().collect();
    let tuned = match &args.clblast_parameters {
        Some(path) => match Peer::clblast_tuned(&places, path, device) {
            // The library that the system lacks is not the one that was named.
            Err(error @ ClblastError::Library(_)) if places.is_empty() => Err(error.to_string()),
            tuned => Ok(tuned?),
        },
        None => Err("no parameters are given; --clblast-parameters".to_owned()),
    };
    let shipped = match Peer::clblast(&places) {
        Err(error) if args.clblast.is_some() => return Err(error.into()),
        shipped => shipped.map_err(|error| error.to_string()),
    };
    let (mut peers, mut skipped) = (Vec::new(), Vec::new());
    for (name, peer) in [("clblast", shipped), ("clblast-tuned", tuned)] {
        match peer {
            Ok(peer) => peers.push(peer),
            Err(reason) => skipped.push(format!("{name}: {reason}")),
        }
    }
    Ok((peers, skipped))
}

/// How far the results are from the first peer's at most.
fn apart(peers: &[Peer], results: &[Checked]) -> anyhow::Result<Option<f64>> {
    let [first, others @ ..] = results else { return Ok(None) };
    if first.outputs.is_empty() {
        return Ok(None);
    }
    let mut most: f64 = 0.0;
    for (peer, result) in peers.iter().skip(1).zip(others) {
        let ours = (Peer::Ours.name(), &first.outputs[..]);
        most = most.max(agree(ours, (peer.name(), &result.outputs))?);
    }
    Ok(Some(most))
}

/// How far ours is from double precision on the host, if that is asked for.
fn verified(
    args: &NetworkArgs,
    stage: &Stage<'_>,
    results: &[Checked],
) -> anyhow::Result<Option<f64>> {
    let (true, Some(ours)) = (args.verify, results.first()) else { return Ok(None) };
    let host = inference(stage.plan())?;
    Ok(Some(agree((Peer::Ours.name(), &ours.outputs), ("the host", &host))?))
}
