//! Scratch memory that grows and is used again: never allocated while a call is made.

use crate::{Device, DeviceError};

/// One buffer, or none yet.
pub(crate) struct Scratch<B> {
    buffer: Option<B>,
}

impl<B> Scratch<B> {
    /// No memory.
    pub(crate) const fn new() -> Self {
        Self { buffer: None }
    }

    /// The memory there is.
    pub(crate) const fn buffer(&self) -> Option<&B> {
        self.buffer.as_ref()
    }

    /// Write to the beginning of the memory.
    ///
    /// # Errors
    /// There is less, or the driver's refusal.
    pub(crate) fn write<D: Device<Buffer = B>>(
        &mut self,
        device: &D,
        data: &[u8],
    ) -> Result<(), DeviceError> {
        let need = data.len() as u64;
        let buffer = self.buffer.as_mut().ok_or(DeviceError::BufferTooSmall { need, have: 0 })?;
        device.write(buffer, data)
    }

    /// Bytes there are.
    pub(crate) fn bytes<D: Device<Buffer = B>>(&self, device: &D) -> u64 {
        self.buffer.as_ref().map_or(0, |buffer| device.bytes(buffer))
    }

    /// Have at least `bytes`, which hold anything afterwards. Growing waits for all that was
    /// enqueued; the old memory goes first, since there may not be room for both.
    ///
    /// # Errors
    /// More than a buffer of the device can hold; or the driver has no such memory, and then none is
    /// left.
    pub(crate) fn reserve<D: Device<Buffer = B>>(
        &mut self,
        device: &D,
        bytes: u64,
    ) -> Result<(), DeviceError> {
        if bytes <= self.bytes(device) {
            return Ok(());
        }
        let have = device.info().largest_buffer;
        if bytes > have {
            return Err(DeviceError::LargestBuffer { what: "scratch memory", need: bytes, have });
        }
        device.finish()?;
        self.buffer = None;
        let mut buffer = device.allocate(bytes)?;
        // Some drivers allocate at the first use, which would be a call.
        device.write(&mut buffer, &[0])?;
        self.buffer = Some(buffer);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::Mock;

    #[test]
    fn memory_grows_when_it_must_and_is_kept() {
        let device = Mock::default();
        let mut scratch = Scratch::new();
        scratch.reserve(&device, 0).unwrap();
        assert!(scratch.buffer().is_none());
        for (wanted, bytes, allocated) in [(100, 100, 1), (50, 100, 1), (200, 200, 2)] {
            scratch.reserve(&device, wanted).unwrap();
            assert_eq!((scratch.bytes(&device), device.allocated.get()), (bytes, allocated));
        }
    }

    #[test]
    fn more_than_the_device_can_hold_is_refused_and_what_there_is_stays() {
        let device = Mock::default();
        let mut scratch = Scratch::new();
        scratch.reserve(&device, 100).unwrap();
        let have = device.info.largest_buffer;
        let error = scratch.reserve(&device, have + 1);
        let what = "scratch memory";
        assert_eq!(error, Err(DeviceError::LargestBuffer { what, need: have + 1, have }));
        assert_eq!(scratch.bytes(&device), 100);
    }
}
