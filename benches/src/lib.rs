//! What the benchmarks share: seeded models and shapes, the same on every machine.

mod model;
pub mod peers;
mod shapes;
mod ways;

pub use model::{GenerateError, Measured, generate};
pub use shapes::{SHAPES, repeating, shuffled};
pub use ways::{CLASS, Way, all as all_ways};
