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
    /// Element type and transposes.
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

    /// Check the problem against the lengths of its buffers, in elements.
    ///
    /// # Errors
    /// [`ProblemError`] names the matrix and both numbers.
    pub fn check(self, a: u64, b: u64, c: u64) -> Result<CheckedProblem, ProblemError> {
        let batch = u64::from(self.shape.batch);
        let sizes = stored(self.class.transposes, self.shape);
        let (of_a, of_b, of_c) = sizes;
        let reads = self.alpha != 0.0 && of_c.0 > 0 && of_c.1 > 0;
        if reads {
            check_operand('A', self.a, of_a, batch, a)?;
            check_operand('B', self.b, of_b, batch, b)?;
        }
        check_operand('C', self.c, of_c, batch, c)?;
        let need = span(self.c, of_c).ok_or(ProblemError::TooLarge { matrix: 'C' })?;
        if batch > 1 && self.c.stride < need {
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
        let GemmShape { m, k, n, batch } = self.0.shape;
        let nothing_added = k == 0 || self.0.alpha == 0.0;
        m > 0 && n > 0 && batch > 0 && !(nothing_added && self.0.beta == 1.0)
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

fn check_operand(
    matrix: char,
    operand: Operand,
    size: (u64, u64),
    batch: u64,
    have: u64,
) -> Result<(), ProblemError> {
    if size.0 == 0 || size.1 == 0 || batch == 0 {
        return Ok(());
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
    let need = last.checked_add(operand.offset).and_then(|sum| sum.checked_add(span));
    let need = need.ok_or(too_large)?;
    if need > have {
        return Err(ProblemError::BufferTooSmall { matrix, need, have });
    }
    Ok(())
}
