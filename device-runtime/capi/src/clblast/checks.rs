//! What CLBlast refuses, in its order: sizes, then A, B and C, each by leading dimension, buffer and length.

use opencl3::types::cl_mem;
use selector_core::Precision;

use super::Refused;
use super::code::Code;
use crate::problem::{Call, Layout, Matrix};
use crate::raw;
use crate::status::Failure;

/// `CLBlastTranspose`; whether there is one. For real numbers the conjugate is the transpose.
pub(super) fn transpose(code: i32) -> Result<bool, Failure> {
    match code {
        113 => Ok(true),
        other => crate::problem::transpose(other),
    }
}

/// Check a call against its buffers.
///
/// # Errors
/// The first code that CLBlast would give.
pub(super) fn check(call: &Call, buffers: [cl_mem; 3]) -> Result<(), Refused> {
    if call.batch == 0 {
        return Err(Refused::by(Code::INVALID_BATCH_COUNT, "the batch count is 0"));
    }
    let [m, n, k] = call.sizes;
    if call.sizes.contains(&0) {
        let words = format!("m, n and k are {m}, {n} and {k}; none may be 0");
        return Err(Refused::by(Code::INVALID_DIMENSION, words));
    }
    let size = if call.precision == Precision::F32 { 4 } else { 2 };
    let [transpose_a, transpose_b] = call.transposes;
    let as_stored = [
        stored(call.layout, transpose_a, [m, k]),
        stored(call.layout, transpose_b, [k, n]),
        stored(call.layout, false, [m, n]),
    ];
    let matrices = call.matrices.iter().zip(buffers).zip(as_stored);
    let codes = Code::INVALID_LEADING.into_iter().zip(Code::INVALID_MATRIX);
    let codes = codes.zip(Code::INSUFFICIENT_MEMORY).zip(["A", "B", "C"]);
    for (((matrix, buffer), lines), (((leading, invalid), memory), name)) in matrices.zip(codes) {
        if matrix.leading < lines.length {
            let words =
                format!("leading dimension {} of {name} is below {}", matrix.leading, lines.length);
            return Err(Refused::by(leading, words));
        }
        if buffer.is_null() {
            return Err(Refused::by(invalid, format!("the buffer of {name} is NULL")));
        }
        let have = raw::bytes(buffer).map_err(|failure| Refused { code: invalid, failure })?;
        let need = need(matrix, lines, call.batch).and_then(|need| need.checked_mul(size));
        if need.is_none_or(|need| need > have) {
            let words = format!("the buffer of {name} has {have} bytes, which is too few");
            return Err(Refused::by(memory, words));
        }
    }
    Ok(())
}

/// Rows or columns, whichever lie together.
#[derive(Clone, Copy)]
struct Lines {
    length: usize,
    count: usize,
}

fn stored(layout: Layout, transposed: bool, [rows, columns]: [usize; 2]) -> Lines {
    if (layout == Layout::RowMajor) == transposed {
        Lines { length: rows, count: columns }
    } else {
        Lines { length: columns, count: rows }
    }
}

/// Elements from the beginning of the buffer to the last one of the last matrix; `None` if no buffer is so long.
fn need(matrix: &Matrix, lines: Lines, batch: usize) -> Option<u64> {
    let Matrix { offset, leading, stride } = *matrix;
    let last = (batch.checked_sub(1)?).checked_mul(stride)?.checked_add(offset)?;
    let span = (lines.count.checked_sub(1)?).checked_mul(leading)?.checked_add(lines.length)?;
    u64::try_from(last.checked_add(span)?).ok()
}
