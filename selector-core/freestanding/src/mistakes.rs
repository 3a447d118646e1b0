//! What must not pass the proof, to show that it does not.

/// An index that may lie outside.
#[cfg(feature = "panicking-index")]
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_mistake(bytes: &[u8; 16], index: usize) -> u8 {
    bytes[index]
}

/// Memory from an allocator.
#[cfg(feature = "with-vec")]
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_mistake(bytes: &[u8; 16], index: usize) -> u8 {
    extern crate alloc;
    let copy: alloc::vec::Vec<u8> = bytes.iter().copied().collect();
    copy.get(index).copied().unwrap_or(0)
}
