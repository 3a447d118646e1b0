//! Keep the configurations that win most often.

use std::cmp::Reverse;

use super::{Performance, Pruned, Pruner, Request};
use crate::performance::first_largest;

/// The most frequent winners.
pub(super) struct TopN;

impl Pruner for TopN {
    fn name(&self) -> &'static str {
        "top-n"
    }

    fn about(&self) -> &'static str {
        "the configurations that win most often"
    }

    fn weighs(&self) -> bool {
        false
    }

    fn prune(&self, performance: &Performance, request: &Request) -> Pruned {
        let wins = wins(performance);
        let mut winners: Vec<usize> = (0..wins.len()).filter(|one| wins[*one] > 0).collect();
        winners.sort_by_key(|one| (Reverse(wins[*one]), *one));
        winners.truncate(request.count.max(1));
        if winners.is_empty() {
            return Pruned::nothing_known(performance);
        }
        Pruned::new(winners, Vec::new())
    }
}

/// Tasks that each configuration wins. Of equal ones the first in natural order wins, and of those
/// that only noise tells apart, the one that wins more tasks beyond doubt.
fn wins(performance: &Performance) -> Vec<usize> {
    let rows = || performance.relative.rows().into_iter().zip(performance.loss.rows());
    let mut fastest = vec![0; performance.relative.ncols()];
    if fastest.is_empty() {
        return fastest;
    }
    for (relative, _) in rows() {
        fastest[first_largest(relative)] += 1;
    }
    let mut wins = vec![0; fastest.len()];
    for (relative, loss) in rows() {
        let winner = first_largest(relative);
        let by_noise = (0..fastest.len()).filter(|one| loss[*one] == 0.0 && relative[*one] < 1.0);
        let rivals = by_noise.chain([winner]);
        let winner = rivals.min_by_key(|one| (Reverse(fastest[*one]), *one)).unwrap_or(winner);
        wins[winner] += 1;
    }
    wins
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::prune::tests::{asked, shapes};

    fn kept(relative: Array2<f64>, loss: Array2<f64>, count: usize) -> Vec<usize> {
        let shapes = shapes(loss.nrows());
        let classes = vec![selector_core::ProblemClass::F32_NN; shapes.len()];
        TopN.prune(&Performance { shapes, classes, relative, loss }, &asked(count)).kernels
    }

    #[test]
    fn frequent_winners_stay_and_ties_go_to_the_first() {
        let relative = array![[1.0, 0.5, 0.9], [0.5, 0.5, 1.0], [0.5, 1.0, 0.5], [1.0, 1.0, 0.5]];
        let loss = relative.mapv(|share: f64| -share.log2());
        assert_eq!(kept(relative.clone(), loss.clone(), 1), [0]);
        assert_eq!(kept(relative.clone(), loss.clone(), 2), [0, 1]);
        assert_eq!(kept(relative, loss, 9), [0, 1, 2]);
    }

    #[test]
    fn what_only_noise_tells_apart_goes_to_the_kernel_that_wins_elsewhere() {
        let relative = array![[1.0, 0.5], [1.0, 0.5], [0.996, 1.0]];
        let beyond_noise = relative.mapv(|share: f64| -share.log2());
        assert_eq!(kept(relative.clone(), beyond_noise, 2), [0, 1]);
        assert_eq!(kept(relative, array![[0.0, 1.0], [0.0, 1.0], [0.0, 0.0]], 2), [0]);
    }
}
