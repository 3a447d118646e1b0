//! What a pruner has to say beside the kernel list.

/// What the user should know about a kernel list.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The method finds fewer groups of tasks than kernels were asked for.
    #[error("the tasks fall into {found} groups instead of {asked}")]
    FewGroups {
        /// Groups that were asked for.
        asked: usize,
        /// Groups that there are.
        found: usize,
    },
    /// There cannot be more groups than tasks that differ.
    #[error("only {count} tasks differ, so there are {count} clusters")]
    FewTasks {
        /// Tasks that differ.
        count: usize,
    },
    /// Nothing to choose by.
    #[error("no configuration has a time on any task, so the first one is kept")]
    NoTasks,
    /// Numbers that are none.
    #[error("{count} shares of optimal are not finite numbers and count as 0")]
    NotFinite {
        /// How many.
        count: usize,
    },
    /// Several groups favour the same kernel.
    #[error("{groups} groups of tasks favour {kernels} kernels, so {kernels} are kept")]
    SharedKernels {
        /// Groups that favour a kernel.
        groups: usize,
        /// Different kernels among their favourites.
        kernels: usize,
    },
}
