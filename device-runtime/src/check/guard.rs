//! Scratch memory that shows what a kernel does with it: NaN before each call, so that what is read but
//! was never written reaches C, and marks behind, so that what is written beyond is seen.

use kernels::reference::Mismatch;

use crate::scratch::Scratch;
use crate::{Device, DeviceError};

/// Bytes that are NaN as f32 and as f16.
const NAN: u8 = 0xFF;
/// Bytes behind the memory that must stay as they are.
const MARKS: usize = 4096;
/// What they hold: 165 is neither NaN nor a likely sum.
const MARK: u8 = 0xA5;

/// Scratch memory of checks.
pub(crate) struct Guarded<B> {
    scratch: Scratch<B>,
}

impl<B> Guarded<B> {
    /// No memory yet.
    pub(crate) const fn new() -> Self {
        Self { scratch: Scratch::new() }
    }

    /// Have room for kernels that want up to `bytes`.
    ///
    /// # Errors
    /// More than a buffer of the device can hold, or the driver's refusal.
    pub(crate) fn reserve<D: Device<Buffer = B>>(
        &mut self,
        device: &D,
        bytes: u64,
    ) -> Result<(), DeviceError> {
        let marks = if bytes == 0 { 0 } else { MARKS as u64 };
        self.scratch.reserve(device, bytes.saturating_add(marks))
    }

    /// Memory for a kernel that wants `need` bytes: NaN, and marks behind; `None` for 0. Waits for all that
    /// was enqueued.
    ///
    /// # Errors
    /// As [`Self::reserve`].
    pub(crate) fn fill<D: Device<Buffer = B>>(
        &mut self,
        device: &D,
        need: u64,
    ) -> Result<Option<&B>, DeviceError> {
        if need == 0 {
            return Ok(None);
        }
        self.reserve(device, need)?;
        let need = usize::try_from(need).map_err(|_| DeviceError::TooLarge("scratch memory"))?;
        let mut bytes = vec![NAN; need];
        bytes.resize(need + MARKS, MARK);
        self.scratch.write(device, &bytes)?;
        Ok(self.scratch.buffer())
    }

    /// What a kernel that wanted `need` bytes has written behind them, if anything. Waits until it has ended.
    ///
    /// # Errors
    /// The driver's refusal, or the kernel's failure.
    pub(crate) fn written_beyond<D: Device<Buffer = B>>(
        &self,
        device: &D,
        need: u64,
    ) -> Result<Option<Mismatch>, DeviceError> {
        let Some(buffer) = self.scratch.buffer().filter(|_| need > 0) else { return Ok(None) };
        let wanted = usize::try_from(need).map_err(|_| DeviceError::TooLarge("scratch memory"))?;
        let mut bytes = vec![0; wanted + MARKS];
        device.read(buffer, &mut bytes)?;
        let changed = bytes.iter().skip(wanted).position(|byte| *byte != MARK);
        Ok(changed.map(|behind| Mismatch::Scratch { position: need + behind as u64, need }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::Mock;

    #[test]
    fn memory_is_nan_before_each_call_and_what_is_written_behind_it_is_found() {
        let device = Mock::default();
        let mut guarded = Guarded::new();
        assert!(guarded.fill(&device, 0).unwrap().is_none());
        guarded.reserve(&device, 200).unwrap();
        for need in [200, 40, 100] {
            let buffer = guarded.fill(&device, need).unwrap().unwrap();
            let mut alias = buffer.alias();
            let mut bytes = vec![0; need as usize];
            device.read(&alias, &mut bytes).unwrap();
            let floats = bytes.chunks(4).map(|four| f32::from_ne_bytes(four.try_into().unwrap()));
            assert!(floats.into_iter().all(f32::is_nan));
            // All that the kernel wanted may be written.
            device.write(&mut alias, &vec![1; need as usize]).unwrap();
            assert_eq!(guarded.written_beyond(&device, need), Ok(None));
            device.write(&mut alias, &vec![1; need as usize + 1]).unwrap();
            let found = guarded.written_beyond(&device, need).unwrap();
            assert_eq!(found, Some(Mismatch::Scratch { position: need, need }));
        }
        assert_eq!(device.allocated.get(), 1);
    }
}
