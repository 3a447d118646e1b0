//! What a model does on a data set, as numbers and as one self-contained HTML page.

mod comparison;
mod histogram;
mod kernel_list;
mod map;
mod numbers;
mod outline;
mod page;
pub(crate) mod palette;
mod question;
mod reason;
pub(crate) mod text;
mod training;
mod tree;
mod worst;

use selector_core::Model;

use crate::dataset::Dataset;

pub use comparison::Compared;
pub use histogram::Bin;
pub use numbers::{KernelNumbers, Numbers, Source, SuspectNumbers, TaskNumbers};
pub use reason::Reason;
pub use text::digits;
pub use training::Training;

/// What stands near the start of every page that [`Report::html`] makes.
pub const MADE_BY: &str = "<meta name=\"generator\" content=\"gemmtree report\" />";

/// Why there is nothing to report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// No kernel of the model has a time in the data set.
    #[error("none of the model's kernels was measured in this data set")]
    NoKernelMeasured,
    /// The model has no tree for anything that was measured.
    #[error("the model has no tree for the classes of this data set: {classes}")]
    NoTree {
        /// The classes measured.
        classes: String,
    },
}

/// A model beside measurements.
pub struct Report<'a> {
    model: &'a Model<'a>,
    numbers: Numbers,
}

impl<'a> Report<'a> {
    /// Let `model` choose for every task of `dataset`. The names are those of the files, for
    /// people.
    ///
    /// # Errors
    /// [`ReportError`], if the two have nothing in common.
    pub fn of(
        (model_name, model): (&str, &'a Model<'a>),
        (dataset_name, dataset): (&str, &Dataset),
    ) -> Result<Self, ReportError> {
        let numbers = numbers::of((model_name, model), (dataset_name, dataset))?;
        Ok(Self { model, numbers })
    }

    /// The numbers behind the page.
    #[must_use]
    pub fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// The page: nothing outside it is loaded and no script runs. The same model and data make the
    /// same bytes.
    #[must_use]
    pub fn html(&self) -> String {
        page::html(self.model, &self.numbers)
    }
}
