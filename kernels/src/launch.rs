//! What the runtime needs to build and start a kernel.
//!
//! Every program has one kernel function with the same arguments:
//!
//! ```c
//! kernel void gemm(uint m, uint n, uint k, float alpha, float beta,
//!                  global const T *a, ulong a_offset, uint a_leading, ulong a_stride,
//!                  global const T *b, ulong b_offset, uint b_leading, ulong b_stride,
//!                  global T *c, ulong c_offset, uint c_leading, ulong c_stride)
//! ```
//!
//! T is `float` or `half`; `k` is [`CheckedProblem::effective_k`](crate::CheckedProblem), the rest
//! is the problem's own, in elements. Columns are dimension 0, rows 1, the batch 2.

use selector_core::ProblemClass;

/// Most work-groups of one launch along each dimension; some drivers stop below 2¹⁶.
const MAX_GROUPS: u64 = 32_768;

/// Name of the kernel function in every program.
pub const KERNEL_FUNCTION: &str = "gemm";

/// One OpenCL program with one kernel function, [`KERNEL_FUNCTION`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Program {
    /// Unique among all programs, e.g. `tile:4x8x4/f32-nn`.
    pub name: String,
    /// OpenCL C.
    pub source: &'static str,
    /// Options for `clBuildProgram`.
    pub options: String,
    /// The class that it computes.
    pub class: ProblemClass,
}

/// One enqueue: global offset, global size and work-group, along columns, rows and batch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Launch {
    /// `global_work_offset`.
    pub offset: [u64; 3],
    /// `global_work_size`, a multiple of `local`.
    pub global: [u64; 3],
    /// `local_work_size`.
    pub local: [u64; 3],
}

impl Launch {
    /// Launches that give at least `items` work-items along columns, rows and batch, in
    /// work-groups of `local`; each work-item must check that it is inside.
    ///
    /// Work-groups are powers of two, so that positions that fit 32 bits do so rounded up too.
    #[must_use]
    pub fn cover(items: [u64; 3], local: [u64; 3]) -> Vec<Self> {
        let along = |dimension: usize| {
            let local = local[dimension];
            pieces(items[dimension].div_ceil(local))
                .map(move |(first, groups)| (first * local, groups * local))
        };
        let mut launches = Vec::new();
        for batch in along(2) {
            for rows in along(1) {
                for columns in along(0) {
                    launches.push(Self {
                        offset: [columns.0, rows.0, batch.0],
                        global: [columns.1, rows.1, batch.1],
                        local,
                    });
                }
            }
        }
        launches
    }
}

/// Cut a number of groups into (first, count) pieces of at most [`MAX_GROUPS`].
fn pieces(groups: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..groups.div_ceil(MAX_GROUPS)).map(move |piece| {
        let first = piece * MAX_GROUPS;
        (first, MAX_GROUPS.min(groups - first))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often work-item `item` along `dimension` is started, given that the others are.
    fn starts(launches: &[Launch], item: [u64; 3]) -> usize {
        let within = |launch: &&Launch| {
            (0..3).all(|dimension| {
                let first = launch.offset[dimension];
                (first..first + launch.global[dimension]).contains(&item[dimension])
            })
        };
        launches.iter().filter(within).count()
    }

    #[test]
    fn sizes_are_rounded_up_to_whole_work_groups() {
        let launches = Launch::cover([500, 17, 1], [8, 16, 1]);
        let expected = Launch { offset: [0; 3], global: [504, 32, 1], local: [8, 16, 1] };
        assert_eq!(launches, [expected]);
    }

    #[test]
    fn no_launch_has_more_groups_than_drivers_allow_and_no_item_is_left_out_or_run_twice() {
        for (items, local, pieces) in [
            ([5, 200_704, 1], [64, 1, 1], 7),
            ([3, 3, 100_000], [8, 8, 1], 4),
            ([65_536, 1, 1], [1, 64, 1], 2),
            ([32_768, 32_769, 32_769], [1, 1, 1], 4),
            ([u64::from(u32::MAX), 1, 1], [128, 1, 1], 1024),
        ] {
            let launches = Launch::cover(items, local);
            assert_eq!(launches.len(), pieces, "{items:?} in {local:?}");
            for Launch { global, local, .. } in &launches {
                for dimension in 0..3 {
                    assert_eq!(global[dimension] % local[dimension], 0);
                    assert!((1..=MAX_GROUPS).contains(&(global[dimension] / local[dimension])));
                }
            }
            let last = items.map(|count| count - 1);
            let border = MAX_GROUPS.saturating_mul(local[1]);
            for rows in [0, border - 1, border, last[1]].map(|row| row.min(last[1])) {
                assert_eq!(starts(&launches, [last[0], rows, last[2]]), 1);
                assert_eq!(starts(&launches, [0, rows, 0]), 1);
            }
            let total: u64 =
                launches.iter().map(|launch| launch.global.iter().product::<u64>()).sum();
            let rounded = |dimension: usize| items[dimension].next_multiple_of(local[dimension]);
            assert_eq!(total, rounded(0) * rounded(1) * rounded(2));
        }
    }

    #[test]
    fn nothing_is_launched_for_nothing() {
        assert_eq!(Launch::cover([0, 5, 1], [8, 8, 1]), []);
        assert_eq!(Launch::cover([5, 0, 1], [8, 8, 1]), []);
        assert_eq!(Launch::cover([5, 5, 0], [8, 8, 1]), []);
    }
}
