//! Parameterised OpenCL GEMM kernels, and what host and board must agree on.
//!
//! A [`Family`] is one OpenCL source with parameters; a [`Configuration`] fixes them all; the
//! [kernel space](space) is every configuration. A [`Problem`] is one call of the GEMM contract,
//! checked against its buffers before anything is launched. No OpenCL call is made here.
//!
//! Shared files: [`bundle`] (model and binaries), [`measurement`] (a data set's rows), [`plan`]
//! (what to measure). [`networks`] has layer tables of real networks.

pub mod bundle;
mod configuration;
pub mod families;
mod launch;
pub mod layers;
mod limits;
pub mod measurement;
pub mod networks;
pub mod plan;
mod problem;
pub mod reference;
pub mod space;

pub use configuration::{Configuration, ConfigurationError};
pub use families::Family;
pub use launch::{Launch, Launches, Program};
pub use limits::{Limits, Misfit, SubGroups};
pub use problem::{CheckedProblem, Operand, Problem, ProblemError};
