//! What large models know, taught to one small tree.
//!
//! A forest and a surrogate predict losses better than any single tree, but are far too large to
//! ship. So they are asked about thousands of shapes around the measured ones, and a
//! cost-sensitive tree learns from their answers together with what was measured. How finely it may
//! split is chosen by cross-validation among the shapes that it learns from.

use ndarray::aview1;
use rayon::prelude::*;
use selector_core::GemmShape;

use super::cost_tree::{self, CostTree, Growth, Row};
use super::forest::Forest;
use super::surrogate::Surrogate;
use super::{Grown, LearnError, Learner, Training, features, questions};

/// A cost-sensitive tree that imitates a forest and a surrogate.
pub(super) struct Distilled;

/// Trees of the forest.
const TREES: u64 = 200;
/// Weight of the forest's answer against the surrogate's.
const FOREST_WEIGHT: f64 = 0.5;
/// Credit for splits that prepare others, shared among the kernels.
const FORESIGHT: f64 = 0.6;
/// Weight of all measured shapes together against all asked ones.
const MEASURED_WEIGHT: f64 = 0.3;
/// What trees may be grown, the simplest first; of equally good ones the first wins.
const CANDIDATES: [Candidate; 7] = [
    Candidate::Taught(usize::MAX),
    Candidate::Taught(120),
    Candidate::Taught(60),
    Candidate::Taught(30),
    Candidate::Taught(20),
    Candidate::Taught(12),
    Candidate::Measured,
];
/// Parts that the shapes are divided into to choose among the candidates.
const FOLDS: usize = 3;
/// The same where there are fewer than [`FEW`] shapes, of which each is needed to learn.
const FOLDS_OF_FEW: usize = 10;
const FEW: usize = 40;

/// A tree that may be grown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Candidate {
    /// Taught by the large models, with at least so many rows in a leaf, for as many rows as
    /// [`FULL`] has questions; the largest number makes one leaf.
    Taught(usize),
    /// From measured shapes alone: few shapes can be too few for the large models, and enough for
    /// a small tree.
    Measured,
}

/// How much is asked of whom.
#[derive(Clone, Copy)]
struct Effort {
    /// Questions, about.
    questions: usize,
    /// Boosted models that make a surrogate.
    models: u64,
}

/// For the tree that is kept.
const FULL: Effort = Effort { questions: 12_000, models: 3 };
/// For those that are only compared.
const BRIEF: Effort = Effort { questions: 6_000, models: 1 };

impl Learner for Distilled {
    fn name(&self) -> &'static str {
        "distilled"
    }

    fn about(&self) -> &'static str {
        "a cost-tree that imitates a forest and a boosted surrogate, as fine as cross-validation likes"
    }

    fn draws(&self) -> bool {
        true
    }

    fn grow(&self, training: &Training, seed: u64) -> Result<Grown, LearnError> {
        self.grow_telling(training, seed, &|| {})
    }

    /// A lesson and a tree of each candidate for each fold, then a lesson and a tree to keep.
    fn steps(&self, shapes: usize) -> usize {
        folds_of(shapes) * (1 + CANDIDATES.len()) + 2
    }

    fn grow_telling(
        &self,
        training: &Training,
        seed: u64,
        done: &(dyn Fn() + Sync),
    ) -> Result<Grown, LearnError> {
        let chosen = choose(training, seed, done)?;
        let lesson = Lesson::of(training, FULL, seed);
        done();
        let grown = lesson.grow(chosen, training, seed)?;
        done();
        Ok(grown)
    }
}

/// What a tree learns from.
struct Lesson(Vec<Taught>);

struct Taught {
    shape: GemmShape,
    loss: Vec<f64>,
    weight: f64,
}

impl Lesson {
    fn of(training: &Training, effort: Effort, seed: u64) -> Self {
        let forest = Forest::grow(training, TREES, seed);
        let surrogate = Surrogate::fit(training, effort.models, seed);
        let asked = questions::around(&training.shapes, effort.questions, seed);
        let weight = MEASURED_WEIGHT * asked.len() as f64 / training.shapes.len() as f64;
        let measured = training.shapes.iter().zip(training.loss.rows());
        let measured =
            measured.map(|(shape, loss)| Taught { shape: *shape, loss: loss.to_vec(), weight });
        let mut lesson: Vec<Taught> = measured.collect();
        let mut distinct = asked.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let answer = |shape: &GemmShape| -> Vec<f64> {
            let pairs = forest.predict(*shape).into_iter().zip(surrogate.predict(*shape));
            pairs.map(|(one, other)| FOREST_WEIGHT * one + (1.0 - FOREST_WEIGHT) * other).collect()
        };
        let answers: Vec<Vec<f64>> = distinct.par_iter().map(answer).collect();
        lesson.extend(asked.into_iter().filter_map(|shape| {
            let loss = answers[distinct.binary_search(&shape).ok()?].clone();
            Some(Taught { shape, loss, weight: 1.0 })
        }));
        Self(lesson)
    }

    fn grow(
        &self,
        candidate: Candidate,
        training: &Training,
        seed: u64,
    ) -> Result<Grown, LearnError> {
        let Candidate::Taught(fewest) = candidate else { return CostTree.grow(training, seed) };
        let row = |one: &Taught| Row::new(features(one.shape), aview1(&one.loss), one.weight);
        let rows: Vec<Row> = self.0.iter().map(row).collect();
        let fewest = fewest.saturating_mul(rows.len()) / FULL.questions;
        let kernels = self.0.first().map_or(1, |one| one.loss.len());
        Ok(cost_tree::grow(rows, Growth { fewest, foresight: FORESIGHT / kernels as f64 }))
    }
}

/// The candidate that loses least on shapes that it did not learn from.
///
/// `done` is told after each step.
///
/// # Errors
/// [`LearnError`], if one cannot be grown.
fn choose(
    training: &Training,
    seed: u64,
    done: &(dyn Fn() + Sync),
) -> Result<Candidate, LearnError> {
    let shapes = training.shapes.len();
    let folds = folds_of(shapes);
    if folds == 0 {
        return Ok(CANDIDATES[0]);
    }
    let order = shuffled(shapes, seed);
    let losses = |fold: usize| -> Result<Vec<f64>, LearnError> {
        let side = |held_out: bool| {
            let on_side = |at: &usize| (at % folds == fold) == held_out;
            let mut rows: Vec<usize> = (0..shapes).filter(on_side).map(|at| order[at]).collect();
            rows.sort_unstable();
            training.select(&rows)
        };
        let (learned, held_out) = (side(false), side(true));
        let lesson = Lesson::of(&learned, BRIEF, seed);
        done();
        let loses = |one: &Candidate| {
            let tree = lesson.grow(*one, &learned, seed)?;
            done();
            Ok(lost(&tree, &held_out))
        };
        CANDIDATES.iter().map(loses).collect()
    };
    let losses: Vec<Vec<f64>> = (0..folds).into_par_iter().map(losses).collect::<Result<_, _>>()?;
    let lost = |at: &usize| losses.iter().map(|fold| fold[*at]).sum::<f64>();
    let best = (0..CANDIDATES.len()).min_by(|one, other| lost(one).total_cmp(&lost(other)));
    Ok(CANDIDATES[best.unwrap_or_default()])
}

/// Parts that so many shapes are divided into; none where there is only one.
fn folds_of(shapes: usize) -> usize {
    match if shapes < FEW { FOLDS_OF_FEW.min(shapes) } else { FOLDS } {
        1 => 0,
        folds => folds,
    }
}

fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    crate::random::Random::new(seed).shuffle(&mut order);
    order
}

/// What the picks of `tree` lose on all shapes of `held_out` together.
fn lost(tree: &Grown, held_out: &Training) -> f64 {
    let rows = held_out.shapes.iter().enumerate();
    rows.map(|(row, shape)| held_out.loss[(row, tree.rank(*shape)[0])]).sum()
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    fn training(loss: impl Fn(usize, usize) -> f64) -> Training {
        let shapes: Vec<_> = (1..=60).map(|m| GemmShape::new(8 * m, 64, 64, 1)).collect();
        let loss = Array2::from_shape_fn((60, 2), |(row, kernel)| loss(row, kernel));
        Training { best_ns: vec![1e6; 60], shapes, loss, kernels: vec![None; 2] }
    }

    #[test]
    fn what_is_only_noise_makes_one_leaf() {
        let mut random = crate::random::Random::new(3);
        let noise: Vec<f64> = (0..120).map(|_| random.unit()).collect();
        let noisy = training(|row, kernel| noise[2 * row + kernel] + 0.2 * kernel as f64);
        assert_eq!(choose(&noisy, 0, &|| {}).unwrap(), CANDIDATES[0]);
        assert!(matches!(Distilled.grow(&noisy, 0), Ok(Grown::Leaf(_))));
    }

    #[test]
    fn what_can_be_learned_is_split_finely_enough() {
        let clear = training(|row, kernel| f64::from((row / 15 % 2 == 0) != (kernel == 0)));
        assert_ne!(choose(&clear, 0, &|| {}).unwrap(), CANDIDATES[0]);
        let tree = Distilled.grow(&clear, 0).unwrap();
        let picks = [7, 22, 37, 52].map(|row| tree.rank(clear.shapes[row])[0]);
        assert_eq!(picks, [0, 1, 0, 1]);
    }

    #[test]
    fn a_few_clear_shapes_are_enough() {
        let sizes = [1, 2, 3, 4, 6, 256, 300, 384, 512, 1024];
        let shapes: Vec<_> = sizes.iter().map(|m| GemmShape::new(*m, 512, 256, 1)).collect();
        let loss = Array2::from_shape_fn((10, 2), |(row, at)| f64::from((row < 5) != (at == 0)));
        let few = Training { best_ns: vec![1e6; 10], shapes, loss, kernels: vec![None; 2] };
        let tree = Distilled.grow(&few, 0).unwrap();
        assert_eq!(lost(&tree, &few), 0.0);
    }
}
