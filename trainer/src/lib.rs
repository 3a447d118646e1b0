//! The trainer: from measurements to the few kernels worth shipping and a tree that picks among
//! them.

pub mod classify;
pub mod components;
pub mod config_choice;
pub mod damage;
pub mod dataset;
pub mod device_name;
mod division;
pub mod emit;
pub mod export;
pub mod file;
pub mod import;
pub mod learn;
pub mod model_file;
pub mod normalise;
pub mod performance;
pub mod prune;
mod random;
pub mod redundancy;
pub mod report;
pub mod score;
pub mod scored;
pub mod shape_list;
pub mod split;
pub mod study;
pub mod train;
