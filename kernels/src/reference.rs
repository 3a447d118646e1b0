//! The naive multiplication in double precision, and how far a kernel may be from it.
//!
//! A kernel sums k products of 32-bit floats in some order, so an element may differ from the
//! exact value by about k·ε·|alpha|·Σ|a·b| (Higham, Accuracy and Stability of Numerical
//! Algorithms, §3.1), and by the rounding to its type. What lies outside C's matrices must keep
//! its bits. Errors that are independent add up to about √k·ε·|alpha|·Σ|a·b| (Higham and Mary, A new
//! approach to probabilistic rounding error analysis, 2019), so a C that is all zero is wrong where a value
//! is beyond that, though the bound that holds for certain may allow it for a long k.
//!
//! In the classes `f16h` a kernel may first sum runs of at most [`HALF_RUN`] products in 16 bits. By
//! the same section, n products that are summed with roundings of u are off by at most
//! n·u / (1 − n·u) times the sum of their magnitudes, in whatever order; all runs together by that
//! share of Σ|a·b|. Beside it, a device without subnormal numbers may lose every product and every
//! sum below the smallest normal one, and a run may reach infinity.

use half::f16;

use selector_core::Precision;

use crate::{CheckedProblem, Operand, Problem};

/// Most products that a kernel of a class `f16h` adds in 16 bits before it goes on in 32.
pub const HALF_RUN: u32 = 8;
/// The smallest normal number of 16 bits.
const HALF_NORMAL: f64 = 6.103_515_625e-5;

/// Type of an element in memory.
pub trait Element: Copy {
    /// Half the distance from 1 to the next value.
    const EPSILON: f64;
    /// The smallest value above zero.
    const TINY: f64;
    /// The largest finite value.
    const LARGEST: f64;

    /// The value, exactly.
    fn to_f64(self) -> f64;
    /// The nearest value.
    fn nearest(value: f64) -> Self;
    /// The bits.
    fn bits(self) -> u32;
}

impl Element for f32 {
    const EPSILON: f64 = 5.960_464_477_539_063e-8;
    const TINY: f64 = 1.401_298_464_324_817e-45;
    const LARGEST: f64 = Self::MAX as f64;

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn nearest(value: f64) -> Self {
        value as Self
    }

    fn bits(self) -> u32 {
        self.to_bits()
    }
}

impl Element for f16 {
    const EPSILON: f64 = 4.882_812_5e-4;
    const TINY: f64 = 5.960_464_477_539_063e-8;
    const LARGEST: f64 = 65_504.0;

    fn to_f64(self) -> f64 {
        Self::to_f64(self)
    }

    fn nearest(value: f64) -> Self {
        Self::from_f64(value)
    }

    fn bits(self) -> u32 {
        u32::from(self.to_bits())
    }
}

/// Compute `problem` on slices that it was checked against.
///
/// # Panics
/// If the slices are shorter than the lengths of the check.
pub fn gemm<T: Element>(problem: &CheckedProblem, a: &[T], b: &[T], c: &mut [T]) {
    each_element(problem, |position, sum, _| {
        let old = c[position].to_f64();
        c[position] = T::nearest(result(problem, sum(a, b).value, old));
    });
}

/// alpha·sum + beta·old, where beta 0 does not read `old`, and alpha is not read without products.
fn result(checked: &CheckedProblem, sum: f64, old: f64) -> f64 {
    let problem = checked.problem();
    let product = if checked.effective_k() == 0 { 0.0 } else { f64::from(problem.alpha) * sum };
    if problem.beta == 0.0 { product } else { f64::from(problem.beta).mul_add(old, product) }
}

/// The products of a row of A and a column of B.
#[derive(Clone, Copy, Default)]
struct Products {
    /// Σa·b.
    value: f64,
    /// Σ|a·b|.
    magnitude: f64,
    /// The largest |a·b|.
    largest: f64,
}

/// Call `visit` for every element of C with its position, a function that gives its products, and
/// k.
fn each_element<T: Element>(
    problem: &CheckedProblem,
    mut visit: impl FnMut(usize, &dyn Fn(&[T], &[T]) -> Products, u32),
) {
    let k = problem.effective_k();
    if !problem.has_work() {
        return;
    }
    let Problem { shape, class, a: at_a, b: at_b, c: at_c, .. } = *problem.problem();
    for batch in 0..shape.batch {
        for row in 0..shape.m {
            for column in 0..shape.n {
                let sum = |a: &[T], b: &[T]| {
                    let mut products = Products::default();
                    for step in 0..k {
                        let left = a[position(at_a, class.transposes.a(), batch, row, step)];
                        let right = b[position(at_b, class.transposes.b(), batch, step, column)];
                        let product = left.to_f64() * right.to_f64();
                        products.value += product;
                        products.magnitude += product.abs();
                        products.largest = products.largest.max(product.abs());
                    }
                    products
                };
                visit(position(at_c, false, batch, row, column), &sum, k);
            }
        }
    }
}

fn position(operand: Operand, transposed: bool, batch: u32, row: u32, column: u32) -> usize {
    let (row, column) = if transposed { (column, row) } else { (row, column) };
    let inside = u64::from(row) * operand.leading + u64::from(column);
    // `check` proved that the position lies in a buffer, so it fits.
    (operand.offset + u64::from(batch) * operand.stride + inside) as usize
}

/// What a buffer of C must hold after the problems that write to it.
pub struct Expectation<'a, T> {
    before: &'a [T],
    cells: Vec<Option<Cell>>,
}

#[derive(Clone, Copy)]
struct Cell {
    value: f64,
    bound: f64,
    /// How far the value may be off with all likelihood.
    likely: f64,
    /// Whether a run in 16 bits may pass the largest finite value.
    overflows: bool,
}

/// Times the expected error of independent roundings.
const LIKELY: f64 = 8.0;

/// The first element that is not what it must be.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// Every element of C is zero.
    #[error("all {elements} elements of C are 0, element {position} should be {expected}")]
    AllZero {
        /// Elements of C.
        elements: usize,
        /// Position of the first that cannot be zero, in elements.
        position: usize,
        /// Its exact value.
        expected: f64,
    },
    /// An element of A or B changed.
    #[error("element {position} of {matrix} was written")]
    Input {
        /// `A` or `B`.
        matrix: char,
        /// Position in the buffer, in elements.
        position: usize,
    },
    /// A kernel wrote beyond its scratch memory.
    #[error("byte {position} of scratch memory was written, though the kernel wants {need}")]
    Scratch {
        /// Position in bytes.
        position: u64,
        /// Bytes that the kernel wants.
        need: u64,
    },
    /// An element of C is too far from its value.
    #[error("element {position} of C is {found}, should be {expected} ± {bound:e}")]
    Value {
        /// Position in the buffer, in elements.
        position: usize,
        /// The value found.
        found: f64,
        /// The exact value.
        expected: f64,
        /// How far it may be off.
        bound: f64,
    },
    /// An element outside C's matrices changed.
    #[error("element {position} is outside C, but changed from {before} to {found}")]
    Outside {
        /// Position in the buffer, in elements.
        position: usize,
        /// The value before.
        before: f64,
        /// The value found.
        found: f64,
    },
    /// The buffers have different lengths.
    #[error("{found} elements where there should be {expected}")]
    Length {
        /// Elements expected.
        expected: usize,
        /// Elements found.
        found: usize,
    },
}

impl<'a, T: Element> Expectation<'a, T> {
    /// Nothing may change in a buffer that holds `before`.
    #[must_use]
    pub fn new(before: &'a [T]) -> Self {
        Self { before, cells: vec![None; before.len()] }
    }

    /// `problem` was computed too. Problems must not write to the same elements.
    ///
    /// # Panics
    /// If the slices are shorter than the lengths of the problem's check.
    pub fn add(&mut self, problem: &CheckedProblem, a: &[T], b: &[T]) {
        let call = problem.problem();
        each_element(problem, |position, sum, k| {
            let products = sum(a, b);
            let old = self.before[position].to_f64();
            let value = result(problem, products.value, old);
            let alpha = if k == 0 { 0.0 } else { f64::from(call.alpha).abs() };
            let scaled = if k == 0 { 0.0 } else { alpha * products.magnitude };
            let kept = if call.beta == 0.0 { 0.0 } else { (f64::from(call.beta) * old).abs() };
            let summing = <f32 as Element>::EPSILON * (f64::from(k) + 4.0) * (scaled + kept);
            let independent = <f32 as Element>::EPSILON * LIKELY * (f64::from(k) + 4.0).sqrt();
            let mut rounding = T::EPSILON * value.abs() + T::TINY;
            let mut overflows = false;
            if call.class.precision == Precision::F16Half {
                rounding += alpha * runs_in_half(&products, k);
                let longest = f64::from(k.min(HALF_RUN)) * products.largest;
                overflows = longest * (1.0 + run_rounding(k)) >= <f16 as Element>::LARGEST;
            }
            let (bound, likely) = (summing + rounding, independent * (scaled + kept) + rounding);
            self.cells[position] = Some(Cell { value, bound, likely, overflows });
        });
    }

    /// Compare what the buffer holds now; returns the largest error as a share of its bound.
    ///
    /// # Errors
    /// [`Mismatch`] is the first element that is wrong. NaN is right only where NaN is due.
    pub fn check(&self, after: &[T]) -> Result<f64, Mismatch> {
        if after.len() != self.before.len() {
            return Err(Mismatch::Length { expected: self.before.len(), found: after.len() });
        }
        let mut worst: f64 = 0.0;
        for (position, ((found, before), cell)) in
            after.iter().zip(self.before).zip(&self.cells).enumerate()
        {
            match cell {
                Some(cell) => {
                    let share = cell.error::<T>(found.to_f64()).ok_or(Mismatch::Value {
                        position,
                        found: found.to_f64(),
                        expected: cell.value,
                        bound: cell.bound,
                    })?;
                    worst = worst.max(share);
                }
                None if found.bits() != before.bits() => {
                    let (before, found) = (before.to_f64(), found.to_f64());
                    return Err(Mismatch::Outside { position, before, found });
                }
                None => {}
            }
        }
        self.check_zeros(after)?;
        Ok(worst)
    }

    /// That not all of C is zero where some value is due.
    fn check_zeros(&self, after: &[T]) -> Result<(), Mismatch> {
        let cells = || self.cells.iter().enumerate().filter_map(|(at, cell)| Some((at, (*cell)?)));
        if cells().any(|(position, _)| after[position].to_f64() != 0.0) {
            return Ok(());
        }
        match cells().find(|(_, cell)| cell.value.abs() > cell.likely) {
            Some((position, cell)) => {
                let elements = cells().count();
                Err(Mismatch::AllZero { elements, position, expected: cell.value })
            }
            None => Ok(()),
        }
    }
}

/// What the roundings of a run change at most, as a share of its products' magnitudes: n·u / (1 − n·u)
/// is below (n + 1)·u for so few products.
fn run_rounding(k: u32) -> f64 {
    f64::from(k.min(HALF_RUN) + 1) * <f16 as Element>::EPSILON
}

/// How far runs in 16 bits may take a sum of k products from its value.
fn runs_in_half(products: &Products, k: u32) -> f64 {
    let lost = 2.0 * f64::from(k) * HALF_NORMAL;
    run_rounding(k) * products.magnitude + lost
}

impl Cell {
    /// The error as a share of the bound; `None` if it is larger.
    fn error<T: Element>(self, found: f64) -> Option<f64> {
        if self.overflows && !found.is_finite() {
            // Infinities of both signs may have met.
            return Some(0.0);
        }
        if self.value.is_nan() {
            return found.is_nan().then_some(0.0);
        }
        if self.value.is_infinite() {
            return (found == self.value).then_some(0.0);
        }
        if !found.is_finite() {
            // Infinity is right where it is due, or where rounding may reach it.
            let reached = self.value.abs() + self.bound >= T::LARGEST;
            let same_sign = found == f64::INFINITY && self.value > 0.0
                || found == f64::NEG_INFINITY && self.value < 0.0;
            return (reached && same_sign).then_some(0.0);
        }
        let error = (found - self.value).abs();
        (error <= self.bound).then(|| error / self.bound)
    }
}

/// A sequence of numbers that is the same for the same seed on every machine: SplitMix64 (Steele,
/// Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct Sequence(u64);

impl Sequence {
    /// The sequence of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// The next number below `limit`; 0 if the limit is 0.
    pub const fn below(&mut self, limit: u64) -> u64 {
        let wide = self.draw() as u128 * limit as u128;
        (wide >> 64) as u64
    }

    /// One of `values`.
    ///
    /// # Panics
    /// If there are none.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

/// `length` values in [-1, 1), the same for the same seed on every machine.
#[must_use]
pub fn values(length: usize, seed: u64) -> Vec<f32> {
    let mut sequence = Sequence::new(seed);
    let scale = (1u32 << 23) as f32;
    (0..length).map(|_| (sequence.draw() >> 40) as f32 / scale - 1.0).collect()
}

#[cfg(test)]
mod tests {
    use selector_core::{GemmShape, ProblemClass, Transposes};

    use super::*;

    fn packed(m: u32, k: u32, n: u32, batch: u32) -> Problem {
        Problem::packed(ProblemClass::F32_NN, GemmShape::new(m, k, n, batch))
    }

    fn run(problem: Problem, a: &[f32], b: &[f32], c: &[f32]) -> Vec<f32> {
        let lengths = [a, b, c].map(|slice| slice.len() as u64);
        let checked = problem.check(lengths[0], lengths[1], lengths[2]).unwrap();
        let mut after = c.to_vec();
        gemm(&checked, a, b, &mut after);
        after
    }

    #[test]
    fn a_small_product_is_right_in_every_transpose() {
        // A = [1 2 3; 4 5 6], B = [1 2; 3 4; 5 6]
        let (a, a_t) = ([1., 2., 3., 4., 5., 6.], [1., 4., 2., 5., 3., 6.]);
        let (b, b_t) = ([1., 2., 3., 4., 5., 6.], [1., 3., 5., 2., 4., 6.]);
        for transposes in Transposes::ALL {
            let class = ProblemClass::new(Precision::F32, transposes);
            let problem = Problem::packed(class, GemmShape::new(2, 3, 2, 1));
            let a = if transposes.a() { a_t } else { a };
            let b = if transposes.b() { b_t } else { b };
            assert_eq!(run(problem, &a, &b, &[0.; 4]), [22., 28., 49., 64.], "{class}");
        }
    }

    #[test]
    fn beta_zero_hides_nan_and_alpha_zero_does_not_read_a() {
        let problem = packed(1, 1, 1, 1);
        assert_eq!(run(problem, &[2.], &[3.], &[f32::NAN]), [6.]);
        let scale = Problem { alpha: 0.0, beta: -0.5, ..problem };
        assert_eq!(run(scale, &[f32::NAN], &[f32::INFINITY], &[4.]), [-2.]);
        let no_products = Problem { alpha: f32::NAN, beta: 2.0, ..packed(1, 0, 1, 1) };
        assert_eq!(run(no_products, &[], &[], &[4.]), [8.]);
    }

    #[test]
    fn broadcast_inputs_are_read_again() {
        let mut problem = packed(1, 1, 1, 2);
        problem.a.stride = 0;
        assert_eq!(run(problem, &[2.], &[5., 7.], &[0., 0.]), [10., 14.]);
    }

    #[test]
    fn padding_that_changes_and_values_that_are_off_are_found() {
        let mut problem = packed(2, 3, 2, 1);
        problem.c.leading = 3;
        let (a, b, before) = (values(6, 1), values(6, 2), values(5, 3));
        let checked = problem.check(6, 6, 5).unwrap();
        let mut after = before.clone();
        gemm(&checked, &a, &b, &mut after);
        let mut expectation = Expectation::new(&before);
        expectation.add(&checked, &a, &b);
        assert!(expectation.check(&after).unwrap() <= 1.0);
        let with = |position: usize, value: f32| {
            let mut wrong = after.clone();
            wrong[position] = value;
            expectation.check(&wrong).unwrap_err()
        };
        assert!(matches!(with(2, 9.0), Mismatch::Outside { position: 2, .. }));
        assert!(matches!(with(0, f32::NAN), Mismatch::Value { position: 0, .. }));
        assert!(matches!(with(4, after[4] + 1e-4), Mismatch::Value { position: 4, .. }));
        let zeros = vec![0.0; 5];
        assert!(expectation.check(&zeros).is_err());
        assert!(matches!(expectation.check(&after[1..]), Err(Mismatch::Length { .. })));
    }

    #[test]
    fn half_precision_accumulates_in_single() {
        let class = ProblemClass::new(Precision::F16, Transposes::Nn);
        let problem = Problem::packed(class, GemmShape::new(1, 4096, 1, 1));
        let checked = problem.check(4096, 4096, 1).unwrap();
        let ones = vec![f16::ONE; 4096];
        let mut c = [f16::ZERO];
        gemm(&checked, &ones, &ones, &mut c);
        assert_eq!(c[0].to_f32(), 4096.0);
        let before = [f16::ZERO];
        let mut expectation = Expectation::new(&before);
        expectation.add(&checked, &ones, &ones);
        // What accumulating in half precision stalls at.
        assert!(expectation.check(&[f16::from_f32(2048.0)]).is_err());
        // 256 · 256 overflows to infinity, and must not be garbage.
        let checked = Problem::packed(class, GemmShape::new(1, 1, 1, 1)).check(1, 1, 1).unwrap();
        let large = [f16::from_f32(256.0)];
        let mut expectation = Expectation::new(&before);
        expectation.add(&checked, &large, &large);
        assert!(expectation.check(&[f16::INFINITY]).is_ok());
        assert!(expectation.check(&[f16::NEG_INFINITY]).is_err());
        assert!(expectation.check(&[f16::ONE]).is_err());
    }

    /// The sum of products of `a` and `b`, whose runs of `run` are multiplied and added in 16 bits, and
    /// then added in 32.
    fn dot(a: &[f16], b: &[f16], run: usize) -> f16 {
        let in_half = |(a, b): (&[f16], &[f16])| {
            let products = a.iter().zip(b).map(|(a, b)| f16::from_f64(a.to_f64() * b.to_f64()));
            products.fold(f16::ZERO, |sum, one| f16::from_f64(sum.to_f64() + one.to_f64()))
        };
        let runs = a.chunks(run).zip(b.chunks(run));
        f16::from_f32(runs.map(in_half).fold(0.0, |sum: f32, one| sum + one.to_f32()))
    }

    /// What a class says of one element.
    fn verdict(class: &str, a: &[f16], b: &[f16], found: f16) -> Result<f64, Mismatch> {
        let shape = GemmShape::new(1, a.len() as u32, 1, 1);
        let problem = Problem::packed(class.parse().unwrap(), shape);
        let checked = problem.check(a.len() as u64, b.len() as u64, 1).unwrap();
        let before = [f16::NAN];
        let mut expectation = Expectation::new(&before);
        expectation.add(&checked, a, b);
        expectation.check(&[found])
    }

    #[test]
    fn runs_of_eight_in_half_precision_pass_where_all_of_k_does_not() {
        let ones = vec![f16::ONE; 4096];
        let stalled = dot(&ones, &ones, 4096);
        assert_eq!(stalled.to_f32(), 2048.0);
        assert!(verdict("f16h-nn", &ones, &ones, stalled).is_err());
        assert_eq!(verdict("f16h-nn", &ones, &ones, dot(&ones, &ones, 8)), Ok(0.0));
        let positive = |seed| -> Vec<f16> {
            values(4096, seed).iter().map(|one| f16::from_f32(one.abs())).collect()
        };
        for seed in 0..20 {
            let (a, b) = (positive(seed), positive(seed + 100));
            let runs = dot(&a, &b, 8);
            assert!(verdict("f16h-nn", &a, &b, runs).unwrap() > 0.0);
            assert!(verdict("f16h-nn", &a, &b, dot(&a, &b, 4096)).is_err(), "seed {seed}");
        }
    }

    #[test]
    fn the_roundings_of_a_run_may_all_go_one_way_but_runs_belong_to_their_classes() {
        // Every sum in 16 bits rounds down: 1 + 1 ulp of it, less than half an ulp of what is there.
        let mut a = vec![f16::from_f32(2f32.powi(-12)); 8 * 64];
        a.iter_mut().step_by(8).for_each(|one| *one = f16::ONE);
        let b = vec![f16::ONE; a.len()];
        let runs = dot(&a, &b, 8);
        assert_eq!(runs.to_f32(), 64.0);
        let share = verdict("f16h-nn", &a, &b, runs).unwrap();
        assert!(share > 0.2, "{share}");
        assert!(verdict("f16-nn", &a, &b, runs).is_err());
        // Longer runs lose more than these classes allow: the lost share grows with their length.
        let long: Vec<f16> = [f16::from_f32(2f32.powi(-12)); 4095].into();
        let long = [vec![f16::ONE], long].concat();
        let ones = vec![f16::ONE; long.len()];
        assert!(verdict("f16h-nn", &long, &ones, dot(&long, &ones, 4096)).is_err());
    }

    #[test]
    fn products_too_small_for_half_precision_may_be_lost() {
        let tiny = vec![f16::from_f32(0.007); 100];
        assert!(verdict("f16h-nn", &tiny, &tiny, f16::ZERO).is_ok());
        assert!(verdict("f16-nn", &tiny, &tiny, f16::ZERO).is_err());
        let small = vec![f16::from_f32(0.1); 100];
        assert!(verdict("f16h-nn", &small, &small, f16::ZERO).is_err());
    }

    #[test]
    fn a_run_in_half_precision_may_reach_infinity_and_a_sum_of_runs_may_not() {
        let large = vec![f16::from_f32(100.0); 8];
        let mut signs = [large.clone(), large.clone()].concat();
        signs[8..].iter_mut().for_each(|one| *one = -*one);
        let twice = [large.clone(), large].concat();
        assert_eq!(dot(&twice, &signs, 8).to_bits() & 0x7C00, 0x7C00);
        for found in [f16::INFINITY, f16::NEG_INFINITY, f16::NAN] {
            assert!(verdict("f16h-nn", &twice, &signs, found).is_ok(), "{found}");
            assert!(verdict("f16-nn", &twice, &signs, found).is_err(), "{found}");
            let fewer: Vec<f16> = twice.iter().map(|one| *one * f16::from_f32(0.5)).collect();
            assert!(verdict("f16h-nn", &fewer, &signs, found).is_err(), "{found}");
        }
    }

    #[test]
    fn infinity_that_is_due_must_be_there() {
        for class in ["f16-nn", "f16h-nn"] {
            let a = [f16::INFINITY];
            let found = |found| verdict(class, &a, &[f16::ONE], found).is_ok();
            assert!(found(f16::INFINITY), "{class}");
            assert!(!found(f16::ONE), "{class}");
        }
        assert!(verdict("f16-nn", &[f16::INFINITY], &[f16::ONE], f16::NAN).is_err());
    }

    #[test]
    fn a_c_that_is_all_zero_is_wrong_even_where_the_bound_of_a_long_k_allows_it() {
        let checked = packed(1, 1 << 18, 1, 1).check(1 << 18, 1 << 18, 1).unwrap();
        let (a, b) = (values(1 << 18, 1), values(1 << 18, 2));
        let mut c = [0.0];
        gemm(&checked, &a, &b, &mut c);
        let before = [f32::NAN];
        let mut expectation = Expectation::new(&before);
        expectation.add(&checked, &a, &b);
        let cell = expectation.cells[0].unwrap();
        assert!(cell.bound > c[0].abs().into(), "the bound alone lets zero through");
        let zero = expectation.check(&[0.0]).unwrap_err();
        assert!(matches!(zero, Mismatch::AllZero { elements: 1, position: 0, .. }), "{zero}");
        assert!(expectation.check(&c).is_ok());
        // Zeros that are due are right.
        let none = vec![0.0; 1 << 18];
        let mut expectation = Expectation::new(&before);
        expectation.add(&checked, &none, &b);
        assert_eq!(expectation.check(&[0.0]), Ok(0.0));
        let nothing = Expectation::new(&before);
        assert_eq!(nothing.check(&[f32::NAN]), Ok(0.0));
    }

    #[test]
    fn seeded_values_repeat_and_stay_inside() {
        let some = values(1000, 7);
        assert_eq!(some, values(1000, 7));
        assert_ne!(some, values(1000, 8));
        assert!(some.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(some.iter().any(|value| *value < -0.9) && some.iter().any(|value| *value > 0.9));
    }
}
