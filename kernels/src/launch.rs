//! What the runtime needs to build and start a kernel.

use selector_core::ProblemClass;

/// Most work-groups of one launch along dimensions 1 and 2; some drivers stop at 2¹⁶ - 1.
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
    #[must_use]
    pub fn cover(items: [u64; 3], local: [u64; 3]) -> Vec<Self> {
        let groups = |dimension: usize| items[dimension].div_ceil(local[dimension]);
        let mut launches = Vec::new();
        for batch in pieces(groups(2)) {
            for rows in pieces(groups(1)) {
                launches.push(Self {
                    offset: [0, rows.0 * local[1], batch.0 * local[2]],
                    global: [groups(0) * local[0], rows.1 * local[1], batch.1 * local[2]],
                    local,
                });
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
