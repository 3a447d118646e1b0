//! What f16 storage takes beside f32 on the H200: the least times of two data sets.

use std::path::Path;

use anyhow::{Context, ensure};
use selector_core::{GemmShape, Precision, ProblemClass};
use trainer::dataset::Dataset;

use crate::figure::{Line, Target};

const F32: &str = "trainer/data/h200-families.csv.gz";
const F16: &str = "trainer/data/h200-families-f16.csv.gz";
/// Operations a byte, of f32 matrices read and written once, below which memory is the limit: about
/// 60 TFLOP/s of f32 over 4.8 TB/s.
const RIDGE: f64 = 12.5;
/// Largest mean of the ratios of times.
const MOST: f64 = 1.1;

/// Both means of f16's time over f32's: of all shapes, and of those that memory limits.
pub(super) fn lines() -> anyhow::Result<Vec<Line>> {
    let name = "kernels.h200.f16_to_f32";
    if let Some(missing) = [F32, F16].iter().find(|file| !Path::new(file).exists()) {
        let why = format!("there is no `{missing}`");
        return Ok(vec![Line::skipped(format!("{name}.time_ratio"), &why)]);
    }
    let open = |file: &str| Dataset::open(Path::new(file)).with_context(|| format!("`{file}`"));
    let (f32, f16) = (open(F32)?, open(F16)?);
    ensure!(f32.header.device == f16.header.device, "`{F32}` and `{F16}` are of two devices");
    ensure!(f32.header.timing == f16.header.timing, "`{F32}` and `{F16}` are timed in two ways");
    let ratios = ratios(&f32, &f16);
    let bound: Vec<_> =
        ratios.iter().copied().filter(|(shape, _)| intensity(*shape) < RIDGE).collect();
    let mut lines = Vec::new();
    for (class, ratios, most) in [("", &ratios, MOST), (".memory_bound", &bound, 1.0)] {
        let Some(mean) = mean(ratios) else { continue };
        let figure = |what: &str, value, target| {
            Line::figure(format!("{name}{class}.{what}"), value, target)
        };
        lines.push(figure("shapes", ratios.len() as f64, Target::None));
        lines.push(figure("time_ratio", mean, Target::AtMost(most)));
    }
    Ok(lines)
}

/// The least time of f16 over that of f32, for each shape that both data sets have times of.
fn ratios(f32: &Dataset, f16: &Dataset) -> Vec<(GemmShape, f64)> {
    let half = ProblemClass { precision: Precision::F16, ..ProblemClass::F32_NN };
    let ratio = |shape: GemmShape| {
        let (f32, f16) = (least(f32, ProblemClass::F32_NN, shape)?, least(f16, half, shape)?);
        Some((shape, f16 / f32))
    };
    f32.shapes().into_iter().filter_map(ratio).collect()
}

/// The least time of any configuration.
fn least(dataset: &Dataset, class: ProblemClass, shape: GemmShape) -> Option<f64> {
    let is = |task: &trainer::dataset::Task| (task.class, task.shape) == (class, shape);
    let row = dataset.tasks().iter().position(is)?;
    let times = (0..dataset.configurations().len()).map(|column| dataset.time(row, column));
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
        let mut text = String::from("m,k,n,batch,class,configuration,status,samples_ns\n");
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
        let [one, other] = ["tile:1x1x1@8x8", "tile:2x2x2@8x8"];
        let f32 = dataset("f32-nn", &[(1, one, 400), (1, other, 200), (64, one, 900), (7, one, 1)]);
        let f16 = dataset("f16-nn", &[(1, one, 100), (1, other, 300), (64, other, 900)]);
        let ratios = ratios(&f32, &f16);
        let shape = |m| GemmShape::new(m, 512, 512, 1);
        assert_eq!(ratios, [(shape(1), 0.5), (shape(64), 1.0)]);
        assert!((mean(&ratios).unwrap() - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(mean(&[]), None);
        assert!(intensity(shape(1)) < 0.6 && intensity(shape(512)) > RIDGE);
    }
}
