//! The trainer: from measurements to the few kernels worth shipping and a tree that picks among
//! them.

pub mod file;
pub mod model_file;
