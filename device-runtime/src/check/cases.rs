//! Many small problems side by side in three buffers, so that one wait serves them all.

use std::ops::Range;

use bytemuck::Pod;
use kernels::reference::{Element, Expectation, Mismatch, Sequence, values};
use kernels::{Configuration, Problem};
use selector_core::{GemmShape, ProblemClass};

use super::guard::Guarded;
use crate::measure::filled;
use crate::{Arguments, Device, DeviceError, steps};

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
/// Largest m and n, and steps along k, of [`few`] that follow a kernel's own sizes.
const FEW_LARGEST: u64 = 136;
const FEW_STEPS: u64 = 32;
/// Elements at least between the matrices of two problems.
const GUARD: u64 = 64;
/// Elements before the first problem and behind the last: more than a work-group of the largest tiles is
/// beside rows of ordinary length.
const EDGE: u64 = 1 << 14;
/// Where the matrices of a problem begin, but for their offset, is a multiple of so many elements.
const ALIGNED: u64 = 8;

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
            let long = LONG + sequence.below(u64::from(LONG / 4)) as u32;
            let [m, k, n] = &mut sizes;
            *match number / 10 % 3 {
                0 => m,
                1 => n,
                _ => k,
            } = long;
        }
        drawn(class, sizes, &mut sequence)
    };
    (0..count).map(one).collect()
}

/// A few problems for a kernel whose work-groups compute `tile` columns and rows of C, taking `steps`
/// along k at once: one without an edge, one beyond the edges of rows and one of columns, one with a
/// k that is split, and one whose batch shares B. For devices that are slow: simulators and emulators.
pub(super) fn few(
    class: ProblemClass,
    tile: [u64; 2],
    steps: u64,
    sequence: &mut Sequence,
) -> Vec<Problem> {
    let [columns, rows] = tile.map(|size| size.clamp(1, FEW_LARGEST) as u32);
    let steps = steps.clamp(1, FEW_STEPS) as u32;
    let mut of = |m, k, n, batch| drawn_of(class, GemmShape::new(m, k, n, batch), sequence);
    let below = of(rows + 1, steps + 1, 5, 1);
    let beside = of(1, steps + 1, columns + 1, 1);
    let split = Problem { alpha: 1.0, ..of(3, 140, 5, 2) };
    let mut shared = Problem { alpha: 1.0, ..of(17, 9, 20, 2) };
    shared.b.stride = 0;
    let whole = Problem::packed(class, GemmShape::new(rows, 2 * steps, columns, 1));
    vec![whole, below, beside, split, shared]
}

fn drawn(class: ProblemClass, [m, k, n]: [u32; 3], sequence: &mut Sequence) -> Problem {
    let shape = GemmShape::new(m, k, n, sequence.one_of(&BATCHES));
    drawn_of(class, shape, sequence)
}

fn drawn_of(class: ProblemClass, shape: GemmShape, sequence: &mut Sequence) -> Problem {
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

/// Problems laid out in the buffers of A, B and C, with guards around every matrix.
///
/// What of A and B is outside their matrices is NaN, padding between rows and matrices included, and so
/// are the matrices themselves where alpha is 0: what is read there reaches C. What of C is outside its
/// matrices must keep its bits, and A and B must keep all of theirs. Problems are launched in the opposite
/// of their order in memory, so that nothing written behind a matrix is overwritten later.
pub(crate) struct Pool<T, B> {
    /// The problems, with their final offsets.
    pub(super) problems: Vec<Problem>,
    /// A, B and C on the device.
    pub(super) buffers: [B; 3],
    /// Where the matrices of each problem's C lie.
    outputs: Vec<Range<usize>>,
    inputs: [Vec<T>; 2],
    before: Vec<T>,
}

impl<T: Element + Pod, B> Pool<T, B> {
    /// Lay out `problems` and write the buffers. C holds NaN where beta is 0.
    ///
    /// # Errors
    /// The driver's refusal.
    pub(crate) fn new<D: Device<Buffer = B>>(
        device: &D,
        problems: &[Problem],
        seed: u64,
    ) -> Result<Self, DeviceError> {
        let mut problems = problems.to_vec();
        let mut ends = [EDGE; 3];
        let mut outputs = vec![0..0; problems.len()];
        for (problem, output) in problems.iter_mut().zip(&mut outputs).rev() {
            // Room for A and B even where they are not read.
            let read = Problem { alpha: 1.0, ..*problem };
            let lengths = read.buffer_lengths().map_err(|_| DeviceError::TooLarge("a case"))?;
            let operands = [&mut problem.a, &mut problem.b, &mut problem.c];
            for ((operand, length), end) in operands.into_iter().zip(lengths).zip(&mut ends) {
                let start = *end;
                operand.offset += start;
                *end = (start + length + GUARD).next_multiple_of(ALIGNED);
            }
            let [.., length] = lengths;
            let start = problem.c.offset as usize;
            *output = start..start + length as usize;
        }
        let [of_a, of_b, of_c] = ends.map(|end| (end + EDGE) as usize);
        let mut inputs = [of_a, of_b].map(|length| vec![T::nearest(f64::NAN); length]);
        let mut before: Vec<T> = converted(values(of_c, seed ^ 3));
        let [mut one, mut other] = [1, 2].map(|number| Sequence::new(seed ^ number));
        for problem in &problems {
            if problem.alpha != 0.0 {
                fill(&mut inputs[0], problem, 0, || T::nearest(value(&mut one)));
                fill(&mut inputs[1], problem, 1, || T::nearest(value(&mut other)));
            }
            if problem.beta == 0.0 {
                fill(&mut before, problem, 2, || T::nearest(f64::NAN));
            }
        }
        let buffers =
            [filled(device, &inputs[0])?, filled(device, &inputs[1])?, filled(device, &before)?];
        Ok(Self { problems, buffers, outputs, inputs, before })
    }

    /// Compute every problem with `configuration`, whose program's kernel this is, and compare.
    ///
    /// # Errors
    /// The driver refused something; what is wrong is no error but an outcome.
    pub(crate) fn run<D: Device<Buffer = B>>(
        &self,
        device: &D,
        kernel: &mut D::Kernel,
        configuration: &Configuration,
    ) -> Result<Outcome, DeviceError> {
        let mut cases = Vec::new();
        for problem in &self.problems {
            let case = Arguments::new(device, *problem, self.buffers.each_ref());
            cases.push(case.map_err(|_| DeviceError::TooLarge("a case"))?);
        }
        cases.retain(|case| case.problem().has_work());
        let needs = cases.iter().map(|case| configuration.scratch(case.problem()));
        let mut scratch = Guarded::new();
        scratch.reserve(device, needs.max().unwrap_or(0))?;
        for case in cases {
            let problem = *case.problem().problem();
            let need = configuration.scratch(case.problem());
            let memory = scratch.fill(device, need)?;
            let arguments = case.with_scratch(device, configuration, memory)?;
            let launches = configuration.launches(arguments.problem());
            let armed = device.set_arguments(kernel, &arguments)?;
            steps::enqueue(device, &armed, &launches, false)?;
            if let Some(mismatch) = scratch.written_beyond(device, need)? {
                return Ok(Err(Box::new((problem, mismatch))));
            }
        }
        self.compare(device)
    }

    /// Read all back and compare. The error's problem is the one whose output holds the mismatch,
    /// or the last one before it.
    ///
    /// # Errors
    /// The driver's refusal, or a kernel's failure.
    pub(super) fn compare<D: Device<Buffer = B>>(
        &self,
        device: &D,
    ) -> Result<Outcome, DeviceError> {
        device.finish()?;
        for (matrix, (input, buffer)) in
            ['A', 'B'].into_iter().zip(self.inputs.iter().zip(&self.buffers))
        {
            let after = read(device, buffer, input)?;
            let same = |(one, other): (&T, &T)| one.bits() == other.bits();
            if let Some(position) = input.iter().zip(&after).position(|pair| !same(pair)) {
                let problem = self.problems.first().copied();
                let mismatch = Mismatch::Input { matrix, position };
                return Ok(problem.map_or(Ok(0.0), |problem| Err(Box::new((problem, mismatch)))));
            }
        }
        let after = read(device, &self.buffers[2], &self.before)?;
        let mut expectation = Expectation::new(&self.before);
        let [a, b] = &self.inputs;
        let lengths = [a, b, &self.before].map(|values| values.len() as u64);
        for problem in &self.problems {
            if let Ok(checked) = problem.check(lengths[0], lengths[1], lengths[2]) {
                expectation.add(&checked, a, b);
            }
        }
        Ok(expectation.check(&after).or_else(|mismatch| {
            // Without a problem nothing can be wrong.
            let culprit = self.culprit(mismatch);
            culprit.map_or(Ok(0.0), |culprit| Err(Box::new((culprit, mismatch))))
        }))
    }

    fn culprit(&self, mismatch: Mismatch) -> Option<Problem> {
        let position = match mismatch {
            Mismatch::Value { position, .. }
            | Mismatch::Outside { position, .. }
            | Mismatch::AllZero { position, .. } => position,
            _ => 0,
        };
        // The first begins last.
        let after = self.outputs.partition_point(|output| output.start > position);
        self.problems.get(after).or(self.problems.last()).copied()
    }
}

/// The largest error as a share of its bound; or the problem that is wrong, and how.
pub(crate) type Outcome = Result<f64, Box<(Problem, Mismatch)>>;

/// Set the elements of all matrices of one operand, 0 for A, 1 for B and 2 for C.
fn fill<T>(elements: &mut [T], problem: &Problem, operand: usize, mut element: impl FnMut() -> T) {
    let mut places = [problem.a, problem.b, problem.c].into_iter().zip(problem.stored());
    let Some((place, (rows, columns))) = places.nth(operand) else { return };
    for matrix in 0..u64::from(problem.shape.batch) {
        for row in 0..rows {
            let start = (place.offset + matrix * place.stride + row * place.leading) as usize;
            let stored = elements.get_mut(start..start + columns as usize);
            stored.unwrap_or_default().fill_with(&mut element);
        }
    }
}

/// The next value in [-1, 1).
fn value(sequence: &mut Sequence) -> f64 {
    (sequence.draw() >> 40) as f64 / f64::from(1 << 23) - 1.0
}

fn converted<T: Element>(values: Vec<f32>) -> Vec<T> {
    values.into_iter().map(|value| T::nearest(f64::from(value))).collect()
}

fn read<D: Device, T: Element + Pod>(
    device: &D,
    buffer: &D::Buffer,
    like: &[T],
) -> Result<Vec<T>, DeviceError> {
    let mut after = like.to_vec();
    device.read(buffer, bytemuck::cast_slice_mut(&mut after))?;
    Ok(after)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kernels::Operand;

    use super::*;
    use crate::measure::is_right;
    use crate::mock::{Mock, MockBuffer};

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
    }

    /// Problems in every form, small enough for an unoptimised build.
    fn few() -> Vec<Problem> {
        seeded(ProblemClass::F32_NN, 12, 24, 5)
    }

    #[test]
    fn what_is_outside_the_matrices_of_a_and_b_is_nan_and_no_two_matrices_meet() {
        let pool = Pool::<f32, _>::new(&Mock::default(), &few(), 1).unwrap();
        let lengths = [0, 1].map(|input| pool.inputs[input].len() as u64);
        let mut read = [0, 1].map(|input| vec![false; pool.inputs[input].len()]);
        let edge = EDGE as usize;
        for problem in &pool.problems {
            problem.check(lengths[0], lengths[1], pool.before.len() as u64).unwrap();
            for (input, read) in read.iter_mut().enumerate() {
                let mut is_read = vec![false; read.len()];
                fill(&mut is_read, problem, input, || true);
                for (before, now) in read.iter_mut().zip(is_read) {
                    assert!(!(*before && now), "matrices of two problems overlap");
                    *before |= now && problem.alpha != 0.0;
                }
            }
        }
        for (input, read) in pool.inputs.iter().zip(&read) {
            assert!(input.iter().zip(read).all(|(value, read)| value.is_nan() != *read));
            assert!(
                input[..edge].iter().chain(&input[input.len() - edge..]).all(|one| one.is_nan())
            );
        }
        assert!(pool.outputs.is_sorted_by(|one, other| one.start > other.end));
        assert!(pool.problems.iter().any(|problem| problem.alpha == 0.0));
    }

    #[test]
    fn a_write_to_an_input_or_outside_c_is_found_and_its_problem_named() {
        let device = Mock::default();
        let configuration = Configuration::universal();
        let mut kernel = device.build(&configuration.program(ProblemClass::F32_NN)).unwrap();
        let mut wrong = |buffer: usize, position: &dyn Fn(&Pool<f32, MockBuffer>) -> usize| {
            let pool = Pool::<f32, _>::new(&device, &few(), 1).unwrap();
            assert!(pool.run(&device, &mut kernel, &configuration).unwrap().is_ok());
            let mut memory = pool.buffers[buffer].alias();
            let position = position(&pool);
            let mut elements = vec![0.0_f32; position + 1];
            device.read(&memory, bytemuck::cast_slice_mut(&mut elements)).unwrap();
            elements[position] = 7.0;
            device.write(&mut memory, bytemuck::cast_slice(&elements)).unwrap();
            pool.compare(&device).unwrap().unwrap_err()
        };
        let (_, mismatch) = *wrong(0, &|_| 0);
        assert_eq!(mismatch, Mismatch::Input { matrix: 'A', position: 0 });
        let (_, mismatch) = *wrong(1, &|pool| pool.inputs[1].len() - 1);
        assert!(matches!(mismatch, Mismatch::Input { matrix: 'B', .. }));
        for at in [0, 4, 11] {
            let (problem, mismatch) = *wrong(2, &|pool| pool.outputs[at].end);
            assert!(matches!(mismatch, Mismatch::Outside { .. }), "{mismatch}");
            assert_eq!(problem.shape, few()[at].shape);
        }
        let (_, mismatch) = *wrong(2, &|_| 3);
        assert!(matches!(mismatch, Mismatch::Outside { position: 3, .. }));
    }

    #[test]
    fn a_kernel_that_writes_behind_c_is_found_by_every_check() {
        let device = Mock { overruns: vec!["universal".to_owned()], ..Mock::default() };
        let configuration = Configuration::universal();
        let program = configuration.program(ProblemClass::F32_NN);
        let mut kernel = device.build(&program).unwrap();
        let pool = Pool::<f32, _>::new(&device, &few(), 1).unwrap();
        let (_, mismatch) = *pool.run(&device, &mut kernel, &configuration).unwrap().unwrap_err();
        assert!(matches!(mismatch, Mismatch::Outside { .. }), "{mismatch}");
        let right = is_right(&device, &mut kernel, &configuration, program.class);
        assert_eq!(right, Ok(false));
    }

    #[test]
    fn few_problems_have_edges_a_split_k_a_batch_a_shared_input_and_offsets() {
        for class in ProblemClass::all() {
            let [whole, below, beside, split, shared] =
                super::few(class, [64, 32], 8, &mut Sequence::new(1)).try_into().unwrap();
            assert_eq!(whole.shape, GemmShape::new(32, 16, 64, 1));
            assert_eq!((below.shape.m, beside.shape.n), (33, 65));
            assert!(split.shape.k >= 2 * 64 && split.shape.batch == 2);
            assert!(shared.b.stride == 0 && shared.shape.batch == 2 && shared.a.stride > 0);
            let moved = [below, beside, split, shared];
            assert!(moved.iter().any(|problem| problem.a.offset > 0 || problem.b.offset > 0));
            assert!(moved.iter().all(|problem| problem.shape.m > 0));
        }
        let huge = super::few(ProblemClass::F32_NN, [1 << 40, 0], 1 << 40, &mut Sequence::new(1));
        assert_eq!(huge[0].shape, GemmShape::new(1, 64, FEW_LARGEST as u32, 1));
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
