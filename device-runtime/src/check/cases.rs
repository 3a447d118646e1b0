//! Many small problems side by side in three buffers, so that one wait serves them all.

use std::ops::Range;

use bytemuck::Pod;
use kernels::reference::{Element, Expectation, Mismatch, Sequence, values};
use kernels::{Operand, Problem};
use selector_core::{GemmShape, ProblemClass};

use crate::measure::filled;
use crate::{Device, DeviceError};

/// Sizes around the tiles' own: below, at and above 1, 4, 8, 16 and 32.
const SIZES: [u32; 10] = [1, 3, 4, 5, 7, 8, 15, 16, 17, 33];
const FACTORS: [f32; 3] = [0.0, 1.0, -0.5];
const BATCHES: [u32; 2] = [1, 3];
const PADDINGS: [u64; 2] = [0, 3];
const OFFSETS: [u64; 2] = [0, 5];
/// In one of so many problems all of the batch share A, and likewise B.
const SHARED: u64 = 4;
/// Beyond the largest work-group (128) of the largest tiles (8).
const LONG: u32 = 1030;
/// Largest size beside a long one.
const BESIDE_LONG: u32 = 24;
/// Elements of the buffers of A and B; problems read from anywhere in them.
const INPUT: usize = 1 << 17;
/// Elements between the outputs of two problems, which must keep their bits.
const GUARD: u64 = 8;

/// Every (m, n, k) of [`SIZES`], with the other parameters drawn so that every value of each meets
/// every value of every other.
pub(super) fn every_size(class: ProblemClass) -> Vec<Problem> {
    let mut sequence = Sequence::new(1);
    let mut problems = Vec::new();
    for m in SIZES {
        for n in SIZES {
            for k in SIZES {
                problems.push(drawn(class, [m, k, n], &mut sequence));
            }
        }
    }
    problems
}

/// `count` problems with sizes up to `largest`; every tenth is long enough along m, n or k for
/// several work-groups or parts of any configuration.
pub(super) fn seeded(class: ProblemClass, count: usize, largest: u32, seed: u64) -> Vec<Problem> {
    let mut sequence = Sequence::new(seed);
    let size = |sequence: &mut Sequence| 1 + sequence.below(u64::from(largest)) as u32;
    let one = |number| {
        let mut sizes = [size(&mut sequence), size(&mut sequence), size(&mut sequence)];
        if number % 10 == 9 {
            sizes = sizes.map(|size| size.min(BESIDE_LONG));
            let side = [0, 2, 1][number / 10 % 3];
            sizes[side] = LONG + sequence.below(u64::from(LONG / 4)) as u32;
        }
        drawn(class, sizes, &mut sequence)
    };
    (0..count).map(one).collect()
}

fn drawn(class: ProblemClass, [m, k, n]: [u32; 3], sequence: &mut Sequence) -> Problem {
    let shape = GemmShape::new(m, k, n, sequence.one_of(&BATCHES));
    let mut problem = Problem::packed(class, shape);
    problem.alpha = sequence.one_of(&FACTORS);
    problem.beta = sequence.one_of(&FACTORS);
    for operand in [&mut problem.a, &mut problem.b, &mut problem.c] {
        let rows = operand.stride / operand.leading;
        operand.leading += sequence.one_of(&PADDINGS);
        operand.stride = rows * operand.leading;
        operand.offset = sequence.one_of(&OFFSETS);
    }
    for input in [&mut problem.a, &mut problem.b] {
        if sequence.below(SHARED) == 0 {
            input.stride = 0;
        }
    }
    problem
}

/// Problems laid out in the buffers of A, B and C.
pub(super) struct Pool<T, B> {
    /// The problems, with their final offsets.
    pub(super) problems: Vec<Problem>,
    /// A, B and C on the device.
    pub(super) buffers: [B; 3],
    outputs: Vec<Range<usize>>,
    inputs: [Vec<T>; 2],
    before: Vec<T>,
}

impl<T: Element + Pod, B> Pool<T, B> {
    /// Lay out `problems` and write the buffers. C holds NaN where beta is 0.
    pub(super) fn new<D: Device<Buffer = B>>(
        device: &D,
        problems: &[Problem],
        seed: u64,
    ) -> Result<Self, DeviceError> {
        let convert = |values: Vec<f32>| -> Vec<T> {
            values.into_iter().map(|value| T::nearest(f64::from(value))).collect()
        };
        let mut sequence = Sequence::new(seed);
        let mut end = 0;
        let mut problems = problems.to_vec();
        let mut outputs = Vec::new();
        for problem in &mut problems {
            let batch = u64::from(problem.shape.batch);
            let [a, b, _] = problem.buffer_lengths().unwrap_or([INPUT as u64; 3]);
            for (input, length) in [(&mut problem.a, a), (&mut problem.b, b)] {
                input.offset += sequence.below((INPUT as u64).saturating_sub(length));
            }
            problem.c.offset += end;
            let start = problem.c.offset;
            end = start + extent(problem.c, batch) + GUARD;
            outputs.push(start as usize..(end - GUARD) as usize);
        }
        let mut before = convert(values(end as usize, seed ^ 3));
        for (problem, output) in problems.iter().zip(&outputs) {
            if problem.beta == 0.0 {
                before[output.clone()].fill(T::nearest(f64::NAN));
            }
        }
        let inputs = [1, 2].map(|one| convert(values(INPUT, seed ^ one)));
        let buffers =
            [filled(device, &inputs[0])?, filled(device, &inputs[1])?, filled(device, &before)?];
        Ok(Self { problems, buffers, outputs, inputs, before })
    }

    /// Read C back and compare. The error's problem is the one whose output holds the mismatch,
    /// or the last one before it.
    pub(super) fn compare<D: Device<Buffer = B>>(
        &self,
        device: &D,
    ) -> Result<Result<f64, (Problem, Mismatch)>, DeviceError> {
        device.finish()?;
        let mut after = self.before.clone();
        device.read(&self.buffers[2], bytemuck::cast_slice_mut(&mut after))?;
        let mut expectation = Expectation::new(&self.before);
        let [a, b] = &self.inputs;
        let lengths = [a, b, &self.before].map(|values| values.len() as u64);
        for problem in &self.problems {
            if let Ok(checked) = problem.check(lengths[0], lengths[1], lengths[2]) {
                expectation.add(&checked, a, b);
            }
        }
        Ok(expectation.check(&after).map_err(|mismatch| (self.culprit(mismatch), mismatch)))
    }

    fn culprit(&self, mismatch: Mismatch) -> Problem {
        let position = match mismatch {
            Mismatch::Value { position, .. } | Mismatch::Outside { position, .. } => position,
            _ => 0,
        };
        let next = self.outputs.partition_point(|output| output.start <= position);
        self.problems[next.saturating_sub(1)]
    }
}

fn extent(operand: Operand, batch: u64) -> u64 {
    operand.stride * batch
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn seeded_problems_fit_their_buffers_and_some_are_long() {
        let problems = seeded(ProblemClass::F32_NN, 40, 96, 1);
        let long = |size: fn(&GemmShape) -> u32| {
            problems.iter().filter(|problem| size(&problem.shape) >= LONG).count()
        };
        assert_eq!((long(|shape| shape.m), long(|shape| shape.n)), (2, 1));
        assert_eq!(long(|shape| shape.k), 1);
        let shared = |problem: &&Problem| problem.shape.batch > 1 && problem.b.stride == 0;
        assert!(problems.iter().any(|problem| shared(&problem)));
        for problem in &problems {
            for input in [problem.a, problem.b] {
                let end = extent(input, problem.shape.batch.into()) + input.offset;
                assert!(end <= INPUT as u64, "{problem:?}");
            }
        }
    }

    #[test]
    fn every_pair_of_values_meets() {
        let problems = every_size(ProblemClass::F32_NN);
        assert_eq!(problems.len(), 1000);
        let factors = |problem: &Problem| {
            let Problem { shape, alpha, beta, a, b, c, .. } = *problem;
            let padding = |operand: Operand, columns: u32| {
                u32::try_from(operand.leading - u64::from(columns)).unwrap()
            };
            [
                shape.m,
                shape.k,
                shape.n,
                shape.batch,
                alpha.to_bits(),
                beta.to_bits(),
                padding(a, shape.k),
                padding(b, shape.n),
                padding(c, shape.n),
                a.offset as u32,
                b.offset as u32,
                c.offset as u32,
            ]
        };
        let values: Vec<[u32; 12]> = problems.iter().map(factors).collect();
        for first in 0..12 {
            for second in first + 1..12 {
                let levels =
                    |at: usize| values.iter().map(|row| row[at]).collect::<BTreeSet<_>>().len();
                let pairs: BTreeSet<_> =
                    values.iter().map(|row| (row[first], row[second])).collect();
                assert_eq!(pairs.len(), levels(first) * levels(second), "{first} and {second}");
            }
        }
    }
}
