//! Choice of a GEMM kernel for a problem, without allocation, panic or `unsafe`.
//!
//! A host trainer (`gemmtree train`) writes a *model*: the few kernels worth shipping and, for each
//! [`ProblemClass`], a decision tree from a [`GemmShape`] to a ranked list of them. Here the model
//! is checked once, in [`Model::parse`], and borrowed from its bytes; after that nothing can fail.
//!
//! | to choose | time | memory besides the model |
//! |---|---|---|
//! | [`Model::select`] | tens of nanoseconds | none |
//! | [`FastTree`] | a quarter to nine tenths of that | 8 KiB and 16 bytes a split |
//! | [`CallSite`] of a fast tree | a few nanoseconds where a shape comes again | 32 bytes a site |
//!
//! All answer alike, in bounded time, for every shape. What an id means is in
//! [`Model::kernel`]; [`Model::explain`] says why it was chosen. The bytes are specified in
//! [`format`]; comments cite its sections. The feature `encode` adds what writes models, for hosts.
//!
//! ```
//! use selector_core::{CallSite, FastTree, GemmShape, KernelId, KernelMask, Model, ProblemClass};
//!
//! static MODEL: &[u8] = include_bytes!("../tests/golden/three-trees.gtm");
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = Model::parse(MODEL)?;
//! // Kernels that this device can run: those of a family that it has, and the universal one.
//! let usable = (1..).map(KernelId).zip(model.kernels()).filter(|(_, kernel)| kernel.family == 1);
//! let usable = usable.fold(KernelMask::NONE, |mask, (id, _)| mask.with(id));
//!
//! let shape = GemmShape::new(784, 1152, 256, 1);
//! let kernel = model.select(ProblemClass::F32_NN, shape).best_of(usable);
//!
//! let tree = FastTree::<64>::new(&model, ProblemClass::F32_NN)?;
//! assert_eq!(tree.choose(shape).best_of(usable), kernel);
//! let mut site = CallSite::new(&tree);
//! assert_eq!(site.choose(shape).best_of(usable), kernel);
//! match model.kernel(kernel) {
//!     Some(configuration) => println!("family {}: {:?}", configuration.family, configuration.parameters),
//!     None => println!("the universal kernel"),
//! }
//! # Ok(())
//! # }
//! ```
#![no_std]

#[cfg(feature = "encode")]
extern crate alloc;

/// The model file, byte by byte.
#[cfg_attr(not(doctest), doc = include_str!("../FORMAT.md"))]
pub mod format {}

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

pub use class::{ElementType, Precision, ProblemClass, Transposes};
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
