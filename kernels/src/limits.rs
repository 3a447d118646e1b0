//! What a device allows, and why a kernel may not fit.

use std::fmt;

/// Limits that a device reports, or that a board file states.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Most work-items of a work-group.
    pub work_group: u64,
    /// Most work-items of a work-group along dimensions 0 (columns), 1 (rows) and 2 (batch).
    pub work_items: [u64; 3],
    /// Bytes of local memory.
    pub local_memory: u64,
    /// Widths of sub-groups that a kernel may require.
    pub sub_groups: SubGroups,
}

/// Work-items of a sub-group that a kernel may require (`cl_intel_required_subgroup_size`, with the
/// functions of `cl_intel_subgroups`): a set of powers of two.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SubGroups(u64);

impl SubGroups {
    /// None: the device lacks the extensions.
    pub const NONE: Self = Self(0);

    /// Every width: nothing is ruled out.
    pub const ALL: Self = Self(u64::MAX);

    /// The widths, smallest first.
    pub fn widths(self) -> impl Iterator<Item = u64> {
        (0..u64::BITS).map(|bit| 1 << bit).filter(move |width| self.has(*width))
    }

    /// Whether sub-groups of `width` work-items may be required.
    #[must_use]
    pub const fn has(self, width: u64) -> bool {
        width.is_power_of_two() && self.0 & width != 0
    }
}

/// Widths that are no powers of two are left out: no kernel wants them.
impl FromIterator<u64> for SubGroups {
    fn from_iter<I: IntoIterator<Item = u64>>(widths: I) -> Self {
        let widths = widths.into_iter().filter(|width| width.is_power_of_two());
        Self(widths.fold(0, |set, width| set | width))
    }
}

/// `8, 16`; says what is missing if there are none.
impl fmt::Display for SubGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<_> = self.widths().map(|width| width.to_string()).collect();
        if widths.is_empty() {
            f.write_str("none, for want of cl_intel_subgroups or cl_intel_required_subgroup_size")
        } else {
            f.write_str(&widths.join(", "))
        }
    }
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
    /// Sub-groups of a width that the device cannot be told to run.
    #[error("needs sub-groups of {need} work-items, the device can be told to run {have}")]
    SubGroups {
        /// Work-items of a sub-group.
        need: u64,
        /// Widths there are.
        have: SubGroups,
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

    /// Whether a kernel may require sub-groups of `need` work-items.
    ///
    /// # Errors
    /// [`Misfit::SubGroups`].
    pub fn check_sub_group(&self, need: u64) -> Result<(), Misfit> {
        let have = self.sub_groups;
        if have.has(need) { Ok(()) } else { Err(Misfit::SubGroups { need, have }) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_of_sub_groups_are_a_set_of_powers_of_two() {
        let widths: SubGroups = [16, 8, 0, 12, 8].into_iter().collect();
        assert_eq!(widths.to_string(), "8, 16");
        assert!(widths.has(8) && widths.has(16));
        assert!([0, 1, 4, 12, 24, 32].iter().all(|width| !widths.has(*width)));
        assert!(SubGroups::ALL.has(1) && SubGroups::ALL.has(1 << 63) && !SubGroups::ALL.has(3));
        assert_eq!(SubGroups::NONE, [].into_iter().collect());
        assert!(SubGroups::NONE.to_string().contains("cl_intel_subgroups"));
    }
}
