//! A second kernel for each shape: what runs when the first fails on the device.

use selector_core::GemmShape;

use crate::dataset::Dataset;
use crate::train::Fitted;

/// The share of optimal that a second kernel must reach to be acceptable.
pub const ACCEPTABLE_SHARE: f64 = 0.5;
/// The same as a loss: base-2 logarithm of the slowdown.
pub(crate) const LARGEST_ACCEPTABLE_LOSS: f64 = 1.0;

/// Which shapes have an acceptable second kernel in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Redundancy {
    /// Shapes trained on, once for each class.
    pub shapes: usize,
    /// Those with at most one acceptable kernel, sorted by class, then by shape.
    pub bare: Vec<GemmShape>,
}

impl Redundancy {
    /// The redundancy of a list on all that was measured. A kernel that was not measured on a
    /// shape, or failed there, is not acceptable.
    #[must_use]
    pub fn of(dataset: &Dataset, fitted: &Fitted) -> Self {
        let acceptable = |task: usize| {
            let times = (0..dataset.configurations().len()).map(|one| dataset.time(task, one));
            let best = times.fold(f64::INFINITY, f64::min);
            let shares = fitted.kernels.iter().map(|kernel| best / dataset.time(task, *kernel));
            shares.filter(|share| *share >= ACCEPTABLE_SHARE).count()
        };
        let tasks = dataset.tasks().iter().enumerate();
        let bare = tasks.filter(|(task, _)| acceptable(*task) < 2).map(|(_, task)| task.shape);
        Self { shapes: dataset.tasks().len(), bare: bare.collect() }
    }
}
