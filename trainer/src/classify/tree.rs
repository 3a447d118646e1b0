//! Classification trees (CART): questions that lower the Gini impurity the most.
//!
//! By hand, since linfa's tree breaks ties by hash order, takes values less than 1e-5 apart as
//! equal, and cannot draw features at each question as the random forest needs. This one follows
//! scikit-learn's rules, which both papers used: features have single precision, of equally good
//! questions the one on the feature that a seeded permutation puts first wins, then the lowest
//! threshold.

use super::{Classifier, Examples, Fitted};
use crate::division;
use crate::performance::first_largest;
use crate::random::Random;

/// How a tree grows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Growth {
    /// Most questions on the way to a leaf.
    pub deepest: usize,
    /// Fewest rows that are divided.
    pub to_divide: usize,
    /// Fewest rows of a leaf.
    pub in_leaf: usize,
    /// Features that are looked at for a question, drawn anew for each; those that all rows agree
    /// on do not count.
    pub drawn: usize,
}

/// Until every leaf has one label.
pub(crate) const UNLIMITED: Growth =
    Growth { deepest: usize::MAX, to_divide: 2, in_leaf: 1, drawn: usize::MAX };

/// One of the first paper's trees.
pub(super) struct PaperTree {
    name: &'static str,
    about: &'static str,
    growth: Growth,
}

/// Grown until every leaf has one label.
pub(super) static A: PaperTree =
    PaperTree { name: "tree-a", about: "a decision tree without limits", growth: UNLIMITED };
/// Of six levels.
pub(super) static B: PaperTree = PaperTree {
    name: "tree-b",
    about: "a decision tree of at most 6 levels, with at least 3 shapes a leaf",
    growth: Growth { deepest: 6, to_divide: 4, in_leaf: 3, ..UNLIMITED },
};
/// Of three levels.
pub(super) static C: PaperTree = PaperTree {
    name: "tree-c",
    about: "a decision tree of at most 3 levels, with at least 4 shapes a leaf",
    growth: Growth { deepest: 3, to_divide: 5, in_leaf: 4, ..UNLIMITED },
};

impl Classifier for PaperTree {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn breaks_ties(&self) -> bool {
        true
    }

    fn fit(&self, examples: &Examples, seed: u64) -> Box<dyn Fitted> {
        Box::new(Tree::grow(examples, self.growth, seed))
    }
}

/// A tree whose leaves count labels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree {
    /// In preorder: the left branch follows its question.
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// Rows of each label.
    Leaf(Vec<f64>),
    /// Up to `threshold` the next node comes next, beyond it the one at `right`.
    Split { feature: usize, threshold: f64, right: usize },
}

impl Tree {
    /// Grow a tree on all examples.
    #[must_use]
    pub(crate) fn grow(examples: &Examples, growth: Growth, seed: u64) -> Self {
        let rows = (0..examples.labels.len()).collect();
        Self::grow_on(rows, &columns(examples), examples, growth, &mut Random::new(seed))
    }

    /// Grow a tree on some rows, of which one may be there more than once; at least one.
    pub(super) fn grow_on(
        rows: Vec<usize>,
        columns: &[Vec<f32>],
        examples: &Examples,
        growth: Growth,
        random: &mut Random,
    ) -> Self {
        let mut grower = Grower { columns, examples, growth, random, nodes: Vec::new() };
        grower.grow(rows);
        Self { nodes: grower.nodes }
    }

    /// Questions on the longest way to a leaf.
    #[must_use]
    pub(crate) fn depth(&self) -> usize {
        let mut depths = vec![0; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            if let Node::Split { right, .. } = node {
                depths[index + 1] = depths[index] + 1;
                depths[*right] = depths[index] + 1;
            }
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// The label that each leaf predicts, from left to right.
    #[must_use]
    pub(crate) fn leaves(&self) -> Vec<usize> {
        let leaf = |node: &Node| match node {
            Node::Leaf(counts) => Some(first_largest(counts)),
            Node::Split { .. } => None,
        };
        self.nodes.iter().filter_map(leaf).collect()
    }

    /// Rows of each label in the leaf for `features`.
    pub(super) fn counts(&self, features: &[f64]) -> &[f64] {
        let mut index = 0;
        loop {
            match &self.nodes[index] {
                Node::Leaf(counts) => return counts,
                Node::Split { feature, threshold, right } => {
                    let below = f64::from(single(features[*feature])) <= *threshold;
                    index = if below { index + 1 } else { *right };
                }
            }
        }
    }
}

impl Fitted for Tree {
    /// The most frequent label of the leaf, the first of equal ones.
    fn predict(&self, features: &[f64]) -> usize {
        first_largest(self.counts(features))
    }
}

/// Features as trees see them.
pub(super) fn columns(examples: &Examples) -> Vec<Vec<f32>> {
    let columns = examples.features.columns().into_iter();
    columns.map(|column| column.iter().copied().map(single).collect()).collect()
}

fn single(value: f64) -> f32 {
    (value as f32).clamp(f32::MIN, f32::MAX)
}

/// Values no farther apart are equal.
const GAP: f32 = 1e-7;

struct Grower<'a> {
    columns: &'a [Vec<f32>],
    examples: &'a Examples,
    growth: Growth,
    random: &'a mut Random,
    nodes: Vec<Node>,
}

impl Grower<'_> {
    /// Without recursion, since a tree may be as deep as it has rows.
    fn grow(&mut self, rows: Vec<usize>) {
        // The next branch is last; a right one goes with its question.
        let mut branches = vec![(rows, 0, None)];
        while let Some((rows, depth, question)) = branches.pop() {
            let index = self.nodes.len();
            if let Some(Node::Split { right, .. }) = question.map(|one: usize| &mut self.nodes[one])
            {
                *right = index;
            }
            if let Some((left, right)) = self.add(rows, depth) {
                branches.push((right, depth + 1, Some(index)));
                branches.push((left, depth + 1, None));
            }
        }
    }

    /// Add a leaf, or a question and give the rows on both sides of it.
    fn add(&mut self, rows: Vec<usize>, depth: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        let mut counts = vec![0.0; self.examples.classes];
        rows.iter().for_each(|row| counts[self.examples.labels[*row]] += 1.0);
        let pure = counts.contains(&(rows.len() as f64));
        let ends = pure || depth >= self.growth.deepest || rows.len() < self.growth.to_divide;
        let split = if ends { None } else { self.best_split(&rows) };
        let Some((feature, threshold)) = split else {
            self.nodes.push(Node::Leaf(counts));
            return None;
        };
        // Where the right branch is, is known when the left one has grown.
        self.nodes.push(Node::Split { feature, threshold, right: usize::MAX });
        let below = |row: &usize| f64::from(self.columns[feature][*row]) <= threshold;
        Some(rows.into_iter().partition(below))
    }

    /// The feature and threshold that leave the least impurity, even if that is no less than
    /// before; `None` where no question leaves enough rows on both sides.
    fn best_split(&mut self, rows: &[usize]) -> Option<(usize, f64)> {
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        self.random.shuffle(&mut order);
        let labels = &self.examples.labels;
        let (mut best, mut bound) = (None, f64::NEG_INFINITY);
        let (mut drawn, mut constant) = (0, 0);
        for feature in order {
            if drawn >= self.growth.drawn && drawn > constant {
                break;
            }
            drawn += 1;
            let column = &self.columns[feature];
            let mut sorted = rows.to_vec();
            sorted.sort_by(|one, other| column[*one].total_cmp(&column[*other]));
            let value = |at: usize| column[sorted[at]];
            if value(sorted.len() - 1) <= value(0) + GAP {
                constant += 1;
                continue;
            }
            let add = |sums: &mut [f64], row: usize, sign| sums[labels[row]] += sign;
            let classes = self.examples.classes;
            for (size, gain) in division::gains(&sorted, classes, self.growth.in_leaf, add) {
                let (last, next) = (value(size - 1), value(size));
                if next > last + GAP && gain > bound {
                    best = Some((feature, between(last, next)));
                    bound = gain;
                }
            }
        }
        best
    }
}

/// Midway, but below `next`.
fn between(last: f32, next: f32) -> f64 {
    let middle = f64::from(last) / 2.0 + f64::from(next) / 2.0;
    if middle < f64::from(next) { middle } else { f64::from(last) }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::classify::tests::examples;

    fn line(labels: &[usize]) -> Examples {
        let features = Array2::from_shape_fn((labels.len(), 1), |(row, _)| row as f64);
        examples(features, labels, 3)
    }

    #[test]
    fn the_question_that_leaves_the_least_impurity_is_asked() {
        let tree = Tree::grow(&line(&[0, 0, 0, 1, 1, 2]), Growth { deepest: 1, ..UNLIMITED }, 0);
        let expected = [
            Node::Split { feature: 0, threshold: 2.5, right: 2 },
            Node::Leaf(vec![3.0, 0.0, 0.0]),
            Node::Leaf(vec![0.0, 2.0, 1.0]),
        ];
        assert_eq!(tree.nodes, expected);
        assert_eq!((tree.depth(), tree.leaves()), (1, vec![0, 1]));
        let labels = [-5.0, 2.5, 2.6, 1e9].map(|value| tree.predict(&[value]));
        assert_eq!(labels, [0, 0, 1, 1]);
    }

    #[test]
    fn a_tree_without_limits_learns_what_no_single_question_improves() {
        let both = array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
        let either = examples(both.clone(), &[0, 1, 1, 0], 2);
        let tree = Tree::grow(&either, UNLIMITED, 0);
        let rows = both.rows().into_iter();
        let labels: Vec<_> = rows.map(|row| tree.predict(&row.to_vec())).collect();
        assert_eq!((labels, tree.depth(), tree.leaves().len()), (vec![0, 1, 1, 0], 2, 4));
    }

    #[test]
    fn limits_are_kept() {
        let labels: Vec<usize> = (0..40).map(|row| row % 3).collect();
        let examples = line(&labels);
        for growth in [A.growth, B.growth, C.growth, Growth { in_leaf: 20, ..UNLIMITED }] {
            let tree = Tree::grow(&examples, growth, 0);
            assert!(tree.depth() <= growth.deepest, "{growth:?}");
            for node in &tree.nodes {
                if let Node::Leaf(counts) = node {
                    assert!(counts.iter().sum::<f64>() >= growth.in_leaf as f64, "{growth:?}");
                }
            }
        }
        let halves = Tree::grow(&examples, Growth { in_leaf: 20, ..UNLIMITED }, 0);
        assert_eq!(halves.leaves().len(), 2);
        assert_eq!(Tree::grow(&examples, Growth { in_leaf: 21, ..UNLIMITED }, 0).nodes.len(), 1);
        assert_eq!(Tree::grow(&examples, Growth { to_divide: 41, ..UNLIMITED }, 0).depth(), 0);
    }

    #[test]
    fn a_tree_as_deep_as_its_rows_needs_no_stack_for_them() {
        let labels: Vec<usize> = (0..2000).map(|row| row % 2).collect();
        let examples = line(&labels);
        let grow = || Tree::grow(&examples, UNLIMITED, 0);
        let tree = std::thread::scope(|scope| {
            let small = std::thread::Builder::new().stack_size(1 << 16);
            small.spawn_scoped(scope, grow).unwrap().join().unwrap()
        });
        assert!(tree.depth() >= 1000, "{}", tree.depth());
        assert!((0..2000).all(|row| tree.predict(&[row as f64]) == row % 2));
    }

    #[test]
    fn a_seed_breaks_ties_between_features_and_repeats_itself() {
        let twice = Array2::from_shape_fn((6, 2), |(row, _)| row as f64);
        let examples = examples(twice, &[0, 0, 0, 1, 1, 1], 2);
        let asked = |seed| match Tree::grow(&examples, UNLIMITED, seed).nodes[0] {
            Node::Split { feature, .. } => feature,
            Node::Leaf(_) => panic!(),
        };
        let features: Vec<usize> = (0..20).map(asked).collect();
        assert!(features.contains(&0) && features.contains(&1));
        assert_eq!(features, (0..20).map(asked).collect::<Vec<_>>());
    }

    #[test]
    fn small_ratios_are_told_apart() {
        // Closer than linfa tells apart.
        let ratios = examples(array![[1.0 / 1010.0], [1.0 / 1000.0]], &[1, 0], 2);
        let tree = Tree::grow(&ratios, UNLIMITED, 0);
        assert_eq!([1010.0, 1000.0].map(|m: f64| tree.predict(&[1.0 / m])), [1, 0]);
    }

    #[test]
    fn a_threshold_lies_below_the_next_value() {
        assert_eq!(between(1.0, 2.0), 1.5);
        let (last, next) = (f32::MAX.next_down(), f32::MAX);
        assert!((f64::from(last)..f64::from(next)).contains(&between(last, next)));
    }
}
