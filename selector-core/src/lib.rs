//! Choice of a GEMM kernel for a problem, without allocation, panic or `unsafe`.
//!
//! A host trainer writes a *model*: the few kernels worth shipping and, for each
//! [`ProblemClass`], a decision tree from a [`GemmShape`] to a ranked list of them. Here the
//! model is checked once, in [`Model::parse`], and borrowed from its bytes; after that nothing
//! can fail, and [`Model::select`] answers for every shape. Where a tree is asked often, a
//! [`FastTree`] answers the same sooner, and a [`CallSite`] remembers the last answer.
//!
//! The bytes are specified in `FORMAT.md`; comments cite its sections.
//!
//! ```
//! use selector_core::{GemmShape, KernelMask, ModelError, Model, ProblemClass};
//!
//! # fn choose(blob: &[u8]) -> Result<(), ModelError> {
//! let model = Model::parse(blob)?;
//! let leaf = model.select(ProblemClass::F32_NN, GemmShape::new(784, 1152, 256, 1));
//! let kernel = leaf.best_of(KernelMask::ALL);
//! # let _ = kernel;
//! # Ok(())
//! # }
//! ```
#![no_std]

#[cfg(feature = "encode")]
extern crate alloc;

mod class;
mod config;
#[cfg(feature = "encode")]
mod encode;
mod entry;
mod error;
mod explain;
mod fast;
mod feature;
mod header;
mod key;
mod lanes;
mod leaf;
mod model;
mod payload;
mod shape;
mod site;

pub use class::{ElementType, ProblemClass, Transposes};
pub use config::{MAX_PARAMETERS, PackedConfig};
#[cfg(feature = "encode")]
pub use encode::{EncodeError, ModelSource, Tree, TreeSource};
pub use entry::Node;
pub use error::{CapacityError, ModelError, NodeError, ParseTextError};
pub use explain::{Explanation, Step};
pub use fast::{Choice, FastTree};
pub use feature::{Feature, MAX_FEATURES};
pub use header::FORMAT_VERSION;
pub use leaf::{KernelId, KernelMask, Leaf, Loss, RANKED, Samples};
pub use model::{MAX_DEPTH, MAX_ENTRIES, MAX_KERNELS, Model, Score};
pub use payload::Kernels;
pub use shape::GemmShape;
pub use site::CallSite;
