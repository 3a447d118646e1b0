//! Every table and figure of both papers, measured on any data set. To add a part: write its file,
//! then list it in [`ALL`].

mod bars;
mod classifiers;
mod comparison;
mod components;
mod context;
mod data;
mod grid;
mod heat;
mod lines;
mod method;
mod orderings;
mod page;
mod places;
mod plain;
mod pruning;
mod splits;
mod step;
mod summary;
mod table;
mod tree_families;
mod trees;
mod words;

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::learn::LearnError;

pub use context::{Context, Sides};
pub use page::MADE_BY;
pub use step::{Step, cost};
pub use table::{Cell, Column, Drawing, Table, Unit};

/// A part of the study: some tables on one subject.
pub trait Part: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it shows, in a line.
    fn about(&self) -> &'static str;

    /// What [`Part::measure`] does, as far as no other part has done it.
    fn steps(&self, context: &Context<'_>) -> Vec<Step>;

    /// The tables, whatever the data set holds: where something cannot be measured, a note says
    /// why. The same data, splits and seed give the same tables.
    ///
    /// # Errors
    /// [`StudyError`], if a method fails that should not.
    fn measure(&self, context: &Context<'_>) -> Result<Vec<Table>, StudyError>;

    /// What [`Part::standings`] does, as far as nothing else has done it.
    fn standing_steps(&self, _: &Context<'_>) -> Vec<Step> {
        Vec::new()
    }

    /// Methods that this part measures with [`STANDING_KERNELS`] kernels, to be set in order beside
    /// all others; [`Context::once`] keeps work from being done twice.
    ///
    /// # Errors
    /// As [`Part::measure`].
    fn standings(&self, _: &Context<'_>) -> Result<Vec<Standing>, StudyError> {
        Ok(Vec::new())
    }
}

/// Kernels with which methods are set in order.
pub const STANDING_KERNELS: usize = 8;

/// Lengths of kernel lists that are studied, as in the first paper.
pub const COUNTS: RangeInclusive<usize> = 4..=15;

/// Seeds with which a method that has random choices is set in order: one alone would leave much
/// of the order to chance.
pub const STANDING_SEEDS: u64 = 3;

/// How a method does with [`STANDING_KERNELS`] kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Pruner, then learner or classifier, as `pca-k-means + tree-a, raw`.
    pub method: String,
    /// Geometric mean shares of optimal on held-out tasks, 0…1: for each of
    /// [`Context::seeds`] one a split; of a method without random choices for one seed.
    pub shares: Vec<Vec<f64>>,
}

/// What was found on several data sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Studies {
    /// One a data set.
    pub studies: Vec<Study>,
    /// Tables over all of them.
    pub comparison: Vec<Table>,
}

/// What was found on a data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// The data set's file, for people.
    pub dataset: String,
    /// Where it was measured.
    pub device: String,
    /// The driver there.
    pub driver: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Names of the splits.
    pub splits: Vec<String>,
    /// The tables, in the order of the page.
    pub tables: Vec<Table>,
}

/// Why a part cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A tree could not be grown.
    #[error("{method} could not be trained on a split")]
    Learn {
        /// Pruner and learner.
        method: String,
        /// What the learner says.
        source: LearnError,
    },
    /// A method of another crate refused.
    #[error("{method} could not be fitted: {problem}")]
    Method {
        /// The method.
        method: String,
        /// What the crate says.
        problem: String,
    },
}

/// Every part, in the order of the page.
pub static ALL: &[&dyn Part] = &[
    &data::Data,
    &components::Variance,
    &pruning::Pruning,
    &method::DefaultMethod,
    &classifiers::Classifiers,
    &trees::Trees,
    // Last, since it asks the others.
    &orderings::Orderings,
];

impl Study {
    /// A study of the data set in the file `name`, without tables.
    #[must_use]
    pub fn new(name: &str, context: &Context<'_>) -> Self {
        Self {
            dataset: name.to_owned(),
            device: context.dataset.header.device.clone(),
            driver: context.dataset.header.driver.clone(),
            seed: context.seed,
            splits: context.sides.iter().map(|split| split.name.clone()).collect(),
            tables: Vec::new(),
        }
    }
}

impl Studies {
    /// The studies, with their orderings of methods compared.
    #[must_use]
    pub fn new(studies: Vec<Study>) -> Self {
        Self { comparison: comparison::of(&studies), studies }
    }

    /// Everything on one page: nothing outside it is loaded and no script runs. The same studies
    /// make the same bytes.
    #[must_use]
    pub fn html(&self) -> String {
        page::html(self)
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.comparison.iter().chain(self.studies.iter().flat_map(|study| &study.tables))
    }
}
