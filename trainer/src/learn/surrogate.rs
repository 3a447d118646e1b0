//! A model of the losses themselves, over shapes and kernels alike.
//!
//! It knows how a kernel cuts a shape into work: work-groups, work-items, what is computed beyond
//! the edges. So what one kernel loses tells something of what the others lose, and shapes are
//! alike where their cuts are, not only where their dimensions are.

use kernels::Configuration;
use rayon::prelude::*;
use selector_core::GemmShape;

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
}

impl Surrogate {
    /// Fit `count` models.
    pub(super) fn fit(training: &Training, count: u64, seed: u64) -> Self {
        let kernels: Vec<Kernel> =
            training.kernels.iter().enumerate().map(|(at, one)| Kernel::of(at, one)).collect();
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
    fn of(at: usize, configuration: &Option<Configuration>) -> Self {
        let Some(one) = configuration else {
            return Self { kind: -1.0 - at as f64, item: [1.0; 3], group: [1.0; 2] };
        };
        let [columns, rows, _] = one.family().work_group(one.parameters()).map(|side| side as f64);
        Self {
            kind: f64::from(one.packed().family),
            item: one.item().map(|side| side as f64),
            group: [columns, rows],
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
        values
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
