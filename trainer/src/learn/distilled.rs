//! A forest taught to one small tree.
//!
//! The forest predicts better than any single tree, but is far too large to ship. So it is asked
//! about thousands of shapes around the measured ones, and a cost-sensitive tree learns from its
//! answers together with what was measured.

use ndarray::aview1;
use rayon::prelude::*;
use selector_core::GemmShape;

use super::cost_tree::{self, Growth, Row};
use super::forest::Forest;
use super::{Grown, LearnError, Learner, Training, features};
use crate::random::Random;

/// A cost-sensitive tree that imitates a forest.
pub(super) struct Distilled;

/// Trees of the forest.
const TREES: u64 = 200;
/// Shapes that the forest is asked about.
const QUESTIONS: usize = 12_000;
/// How the small tree grows.
const GROWTH: Growth = Growth { fewest: 30, foresight: 0.1 };
/// Weight of all measured shapes together against all asked ones.
const MEASURED_WEIGHT: f64 = 0.3;
/// How far, in octaves, a dimension of an asked shape typically is from a measured one.
const REACH: f64 = 1.5;

impl Learner for Distilled {
    fn name(&self) -> &'static str {
        "distilled"
    }

    fn about(&self) -> &'static str {
        "a cost-tree that imitates a forest of random ones, asked about shapes around the measured"
    }

    fn grow(&self, training: &Training, seed: u64) -> Result<Grown, LearnError> {
        let forest = Forest::grow(training, TREES, seed);
        let weight = MEASURED_WEIGHT * QUESTIONS as f64 / training.shapes.len() as f64;
        let measured = training.shapes.iter().zip(training.loss.rows());
        let mut rows: Vec<Row> =
            measured.map(|(shape, loss)| Row::new(features(*shape), loss, weight)).collect();
        let answer = |shape| Row::new(features(shape), aview1(&forest.predict(shape)), 1.0);
        rows.par_extend(questions(&training.shapes, seed).into_par_iter().map(answer));
        Ok(cost_tree::grow(rows, GROWTH))
    }
}

/// Shapes around the measured ones, as many around each.
fn questions(measured: &[GemmShape], seed: u64) -> Vec<GemmShape> {
    let mut random = Random::new(seed);
    let near = |shape: &GemmShape| GemmShape {
        m: near(shape.m, &mut random),
        k: near(shape.k, &mut random),
        n: near(shape.n, &mut random),
        batch: shape.batch,
    };
    measured.iter().cycle().take(QUESTIONS).map(near).collect()
}

/// A dimension some octaves from `dimension`: the sum of three uniform draws is bell-shaped.
fn near(dimension: u32, random: &mut Random) -> u32 {
    let bell = random.unit() + random.unit() + random.unit() - 1.5;
    let octaves = f64::from(dimension).log2() + 2.0 * REACH * bell;
    // `as` saturates.
    octaves.exp2().round().max(1.0) as u32
}
