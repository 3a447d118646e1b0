//! The smoothed cover within a budget in bytes.

use super::budget::{Budget, Room};
use super::greedy::{Cover, Rule, without};
use super::smoothed::{self, Smoothed};
use super::{Performance, Pruned, Pruner, Request};

/// The smoothed cover within a budget.
///
/// Lists chosen by gain and by gain per byte are both refined, first by swaps, then by taking out
/// one kernel and filling the room again; the better one is kept. Of equally good lists the one
/// with fewer bytes wins, then the shorter one, then the one whose kernels come first.
pub struct Budgeted<'a> {
    /// What the binaries may take; of the data set whose performance is pruned.
    pub budget: &'a Budget,
}

impl<'a> Budgeted<'a> {
    /// Keep to `budget`.
    #[must_use]
    pub fn new(budget: &'a Budget) -> Self {
        Self { budget }
    }
}

impl Pruner for Budgeted<'_> {
    fn name(&self) -> &'static str {
        Smoothed.name()
    }

    fn about(&self) -> &'static str {
        "the kernels that together lose least among those whose binaries fit a budget"
    }

    fn weighs(&self) -> bool {
        false
    }

    fn prune(&self, performance: &Performance, request: &Request) -> Pruned {
        let room = Room { count: request.count.max(1), budget: Some(self.budget) };
        Pruned::new(best(Search { cover: smoothed::cover(performance), room }), Vec::new())
    }
}

/// The best list that was found; empty only if no kernel fits.
fn best(search: Search<'_>) -> Vec<usize> {
    let lists = RULES.map(|rule| search.refined(search.cover.list(&search.room, rule)));
    lists.into_iter().min_by(|one, other| search.order(one, other)).unwrap_or_default()
}

const RULES: [Rule; 2] = [Rule::Gain, Rule::GainPerByte];

struct Search<'a> {
    cover: Cover,
    room: Room<'a>,
}

impl Search<'_> {
    /// Take out one kernel and fill the room again while that gives a better list.
    fn refined(&self, mut list: Vec<usize>) -> Vec<usize> {
        let mut place = 0;
        while place < list.len() {
            let others = without(&list, place);
            let filled = RULES.map(|rule| {
                let mut list = others.clone();
                self.cover.fill(&mut list, &self.room, rule);
                list
            });
            let best = filled.into_iter().min_by(|one, other| self.order(one, other));
            match best.filter(|best| self.order(best, &list).is_lt()) {
                Some(better) => (list, place) = (better, 0),
                None => place += 1,
            }
        }
        list
    }

    /// The better list first.
    fn order(&self, one: &[usize], other: &[usize]) -> std::cmp::Ordering {
        let used = |list| self.room.budget.map_or(0, |budget| budget.used(list));
        let sorted = |list: &[usize]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        (self.cover.total(one).order(&self.cover.total(other)))
            .then_with(|| used(one).cmp(&used(other)))
            .then_with(|| one.len().cmp(&other.len()))
            .then_with(|| sorted(one).cmp(&sorted(other)))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::normalise::Normalisation;
    use crate::prune::budget::tests::dataset;
    use crate::prune::tests::performance;
    use crate::random::Random;

    fn kept(loss: &Array2<f64>, sizes: &[u64], bytes: u64) -> Vec<usize> {
        let names: Vec<String> = (0..sizes.len()).map(|one| format!("k{one}")).collect();
        let sizes: Vec<(&str, Option<u64>)> =
            names.iter().map(String::as_str).zip(sizes.iter().map(|bytes| Some(*bytes))).collect();
        let budget = Budget::new(&dataset(&sizes), bytes).unwrap();
        let performance = performance(loss.mapv(|loss| (-loss).exp2()));
        let room = Room { count: 9, budget: Some(&budget) };
        let Pruned { kernels, .. } =
            Pruned::new(best(Search { cover: Cover::of(&performance), room }), Vec::new());
        assert!(budget.used(&kernels) <= bytes, "{kernels:?}");
        kernels
    }

    #[test]
    fn no_normalisation_changes_the_list() {
        let budget = Budget::new(&dataset(&[("k0", Some(10)), ("k1", Some(10))]), 20).unwrap();
        let budgeted = Budgeted::new(&budget);
        assert!(!budgeted.weighs());
        let performance = performance(array![[1.0, 0.7], [0.6, 1.0], [1.0, 0.2]]);
        let lists = Normalisation::ALL.map(|normalisation| {
            budgeted.prune(&performance, &Request { count: 1, normalisation, seed: 0 }).kernels
        });
        assert!(lists.iter().all(|list| *list == lists[0]), "{lists:?}");
    }

    #[test]
    fn many_small_programs_may_beat_the_large_one_that_helps_the_most() {
        let loss = array![[0.1, 0.0, 3.0], [0.1, 0.0, 3.0], [0.1, 3.0, 0.0], [0.1, 3.0, 0.0]];
        assert_eq!(kept(&loss, &[100, 50, 50], 100), [1, 2]);
        assert_eq!(kept(&loss, &[100, 50, 51], 100), [0]);
        assert_eq!(kept(&loss, &[100, 50, 51], 99), [1]);
    }

    #[test]
    fn the_best_list_is_found_for_nearly_every_budget_of_small_tables() {
        let mut random = Random::new(3);
        let (mut found, mut all) = (0, 0);
        for _ in 0..20 {
            let loss = Array2::from_shape_fn((12, 7), |_| (16.0 * random.unit()).floor() / 4.0);
            let sizes: Vec<u64> = (0..7).map(|_| 10 + (90.0 * random.unit()) as u64).collect();
            for bytes in [100, 150, 200] {
                let total = |list: &[usize]| {
                    let least =
                        |row: usize| list.iter().map(|one| loss[(row, *one)]).fold(9.0, f64::min);
                    (0..12).map(least).sum::<f64>()
                };
                let fits =
                    |list: &Vec<usize>| list.iter().map(|one| sizes[*one]).sum::<u64>() <= bytes;
                let lists = (1..1 << 7).map(|set: u32| {
                    (0..7).filter(|one| set >> one & 1 == 1).collect::<Vec<usize>>()
                });
                let best = lists.filter(fits).map(|list| total(&list)).fold(f64::MAX, f64::min);
                found += usize::from(total(&kept(&loss, &sizes, bytes)) <= best);
                all += 1;
            }
        }
        assert!(found * 20 >= all * 19, "{found} of {all}");
    }
}
