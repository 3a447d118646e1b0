//! Ways to choose the few kernels worth shipping. To add one: write its file, then list it in
//! [`ALL`].

mod greedy;
mod kmeans;
mod top_n;

use crate::normalise::Normalisation;
use crate::performance::Performance;

/// A way to choose the kernel list.
pub trait Pruner: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it does, in a line.
    fn about(&self) -> &'static str;

    /// Choose at most `request.count` configurations, as columns of `performance`; at least one,
    /// none twice. The order of rows does not matter.
    fn prune(&self, performance: &Performance, request: &Request) -> Pruned;
}

/// What a pruner is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Most kernels to keep.
    pub count: usize,
    /// How performance is weighed, where the method weighs it.
    pub normalisation: Normalisation,
    /// Seed of every random choice.
    pub seed: u64,
}

/// The chosen configurations.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Pruned {
    /// Columns, sorted.
    pub kernels: Vec<usize>,
    /// What the user should know about the choice.
    pub warnings: Vec<String>,
}

/// Every pruner; the first is the default.
pub static ALL: &[&dyn Pruner] = &[&greedy::Greedy, &kmeans::KMeansRepresentatives, &top_n::TopN];

/// The pruner called `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Pruner> {
    ALL.iter().copied().find(|pruner| pruner.name() == name)
}

impl Pruned {
    fn new(mut kernels: Vec<usize>, warnings: Vec<String>) -> Self {
        kernels.sort_unstable();
        kernels.dedup();
        Self { kernels, warnings }
    }
}
