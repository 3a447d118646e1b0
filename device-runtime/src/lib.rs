//! OpenCL runtime that launches precompiled GEMM kernels, and what `gemmtree-board` is made of.
//!
//! [`Runtime`] loads a checked bundle: each program and kernel is made once. A call then selects,
//! sets arguments and enqueues; nothing is built and no file is read. [`Device`] is all that is
//! asked of a GPU: [`OpenCl`] is the real one, [`mock`] a pretend one for tests.
//!
//! [`measure`] times configurations, [`collect`](mod@collect) does so for a whole plan in a child
//! process, [`check`] compares kernels with the reference. [`ladder`] gives a bundle kernels that run
//! here, whatever driver made it; [`nearest`] finds one for a device that has none.
//!
//! Nothing here panics, whatever it is given: what could is denied outside tests, and every lookup that may
//! find nothing has an answer for that.

#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::todo,
        clippy::unimplemented,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

pub mod check;
pub mod clblast;
pub mod collect;
pub mod compile;
mod device;
pub mod file;
pub mod ladder;
pub mod measure;
pub mod nearest;
pub mod network;
pub mod overhead;
#[cfg(test)]
#[path = "../tests/common/parted.rs"]
mod parted;
mod process;
mod runtime;
mod scratch;
pub mod shared_library;
pub mod steady;
mod steps;

pub use device::mock;
pub use device::opencl::{self, OpenCl};
pub use device::{Arguments, Armed, Bare, Device, DeviceError, DeviceInfo, Reading};
pub use runtime::{Call, CallOptions, HostTimes, Runtime, RuntimeError};
pub use steps::{Events, enqueue};
