//! Whether the rows were trained on, as far as a model tells.

use selector_core::{Model, Node};
use serde::Serialize;

use super::numbers::TaskNumbers;
use super::tree::Reached;
use crate::dataset::Dataset;

/// Whether a model was trained on the rows of a data set. A model does not name them; it holds its
/// device and how many shapes led to each leaf.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "rows", rename_all = "snake_case")]
pub enum Training {
    /// Another device: other measurements, if perhaps of the same shapes.
    OtherDevice,
    /// As many shapes lead to each leaf as in training.
    Same,
    /// Some leaves were reached by another number of shapes in training.
    Unknown {
        /// Leaves of the trees that were used.
        leaves: usize,
        /// Those that as many shapes lead to.
        agreeing: usize,
    },
}

pub(super) fn of(model: &Model<'_>, dataset: &Dataset, tasks: &[TaskNumbers]) -> Training {
    let device = dataset.header.device.as_str();
    if !device.is_empty() && model.device() != "unknown" && model.device() != device {
        return Training::OtherDevice;
    }
    let measured = |task: &&TaskNumbers| model.measured_as(task.class) == Some(task.class);
    let reached = Reached::of(model, tasks.iter().filter(measured));
    let leaves = (0..model.entries()).filter_map(|index| match model.node(index)? {
        Node::Leaf(leaf) => Some((index, leaf.samples)),
        Node::Split { .. } => None,
    });
    let agrees = leaves.map(|(index, samples)| {
        let count = u32::try_from(reached.at(index)).unwrap_or(u32::MAX);
        selector_core::Samples::new(count) == samples
    });
    let agrees: Vec<bool> = agrees.collect();
    let agreeing = agrees.iter().filter(|one| **one).count();
    match agrees.len() {
        leaves if leaves == agreeing => Training::Same,
        leaves => Training::Unknown { leaves, agreeing },
    }
}

impl Training {
    /// What to think of the losses, for people.
    #[must_use]
    pub fn sentence(self) -> String {
        match self {
            Self::OtherDevice => "The model was trained on another device, so none of these rows \
                 trained it: what is lost here is lost on unseen measurements."
                .to_owned(),
            Self::Same => {
                "As many shapes lead to each leaf as in training, so these are most likely \
                 the rows that the model was trained on: losses here are on training rows and \
                 flatter it."
                    .to_owned()
            }
            Self::Unknown { leaves, agreeing } => format!(
                "As many shapes lead to {agreeing} of {leaves} leaves as in training, so the model was \
                 trained on other rows or on more than these; a model does not name them, and \
                 some of the losses here may be on training rows."
            ),
        }
    }
}
