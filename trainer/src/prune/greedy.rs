//! Cover the tasks: add the kernel that helps the most, then swap while that helps.

use super::{Performance, Pruned, Pruner, Request};

/// Greedy cover of mean log performance, refined by swaps.
pub(super) struct Greedy;

impl Pruner for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn about(&self) -> &'static str {
        "the kernels that together lose least, found one by one and by swaps"
    }

    fn weighs(&self) -> bool {
        false
    }

    fn prune(&self, performance: &Performance, request: &Request) -> Pruned {
        let cover = Cover { loss: columns(performance) };
        let mut kernels = Vec::new();
        let mut total = f64::INFINITY;
        while kernels.len() < request.count.max(1) {
            let Some((kernel, with)) = cover.best_addition(&kernels, total) else { break };
            kernels.push(kernel);
            total = with;
        }
        cover.swap(&mut kernels, total);
        Pruned::new(kernels, Vec::new())
    }
}

/// Gains below this are rounding, not gain.
const LEAST_GAIN: f64 = 1e-9;

/// Losses column by column, for speed.
struct Cover {
    loss: Vec<Vec<f64>>,
}

fn columns(performance: &Performance) -> Vec<Vec<f64>> {
    performance.loss.columns().into_iter().map(|column| column.to_vec()).collect()
}

impl Cover {
    /// Loss of each task under the best of `kernels`.
    fn least(&self, kernels: &[usize]) -> Vec<f64> {
        let mut least = vec![f64::INFINITY; self.loss.first().map_or(0, Vec::len)];
        for kernel in kernels {
            for (least, loss) in least.iter_mut().zip(&self.loss[*kernel]) {
                *least = least.min(*loss);
            }
        }
        least
    }

    /// The first kernel of those that lower the total the most, if any lowers it below `total`.
    fn best_addition(&self, kernels: &[usize], total: f64) -> Option<(usize, f64)> {
        let least = self.least(kernels);
        let mut best = None;
        let mut bound = total - LEAST_GAIN;
        for (kernel, column) in self.loss.iter().enumerate() {
            let with: f64 = column.iter().zip(&least).map(|(loss, least)| loss.min(*least)).sum();
            if with < bound {
                best = Some((kernel, with));
                bound = with - LEAST_GAIN;
            }
        }
        best
    }

    /// Exchange kernels one at a time while the total falls.
    fn swap(&self, kernels: &mut [usize], mut total: f64) {
        let mut place = 0;
        let mut since_gain = 0;
        while since_gain < kernels.len() {
            let others: Vec<usize> = kernels
                .iter()
                .copied()
                .enumerate()
                .filter(|(at, _)| *at != place)
                .map(|(_, one)| one)
                .collect();
            match self.best_addition(&others, total) {
                Some((kernel, with)) => {
                    kernels[place] = kernel;
                    total = with;
                    since_gain = 0;
                }
                None => since_gain += 1,
            }
            place = (place + 1) % kernels.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::prune::tests::{asked, shapes};

    fn kept(loss: Array2<f64>, count: usize) -> Vec<usize> {
        let relative = loss.mapv(|loss: f64| (-loss).exp2());
        let shapes = shapes(loss.nrows());
        Greedy.prune(&Performance { shapes, relative, loss }, &asked(count)).kernels
    }

    #[test]
    fn a_swap_undoes_a_first_step_that_was_too_eager() {
        // The middle kernel is best alone, but the outer two leave nothing to lose.
        let loss = array![[0.0, 0.6, 9.0], [0.0, 0.6, 9.0], [9.0, 0.6, 0.0], [9.0, 0.6, 0.0]];
        assert_eq!(kept(loss.clone(), 1), [1]);
        assert_eq!(kept(loss, 2), [0, 2]);
    }

    #[test]
    fn a_kernel_that_helps_nowhere_is_not_kept() {
        assert_eq!(kept(array![[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]], 3), [0]);
    }
}
