//! Which place a method has among others: those within a standard error of the best of a place share it.
//!
//! Methods are taken by their mean share, the best first. The first one opens a place. Each next
//! one shares it as long as it falls short of the one that opened it by less than the standard error of
//! that difference; the first that does not opens a place of its own, whose number is one more than
//! the number of methods above it.

use super::{Standing, splits};

/// A method in its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    /// From 1; methods within a standard error of the first of them have the same.
    pub place: usize,
    /// The method.
    pub method: String,
    /// Mean over splits and seeds, 0…1.
    pub share: f64,
    /// The least of the means over splits, of which there is one a seed.
    pub lowest: f64,
    /// The largest of them.
    pub highest: f64,
    /// Seeds that it was tried with.
    pub seeds: usize,
}

/// All methods by their places; within a place `first`, then the others by name.
pub(super) fn of(standings: &[Standing], first: &str) -> Vec<Placed> {
    let mut order: Vec<(f64, &Standing)> =
        standings.iter().map(|one| (mean(&one.shares), one)).collect();
    order.sort_by(|one, other| {
        other.0.total_cmp(&one.0).then_with(|| one.1.method.cmp(&other.1.method))
    });
    let mut placed: Vec<Placed> = Vec::new();
    let mut opened = 0;
    for (index, (share, standing)) in order.iter().enumerate() {
        let (best, head) = order[opened];
        if best - share > 0.0 && best - share >= standard_error(&head.shares, &standing.shares) {
            opened = index;
        }
        placed.push(Placed::of(standing, opened + 1));
    }
    placed.sort_by(|one, other| {
        let key = |one: &Placed| (one.place, one.method != first);
        key(one).cmp(&key(other)).then_with(|| one.method.cmp(&other.method))
    });
    placed
}

impl Placed {
    fn of(standing: &Standing, place: usize) -> Self {
        let means = || standing.shares.iter().map(|splits| splits::mean(splits));
        Self {
            place,
            method: standing.method.clone(),
            share: mean(&standing.shares),
            lowest: means().fold(f64::INFINITY, f64::min),
            highest: means().fold(f64::NEG_INFINITY, f64::max),
            seeds: standing.shares.len(),
        }
    }
}

/// Over seeds and splits.
fn mean(shares: &[Vec<f64>]) -> f64 {
    splits::mean(&shares.iter().map(|splits| splits::mean(splits)).collect::<Vec<_>>())
}

/// The standard error of the mean difference of two methods, of each of which there is a row a seed
/// and a value a split. Values are paired by seed and split, a method without random choices with
/// every seed of the other. Of the differences, the variance between splits, each a mean over
/// seeds, and that between seeds, each a mean over splits, each over their number, are added: both
/// other splits and other seeds would give another mean.
fn standard_error(one: &[Vec<f64>], other: &[Vec<f64>]) -> f64 {
    let (Some(first), Some(second)) = (one.first(), other.first()) else { return 0.0 };
    let (seeds, splits) = (one.len().max(other.len()), first.len().min(second.len()));
    let difference = |seed: usize, split: usize| {
        one[seed.min(one.len() - 1)][split] - other[seed.min(other.len() - 1)][split]
    };
    let over = |count: usize, of: &dyn Fn(usize) -> f64| (0..count).map(of).collect::<Vec<f64>>();
    let by_split =
        over(splits, &|split| splits::mean(&over(seeds, &|seed| difference(seed, split))));
    let by_seed =
        over(seeds, &|seed| splits::mean(&over(splits, &|split| difference(seed, split))));
    (variance_of_mean(&by_split) + variance_of_mean(&by_seed)).sqrt()
}

/// Zero where one value, or none, says nothing of it.
fn variance_of_mean(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = splits::mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() - 1) as f64 / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(method: &str, shares: &[&[f64]]) -> Standing {
        let shares = shares.iter().map(|splits| splits.to_vec()).collect();
        Standing { method: method.to_owned(), shares }
    }

    fn places(standings: &[Standing], first: &str) -> Vec<(usize, String)> {
        of(standings, first).into_iter().map(|one| (one.place, one.method)).collect()
    }

    #[test]
    fn what_chance_may_part_shares_a_place_and_the_default_is_its_first() {
        let all = [
            standing("a", &[&[0.90, 0.80, 0.70]]),
            // One point below on every split: no chance.
            standing("b", &[&[0.89, 0.79, 0.69]]),
            // Below "a" by less than the splits differ in that.
            standing("c", &[&[0.93, 0.75, 0.715]]),
            standing("far", &[&[0.5, 0.5, 0.5]]),
        ];
        let expected = [(1, "a"), (1, "c"), (3, "b"), (4, "far")];
        let expected = expected.map(|(place, name)| (place, name.to_owned()));
        assert_eq!(places(&all, "far"), expected);
        let of_default = places(&all, "c");
        assert_eq!(of_default[..2], [(1, "c".to_owned()), (1, "a".to_owned())]);
        // Never in a better place than its own.
        assert_eq!(places(&all, "b")[2], (3, "b".to_owned()));
        let mut turned = all.clone();
        turned.reverse();
        assert_eq!(of(&turned, "c"), of(&all, "c"));
    }

    #[test]
    fn a_lead_of_one_lucky_seed_is_no_place_of_its_own() {
        let calm = standing("calm", &[&[0.9, 0.9]]);
        let lucky = [[0.97, 0.97], [0.87, 0.87], [0.88, 0.88], [0.92, 0.92]];
        let rows: Vec<&[f64]> = lucky.iter().map(|row| &row[..]).collect();
        let lucky = standing("lucky", &rows);
        let both = of(&[calm.clone(), lucky.clone()], "");
        assert_eq!(both.iter().map(|one| one.place).collect::<Vec<_>>(), [1, 1]);
        let ranges = both.iter().map(|one| (one.lowest, one.highest, one.seeds));
        assert_eq!(ranges.collect::<Vec<_>>(), [(0.9, 0.9, 1), (0.87, 0.97, 4)]);
        // With that seed alone it leads.
        let alone = Standing { shares: lucky.shares[..1].to_vec(), ..lucky };
        assert_eq!(places(&[calm, alone], ""), [(1, "lucky".into()), (2, "calm".into())]);
    }

    #[test]
    fn the_error_counts_splits_and_seeds() {
        // Differences of 0 and 2 between splits, none between seeds: variance 2, over 2 splits.
        let error = standard_error(&[vec![0.0, 2.0], vec![0.0, 2.0]], &[vec![0.0, 0.0]]);
        assert!((error - 1.0).abs() < 1e-12, "{error}");
        // And of 0 and 4 between seeds besides: variance 8, over 2 seeds.
        let error = standard_error(&[vec![0.0, 2.0], vec![4.0, 6.0]], &[vec![0.0, 0.0]]);
        assert!((error - 5.0_f64.sqrt()).abs() < 1e-12, "{error}");
        assert_eq!(standard_error(&[vec![0.3]], &[vec![0.1]]), 0.0);
        assert_eq!(of(&[], ""), []);
    }
}
