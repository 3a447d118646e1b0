//! From C's numbers to a problem: nothing past this file sees a layout or a value that is not checked.

use kernels::{Operand, Problem};
use selector_core::{GemmShape, Precision, ProblemClass, Transposes};

use crate::status::Failure;

/// The order of all three matrices in memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Layout {
    ColumnMajor,
    RowMajor,
}

impl Layout {
    /// `gemmtree_layout`, whose values CLBlast's are too.
    pub(crate) fn of_code(code: i32) -> Result<Self, Failure> {
        match code {
            101 => Ok(Self::RowMajor),
            102 => Ok(Self::ColumnMajor),
            _ => Err(Failure::Argument(format!("{code} is no layout; 101 and 102 are"))),
        }
    }
}

/// `gemmtree_transpose`; whether there is one.
pub(crate) fn transpose(code: i32) -> Result<bool, Failure> {
    match code {
        111 => Ok(false),
        112 => Ok(true),
        _ => Err(Failure::Argument(format!("{code} is no transpose; 111 and 112 are"))),
    }
}

/// `gemmtree_precision`.
pub(crate) fn precision(code: i32) -> Result<Precision, Failure> {
    match code {
        0 => Ok(Precision::F32),
        1 => Ok(Precision::F16),
        2 => Ok(Precision::F16Half),
        _ => Err(Failure::Argument(format!("{code} is no precision; 0, 1 and 2 are"))),
    }
}

/// A matrix as C describes it: offset, leading dimension and stride in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub(crate) offset: usize,
    pub(crate) leading: usize,
    pub(crate) stride: usize,
}

impl Matrix {
    fn operand(self) -> Operand {
        Operand {
            offset: self.offset as u64,
            leading: self.leading as u64,
            stride: self.stride as u64,
        }
    }
}

/// A call as C describes it, its codes read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) precision: Precision,
    pub(crate) layout: Layout,
    /// Of A and B.
    pub(crate) transposes: [bool; 2],
    /// m, n and k, in BLAS's order.
    pub(crate) sizes: [usize; 3],
    pub(crate) batch: usize,
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
    /// A, B and C.
    pub(crate) matrices: [Matrix; 3],
}

impl Call {
    /// The row-major problem that the call means.
    ///
    /// # Errors
    /// [`Failure::TooLarge`] names the size.
    pub(crate) fn problem(&self) -> Result<Problem, Failure> {
        let Self { precision, transposes, sizes, batch, alpha, beta, matrices, .. } = *self;
        let class = self.class(precision, transposes);
        let shape = shape(sizes, batch)?;
        let [a, b, c] = matrices.map(Matrix::operand);
        let problem = Problem { class, shape, alpha, beta, a, b, c };
        Ok(self.ordered(problem))
    }

    /// The same with matrices that lie one after another: what is asked about without buffers.
    ///
    /// # Errors
    /// As [`Self::problem`].
    pub(crate) fn packed(&self) -> Result<Problem, Failure> {
        let class = self.class(self.precision, self.transposes);
        let caller = Problem::packed(class, shape(self.sizes, self.batch)?);
        let row_major = self.ordered(caller);
        Ok(Problem::packed(row_major.class, row_major.shape))
    }

    /// Whether the buffers of A and B are to be exchanged.
    pub(crate) fn exchanges(&self) -> bool {
        self.layout == Layout::ColumnMajor
    }

    fn class(&self, precision: Precision, [a, b]: [bool; 2]) -> ProblemClass {
        ProblemClass { precision, transposes: Transposes::of(a, b) }
    }

    fn ordered(&self, problem: Problem) -> Problem {
        if self.exchanges() { problem.column_major() } else { problem }
    }
}

fn shape([m, n, k]: [usize; 3], batch: usize) -> Result<GemmShape, Failure> {
    let size = |name, value| u32::try_from(value).map_err(|_| Failure::TooLarge { name, value });
    Ok(GemmShape::new(size("m", m)?, size("k", k)?, size("n", n)?, size("batch", batch)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(layout: Layout) -> Call {
        let matrix = |offset, leading, stride| Matrix { offset, leading, stride };
        Call {
            precision: Precision::F32,
            layout,
            transposes: [false, true],
            sizes: [2, 5, 3],
            batch: 4,
            alpha: 2.0,
            beta: 0.5,
            matrices: [matrix(1, 10, 100), matrix(2, 20, 200), matrix(3, 30, 300)],
        }
    }

    #[test]
    fn column_major_exchanges_a_and_b_and_their_transposes() {
        let row = call(Layout::RowMajor).problem().unwrap();
        assert_eq!(row.shape, GemmShape::new(2, 3, 5, 4));
        assert_eq!((row.a.leading, row.b.leading), (10, 20));
        assert_eq!(row.class.transposes, Transposes::of(false, true));
        let column = call(Layout::ColumnMajor).problem().unwrap();
        assert_eq!(column.shape, GemmShape::new(5, 3, 2, 4));
        assert_eq!((column.a.leading, column.b.leading, column.c.leading), (20, 10, 30));
        assert_eq!(column.class.transposes, Transposes::of(true, false));
        let packed = call(Layout::ColumnMajor).packed().unwrap();
        assert_eq!((packed.shape, packed.class), (column.shape, column.class));
        assert_eq!(packed.c.leading, 2);
    }

    #[test]
    fn values_of_no_enumeration_and_sizes_beyond_32_bits_are_refused() {
        for code in [i32::MIN, -1, 3, 100, 103, 110, 113, i32::MAX] {
            assert!(Layout::of_code(code).is_err());
            assert!(transpose(code).is_err());
            assert!(precision(code).is_err());
        }
        for at in 0..3 {
            let mut large = call(Layout::RowMajor);
            large.sizes[at] = usize::MAX;
            assert!(matches!(large.problem(), Err(Failure::TooLarge { .. })));
        }
        let large = Call { batch: 1 << 32, ..call(Layout::RowMajor) };
        assert!(matches!(large.packed(), Err(Failure::TooLarge { name: "batch", .. })));
    }
}
