//! A run: shape by shape, each peer's result is checked, then all are timed in turn and checked once
//! more, and the record grows.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use kernels::{Operand, Problem};
use selector_core::GemmShape;

use super::record::{Header, Record, Row};
use super::timing::{Contestant, Plan, Times};
use super::{ALL, OTHERS, OURS, Peer, Stage, Task};

/// Elements that are compared with sums in double precision.
const CHECKED: usize = 64;
/// A difference may be this many rounding errors of a sum of k products. Products rounded to fewer
/// bits, as by tensor cores, differ by more.
const ROUNDINGS: f64 = 8.0;
/// Calls one behind another that are compared after a peer was timed.
const BEHIND: u32 = 2;
/// A device on which so many shapes in a row fail is not asked again.
const FAILURES: u32 = 3;

/// What a run does.
#[derive(Clone, Debug)]
pub struct Options {
    /// How peers are timed.
    pub plan: Plan,
    /// Names of the peers that take part, all if empty. Ours always does.
    pub only: Vec<String>,
    /// No new shape is begun after so long.
    pub limit: Option<Duration>,
    /// Whether a record that cannot go on is moved away, to its name with `.old` behind it, and a new
    /// one begun.
    pub set_aside: bool,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// Shapes that the record has.
    pub done: usize,
    /// Shapes asked for.
    pub total: usize,
}

/// A shape is done.
pub struct Progress<'a> {
    /// Shapes done so far.
    pub done: usize,
    /// Shapes asked for.
    pub total: usize,
    /// About how long the others take.
    pub left: Duration,
    /// Its rows.
    pub rows: &'a [Row],
}

/// A peer that is there.
struct Present {
    name: &'static str,
    peer: Box<dyn Peer>,
}

/// Measure what of `shapes` the record at `path` does not have yet. `header` says on and with what;
/// each peer's version, or why it is not there, is added to it. Where our own kernels fail, or the
/// matrices do not fit the device, the row of ours says why and is the shape's only one.
///
/// # Errors
/// The record is of something else or cannot be written, or so many shapes in a row fail that the
/// device must be gone; these are not in the record.
pub fn run(
    stage: &Stage<'_>,
    shapes: &[GemmShape],
    path: &Path,
    mut header: Header,
    options: &Options,
    mut tell: impl FnMut(Progress<'_>),
) -> anyhow::Result<Outcome> {
    let mut peers = open(stage, &options.only, &mut header)?;
    let mut record = match Record::go_on(path, header.clone()) {
        Err(error) if options.set_aside && error.is_of_content() => {
            Record::set_aside(path)?;
            Record { header: header.clone(), rows: Vec::new() }
        }
        other => other?,
    };
    let total = shapes.len();
    let left_to_do: Vec<GemmShape> =
        shapes.iter().copied().filter(|shape| !record.has(*shape)).collect();
    record.write(path)?;
    // A run that goes on is of more than one time; the file is told with the first rows of this one.
    if record.header != header {
        record.header.append(OTHERS, &header);
    }
    let already = total - left_to_do.len();
    let begun = Instant::now();
    let mut failed = 0;
    for (place, shape) in left_to_do.iter().enumerate() {
        if options.limit.is_some_and(|limit| begun.elapsed() >= limit) {
            return Ok(Outcome { done: already + place, total });
        }
        let rows = match measure(stage, *shape, &mut peers, &options.plan) {
            Ok(rows) => {
                failed = 0;
                rows
            }
            Err(error) if failed + 1 == FAILURES => {
                return Err(error).with_context(|| format!("could not measure {shape}"));
            }
            Err(error) => {
                failed += 1;
                let status = format!("failed: {error:#}");
                vec![Row { status, ..Row::timed(*shape, OURS, String::new()) }]
            }
        };
        record.rows.extend_from_slice(&rows);
        // What failed may be the device, so it is kept only if a later shape does not.
        if failed == 0 || place + 1 == left_to_do.len() {
            record.write(path)?;
        }
        let done = already + place + 1;
        // Later shapes are larger, but they have fewer calls.
        let each = begun.elapsed() / (place as u32 + 1);
        let left = each * (left_to_do.len() - place - 1) as u32;
        tell(Progress { done, total, left, rows: &rows });
    }
    Ok(Outcome { done: total, total })
}

/// The peers that are there; the header is told of all.
fn open(stage: &Stage<'_>, only: &[String], header: &mut Header) -> anyhow::Result<Vec<Present>> {
    for name in only {
        let known: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
        ensure!(
            known.contains(&&name[..]),
            "no peer is called `{name}`; peers: {}",
            known.join(", ")
        );
    }
    let mut present = Vec::new();
    for entry in ALL {
        let asked = only.is_empty() || only.iter().any(|name| name == entry.name);
        if !asked && entry.name != OURS {
            continue;
        }
        match (entry.open)(stage) {
            Ok(peer) => {
                header.push(entry.name, &peer.version());
                present.push(Present { name: entry.name, peer });
            }
            Err(error) => header.push(entry.name, &format!("skipped: {error:#}")),
        }
    }
    Ok(present)
}

/// Check and time all peers for one shape.
fn measure(
    stage: &Stage<'_>,
    shape: GemmShape,
    peers: &mut [Present],
    plan: &Plan,
) -> anyhow::Result<Vec<Row>> {
    let mut task = stage.task(shape)?;
    let mut expected = None;
    let mut contestants = Vec::new();
    let names: Vec<&str> = peers.iter().map(|one| one.name).collect();
    for Present { peer, .. } in peers {
        let peer = &mut **peer;
        let begun = peer.begin(stage, &task);
        let right = begun.and_then(|()| verify(stage, &mut task, peer, 1, &mut expected));
        if expected.is_none() {
            // Without ours there is nothing to compare.
            right?;
            bail!("no result");
        }
        contestants.push(Contestant { peer, times: right.map(|()| Times::default()) });
        stage.settle();
    }
    plan.time(stage, &task, &mut contestants);
    for Contestant { peer, times } in contestants.iter_mut().filter(|one| one.times.is_ok()) {
        // Calls that were timed came one behind another.
        if let Err(error) = verify(stage, &mut task, *peer, BEHIND, &mut expected) {
            *times = Err(error.context("after it was timed"));
        }
        stage.settle();
    }
    let rows = names.into_iter().zip(contestants).map(|(name, contestant)| {
        let Contestant { peer, times } = contestant;
        let row = Row::timed(shape, name, peer.configuration());
        match times {
            Ok(Times { calls, samples, device }) => {
                Row { calls, samples_ns: samples, device_ns: device, ..row }
            }
            Err(error) => Row { status: format!("failed: {error:#}"), ..row },
        }
    });
    Ok(rows.collect())
}

/// Let a peer compute, `calls` times one behind another, and compare with sums in double precision
/// and with the first peer's result, which `expected` becomes.
fn verify(
    stage: &Stage<'_>,
    task: &mut Task,
    peer: &mut dyn Peer,
    calls: u32,
    expected: &mut Option<Vec<f32>>,
) -> anyhow::Result<()> {
    peer.clear(stage, task)?;
    for _ in 0..calls {
        peer.enqueue(stage, task)?;
    }
    peer.finish(stage)?;
    let result = peer.result(stage, task)?;
    check(task, &result)?;
    match expected {
        Some(expected) => agree(&result, expected, task.shape().k)?,
        None => *expected = Some(result),
    }
    Ok(())
}

/// Compare elements of all parts of C with sums in double precision.
fn check(task: &Task, result: &[f32]) -> anyhow::Result<()> {
    let Problem { shape, a, b, c, .. } = task.problem;
    let places = 0..CHECKED.min(result.len());
    for place in places {
        // Steps of a number that shares no divisor with most sizes reach all parts.
        let at = (place * 1_000_003 + place * result.len() / CHECKED) % result.len();
        let (batch, inside) = (at as u64 / c.stride, at as u64 % c.stride);
        let (row, column) = (inside / c.leading, inside % c.leading);
        let element = |values: &[f32], operand: Operand, row: u64, column: u64| {
            let at = batch * operand.stride + row * operand.leading + column;
            f64::from(values[at as usize])
        };
        let products = (0..u64::from(shape.k))
            .map(|step| element(&task.a, a, row, step) * element(&task.b, b, step, column));
        let expected: f64 = products.sum();
        compare(at, f64::from(result[at]), expected, shape.k)?;
    }
    Ok(())
}

/// Whether two results are the same but for rounding.
fn agree(result: &[f32], expected: &[f32], k: u32) -> anyhow::Result<()> {
    ensure!(result.len() == expected.len(), "the results differ in length");
    for (at, (one, other)) in result.iter().zip(expected).enumerate() {
        compare(at, f64::from(*one), f64::from(*other), k)?;
    }
    Ok(())
}

/// Elements are sums of k products of values in [-1, 1): the partial sums grow with √k, so the sum
/// of their roundings with k.
fn compare(at: usize, found: f64, expected: f64, k: u32) -> anyhow::Result<()> {
    let bound = ROUNDINGS * f64::from(f32::EPSILON) * f64::from(k.max(8));
    // NaN is never within the bound.
    if (found - expected).abs() <= bound {
        return Ok(());
    }
    bail!("wrong result: element {at} is {found}, not {expected}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_agree_but_for_rounding() {
        let expected = [1.0, -20.0, 0.0];
        assert!(agree(&[1.0, -20.00001, 0.0], &expected, 100).is_ok());
        assert!(agree(&[1.0, -20.0, 1e-3], &expected, 100).is_err());
        assert!(agree(&[1.0, f32::NAN, 0.0], &expected, 100).is_err());
        assert!(agree(&[1.0, -20.0], &expected, 100).is_err());
    }

    #[test]
    fn products_rounded_to_ten_bits_do_not_pass_for_f32() {
        let rounded = |value: &f32| f32::from_bits((value.to_bits() + 0x1000) & !0x1fff);
        for k in [8, 64, 1024, 50_176] {
            let a = kernels::reference::values(k, 1);
            let b = kernels::reference::values(k * 64, 2);
            let sums = |narrow: bool| -> Vec<f32> {
                let sum = |column: &[f32]| -> f32 {
                    let pairs = a.iter().zip(column);
                    let products =
                        pairs.map(|(a, b)| if narrow { rounded(a) * rounded(b) } else { a * b });
                    products.sum()
                };
                b.chunks_exact(k).map(sum).collect()
            };
            let exact: Vec<f32> = b
                .chunks_exact(k)
                .map(|column| {
                    let pairs = a.iter().zip(column);
                    pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() as f32
                })
                .collect();
            assert!(agree(&sums(false), &exact, k as u32).is_ok(), "{k}");
            assert!(agree(&sums(true), &exact, k as u32).is_err(), "{k}");
        }
    }
}
