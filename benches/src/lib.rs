//! What the benchmarks share: seeded models and shapes, the same on every machine.

mod model;
mod shapes;

pub use model::{GenerateError, generate};
pub use shapes::{SHAPES, repeating, shuffled};
