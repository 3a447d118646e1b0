//! What f16 storage takes beside f32, by device: the least times of two data sets, or of two classes in
//! one, of configurations that both have.

use std::path::Path;

use anyhow::Context;
use selector_core::{GemmShape, Precision, ProblemClass};
use trainer::dataset::Dataset;

use crate::figure::{Line, Target};

/// Measurements of one device in both classes.
struct Pair {
    device: &'static str,
    f32: &'static str,
    f16: &'static str,
    /// Whether f16 has a goal here: processors without arithmetic in 16 bits have none.
    goal: bool,
}

const PAIRS: [Pair; 3] = [
    Pair {
        device: "h200",
        f32: "trainer/data/h200-families.csv.gz",
        f16: "trainer/data/h200-families-f16.csv.gz",
        goal: true,
    },
    of_processor("pocl", "benches/runs/2026-11-30-pocl-idle/f16.csv.gz"),
    of_processor("intel-cpu", "benches/runs/2026-11-30-intel-cpu/f16.csv.gz"),
];

const fn of_processor(device: &'static str, both: &'static str) -> Pair {
    Pair { device, f32: both, f16: both, goal: false }
}

/// Operations a byte, of f32 matrices read and written once, below which memory is the limit: about
/// 60 TFLOP/s of f32 over 4.8 TB/s.
const RIDGE: f64 = 12.5;
/// Largest mean of the ratios of times.
const MOST: f64 = 1.1;

/// Of each device both means of f16's time over f32's: of all shapes, and of those that memory limits.
pub(super) fn lines() -> anyhow::Result<Vec<Line>> {
    let each: anyhow::Result<Vec<Vec<Line>>> = PAIRS.iter().map(of).collect();
    Ok(each?.into_iter().flatten().collect())
}

fn of(pair: &Pair) -> anyhow::Result<Vec<Line>> {
    let Pair { device, f32: of_f32, f16: of_f16, goal } = pair;
    let name = format!("kernels.{device}.f16_to_f32");
    let skipped = |why: &str| Ok(vec![Line::skipped(format!("{name}.time_ratio"), why)]);
    if let Some(missing) = [of_f32, of_f16].iter().find(|file| !Path::new(file).exists()) {
        return skipped(&format!("there is no `{missing}`"));
    }
    let open = |file: &str| Dataset::open(Path::new(file)).with_context(|| format!("`{file}`"));
    let (f32, f16) = (open(of_f32)?, open(of_f16)?);
    if let Some(difference) = difference(&f32, &f16) {
        return skipped(&format!("`{of_f32}` and `{of_f16}` are {difference}"));
    }
    let ratios = ratios(&f32, &f16);
    // Where memory is the limit is known of the H200 alone.
    let limits = |shape: &GemmShape| *goal && intensity(*shape) < RIDGE;
    let bound: Vec<_> = ratios.iter().copied().filter(|(shape, _)| limits(shape)).collect();
    let mut lines = Vec::new();
    for (class, ratios, most) in [("", &ratios, MOST), (".memory_bound", &bound, 1.0)] {
        let Some(mean) = mean(ratios) else { continue };
        let figure = |what: &str, value, target| {
            Line::figure(format!("{name}{class}.{what}"), value, target)
        };
        lines.push(figure("shapes", ratios.len() as f64, Target::None));
        let target = if *goal { Target::AtMost(most) } else { Target::None };
        lines.push(figure("time_ratio", mean, target));
    }
    Ok(lines)
}

/// Why times of two data sets do not compare, if they do not.
fn difference(one: &Dataset, other: &Dataset) -> Option<&'static str> {
    let (one, other) = (&one.header, &other.header);
    if one.device != other.device {
        return Some("of two devices");
    }
    (one.timing != other.timing).then_some("timed in two ways")
}

/// The least time of f16 over that of f32, of configurations that both data sets have, for each shape that both data sets have times of.
fn ratios(f32: &Dataset, f16: &Dataset) -> Vec<(GemmShape, f64)> {
    let half = ProblemClass { precision: Precision::F16, ..ProblemClass::F32_NN };
    let ratio = |shape: GemmShape| {
        let [of_f32, of_f16] = [(f32, f16, ProblemClass::F32_NN), (f16, f32, half)]
            .map(|(one, other, class)| least(one, other, class, shape));
        Some((shape, of_f16? / of_f32?))
    };
    f32.shapes().into_iter().filter_map(ratio).collect()
}

/// The least time of any configuration that `other` has too.
fn least(dataset: &Dataset, other: &Dataset, class: ProblemClass, shape: GemmShape) -> Option<f64> {
    let is = |task: &trainer::dataset::Task| (task.class, task.shape) == (class, shape);
    let row = dataset.tasks().iter().position(is)?;
    let names = dataset.configurations().iter().enumerate();
    let both = names.filter(|(_, name)| other.configurations().contains(name));
    let times = both.map(|(column, _)| dataset.time(row, column));
    times.filter(|time| time.is_finite()).min_by(f64::total_cmp)
}

/// Operations a byte of f32 matrices.
fn intensity(shape: GemmShape) -> f64 {
    let GemmShape { batch, .. } = shape;
    let [m, k, n] = [shape.m, shape.k, shape.n].map(f64::from);
    shape.flop() / (4.0 * (m * k + k * n + m * n) * f64::from(batch))
}

/// The geometric mean.
fn mean(ratios: &[(GemmShape, f64)]) -> Option<f64> {
    let logarithms: f64 = ratios.iter().map(|(_, ratio)| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (logarithms / ratios.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(class: &str, rows: &[(u32, &str, u32)]) -> Dataset {
        with_header("", class, rows)
    }

    fn with_header(header: &str, class: &str, rows: &[(u32, &str, u32)]) -> Dataset {
        let mut text = format!("{header}m,k,n,batch,class,configuration,status,samples_ns\n");
        for (m, configuration, time) in rows {
            text += &format!("{m},512,512,1,{class},{configuration},ok,{time}\n");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        std::fs::write(&path, text).unwrap();
        Dataset::open(&path).unwrap()
    }

    #[test]
    fn least_times_are_compared_on_shapes_that_both_have() {
        let [one, other, lone] = ["tile:1x1x1@8x8", "tile:2x2x2@8x8", "tile:4x4x4@8x8"];
        let rows = [(1, one, 400), (1, other, 200), (1, lone, 10), (64, one, 900), (7, one, 1)];
        let f32 = dataset("f32-nn", &rows);
        let f16 = dataset("f16-nn", &[(1, one, 100), (1, other, 300), (64, other, 900)]);
        let ratios = ratios(&f32, &f16);
        let shape = |m| GemmShape::new(m, 512, 512, 1);
        assert_eq!(ratios, [(shape(1), 0.5), (shape(64), 1.0)]);
        assert!((mean(&ratios).unwrap() - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(mean(&[]), None);
        assert!(intensity(shape(1)) < 0.6 && intensity(shape(512)) > RIDGE);
    }

    #[test]
    fn data_sets_of_two_devices_or_timings_do_not_compare() {
        let rows = [(1, "tile:1x1x1@8x8", 400)];
        let of = |header: &str| with_header(header, "f32-nn", &rows);
        let (one, stream) = (of("# device: one\n"), of("# device: one\n# timing: stream\n"));
        assert_eq!(difference(&one, &of("# device: one\n")), None);
        assert_eq!(difference(&one, &of("# device: two\n")), Some("of two devices"));
        assert_eq!(difference(&one, &stream), Some("timed in two ways"));
    }
}
