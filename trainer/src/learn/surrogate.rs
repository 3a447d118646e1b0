//! A model of the losses themselves, over shapes and kernels alike.
//!
//! It knows how a kernel cuts a shape into work: work-groups, work-items, what is computed beyond
//! the edges. So what one kernel loses tells something of what the others lose, and shapes are
//! alike where their cuts are, not only where their dimensions are.

use kernels::{Configuration, Problem};
use rayon::prelude::*;
use selector_core::{GemmShape, ProblemClass};

use super::Training;
use super::boosted::Boosted;
use crate::random::Random;

/// Predicts losses: the mean of a few boosted models.
pub(super) struct Surrogate {
    models: Vec<Boosted>,
    kernels: Vec<Kernel>,
}

/// Losses above this count as this: it does not matter how slow a bad kernel is.
const LARGEST: f64 = 2.0;

/// How a kernel cuts a problem.
struct Kernel {
    /// The family's number, or one for each kernel that is of no family of ours.
    kind: f64,
    /// Columns and rows of C and steps of k that a work-item computes at once.
    item: [f64; 3],
    /// Work-items of a work-group along columns and rows.
    group: [f64; 2],
    /// The kernel itself, where one of the list takes scratch memory, so that it may split k: then what
    /// is launched is not what `item` and `group` say.
    launched: Option<Configuration>,
    /// Whether one of the list does, so that each has a value more.
    some_launched: bool,
}

impl Surrogate {
    /// Fit `count` models.
    pub(super) fn fit(training: &Training, count: u64, seed: u64) -> Self {
        let takes_scratch = |one: &Configuration| one.program(ProblemClass::F32_NN).scratch;
        let some_launched = training.kernels.iter().flatten().any(takes_scratch);
        let kernels =
            training.kernels.iter().enumerate().map(|(at, one)| Kernel::of(at, one, some_launched));
        let kernels: Vec<Kernel> = kernels.collect();
        let pairs = training.shapes.iter().enumerate();
        let pairs =
            pairs.flat_map(|(row, shape)| (0..kernels.len()).map(move |at| (row, shape, at)));
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut target = Vec::new();
        for (row, shape, kernel) in pairs {
            let values = kernels[kernel].values(*shape);
            columns.resize(values.len(), Vec::new());
            for (column, value) in columns.iter_mut().zip(values) {
                column.push(value);
            }
            target.push(training.loss[(row, kernel)].min(LARGEST));
        }
        let fit = |index| {
            let mut random = Random::new(seed.wrapping_mul(count).wrapping_add(index));
            Boosted::fit(&columns, &target, &mut random)
        };
        // In order, whatever the number of threads.
        Self { models: (0..count).into_par_iter().map(fit).collect(), kernels }
    }

    /// Expected loss of each kernel on a shape.
    pub(super) fn predict(&self, shape: GemmShape) -> Vec<f64> {
        let loss = |kernel: &Kernel| {
            let values = kernel.values(shape);
            let answers = self.models.iter().map(|one| one.predict(&values));
            answers.sum::<f64>() / self.models.len() as f64
        };
        self.kernels.iter().map(loss).collect()
    }
}

/// Base-2 logarithm in whole steps, so that its last bit, which differs between machines, does not
/// matter.
fn log(value: f64) -> f64 {
    (value.max(1e-9).log2() * 1024.0).round()
}

impl Kernel {
    /// Of the kernel in column `at`; `None` is one that is of no family of ours.
    fn of(at: usize, configuration: &Option<Configuration>, some_launched: bool) -> Self {
        let Some(one) = configuration else {
            return Self {
                kind: -1.0 - at as f64,
                item: [1.0; 3],
                group: [1.0; 2],
                launched: None,
                some_launched,
            };
        };
        let [columns, rows, _] = one.family().work_group(one.parameters()).map(|side| side as f64);
        Self {
            kind: f64::from(one.packed().family),
            item: one.item().map(|side| side as f64),
            group: [columns, rows],
            launched: some_launched.then(|| one.clone()),
            some_launched,
        }
    }

    /// What the loss on `shape` is learned from.
    fn values(&self, shape: GemmShape) -> Vec<f64> {
        let [m, k, n, batch] =
            [shape.m, shape.k, shape.n, shape.batch].map(|one| f64::from(one.max(1)));
        let [columns, rows, steps] = self.item;
        let [group_columns, group_rows] = self.group;
        let [high, wide] = [(m / rows).ceil(), (n / columns).ceil()];
        let groups = [(high / group_rows).ceil(), (wide / group_columns).ceil()];
        let [groups_high, groups_wide] = groups;
        let group = group_rows * group_columns;
        let all_groups = groups_high * groups_wide * batch;
        let used = high * wide * batch;
        let divides = |size: f64, part: f64| f64::from(size % part == 0.0);
        let mut values = vec![self.kind];
        let logs = [
            m,
            k,
            n,
            batch,
            m * n * batch,
            m * n * k * batch,
            m / n,
            m * n / k,
            rows,
            steps,
            columns,
            group_rows,
            group_columns,
            rows * columns,
            rows / columns,
            group,
            group_rows / group_columns,
            rows * group_rows,
            columns * group_columns,
            all_groups,
            all_groups * group,
            used,
            used * rows * columns * k,
            groups_high,
            groups_wide,
            // Computed and started beyond the edges of C, and beyond the last step of k.
            groups_high * group_rows * rows / m,
            groups_wide * group_columns * columns / n,
            (k / steps).ceil() * steps / k,
            group / (m * n * batch),
        ];
        values.extend(logs.map(log));
        values.extend([divides(m, rows), divides(n, columns), divides(k, steps)]);
        if self.some_launched {
            let [started, parts] = self.launched(shape).unwrap_or([all_groups, 1.0]);
            values.extend([started, parts, k / parts, started * group].map(log));
        }
        values
    }

    /// Work-groups that multiply, and parts of k, as of class f32-nn whatever the class.
    fn launched(&self, shape: GemmShape) -> Option<[f64; 2]> {
        let configuration = self.launched.as_ref()?;
        let problem = Problem::packed(ProblemClass::F32_NN, shape);
        let [a, b, c] = problem.buffer_lengths().ok()?;
        let problem = problem.check(a, b, c).ok()?;
        let launches = configuration.launches(&problem);
        let groups = |(global, local): (&u64, &u64)| *global as f64 / *local as f64;
        let multiply = launches.iter().filter(|launch| launch.function == 0);
        let started = multiply
            .map(|launch| launch.global.iter().zip(&launch.local).map(groups).product::<f64>());
        Some([started.sum(), f64::from(configuration.parts(&problem))])
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    fn training(kernels: &[&str], loss: impl Fn(GemmShape, usize) -> f64) -> Training {
        let sizes = [1, 2, 3, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 40, 48, 57, 64, 96, 128];
        let shapes: Vec<_> =
            sizes.iter().flat_map(|m| [64, 256].map(|n| GemmShape::new(*m, 64, n, 1))).collect();
        let loss =
            Array2::from_shape_fn((shapes.len(), kernels.len()), |(row, at)| loss(shapes[row], at));
        let kernels = kernels.iter().map(|name| name.parse().ok()).collect();
        Training { best_ns: vec![1e6; shapes.len()], shapes, loss, kernels }
    }

    #[test]
    fn a_kernel_that_wins_where_its_tile_divides_is_known_on_a_size_never_seen() {
        let names = ["tile:8x1x1@8x8", "tile:1x1x1@8x8"];
        let training =
            training(&names, |shape, at| if (shape.m % 8 == 0) == (at == 0) { 0.0 } else { 1.0 });
        let surrogate = Surrogate::fit(&training, 1, 0);
        for m in [56, 72, 80, 88, 104] {
            let whole = surrogate.predict(GemmShape::new(m, 64, 64, 1));
            let cut = surrogate.predict(GemmShape::new(m + 3, 64, 64, 1));
            assert!(whole[0] < whole[1] && cut[0] > cut[1], "{m}: {whole:?} {cut:?}");
        }
    }

    #[test]
    fn a_split_of_k_is_seen_where_it_happens() {
        let names = ["split:64x64x16@8x8+264", "split:64x64x16@8x8+64"];
        let kernels: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(at, name)| Kernel::of(at, &name.parse().ok(), true))
            .collect();
        let deep = GemmShape::new(64, 16_384, 64, 1);
        assert_eq!(kernels[0].launched(deep), Some([256.0, 256.0]));
        assert_eq!(kernels[1].launched(deep), Some([64.0, 64.0]));
        assert_ne!(kernels[0].values(deep), kernels[1].values(deep));
        let wide = GemmShape::new(2048, 64, 2048, 1);
        assert_eq!(kernels[0].values(wide), kernels[1].values(wide));
        // Without such kernels there is nothing more to see.
        let plain = Kernel::of(0, &"tile:4x4x4@8x8".parse().ok(), false);
        assert_eq!(plain.values(deep).len() + 4, kernels[0].values(deep).len());
    }

    #[test]
    fn kernels_of_no_family_are_told_apart() {
        let training =
            training(
                &["a:X=1", "a:X=2"],
                |shape, at| {
                    if (shape.m < 16) == (at == 0) { 0.0 } else { 1.0 }
                },
            );
        let surrogate = Surrogate::fit(&training, 1, 0);
        let small = surrogate.predict(GemmShape::new(4, 64, 64, 1));
        let large = surrogate.predict(GemmShape::new(100, 64, 64, 1));
        assert!(small[0] < small[1] && large[0] > large[1], "{small:?} {large:?}");
    }

    #[test]
    fn no_shape_leads_out_of_the_finite_numbers() {
        let training = training(&["tile:8x8x8@16x16"], |_, _| 0.5);
        let surrogate = Surrogate::fit(&training, 1, 0);
        for size in [0, 1, u32::MAX] {
            let loss = surrogate.predict(GemmShape { m: size, k: size, n: size, batch: size });
            assert!((loss[0] - 0.5).abs() < 1e-6, "{loss:?}");
        }
    }
}
