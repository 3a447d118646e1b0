//! One call of the GEMM contract, and the check that its buffers hold it.
//!
//! `C[b] = alpha · op(A[b]) · op(B[b]) + beta · C[b]`, row-major. With `beta` 0 C is not read;
//! with `alpha` 0 neither A nor B is (BLAS). Elements of C's rows beyond its columns are never
//! written. A and B may overlap between batches (stride 0 broadcasts), C may not.
//!
//! A column-major caller swaps A with B and m with n, since the transpose of a column-major
//! matrix is the row-major one: see [`Problem::column_major`].

use selector_core::{GemmShape, ProblemClass, Transposes};

/// Where a matrix lies in its buffer, in elements.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Operand {
    /// First element of the first matrix.
    pub offset: u64,
    /// Distance between the beginnings of consecutive rows as stored.
    pub leading: u64,
    /// Distance between the beginnings of consecutive matrices of the batch.
    pub stride: u64,
}

/// A multiplication to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// Precision and transposes.
    pub class: ProblemClass,
    /// Sizes.
    pub shape: GemmShape,
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of what C holds already.
    pub beta: f32,
    /// A, m×k, stored k×m if transposed.
    pub a: Operand,
    /// B, k×n, stored n×k if transposed.
    pub b: Operand,
    /// C, m×n.
    pub c: Operand,
}

/// Why a problem cannot be computed as given.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// A buffer ends before the matrices do.
    #[error("{matrix} needs {need} elements, its buffer has {have}")]
    BufferTooSmall {
        /// `A`, `B` or `C`.
        matrix: char,
        /// Elements needed, the offset included.
        need: u64,
        /// Elements in the buffer.
        have: u64,
    },
    /// Rows overlap.
    #[error("the leading dimension of {matrix} is {have}, below its {need} columns as stored")]
    LeadingTooSmall {
        /// `A`, `B` or `C`.
        matrix: char,
        /// Columns as stored.
        need: u64,
        /// Leading dimension given.
        have: u64,
    },
    /// Products of the batch would be written over one another.
    #[error("the matrices of C overlap: the stride is {have}, each takes {need} elements")]
    OutputsOverlap {
        /// Elements from a matrix's first to its last.
        need: u64,
        /// Stride given.
        have: u64,
    },
    /// Positions do not fit 64 bits, or one matrix spans more than 2³² - 1 elements.
    #[error("{matrix} is too large: one matrix may span 2^32 - 1 elements")]
    TooLarge {
        /// `A`, `B` or `C`.
        matrix: char,
    },
}

/// A problem whose buffers hold it; only [`Problem::check`] makes one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckedProblem(Problem);

impl Problem {
    /// Dense matrices one after another: alpha 1, beta 0, no offsets.
    #[must_use]
    pub fn packed(class: ProblemClass, shape: GemmShape) -> Self {
        let (a, b, c) = stored(class.transposes, shape);
        let operand = |(rows, columns): (u64, u64)| Operand {
            offset: 0,
            leading: columns,
            stride: rows.saturating_mul(columns),
        };
        let (a, b, c) = (operand(a), operand(b), operand(c));
        Self { class, shape, alpha: 1.0, beta: 0.0, a, b, c }
    }

    /// The row-major problem that a column-major call means: `self` with the caller's own m, n,
    /// transposes, A and B is column-major; the result is row-major, with A and B exchanged (the
    /// buffers must be exchanged too).
    ///
    /// ```
    /// use kernels::Problem;
    /// use selector_core::{GemmShape, ProblemClass};
    ///
    /// // Column-major: A is 2×3 with leading dimension 2, B is 3×4 with 3, C is 2×4 with 2.
    /// let mut call = Problem::packed(ProblemClass::F32_NN, GemmShape::new(2, 3, 4, 1));
    /// (call.a.leading, call.b.leading, call.c.leading) = (2, 3, 2);
    /// let row_major = call.column_major();
    /// assert_eq!(row_major.shape, GemmShape::new(4, 3, 2, 1));
    /// // The buffers go in exchanged, and hold 6 elements of A and 12 of B.
    /// row_major.check(12, 6, 8).expect("the buffers hold the matrices");
    /// ```
    #[must_use]
    pub fn column_major(self) -> Self {
        let GemmShape { m, k, n, batch } = self.shape;
        let transposes = self.class.transposes;
        Self {
            class: ProblemClass {
                transposes: Transposes::of(transposes.b(), transposes.a()),
                ..self.class
            },
            shape: GemmShape::new(n, k, m, batch),
            a: self.b,
            b: self.a,
            ..self
        }
    }

    /// Rows and columns of A, B and C as stored.
    #[must_use]
    pub fn stored(&self) -> [(u64, u64); 3] {
        let (a, b, c) = stored(self.class.transposes, self.shape);
        [a, b, c]
    }

    /// The shortest buffers of A, B and C, in elements, that hold the problem.
    ///
    /// # Errors
    /// [`ProblemError`]: no buffer holds it.
    pub fn buffer_lengths(&self) -> Result<[u64; 3], ProblemError> {
        let batch = u64::from(self.shape.batch);
        let (of_a, of_b, of_c) = stored(self.class.transposes, self.shape);
        let reads = self.alpha != 0.0 && self.shape.m > 0 && self.shape.n > 0;
        let read = |matrix, operand, size| {
            if reads { length(matrix, operand, size, batch) } else { Ok(0) }
        };
        let a = read('A', self.a, of_a)?;
        let b = read('B', self.b, of_b)?;
        Ok([a, b, length('C', self.c, of_c, batch)?])
    }

    /// Check the problem against the lengths of its buffers, in elements.
    ///
    /// # Errors
    /// [`ProblemError`] names the matrix and both numbers.
    pub fn check(self, a: u64, b: u64, c: u64) -> Result<CheckedProblem, ProblemError> {
        let lengths = self.buffer_lengths()?.into_iter().zip([a, b, c]);
        for (matrix, (need, have)) in ['A', 'B', 'C'].into_iter().zip(lengths) {
            if need > have {
                return Err(ProblemError::BufferTooSmall { matrix, need, have });
            }
        }
        if outputs_overlap(self.c, self.shape) {
            let (.., of_c) = stored(self.class.transposes, self.shape);
            let need = span(self.c, of_c).ok_or(ProblemError::TooLarge { matrix: 'C' })?;
            return Err(ProblemError::OutputsOverlap { need, have: self.c.stride });
        }
        Ok(CheckedProblem(self))
    }
}

impl CheckedProblem {
    /// The problem.
    #[must_use]
    pub const fn problem(&self) -> &Problem {
        &self.0
    }

    /// Whether any element of C may change; without work nothing is launched.
    #[must_use]
    pub fn has_work(&self) -> bool {
        let GemmShape { m, n, batch, .. } = self.0.shape;
        m > 0 && n > 0 && batch > 0 && (self.effective_k() > 0 || self.0.beta != 1.0)
    }

    /// The k that a kernel is given: 0 where alpha is 0, so that A and B are not read.
    #[must_use]
    pub fn effective_k(&self) -> u32 {
        if self.0.alpha == 0.0 { 0 } else { self.0.shape.k }
    }
}

/// Rows and columns of A, B and C as stored.
fn stored(transposes: Transposes, shape: GemmShape) -> ((u64, u64), (u64, u64), (u64, u64)) {
    let [m, k, n] = [shape.m, shape.k, shape.n].map(u64::from);
    let a = if transposes.a() { (k, m) } else { (m, k) };
    let b = if transposes.b() { (n, k) } else { (k, n) };
    (a, b, (m, n))
}

/// Elements from the first to the last of one matrix.
fn span(operand: Operand, (rows, columns): (u64, u64)) -> Option<u64> {
    if rows == 0 || columns == 0 {
        return Some(0);
    }
    (rows - 1).checked_mul(operand.leading)?.checked_add(columns)
}

/// Elements of the shortest buffer that holds the matrices of a batch.
fn length(
    matrix: char,
    operand: Operand,
    size: (u64, u64),
    batch: u64,
) -> Result<u64, ProblemError> {
    if size.0 == 0 || size.1 == 0 || batch == 0 {
        return Ok(0);
    }
    if operand.leading < size.1 {
        let (need, have) = (size.1, operand.leading);
        return Err(ProblemError::LeadingTooSmall { matrix, need, have });
    }
    let too_large = ProblemError::TooLarge { matrix };
    let span = span(operand, size).ok_or(too_large)?;
    if span > u64::from(u32::MAX) || operand.leading > u64::from(u32::MAX) {
        return Err(too_large);
    }
    let last = (batch - 1).checked_mul(operand.stride).ok_or(too_large)?;
    last.checked_add(operand.offset).and_then(|sum| sum.checked_add(span)).ok_or(too_large)
}

/// Whether two matrices of C share an element. They may lie side by side, each row of the buffer
/// holding a row of every matrix. [`length`] has accepted C before.
fn outputs_overlap(c: Operand, shape: GemmShape) -> bool {
    let [m, n, batch] = [shape.m, shape.n, shape.batch].map(u64::from);
    if m == 0 || n == 0 || batch < 2 {
        return false;
    }
    let span = (m - 1) * c.leading + n;
    let side_by_side = c.stride >= n && (batch - 1) * c.stride + n <= c.leading;
    if c.stride >= span || side_by_side {
        return false;
    }
    // Only matrices that begin within the first one can meet it, and all pairs lie alike.
    let begins = (1..batch).map(|matrix| matrix * c.stride);
    begins.take_while(|begin| *begin < span).any(|begin| {
        let (rows, columns) = (begin / c.leading, begin % c.leading);
        columns < n || (rows + 1 < m && c.leading - columns < n)
    })
}

#[cfg(test)]
mod tests {
    use selector_core::Precision;

    use super::*;

    fn packed(m: u32, k: u32, n: u32, batch: u32) -> Problem {
        Problem::packed(ProblemClass::F32_NN, GemmShape::new(m, k, n, batch))
    }

    fn matrix_too_large(problem: Problem) -> char {
        match problem.check(u64::MAX, u64::MAX, u64::MAX) {
            Err(ProblemError::TooLarge { matrix }) => matrix,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn packed_buffers_are_just_long_enough_in_every_class() {
        for class in ProblemClass::all() {
            let problem = Problem::packed(class, GemmShape::new(3, 5, 7, 2));
            assert_eq!(problem.buffer_lengths(), Ok([30, 70, 42]), "{class}");
            assert!(problem.check(30, 70, 42).is_ok());
            for (lengths, matrix, need) in
                [((29, 70, 42), 'A', 30), ((30, 69, 42), 'B', 70), ((30, 70, 41), 'C', 42)]
            {
                let error = problem.check(lengths.0, lengths.1, lengths.2).unwrap_err();
                assert_eq!(error, ProblemError::BufferTooSmall { matrix, need, have: need - 1 });
            }
        }
    }

    #[test]
    fn the_last_row_needs_no_padding_behind_it() {
        let mut problem = packed(3, 5, 7, 2);
        problem.c = Operand { offset: 4, leading: 10, stride: 40 };
        assert_eq!(problem.buffer_lengths(), Ok([30, 70, 4 + 40 + 2 * 10 + 7]));
    }

    #[test]
    fn a_leading_dimension_below_the_stored_columns_is_refused() {
        for (transposes, matrix, columns) in
            [(Transposes::Nn, 'A', 5), (Transposes::Tn, 'A', 3), (Transposes::Nt, 'B', 5)]
        {
            let class = ProblemClass::new(Precision::F16, transposes);
            let mut problem = Problem::packed(class, GemmShape::new(3, 5, 7, 1));
            let operand = if matrix == 'A' { &mut problem.a } else { &mut problem.b };
            operand.leading = columns - 1;
            let error = problem.check(1000, 1000, 1000).unwrap_err();
            let expected =
                ProblemError::LeadingTooSmall { matrix, need: columns, have: columns - 1 };
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn a_matrix_beyond_32_bits_is_refused_before_any_launch() {
        // Positions above 2^31 are fine: they are unsigned.
        let tall = packed(12_347, 174_000, 1, 1);
        assert!(tall.check(12_347 * 174_000, 174_000, 12_347).is_ok());
        // The last row begins at 2^32.
        let mut wide = packed(65_537, 1, 65_536, 1);
        assert_eq!(matrix_too_large(wide), 'C');
        wide.shape.m = 65_535;
        assert!(wide.check(u64::MAX, u64::MAX, 65_535 * 65_536).is_ok());
        // Where the batch begins takes 64 bits.
        let mut batched = packed(1, 1, 1, 5);
        batched.c.stride = 1 << 30;
        assert_eq!(batched.buffer_lengths(), Ok([5, 5, (1 << 32) + 1]));
        batched.c.stride = 1 << 62;
        assert_eq!(matrix_too_large(batched), 'C');
        let mut far = packed(1, 1, 1, 2);
        far.b.offset = u64::MAX;
        assert_eq!(matrix_too_large(far), 'B');
        let mut loose = packed(3, 2, 2, 1);
        loose.a.leading = u64::MAX;
        assert_eq!(matrix_too_large(loose), 'A');
    }

    #[test]
    fn outputs_that_overlap_are_refused_and_inputs_may() {
        let mut problem = packed(1, 1, 1, 2);
        problem.c.stride = 0;
        let error = problem.check(2, 2, 1).unwrap_err();
        assert_eq!(error, ProblemError::OutputsOverlap { need: 1, have: 0 });
        let mut short = packed(4, 2, 6, 2);
        short.c.stride = 4 * 6 - 1;
        let error = short.check(16, 24, 100).unwrap_err();
        assert_eq!(error, ProblemError::OutputsOverlap { need: 24, have: 23 });
        short.shape.batch = 1;
        assert!(short.check(16, 24, 100).is_ok());

        let mut broadcast = packed(1, 40, 1, 261);
        broadcast.a.stride = 0;
        assert_eq!(broadcast.buffer_lengths(), Ok([40, 40 * 261, 261]));
        assert!(broadcast.check(40, 40 * 261, 261).is_ok());
    }

    #[test]
    fn outputs_overlap_exactly_where_two_share_an_element() {
        for (m, n, batch) in [(1, 1, 3), (2, 3, 2), (3, 2, 4), (4, 1, 5)] {
            for leading in n..n + 9 {
                for stride in 0..4 * leading {
                    let mut problem = packed(m as u32, 1, n as u32, batch as u32);
                    problem.c = Operand { offset: 0, leading, stride };
                    let mut written = vec![0; 1000];
                    for matrix in 0..batch {
                        for row in 0..m {
                            for column in 0..n {
                                written[(matrix * stride + row * leading + column) as usize] += 1;
                            }
                        }
                    }
                    let overlap = written.iter().any(|times| *times > 1);
                    let refused = problem.check(u64::MAX, u64::MAX, 1000).is_err();
                    assert_eq!(refused, overlap, "{m}x{n}x{batch}, {leading}, {stride}");
                }
            }
        }
    }

    #[test]
    fn zero_sizes_need_no_buffers_and_have_no_work() {
        for (m, k, n, batch) in [(0, 5, 7, 1), (3, 5, 0, 1), (3, 5, 7, 0)] {
            let mut problem = packed(m, k, n, batch);
            problem.c.leading = u64::MAX;
            assert_eq!(problem.buffer_lengths(), Ok([0; 3]));
            let checked = problem.check(0, 0, 0).unwrap();
            assert!(!checked.has_work());
        }
        // Without products C is still scaled.
        let checked = packed(3, 0, 7, 1).check(0, 0, 21).unwrap();
        assert!(checked.has_work());
        let kept = Problem { beta: 1.0, ..packed(3, 0, 7, 1) };
        assert!(!kept.check(0, 0, 21).unwrap().has_work());
    }

    #[test]
    fn with_alpha_0_neither_a_nor_b_is_asked_for() {
        let problem = Problem { alpha: 0.0, beta: 2.0, ..packed(3, 5, 7, 2) };
        let checked = problem.check(0, 0, 42).unwrap();
        assert!(checked.has_work());
        assert_eq!(checked.effective_k(), 0);
        assert_eq!(Problem { alpha: 1.0, ..problem }.check(30, 70, 42).unwrap().effective_k(), 5);
    }

    #[test]
    fn a_column_major_call_exchanges_the_transposes_too() {
        let class = ProblemClass::new(Precision::F32, Transposes::Nt);
        // Column-major: A is 2x3 with leading dimension 2, B is stored 4x3 with leading dimension 4.
        let mut call = Problem::packed(class, GemmShape::new(2, 3, 4, 1));
        (call.a.leading, call.b.leading, call.c.leading) = (2, 4, 2);
        let row_major = call.column_major();
        assert_eq!(row_major.class.transposes, Transposes::Tn);
        assert_eq!((row_major.a.leading, row_major.b.leading), (4, 2));
        assert_eq!(row_major.buffer_lengths(), Ok([12, 6, 8]));
    }
}
