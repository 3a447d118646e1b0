//! The H200 table, against what other programs computed from it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use trainer::dataset::Dataset;
use trainer::normalise::Normalisation;
use trainer::score::{self, SplitScore};
use trainer::split::{self, Split};
use trainer::train::Method;
use trainer::{learn, prune};

static TABLE: LazyLock<(Dataset, Vec<Split>)> = LazyLock::new(|| {
    let dataset = Dataset::open(&data("h200-tile640.csv.gz")).unwrap();
    let splits = split::read(&data("splits-h200.csv"), &dataset.shapes()).unwrap();
    (dataset, splits)
});

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(file)
}

fn scores(pruner: &str, learner: &str, kernels: usize) -> Vec<SplitScore> {
    let (dataset, splits) = &*TABLE;
    let method = Method {
        pruner: prune::by_name(pruner).unwrap(),
        learner: learn::by_name(learner).unwrap(),
        kernels,
        normalisation: Normalisation::Scaled,
        seed: 0,
    };
    score::score(dataset, splits, &method, None, &|| ()).unwrap()
}

fn percent(scores: &[SplitScore], of: impl Fn(&SplitScore) -> f64) -> f64 {
    100.0 * score::mean(scores, of).unwrap()
}

#[test]
fn the_table_is_read_whole() {
    let (dataset, splits) = &*TABLE;
    assert_eq!((dataset.rows.read, dataset.rows.merged), (156_800, 0));
    assert!(dataset.rows.dropped.is_empty());
    assert_eq!((dataset.tasks().len(), dataset.configurations().len()), (245, 640));
    let names: Vec<_> = splits.iter().map(|split| split.name.as_str()).collect();
    assert_eq!(names, ["split42", "split0", "split1", "split2", "split3"]);
    assert!(splits.iter().all(|split| (split.train.len(), split.test.len()) == (196, 49)));
}

#[test]
fn top_n_keeps_what_the_reference_keeps() {
    // data/reference-h200.txt: ties go to the configuration that comes first in the file.
    for (kernels, expected) in [
        (4, [84.14, 89.44, 92.29, 94.65, 87.13]),
        (6, [93.04, 95.08, 93.36, 95.18, 90.76]),
        (8, [95.55, 95.21, 96.75, 95.63, 92.60]),
        (15, [97.51, 97.34, 98.36, 97.80, 94.88]),
    ] {
        for (score, expected) in scores("top-n", "single-best", kernels).iter().zip(expected) {
            let ceiling = 100.0 * score.ceiling;
            assert!((ceiling - expected).abs() < 0.01, "{kernels}: {score:?}, not {expected}");
        }
    }
}

#[test]
fn k_means_is_as_good_as_the_references() {
    for (kernels, expected) in [(4, 92.43), (6, 94.71), (8, 96.06), (15, 97.30)] {
        let ceiling = percent(&scores("k-means", "single-best", kernels), |score| score.ceiling);
        assert!((ceiling - expected).abs() < 1.5, "{kernels}: {ceiling:.2}, not {expected}");
    }
}

#[test]
fn the_greedy_cover_is_the_references() {
    for (kernels, expected) in [(4, 93.47), (6, 95.09), (8, 96.59), (15, 98.37)] {
        let ceiling = percent(&scores("greedy", "single-best", kernels), |score| score.ceiling);
        assert!((ceiling - expected).abs() < 0.01, "{kernels}: {ceiling:.2}, not {expected}");
    }
}

#[test]
fn the_smoothed_cover_is_better_on_shapes_it_has_not_seen() {
    for kernels in [4, 6, 8, 15] {
        let [smoothed, greedy] = ["smoothed", "greedy"]
            .map(|pruner| percent(&scores(pruner, "single-best", kernels), |score| score.ceiling));
        assert!(smoothed > greedy, "{kernels}: {smoothed:.2} {greedy:.2}");
    }
}

#[test]
fn the_one_best_configuration_is_the_references() {
    let one_best = percent(&scores("greedy", "single-best", 1), |score| score.one_best);
    assert!((one_best - 66.90).abs() < 0.01, "{one_best:.2}");
}

#[test]
fn the_share_of_optimal_does_not_drift() {
    let share = |pruner, learner| percent(&scores(pruner, learner, 8), |score| score.share);
    for (pruner, learner, expected) in [
        ("smoothed", "distilled", "95.3"),
        ("greedy", "distilled", "95.6"),
        ("greedy", "cost-tree", "93.1"),
        ("greedy", "single-best", "65.8"),
    ] {
        assert_eq!(format!("{:.1}", share(pruner, learner)), expected, "{pruner} {learner}");
    }
    assert!(share("greedy", "linfa") < share("greedy", "distilled"));
}
