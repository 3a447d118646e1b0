//! From a data set to a kernel list and trees.

use ndarray::Array2;
use selector_core::{ProblemClass, Transposes};

use crate::dataset::Dataset;
use crate::learn::{self, Grown, LearnError, Learner, Training};
use crate::normalise::Normalisation;
use crate::performance::Performance;
use crate::prune::{Pruner, Request};

/// How kernels are chosen and trees grown.
#[derive(Clone, Copy)]
pub struct Method<'a> {
    /// Chooses the kernel list.
    pub pruner: &'a dyn Pruner,
    /// Grows the trees.
    pub learner: &'a dyn Learner,
    /// Most kernels in the list.
    pub kernels: usize,
    /// How performance is weighed for the pruner.
    pub normalisation: Normalisation,
    /// Seed of every random choice.
    pub seed: u64,
}

/// A kernel list and a tree for each class that was measured.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Columns of the data set, sorted; leaves rank places in this list.
    pub kernels: Vec<usize>,
    /// The trees, by class.
    pub trees: Vec<ClassTree>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// The tree of a class.
#[derive(Clone, Debug)]
pub struct ClassTree {
    /// The class.
    pub class: ProblemClass,
    /// What it was grown from.
    pub training: Training,
    /// The tree.
    pub tree: Grown,
}

/// Choose kernels and grow trees from `tasks`, rising indices of tasks of `dataset`.
///
/// # Errors
/// [`LearnError`], if the learner fails.
pub fn fit(dataset: &Dataset, tasks: &[usize], method: &Method<'_>) -> Result<Fitted, LearnError> {
    let performance = Performance::of(dataset, tasks);
    let request =
        Request { count: method.kernels, normalisation: method.normalisation, seed: method.seed };
    let pruned = method.pruner.prune(&performance, &request);
    let loss = performance.of_kernels(&pruned.kernels);
    let mut warnings: Vec<String> = pruned.warnings.iter().map(ToString::to_string).collect();
    let mut trees = Vec::new();
    for class in dataset.classes() {
        let Some(training) = training_of(dataset, tasks, &loss, class) else { continue };
        let tree = method.learner.grow(&training, method.seed)?;
        warnings.extend(indistinct(class, &training));
        trees.push(ClassTree { class, training, tree });
    }
    Ok(Fitted { kernels: pruned.kernels, trees, warnings })
}

/// What to tell of shapes that get one answer whatever was measured.
fn indistinct(class: ProblemClass, training: &Training) -> Option<String> {
    let groups = learn::indistinct(&training.shapes);
    let first = groups.first()?;
    let names: Vec<_> = first.iter().map(ToString::to_string).collect();
    let count: usize = groups.iter().map(Vec::len).sum();
    Some(format!(
        "{class}: {count} of {} shapes lie in the same eighth of an octave as another in every \
         dimension, so no tree tells them apart; the first are {}",
        training.shapes.len(),
        names.join(" and ")
    ))
}

/// The class whose tree serves `class`: itself if it is among `measured`, else plain f32 or f16 as
/// `class` is, else the first of the same elements.
#[must_use]
pub fn measured_as(class: ProblemClass, measured: &[ProblemClass]) -> Option<ProblemClass> {
    let plain = ProblemClass::new(class.element, Transposes::Nn);
    let same = || measured.iter().copied().filter(|one| one.element == class.element);
    [class, plain].into_iter().find(|one| measured.contains(one)).or_else(|| same().next())
}

/// The rows of `loss`, one a task, that are of `class`.
fn training_of(
    dataset: &Dataset,
    tasks: &[usize],
    loss: &Array2<f64>,
    class: ProblemClass,
) -> Option<Training> {
    let of_class = |row: &usize| dataset.tasks()[tasks[*row]].class == class;
    let rows: Vec<usize> = (0..tasks.len()).filter(of_class).collect();
    let shapes: Vec<_> = rows.iter().map(|row| dataset.tasks()[tasks[*row]].shape).collect();
    let loss = loss.select(ndarray::Axis(0), &rows);
    (!shapes.is_empty()).then_some(Training { shapes, loss })
}
