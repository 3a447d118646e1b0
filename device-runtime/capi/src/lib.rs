//! The runtime behind a C interface: `include/gemmtree.h`, and CLBlast's for `include/gemmtree_clblast.h`.
//!
//! The headers are the contract. Here each exported function reads C's numbers into checked types
//! ([`problem`], [`raw`]), does what it is for on an [`engine`] inside [`guard`], and ends with a
//! [`status`]: no failure and no panic gets out in any other way.
#![deny(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::todo,
    clippy::unimplemented,
    clippy::unreachable,
    clippy::unwrap_used
)]
#![expect(unsafe_code, reason = "C calls and is called by pointers")]

mod ask;
mod clblast;
mod engine;
mod explain;
#[cfg(test)]
mod exports;
mod gemm;
mod guard;
mod handle;
mod last_error;
mod problem;
mod raw;
mod stands;
mod status;
mod text;
mod version;

pub use ask::*;
pub use clblast::*;
pub use gemm::*;
pub use handle::*;
pub use version::*;
