//! Where the memory of a buffer lies: alone, within another buffer, or in the host's memory.

use opencl3::error_codes::ClError;
use opencl3::memory::{Buffer, CL_MEM_USE_HOST_PTR, ClMem};

use crate::DeviceError;
use crate::device::ALIGNMENT;

/// The beginning of a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Place {
    /// The memory object that it is part of, or is.
    root: usize,
    /// Bytes from where that begins; 0 unless it is a sub-buffer.
    origin: u64,
    /// Its address in the host's memory, if the caller gave that.
    host: Option<u64>,
}

impl Place {
    /// Of a buffer with memory of its own.
    pub(super) fn own(buffer: &Buffer<u8>) -> Self {
        Self { root: buffer.get() as usize, origin: 0, host: None }
    }

    /// Of any buffer.
    ///
    /// # Errors
    /// The driver does not say.
    pub(super) fn of(buffer: &Buffer<u8>) -> Result<Self, ClError> {
        let parent = buffer.associated_memobject()?;
        let place = if parent.is_null() {
            Self::own(buffer)
        } else {
            Self { root: parent as usize, origin: buffer.offset()? as u64, host: None }
        };
        let in_host = buffer.flags()? & CL_MEM_USE_HOST_PTR != 0;
        let host = if in_host { Some(buffer.host_ptr()? as u64) } else { None };
        Ok(Self { host, ..place })
    }

    /// Whether kernels can load vectors from its beginning on. Memory that the device has itself is
    /// aligned; a driver may use the caller's where it lies, or copy it and keep the origin.
    ///
    /// # Errors
    /// [`DeviceError::Misaligned`].
    pub(super) fn check_alignment(&self) -> Result<(), DeviceError> {
        let host = self.host.map(|address| ("the host pointer of a buffer", address));
        for (what, address) in host.into_iter().chain([("the origin of a sub-buffer", self.origin)])
        {
            if !address.is_multiple_of(ALIGNMENT) {
                return Err(DeviceError::Misaligned { what, address });
            }
        }
        Ok(())
    }

    /// Whether `bytes` from here and `others` from `other` on have memory in common.
    pub(super) fn overlaps(&self, bytes: u64, other: &Self, others: u64) -> bool {
        let meet = |one: u64, other: u64| {
            one < other.saturating_add(others) && other < one.saturating_add(bytes)
        };
        let in_host = self.host.zip(other.host).is_some_and(|(one, other)| meet(one, other));
        in_host || (self.root == other.root && meet(self.origin, other.origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(root: usize, origin: u64) -> Place {
        Place { root, origin, host: None }
    }

    #[test]
    fn parts_of_one_buffer_overlap_where_their_bytes_do() {
        let overlap = |one: Place, other: Place| {
            assert_eq!(one.overlaps(64, &other, 32), other.overlaps(32, &one, 64));
            one.overlaps(64, &other, 32)
        };
        assert!(overlap(part(1, 0), part(1, 0)));
        assert!(overlap(part(1, 0), part(1, 63)));
        assert!(overlap(part(1, 31), part(1, 0)));
        assert!(!overlap(part(1, 0), part(1, 64)));
        assert!(!overlap(part(1, 32), part(1, 0)));
        assert!(!overlap(part(1, 0), part(2, 0)));
        let host = |root, address| Place { host: Some(address), ..part(root, 0) };
        assert!(overlap(host(1, 0x1000), host(2, 0x1020)));
        assert!(!overlap(host(1, 0x1000), host(2, 0x1040)));
        assert!(!overlap(host(1, 0x1000), part(2, 0x1000)));
    }

    #[test]
    fn a_beginning_between_vectors_is_refused_with_its_place_and_what_to_do() {
        for origin in [0, 16, 1024] {
            assert_eq!(part(1, origin).check_alignment(), Ok(()));
        }
        let refused = part(1, 8).check_alignment().unwrap_err();
        assert!(matches!(refused, DeviceError::Misaligned { address: 8, .. }));
        assert!(refused.to_string().contains("sub-buffer is 0x8, not a multiple of 16 bytes"));
        let refused = Place { host: Some(0x1004), ..part(1, 0) }.check_alignment().unwrap_err();
        assert!(refused.to_string().contains("host pointer of a buffer is 0x1004"), "{refused}");
        assert!(refused.to_string().contains("by its offset"));
    }
}
