//! Ways to choose the few kernels worth shipping. To add one: write its file, then list it in
//! [`ALL`].

mod budget;
mod budgeted;
mod greedy;
mod groups;
mod hdbscan;
mod kmeans;
mod pca_kmeans;
mod regression_tree;
mod smoothed;
mod spectral;
mod top_n;
mod warning;

use crate::normalise::Normalisation;
use crate::performance::Performance;

pub use budget::{Budget, BudgetError};
pub use budgeted::Budgeted;
pub(crate) use hdbscan::{Clustering, Sweep};
pub use warning::Warning;

/// A way to choose the kernel list.
pub trait Pruner: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it does, in a line.
    fn about(&self) -> &'static str;

    /// Whether [`Request::normalisation`] makes a difference.
    fn weighs(&self) -> bool {
        true
    }

    /// Whether [`Request::seed`] makes a difference.
    fn draws(&self) -> bool {
        false
    }

    /// Choose at most `request.count` configurations, as columns of `performance`; at least one,
    /// none twice. The order of rows does not matter.
    fn prune(&self, performance: &Performance, request: &Request) -> Pruned;
}

/// What a pruner is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Most kernels to keep.
    pub count: usize,
    /// How performance is weighed, where the method weighs it.
    pub normalisation: Normalisation,
    /// Seed of every random choice.
    pub seed: u64,
}

/// The chosen configurations.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Pruned {
    /// Columns, sorted.
    pub kernels: Vec<usize>,
    /// What the user should know about the choice.
    pub warnings: Vec<Warning>,
}

/// Every pruner; the first is the default.
pub static ALL: &[&dyn Pruner] = &[
    &smoothed::Smoothed,
    &greedy::Greedy,
    &kmeans::KMeansRepresentatives,
    &pca_kmeans::ComponentsThenKMeans,
    &spectral::Spectral,
    &hdbscan::Density,
    &regression_tree::RegressionTree,
    &top_n::TopN,
];

/// The pruner called `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Pruner> {
    ALL.iter().copied().find(|pruner| pruner.name() == name)
}

impl Pruned {
    fn new(mut kernels: Vec<usize>, warnings: Vec<Warning>) -> Self {
        kernels.sort_unstable();
        kernels.dedup();
        Self { kernels, warnings }
    }

    /// The first configuration, if there is one, where nothing tells them apart.
    fn nothing_known(performance: &Performance) -> Self {
        Self::new((0..performance.relative.ncols().min(1)).collect(), vec![Warning::NoTasks])
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use ndarray::{Array2, Axis, array};
    use selector_core::{GemmShape, ProblemClass};

    use super::*;
    use crate::random::Random;

    /// As many shapes, all different.
    pub(crate) fn shapes(count: usize) -> Vec<GemmShape> {
        (1..).map(|m| GemmShape::new(m, 64, 64, 1)).take(count).collect()
    }

    pub(crate) fn performance(relative: Array2<f64>) -> Performance {
        let loss = relative.mapv(|share| if share > 0.0 { -share.log2().min(0.0) } else { 9.0 });
        let shapes = shapes(relative.nrows());
        let classes = vec![ProblemClass::F32_NN; shapes.len()];
        Performance { shapes, classes, relative, loss }
    }

    pub(crate) fn asked(count: usize) -> Request {
        Request { count, normalisation: Normalisation::Scaled, seed: 0 }
    }

    const NORMALISATIONS: [Normalisation; 4] = [
        Normalisation::Cutoff,
        Normalisation::RawCutoff,
        Normalisation::Scaled,
        Normalisation::Sigmoid,
    ];

    /// Tasks in `groups` groups, in each of which another kernel is best.
    fn grouped(rows: usize, groups: usize, columns: usize) -> Array2<f64> {
        let mut random = Random::new(7);
        Array2::from_shape_fn((rows, columns), |(row, column)| {
            let favoured = column == row * groups / rows;
            if favoured { 1.0 } else { 0.05 * random.unit() }
        })
    }

    #[test]
    fn names_lead_to_pruners() {
        for pruner in ALL {
            assert_eq!(by_name(pruner.name()).map(|one| one.name()), Some(pruner.name()));
        }
        assert!(by_name("forest").is_none());
    }

    #[test]
    fn every_pruner_finds_groups_that_are_far_apart() {
        for pruner in ALL {
            for normalisation in NORMALISATIONS {
                let request = Request { normalisation, ..asked(3) };
                let pruned = pruner.prune(&performance(grouped(24, 3, 5)), &request);
                let expected = Pruned { kernels: vec![0, 1, 2], warnings: Vec::new() };
                assert_eq!(pruned, expected, "{} {normalisation:?}", pruner.name());
            }
        }
    }

    #[test]
    fn only_pruners_that_say_so_heed_the_seed() {
        let mut random = Random::new(5);
        let table = performance(Array2::from_shape_fn((60, 30), |_| random.unit()));
        let lists = |pruner: &dyn Pruner| -> BTreeSet<Vec<usize>> {
            let request = |seed| Request { seed, ..asked(6) };
            (0..8).map(|seed| pruner.prune(&table, &request(seed)).kernels).collect()
        };
        for pruner in ALL {
            assert_eq!(lists(*pruner).len() > 1, pruner.draws(), "{}", pruner.name());
        }
    }

    #[test]
    fn the_order_of_rows_does_not_reach_the_list() {
        let mut random = Random::new(3);
        let relative = Array2::from_shape_fn((40, 12), |_| random.unit());
        let straight = performance(relative);
        let mut order: Vec<usize> = (0..40).collect();
        random.shuffle(&mut order);
        let shuffled = Performance {
            shapes: order.iter().map(|row| straight.shapes[*row]).collect(),
            classes: straight.classes.clone(),
            relative: straight.relative.select(Axis(0), &order),
            loss: straight.loss.select(Axis(0), &order),
        };
        for pruner in ALL {
            let pruned = pruner.prune(&straight, &asked(5));
            assert_eq!(pruner.prune(&shuffled, &asked(5)), pruned, "{}", pruner.name());
        }
    }

    #[test]
    fn nothing_that_a_table_may_hold_makes_a_pruner_panic_or_repeat_itself() {
        let (nan, infinite) = (f64::NAN, f64::INFINITY);
        let tables = [
            Array2::zeros((3, 4)),
            array![[0.3, 1.0]],
            array![[0.2, 1.0], [1.0, 0.2]],
            Array2::ones((5, 3)),
            Array2::ones((9, 1)),
            array![[nan, 1.0], [1.0, nan], [0.5, 1.0]],
            array![[infinite, 1.0], [1.0, -infinite], [0.5, 1.0]],
            Array2::from_elem((4, 2), nan),
            array![[0.0, 0.0], [1.0, 0.5], [1.0, 0.5], [0.5, 1.0]],
            array![[1.0, 5e-324], [5e-324, 1.0], [1.0, 1e-300]],
            Array2::from_shape_fn((12, 900), |(row, column)| f64::from(row == column % 12)),
            grouped(24, 3, 5),
        ];
        for pruner in ALL {
            for (index, table) in tables.iter().enumerate() {
                for (count, normalisation) in [0, 1, 2, 8, 127]
                    .iter()
                    .flat_map(|count| NORMALISATIONS.map(|one| (*count, one)))
                {
                    let request = Request { normalisation, ..asked(count) };
                    let Pruned { kernels, .. } =
                        pruner.prune(&performance(table.clone()), &request);
                    let name = format!("{} {index} {request:?}: {kernels:?}", pruner.name());
                    assert!((1..=count.max(1)).contains(&kernels.len()), "{name}");
                    assert!(kernels.windows(2).all(|pair| pair[0] < pair[1]), "{name}");
                    assert!(kernels.iter().all(|kernel| *kernel < table.ncols()), "{name}");
                }
            }
        }
    }

    #[test]
    fn fewer_kernels_than_asked_for_come_with_a_warning_where_tasks_are_grouped() {
        let tables = [Array2::ones((5, 3)), array![[0.3, 1.0]], grouped(24, 3, 5)];
        for pruner in
            ALL.iter().filter(|one| !["smoothed", "greedy", "top-n"].contains(&one.name()))
        {
            for table in &tables {
                let pruned = pruner.prune(&performance(table.clone()), &asked(9));
                let few = pruned.kernels.len() < 9;
                assert!(few && !pruned.warnings.is_empty(), "{} {pruned:?}", pruner.name());
            }
        }
    }

    #[test]
    fn a_table_without_usable_rows_keeps_the_first_configuration_and_says_so() {
        for pruner in ALL {
            let no_rows = pruner.prune(&performance(Array2::zeros((0, 3))), &asked(2));
            assert_eq!(no_rows.kernels, [0], "{}", pruner.name());
            let no_columns = pruner.prune(&performance(Array2::zeros((3, 0))), &asked(2));
            assert_eq!(no_columns.kernels, [0; 0], "{}", pruner.name());
        }
        let groups = kmeans::KMeansRepresentatives;
        let pruned = groups.prune(&performance(array![[f64::NAN, 0.0]]), &asked(2));
        assert_eq!(pruned.warnings, [Warning::NotFinite { count: 1 }, Warning::NoTasks]);
    }
}
