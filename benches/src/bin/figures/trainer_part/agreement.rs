//! How far the study is from what other programs found on the H200 data.

use anyhow::ensure;

use super::COUNTS_OF_CLASSIFIERS;
use super::reference::{Pruned, Reference};
use super::tables::Study;
use crate::figure::{Sheet, Target};

/// Points that methods with a random choice may be off.
const POINTS: f64 = 1.5;
/// Points that top-n, which has none, may be off.
const EXACT_POINTS: f64 = 0.01;
/// The pruners that have a distance, and the most that it may be.
const PRUNERS: [(&str, f64); 4] = [
    ("k-means", POINTS),
    ("pca-k-means", POINTS),
    ("spectral", POINTS),
    ("regression-tree", POINTS),
];
/// Classifiers whose distance has a target; that of the others has none.
const TREES: [&str; 3] = ["tree-a", "tree-b", "tree-c"];
const OTHERS: [&str; 7] =
    ["1-nn", "3-nn", "7-nn", "linear-svm", "radial-svm", "random-forest", "mlp"];

/// Print all distances, in points.
pub(super) fn tell(
    sheet: &mut Sheet,
    study: Study<'_>,
    reference: &Reference,
) -> anyhow::Result<()> {
    counts(sheet, study, reference)?;
    top_n(sheet, study, reference)?;
    for (pruner, most) in PRUNERS {
        let of_pruner = reference.pruning.iter().filter(|one| one.pruner == pruner);
        let distance = largest(of_pruner.map(|one| pruned(study, one)))?;
        let name = format!("trainer.reference.{pruner}.distance_points");
        sheet.figure(&name, distance, Target::AtMost(most));
    }
    hdbscan(sheet, study)?;
    for (classifiers, target) in [(&TREES[..], Target::AtMost(POINTS)), (&OTHERS[..], Target::None)]
    {
        for classifier in classifiers {
            for (features, list) in [
                ("raw", "pca-k-means"),
                ("raw", "greedy"),
                ("aug", "pca-k-means"),
                ("aug", "greedy"),
            ] {
                let distance = classified(study, reference, [classifier, features, list])?;
                let name =
                    format!("trainer.reference.{classifier}.{features}.{list}.distance_points");
                sheet.figure(&name, distance, target);
            }
        }
    }
    Ok(())
}

fn counts(sheet: &mut Sheet, study: Study<'_>, reference: &Reference) -> anyhow::Result<()> {
    let needed = study.table("components-needed")?;
    for (percent, expected) in ["80", "90", "95"].into_iter().zip(&reference.components) {
        let found = needed.number(&[("part of variance", percent)], "components")?;
        let name = format!("trainer.reference.components_for_{percent}_percent");
        sheet.figure(&name, found, Target::Exactly(*expected));
    }
    let winners = [("what", "configurations that win a task")];
    let winners = study.table("measured")?.number(&winners, "count")?;
    sheet.figure("trainer.reference.winners", winners, Target::Exactly(reference.winners));
    Ok(())
}

fn top_n(sheet: &mut Sheet, study: Study<'_>, reference: &Reference) -> anyhow::Result<()> {
    let table = study.table("pruning")?;
    let mut distances = Vec::new();
    for (kernels, expected) in &reference.top_n {
        let splits: Vec<&str> = study.splits().collect();
        ensure!(splits.len() == expected.len(), "the study has other splits than the reference");
        for normalisation in ["scaled", "raw-cutoff", "cutoff", "sigmoid"] {
            let keys =
                [("normalisation", normalisation), ("pruner", "top-n"), ("kernels", &kernels[..])];
            for (split, expected) in splits.iter().zip(expected) {
                let found = table.number(&keys, &format!("share {split}"))?;
                distances.push(Ok(distance(found, *expected)));
            }
        }
    }
    let distance = largest(distances.into_iter())?;
    let name = "trainer.reference.top-n.every_split.distance_points";
    sheet.figure(name, distance, Target::AtMost(EXACT_POINTS));
    Ok(())
}

fn pruned(study: Study<'_>, one: &Pruned) -> anyhow::Result<f64> {
    let Pruned { normalisation, pruner, kernels, mean } = one;
    let keys = [("normalisation", *normalisation), ("pruner", *pruner), ("kernels", &kernels[..])];
    Ok(distance(study.table("pruning")?.number(&keys, "share")?, *mean))
}

/// No other program's numbers are known: its ceilings, with the normalisation that suits it best.
fn hdbscan(sheet: &mut Sheet, study: Study<'_>) -> anyhow::Result<()> {
    let table = study.table("pruning")?;
    for kernels in ["4", "6", "8", "15"] {
        let ceiling = |normalisation: &str| {
            let keys =
                [("normalisation", normalisation), ("pruner", "hdbscan"), ("kernels", kernels)];
            table.number(&keys, "share")
        };
        let best = largest(["scaled", "raw-cutoff", "cutoff", "sigmoid"].into_iter().map(ceiling))?;
        let name = format!("trainer.h200.hdbscan.{kernels}.best_ceiling_percent");
        sheet.figure(&name, best, Target::None);
    }
    Ok(())
}

/// The largest distance over the reference's counts.
fn classified(
    study: Study<'_>,
    reference: &Reference,
    [classifier, features, list]: [&str; 3],
) -> anyhow::Result<f64> {
    let table = study.classifiers_on(list)?;
    let one = |kernels: &'static str| {
        let expected = reference.classifier(list, features, kernels, classifier)?;
        let keys = [("features", features), ("kernels", kernels), ("classifier", classifier)];
        Ok(distance(table.number(&keys, "share")?, expected))
    };
    largest(COUNTS_OF_CLASSIFIERS.into_iter().map(one))
}

/// The distance of a value, as the reference prints it, from one of the reference's.
fn distance(found: f64, expected: f64) -> f64 {
    let hundredths = |value: f64| (100.0 * value).round();
    (hundredths(found) - hundredths(expected)).abs() / 100.0
}

/// The largest; an error if there is none.
fn largest(values: impl Iterator<Item = anyhow::Result<f64>>) -> anyhow::Result<f64> {
    let values = values.collect::<anyhow::Result<Vec<f64>>>()?;
    let largest = values.into_iter().max_by(f64::total_cmp);
    largest.ok_or_else(|| anyhow::anyhow!("the reference has nothing to compare with"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_printed_values_and_the_largest_counts() {
        assert_eq!(distance(95.554_9, 95.56), 0.01);
        assert_eq!(distance(95.556, 95.56), 0.0);
        assert_eq!(distance(80.0, 81.5), 1.5);
        let values = [0.5, 1.5, 1.0].map(Ok);
        assert_eq!(largest(values.into_iter()).unwrap(), 1.5);
        assert!(largest(std::iter::empty()).is_err());
        assert!(largest([Ok(1.0), Err(anyhow::anyhow!("no row"))].into_iter()).is_err());
    }
}
