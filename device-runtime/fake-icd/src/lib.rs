//! A pretend OpenCL driver for tests: loaded by the real loader, obeys the API, and fails by a script.
//!
//! It executes no OpenCL C. It knows this project's kernel functions by their arguments and computes the
//! product itself, exactly (`kernels::reference`), so that what a program makes of a fault can be told right
//! from wrong. Times are pretended too: they come from a table, and every run has the same.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! use fake_icd::{Fake, Fault, Rule, Script};
//!
//! let crash = Rule::new("clCreateProgramWithBinary", Fault::Crash).of("tile:");
//! let fake = Fake::new(&Script::default().with(crash))?;
//! let mut command = std::process::Command::new("gemmtree-board");
//! fake.lead(command.arg("devices")).output()?;
//! // Another script for the same folder: the driver was updated.
//! fake.follow(&Script { driver: "2.0".to_owned(), ..Script::default() })?;
//! # Ok(())
//! # }
//! ```
//!
//! Where a rule may strike: at any OpenCL function by its name (`clBuildProgram`, `clCreateKernel`,
//! `clCreateBuffer`, `clEnqueueNDRangeKernel`, `clFinish`, `clEnqueueReadBuffer`, …) and at what a kernel
//! computes ([`RESULT`]); [`troubles`] is all of it, one at a time. A crate that has this one among its dev-dependencies finds the driver built
//! ([`library`]). A test that opens OpenCL in its own process sets [`Fake::variables`] before its first
//! OpenCL call, or starts itself again as a child.
//!
//! In an out-of-order queue commands wait until someone waits for them, and then run in the worst order
//! that events and barriers allow. Kernels of several functions find out whether the others ran before
//! them, and compute something else if not.

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

mod api;
mod cl;
mod execute;
mod faults;
mod foreign;
mod gemm;
mod install;
mod objects;
mod programs;
mod registry;
mod script;
mod table;
mod troubles;

pub use install::{Fake, library};
pub use script::{
    Clock, FUNCTIONS, Fault, Oddity, RESULT, Rule, Script, StaleBinaries, Time, VARIABLE,
};
pub use troubles::{Trouble, troubles};
