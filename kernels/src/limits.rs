//! What a device allows, and why a kernel may not fit.

/// Limits that a device reports, or that a board file states.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Most work-items of a work-group.
    pub work_group: u64,
    /// Most work-items of a work-group along dimensions 0 (columns), 1 (rows) and 2 (batch).
    pub work_items: [u64; 3],
    /// Bytes of local memory.
    pub local_memory: u64,
}

/// Why a kernel cannot run on a device.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// Too much local memory.
    #[error("needs {need} bytes of local memory, the device has {have}")]
    LocalMemory {
        /// Bytes needed.
        need: u64,
        /// Bytes there are.
        have: u64,
    },
    /// Too large a work-group.
    #[error("needs work-groups of {need} work-items, the device allows {have}")]
    WorkGroup {
        /// Work-items needed.
        need: u64,
        /// Work-items allowed.
        have: u64,
    },
    /// Too many work-items along one dimension.
    #[error("needs {need} work-items along dimension {dimension}, the device allows {have}")]
    WorkItems {
        /// The OpenCL dimension.
        dimension: usize,
        /// Work-items needed.
        need: u64,
        /// Work-items allowed.
        have: u64,
    },
}

impl Limits {
    /// Whether this much local memory is there.
    ///
    /// # Errors
    /// [`Misfit::LocalMemory`].
    pub fn check_local_memory(&self, need: u64) -> Result<(), Misfit> {
        let have = self.local_memory;
        if need > have { Err(Misfit::LocalMemory { need, have }) } else { Ok(()) }
    }

    /// Whether a work-group of this size is allowed.
    ///
    /// # Errors
    /// [`Misfit`] names the limit.
    pub fn check_work_group(&self, local: [u64; 3]) -> Result<(), Misfit> {
        let need = local.iter().product();
        if need > self.work_group {
            return Err(Misfit::WorkGroup { need, have: self.work_group });
        }
        for (dimension, (need, have)) in local.into_iter().zip(self.work_items).enumerate() {
            if need > have {
                return Err(Misfit::WorkItems { dimension, need, have });
            }
        }
        Ok(())
    }
}
