//! Gradient boosting for numbers: shallow trees, each fitted to what those before it leave over.
//!
//! Written here since no kept crate has it with a seed, repeatably on any number of threads. Values
//! are sorted into at most 64 bins, so that the best split of a column is found in one pass.

use crate::random::Random;

/// The sum of many shallow trees.
pub(super) struct Boosted {
    cuts: Vec<Vec<f64>>,
    base: f64,
    trees: Vec<Vec<Node>>,
}

/// Trees.
const ROUNDS: usize = 200;
/// Questions from the root of a tree to a leaf.
const DEPTH: usize = 6;
/// How much of a tree's answer counts.
const SHRINKAGE: f64 = 0.1;
/// A leaf's answer is drawn towards 0 as by this many rows.
const DAMPING: f64 = 1.0;
/// Fewest rows on each side of a split.
const FEWEST: usize = 5;
/// Part of the rows that a tree sees.
const ROWS: f64 = 0.8;
/// Part of the columns that a tree sees.
const COLUMNS: f64 = 0.7;
const BINS: usize = 64;

/// A node of a tree in an array; a leaf leads to itself.
struct Node {
    column: usize,
    /// The last bin that goes left.
    bin: u8,
    left: usize,
    right: usize,
    /// The answer, if this is a leaf.
    answer: f64,
}

/// What a tree is fitted to.
struct Table<'a> {
    /// Columns × rows.
    bins: &'a [Vec<u8>],
    /// What is left over, by row.
    rest: &'a [f64],
    /// Columns that the tree may ask for.
    columns: &'a [usize],
}

#[derive(Clone, Copy, Default)]
struct Sum {
    rest: f64,
    rows: usize,
}

struct Split {
    column: usize,
    bin: u8,
}

impl Boosted {
    /// Fit `target`, a number a row, by `columns`, one value a row each; all finite.
    pub(super) fn fit(columns: &[Vec<f64>], target: &[f64], random: &mut Random) -> Self {
        let cuts: Vec<Vec<f64>> = columns.iter().map(|column| cuts(column)).collect();
        let binned = |(column, cuts): (&Vec<f64>, &Vec<f64>)| {
            column.iter().map(|value| bin(cuts, *value)).collect()
        };
        let bins: Vec<Vec<u8>> = columns.iter().zip(&cuts).map(binned).collect();
        let base = target.iter().sum::<f64>() / target.len().max(1) as f64;
        let mut rest: Vec<f64> = target.iter().map(|one| one - base).collect();
        let mut trees = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let columns: Vec<usize> =
                (0..columns.len()).filter(|_| random.unit() < COLUMNS).collect();
            let mut rows: Vec<u32> =
                (0..target.len() as u32).filter(|_| random.unit() < ROWS).collect();
            let table = Table { bins: &bins, rest: &rest, columns: &columns };
            let mut nodes = Vec::new();
            table.grow(&mut rows, 0, &mut nodes);
            for (row, rest) in rest.iter_mut().enumerate() {
                *rest -= SHRINKAGE * answer(&nodes, |column| bins[column][row]);
            }
            trees.push(nodes);
        }
        Self { cuts, base, trees }
    }

    /// The number for a row with these values, one a column.
    pub(super) fn predict(&self, values: &[f64]) -> f64 {
        let bins: Vec<u8> =
            self.cuts.iter().zip(values).map(|(cuts, value)| bin(cuts, *value)).collect();
        let answers = self.trees.iter().map(|nodes| answer(nodes, |column| bins[column]));
        self.base + SHRINKAGE * answers.sum::<f64>()
    }
}

/// Where a column is cut into bins: between its values, or at quantiles where it has many.
fn cuts(column: &[f64]) -> Vec<f64> {
    let mut sorted = column.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut distinct = sorted.clone();
    distinct.dedup();
    if distinct.len() <= BINS {
        return distinct.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect();
    }
    let mut cuts: Vec<f64> = (1..BINS).map(|one| sorted[one * sorted.len() / BINS]).collect();
    cuts.dedup();
    cuts
}

/// The bin of a value: cuts that it exceeds.
fn bin(cuts: &[f64], value: f64) -> u8 {
    // At most 63 cuts.
    cuts.partition_point(|cut| *cut < value) as u8
}

fn answer(nodes: &[Node], bin: impl Fn(usize) -> u8) -> f64 {
    let mut at = 0;
    loop {
        let node = &nodes[at];
        let next = if bin(node.column) <= node.bin { node.left } else { node.right };
        if next == at {
            return node.answer;
        }
        at = next;
    }
}

impl Table<'_> {
    /// Append the tree for `rows`, and return where it begins.
    fn grow(&self, rows: &mut [u32], depth: usize, nodes: &mut Vec<Node>) -> usize {
        let at = nodes.len();
        let all = self.sum(rows);
        let answer = all.rest / (all.rows as f64 + DAMPING);
        nodes.push(Node { column: 0, bin: 0, left: at, right: at, answer });
        let split = (depth < DEPTH).then(|| self.best_split(rows, all)).flatten();
        let Some(Split { column, bin }) = split else { return at };
        // Stable, so that sums are made in the order of the rows.
        rows.sort_by_key(|row| self.bins[column][*row as usize] > bin);
        let middle = rows.partition_point(|row| self.bins[column][*row as usize] <= bin);
        let (left, right) = rows.split_at_mut(middle);
        let left = self.grow(left, depth + 1, nodes);
        let right = self.grow(right, depth + 1, nodes);
        nodes[at] = Node { column, bin, left, right, answer };
        at
    }

    fn sum(&self, rows: &[u32]) -> Sum {
        let rest = rows.iter().map(|row| self.rest[*row as usize]).sum();
        Sum { rest, rows: rows.len() }
    }

    /// The split that lowers the squared error the most; the first of equal ones.
    fn best_split(&self, rows: &[u32], all: Sum) -> Option<Split> {
        if all.rows < 2 * FEWEST {
            return None;
        }
        let mut bound = explained(all) + 1e-9;
        let mut best = None;
        for &column in self.columns {
            let mut bins = [Sum::default(); BINS];
            for row in rows {
                let sum = &mut bins[usize::from(self.bins[column][*row as usize])];
                sum.rest += self.rest[*row as usize];
                sum.rows += 1;
            }
            let mut left = Sum::default();
            for (bin, sum) in (0..).zip(bins) {
                left = Sum { rest: left.rest + sum.rest, rows: left.rows + sum.rows };
                let right = Sum { rest: all.rest - left.rest, rows: all.rows - left.rows };
                if right.rows < FEWEST {
                    break;
                }
                let error = explained(left) + explained(right);
                if left.rows >= FEWEST && error > bound {
                    bound = error;
                    best = Some(Split { column, bin });
                }
            }
        }
        best
    }
}

/// How much of the squared error of these rows their mean explains.
fn explained(sum: Sum) -> f64 {
    sum.rest * sum.rest / (sum.rows as f64 + DAMPING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(target: impl Fn(f64, f64) -> f64) -> impl Fn(f64, f64) -> f64 {
        let points = || (0..400).map(|one| (f64::from(one % 20), f64::from(one / 20)));
        let columns =
            vec![points().map(|one| one.0).collect(), points().map(|one| one.1).collect()];
        let target: Vec<f64> = points().map(|(x, y)| target(x, y)).collect();
        let boosted = Boosted::fit(&columns, &target, &mut Random::new(1));
        move |x, y| boosted.predict(&[x, y])
    }

    #[test]
    fn what_depends_on_both_columns_at_once_is_learned() {
        let predict = fitted(|x, y| if (x < 10.0) == (y < 10.0) { 3.0 } else { -1.0 });
        for (x, y, expected) in [(3.0, 4.0, 3.0), (15.0, 4.0, -1.0), (15.0, 18.0, 3.0)] {
            assert!((predict(x, y) - expected).abs() < 0.1, "{x} {y}: {}", predict(x, y));
        }
    }

    #[test]
    fn a_constant_stays_one_and_far_values_get_the_answer_of_the_nearest() {
        let predict = fitted(|_, _| 7.25);
        assert_eq!(predict(3.0, 100.0), 7.25);
        let predict = fitted(|x, _| x);
        assert_eq!(predict(1e300, 0.0), predict(19.0, 0.0));
        assert_eq!(predict(-1e300, 0.0), predict(0.0, 0.0));
    }

    #[test]
    fn few_rows_give_their_mean() {
        let predict = |values: &[f64]| {
            let columns = vec![(0..values.len()).map(|one| one as f64).collect()];
            Boosted::fit(&columns, values, &mut Random::new(0)).predict(&[0.0])
        };
        assert_eq!(predict(&[2.0]), 2.0);
        let mean = predict(&[1.0, 3.0]);
        assert!((1.0..=3.0).contains(&mean), "{mean}");
    }
}
