//! What a model is asked: shapes and a mask, the last bytes of an input.

use selector_core::{GemmShape, KernelId, KernelMask};

/// Shapes and usable kernels taken from an input.
pub struct Questions {
    /// Shapes of every size.
    pub shapes: [GemmShape; Self::SHAPES],
    /// The kernels that the device can run.
    pub usable: KernelMask,
}

impl Questions {
    const SHAPES: usize = 4;
    /// Bytes that they take.
    pub const BYTES: usize = Self::SHAPES * 16 + 16;

    /// Take an input apart: what is before the questions, and the questions.
    #[must_use]
    pub fn split(data: &[u8]) -> Option<(&[u8], Self)> {
        let (before, tail) = data.split_last_chunk::<{ Self::BYTES }>()?;
        let (words, _) = tail.as_chunks::<4>();
        let word = |index: usize| u32::from_le_bytes(words[index]);
        let shapes = std::array::from_fn(|shape| {
            let [m, k, n, batch] = std::array::from_fn(|dimension| word(4 * shape + dimension));
            GemmShape::new(m, k, n, batch)
        });
        let bits =
            (0..4).fold(0u128, |bits, one| bits << 32 | u128::from(word(4 * Self::SHAPES + one)));
        // The top bit says what is said of most kernels: all are usable, or few are.
        let most = if bits >> 127 == 0 { KernelMask::ALL } else { KernelMask::NONE };
        let changed = (0..128).filter(|id| bits >> id & 1 == 1).map(KernelId);
        let usable = changed.fold(most, |mask, id| {
            if most == KernelMask::ALL { mask.without(id) } else { mask.with(id) }
        });
        Some((before, Self { shapes, usable }))
    }
}
