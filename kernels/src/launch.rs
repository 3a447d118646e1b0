//! What the runtime needs to build and start a kernel.
//!
//! A program has one or more kernel functions, named in [`Program::functions`], all with the same
//! arguments:
//!
//! ```c
//! kernel void gemm(uint m, uint n, uint k, float alpha, float beta,
//!                  global const T *a, ulong a_offset, uint a_leading, ulong a_stride,
//!                  global const T *b, ulong b_offset, uint b_leading, ulong b_stride,
//!                  global T *c, ulong c_offset, uint c_leading, ulong c_stride)
//! ```
//!
//! T is `float` or `half`; `k` is [`CheckedProblem::effective_k`](crate::CheckedProblem), the rest
//! is the problem's own, in elements. Columns are dimension 0, rows 1, the batch 2 (a family may
//! use them otherwise for a function of its own).
//!
//! Where [`Program::scratch`] is set, every function takes two more arguments at the end:
//!
//! ```c
//!                  uint parts, global float *scratch
//! ```
//!
//! `parts` is [`Configuration::parts`](crate::Configuration::parts); `scratch` is memory of at least
//! [`Configuration::scratch`](crate::Configuration::scratch) bytes that holds anything when the first
//! launch begins and that belongs to the call until its last launch has ended, or a null pointer
//! where the configuration wants 0 bytes.
//!
//! Launches of one function that follow each other are a *step* and may run at the same time; a
//! step begins after the one before has ended, and sees what that wrote.

use std::ops::Deref;

use selector_core::ProblemClass;
use smallvec::SmallVec;

/// Most work-groups of one launch along each dimension; some drivers stop below 2¹⁶.
const MAX_GROUPS: u64 = 32_768;

/// One OpenCL program.
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
    /// Names of its kernel functions, at least one, as [`Launch::function`] numbers them.
    pub functions: &'static [&'static str],
    /// Whether its functions take `parts` and `scratch`.
    pub scratch: bool,
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
    /// Which of [`Program::functions`] is started.
    pub function: usize,
}

/// The launches of a call, in order; a few of them take no memory of the heap.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Launches(SmallVec<[Launch; 4]>);

impl Launch {
    /// Launches of the program's first function that give at least `items` work-items along columns, rows and batch, in
    /// work-groups of `local`; each work-item must check that it is inside.
    ///
    /// Work-groups are powers of two, so that positions that fit 32 bits do so rounded up too.
    #[must_use]
    pub fn cover(items: [u64; 3], local: [u64; 3]) -> Launches {
        let along = |dimension: usize| {
            let local = local[dimension];
            pieces(items[dimension].div_ceil(local))
                .map(move |(first, groups)| (first * local, groups * local))
        };
        let mut launches = SmallVec::new();
        for batch in along(2) {
            for rows in along(1) {
                for columns in along(0) {
                    launches.push(Self {
                        offset: [columns.0, rows.0, batch.0],
                        global: [columns.1, rows.1, batch.1],
                        local,
                        function: 0,
                    });
                }
            }
        }
        Launches(launches)
    }
}

impl Launches {
    /// The same launches, of the program's function number `function`.
    ///
    /// ```
    /// use kernels::Launch;
    ///
    /// // First function 0 on a row of the batch, then function 1 on all of C.
    /// let launches = Launch::cover([64, 1, 1], [64, 1, 1])
    ///     .then(Launch::cover([64, 32, 1], [8, 8, 1]).of(1));
    /// assert_eq!(launches.steps().count(), 2);
    /// ```
    #[must_use]
    pub fn of(mut self, function: usize) -> Self {
        self.0.iter_mut().for_each(|launch| launch.function = function);
        self
    }

    /// These launches, then those of `next`: a further step if it is of another function.
    #[must_use]
    pub fn then(mut self, next: Self) -> Self {
        self.0.extend(next.0);
        self
    }

    /// The steps in order, each with its launches.
    pub fn steps(&self) -> impl Iterator<Item = &[Launch]> {
        self.0.chunk_by(|one, next| one.function == next.function)
    }
}

impl Deref for Launches {
    type Target = [Launch];

    fn deref(&self) -> &[Launch] {
        &self.0
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
        let expected =
            Launch { offset: [0; 3], global: [504, 32, 1], local: [8, 16, 1], function: 0 };
        assert_eq!(launches[..], [expected]);
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
            for Launch { global, local, .. } in launches.iter() {
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
        assert!(Launch::cover([0, 5, 1], [8, 8, 1]).is_empty());
        assert!(Launch::cover([5, 0, 1], [8, 8, 1]).is_empty());
        assert!(Launch::cover([5, 5, 0], [8, 8, 1]).is_empty());
    }

    #[test]
    fn launches_of_one_function_are_one_step_and_another_function_begins_the_next() {
        let many = Launch::cover([1, 1, 100_000], [1, 1, 1]);
        assert_eq!(many.len(), 4);
        let launches = many.clone().of(2).then(many.clone()).then(many.of(1));
        let steps: Vec<_> = launches.steps().map(|step| (step.len(), step[0].function)).collect();
        assert_eq!(steps, [(4, 2), (4, 0), (4, 1)]);
        let first = Launch::cover([1, 1, 1], [1, 1, 1]);
        assert_eq!(first.clone().then(first).steps().count(), 1);
        assert_eq!(Launches::default().steps().count(), 0);
    }
}
