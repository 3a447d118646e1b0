//! The first paper's pruners, against what scikit-learn computed from the H200 table.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use trainer::components::Components;
use trainer::dataset::Dataset;
use trainer::normalise::Normalisation;
use trainer::performance::Performance;
use trainer::prune::{self, Request};
use trainer::split;

/// All shapes of the table, then the two sides of each of the five splits.
static TABLE: LazyLock<(Performance, Vec<(Performance, Performance)>)> = LazyLock::new(|| {
    let dataset = Dataset::open(&data("h200-tile640.csv.gz")).unwrap();
    let splits = split::read(&data("splits-h200.csv"), &dataset.shapes()).unwrap();
    let tasks: Vec<usize> = (0..dataset.tasks().len()).collect();
    let of = |shapes: &[_]| {
        let among = |task: &usize| shapes.contains(&dataset.tasks()[*task].shape);
        Performance::of(&dataset, &tasks.iter().copied().filter(among).collect::<Vec<_>>())
    };
    let sides = splits.iter().map(|split| (of(&split.train), of(&split.test)));
    (Performance::of(&dataset, &tasks), sides.collect())
});

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(file)
}

/// The ceiling in percent, mean of the splits.
fn ceiling(pruner: &str, normalisation: Normalisation, count: usize) -> f64 {
    let (_, splits) = &*TABLE;
    let pruner = prune::by_name(pruner).unwrap();
    let of = |(train, test): &(Performance, Performance)| {
        let pruned = pruner.prune(train, &Request { count, normalisation, seed: 0 });
        let shares = (0..test.shapes.len()).map(|row| test.best_share(row, &pruned.kernels).ln());
        (shares.sum::<f64>() / test.shapes.len() as f64).exp()
    };
    100.0 * splits.iter().map(of).sum::<f64>() / splits.len() as f64
}

/// The mean that the reference gives, from a line `scale 4 TopN 90.89 (mean 90.46) | KMeans …`.
fn reference(pruner: &str, normalisation: Normalisation, count: usize) -> f64 {
    let line_start = match normalisation {
        Normalisation::Cutoff => format!("cutoff {count} TopN"),
        Normalisation::RawCutoff => format!("rawcutoff {count} TopN"),
        Normalisation::Scaled => format!("scale {count} TopN"),
        Normalisation::Sigmoid => format!("sigmoid {count} TopN"),
    };
    let name = match pruner {
        "pca-k-means" => " PCAKMeans ",
        "regression-tree" => " DecisionTree ",
        "spectral" => " Spectral ",
        other => panic!("{other} is not in the reference"),
    };
    let text = fs::read_to_string(data("reference-h200.txt")).unwrap();
    let line = text.lines().find(|line| line.starts_with(&line_start)).unwrap();
    let (_, mean) = line.split_once(name).unwrap().1.split_once("(mean ").unwrap();
    mean.split_once(')').unwrap().0.parse().unwrap()
}

fn assert_near_reference(pruner: &str, normalisation: Normalisation, count: usize, most: f64) {
    let (ours, theirs) =
        (ceiling(pruner, normalisation, count), reference(pruner, normalisation, count));
    let name = format!("{pruner} {normalisation:?} {count}: {ours:.2}, not {theirs}");
    assert!((ours - theirs).abs() < most, "{name}");
}

const COUNTS: [usize; 4] = [4, 6, 8, 15];
const SPARSE: [Normalisation; 3] =
    [Normalisation::Cutoff, Normalisation::RawCutoff, Normalisation::Sigmoid];

/// Every count with scaled performance, and 8 kernels with each of the others.
fn some() -> impl Iterator<Item = (Normalisation, usize)> {
    let scaled = COUNTS.map(|count| (Normalisation::Scaled, count));
    scaled.into_iter().chain(SPARSE.map(|sparse| (sparse, 8)))
}

#[test]
fn as_many_principal_components_explain_as_much_as_in_the_reference() {
    let components = Components::of(&TABLE.0.relative, usize::MAX);
    let counts = [0.8, 0.9, 0.95].map(|share| components.enough_for(share));
    let text = fs::read_to_string(data("reference-h200.txt")).unwrap();
    assert!(text.contains(&format!("PCA 80/90/95%: {counts:?}")), "{counts:?}");
}

#[test]
fn pca_then_k_means_is_as_good_as_the_references() {
    for (normalisation, count) in some() {
        assert_near_reference("pca-k-means", normalisation, count, 1.5);
    }
}

#[test]
fn spectral_clustering_is_as_good_as_the_references() {
    for (normalisation, count) in some() {
        assert_near_reference("spectral", normalisation, count, 1.5);
    }
}

#[test]
fn the_regression_tree_is_the_references() {
    for count in COUNTS {
        for normalisation in SPARSE.into_iter().chain([Normalisation::Scaled]) {
            assert_near_reference("regression-tree", normalisation, count, 0.1);
        }
    }
}

#[test]
fn the_number_of_threads_does_not_reach_the_list() {
    let (_, test) = &TABLE.1[0];
    let request = Request { count: 6, normalisation: Normalisation::Scaled, seed: 1 };
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let lists = prune::ALL.iter().map(|pruner| pruner.prune(test, &request));
        pool.install(|| lists.collect::<Vec<_>>())
    };
    assert_eq!(with(1), with(5));
}
