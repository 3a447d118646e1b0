//! The selector: its speed beside the papers' nested ifs, its sizes and its instruction counts.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::time::Instant;

use anyhow::Context;
use benches::{CLASS, Measured, SHAPES, Way, all_ways, repeating, shuffled};
use selector_core::{FastTree, GemmShape, Model};

use crate::figure::{Sheet, Target};
use crate::instructions;

/// Rounds in which every way is timed once on each stream.
const ROUNDS: usize = 400;
/// Timed loads of a model.
const LOADS: usize = 300;
const SEED: u64 = 1;
/// What the others are compared with.
const BASE: &str = "if-else-c";
const SIZES: &str = "selector-core/sizes.tsv";

/// Nanoseconds a call of one way, by stream and round.
struct Times {
    name: &'static str,
    streams: [Vec<f64>; 3],
}

/// The last has the shapes of the one before, each asked when the one before is answered.
const STREAMS: [&str; 3] = ["repeating", "unpredictable", "one_by_one"];

pub(crate) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    let mut raw = String::from("model,way,stream,round,ns_a_call\n");
    let mut tables = Vec::new();
    for measured in Measured::ALL {
        let blob = measured.blob()?;
        let most = if measured.name == "small" { 700.0 } else { 16_384.0 };
        let name = format!("selector.{}.blob_bytes", measured.name);
        sheet.figure(&name, blob.len() as f64, Target::AtMost(most));
        let model = Model::parse(&blob)?;
        let times = time(&mut all_ways(&model)?);
        for way in &times {
            for (stream, values) in STREAMS.iter().zip(&way.streams) {
                for (round, ns) in values.iter().enumerate() {
                    writeln!(raw, "{},{},{stream},{round},{ns:.3}", measured.name, way.name)?;
                }
            }
        }
        tell(sheet, measured.name, &times)?;
        load(sheet, measured.name, &blob);
        instructions::tell(sheet, measured.name, &blob)?;
        tables.push((measured.name, times));
    }
    sizes(sheet)?;
    let file = super::folder().join("selector.csv");
    fs::create_dir_all(super::folder())?;
    fs::write(&file, raw).with_context(|| format!("could not write `{}`", file.display()))?;
    sheet.note(&format!("raw numbers: {}", file.display()));
    for (model, times) in &tables {
        sheet.note(&table(model, times)?);
    }
    Ok(())
}

/// The same for people: ways by streams, medians with their ratio to the nested ifs.
fn table(model: &str, times: &[Times]) -> anyhow::Result<String> {
    let base = times.iter().find(|way| way.name == BASE).context("nothing to compare with")?;
    let [a, b, c] = STREAMS;
    let mut text = format!(
        "\n{model} model, ns a choice (times nested ifs)\n{:13}{a:>18}{b:>18}{c:>18}\n",
        ""
    );
    for way in times {
        write!(text, "{:13}", way.name)?;
        for (values, base) in way.streams.iter().zip(&base.streams) {
            let [_, median, _] = quantiles(values.clone());
            let [_, ifs, _] = quantiles(base.clone());
            write!(text, "{median:10.1} ({:5.2})", median / ifs)?;
        }
        text.push('\n');
    }
    Ok(text)
}

/// Time all ways in turn, round by round, so that whatever disturbs the machine disturbs all.
fn time(ways: &mut [Way<'_>]) -> Vec<Times> {
    let loops = repeating(SEED);
    let mut orders = shuffled(SEED);
    let new = |way: &Way<'_>| Times { name: way.name, streams: Default::default() };
    let mut times: Vec<Times> = ways.iter().map(new).collect();
    for _ in 0..ROUNDS {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            let [repeating, unpredictable, one_by_one] = &mut times.streams;
            // What ran before has filled caches and predictors with its own.
            black_box(way.pass(&loops));
            repeating.push(ns_a_call(&loops, |shapes| way.pass(shapes)));
            black_box(way.pass(&orders()));
            unpredictable.push(ns_a_call(&orders(), |shapes| way.pass(shapes)));
            one_by_one.push(ns_a_call(&orders(), |shapes| way.dependent_pass(shapes)));
        }
    }
    times
}

fn ns_a_call(shapes: &[GemmShape], pass: impl FnOnce(&[GemmShape]) -> u64) -> f64 {
    let start = Instant::now();
    black_box(pass(black_box(shapes)));
    start.elapsed().as_nanos() as f64 / SHAPES as f64
}

/// Each way's median, and its ratio to the nested ifs of the same round.
fn tell(sheet: &mut Sheet, model: &str, times: &[Times]) -> anyhow::Result<()> {
    let base = times.iter().find(|way| way.name == BASE).context("nothing to compare with")?;
    for way in times {
        let streams = STREAMS.iter().zip(&way.streams).zip(&base.streams);
        for ((stream, values), base) in streams {
            let name = format!("selector.{model}.{}.{stream}", way.name);
            let [low, median, high] = quantiles(values.clone());
            sheet.spread(&format!("{name}.ns"), median, [low, high]);
            let ratio = median / quantiles(base.clone())[1];
            let ratios = values.iter().zip(base).map(|(one, base)| one / base).collect();
            let [low, _, high] = quantiles(ratios);
            let target = target(model, way.name, stream);
            let name = format!("{name}.ratio_to_if_else");
            sheet.note(&format!("{name}: tenth to ninetieth percentile {low:.2}..{high:.2}"));
            sheet.figure(&name, ratio, target);
        }
    }
    Ok(())
}

fn target(model: &str, way: &str, stream: &str) -> Target {
    match (model, way, stream) {
        ("small", "fast", "unpredictable") => Target::AtMost(1.0),
        ("large", "fast", "unpredictable") => Target::AtMost(1.12),
        ("small", "fast-site", "repeating") => Target::AtMost(1.1),
        ("large", "fast-site", "repeating") => Target::AtMost(1.0),
        _ => Target::None,
    }
}

/// Tenth percentile, median and ninetieth percentile.
fn quantiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [10, 50, 90].map(|percent| values[(values.len() - 1) * percent / 100])
}

fn load(sheet: &mut Sheet, model: &str, blob: &[u8]) {
    let timed = |load: fn(&[u8]) -> bool| {
        let times = (0..LOADS).map(|_| {
            let start = Instant::now();
            black_box(load(black_box(blob)));
            start.elapsed().as_nanos() as f64 / 1000.0
        });
        quantiles(times.collect())
    };
    let parse = timed(|blob| Model::parse(blob).is_ok());
    let unpack = timed(|blob| {
        let model = Model::parse(blob).ok();
        model.is_some_and(|model| FastTree::<1280>::new(&model, CLASS).is_ok())
    });
    let most = if model == "large" { Target::AtMost(80.0) } else { Target::None };
    for (what, [low, median, high], target) in
        [("parse", parse, Target::None), ("parse_and_unpack", unpack, most)]
    {
        let name = format!("selector.{model}.load.{what}_us");
        sheet.note(&format!("{name}: tenth to ninetieth percentile {low:.1}..{high:.1}"));
        sheet.figure(&name, median, target);
    }
}

/// The committed sizes, which a test keeps true.
fn sizes(sheet: &mut Sheet) -> anyhow::Result<()> {
    let table = fs::read_to_string(SIZES).with_context(|| format!("could not read `{SIZES}`"))?;
    for row in table.lines().filter(|row| !row.starts_with('#')).skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let [target, part, code, tables, ..] = fields[..] else { continue };
        let name = format!("selector.size.{target}.{}", part.replace(' ', "_"));
        let most = match (target.starts_with("thumbv7em"), part) {
            (true, "parse and select") => Target::AtMost(4096.0),
            _ => Target::None,
        };
        sheet.figure(&format!("{name}.code_bytes"), code.parse()?, most);
        sheet.figure(&format!("{name}.table_bytes"), tables.parse()?, Target::None);
    }
    Ok(())
}
