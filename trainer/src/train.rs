//! From a data set to a kernel list and trees.

use ndarray::Array2;
use selector_core::{ProblemClass, Transposes};

use crate::dataset::{Dataset, Task};
use crate::learn::{self, Grown, LearnError, Learner, Training};
use crate::normalise::Normalisation;
use crate::performance::Performance;
use crate::prune::{Pruned, Pruner, Request};
use crate::redundancy;

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
    fit_telling(dataset, tasks, method, &|| {})
}

/// As [`fit`]; `done` is told [`steps`] times.
///
/// # Errors
/// [`LearnError`], if the learner fails.
pub fn fit_telling(
    dataset: &Dataset,
    tasks: &[usize],
    method: &Method<'_>,
    done: &(dyn Fn() + Sync),
) -> Result<Fitted, LearnError> {
    let performance = Performance::of(dataset, tasks);
    let pruned = choose(&performance, method);
    done();
    grow(dataset, tasks, &performance, &pruned, method, done)
}

/// Steps of [`fit_telling`]: the choice of kernels, then those of [`grow`].
#[must_use]
pub fn steps(dataset: &Dataset, tasks: &[usize], learner: &dyn Learner) -> usize {
    let of_class =
        |class| tasks.iter().filter(|task| dataset.tasks()[**task].class == class).count();
    let classes = dataset.classes().into_iter().map(of_class).filter(|shapes| *shapes > 0);
    1 + classes.map(|shapes| learner.steps(shapes)).sum::<usize>()
}

/// Choose kernels by their performance.
#[must_use]
pub fn choose(performance: &Performance, method: &Method<'_>) -> Pruned {
    let Method { kernels: count, normalisation, seed, .. } = *method;
    method.pruner.prune(performance, &Request { count, normalisation, seed })
}

/// Grow the trees that pick among the kernels of `pruned`, from the `tasks` that have this
/// `performance`; `done` is told after each step of the learner.
///
/// # Errors
/// [`LearnError`], if the learner fails.
pub fn grow(
    dataset: &Dataset,
    tasks: &[usize],
    performance: &Performance,
    pruned: &Pruned,
    method: &Method<'_>,
    done: &(dyn Fn() + Sync),
) -> Result<Fitted, LearnError> {
    let kernels = pruned.kernels.clone();
    let loss = performance.of_kernels(&kernels);
    let mut warnings: Vec<String> = pruned.warnings.iter().map(ToString::to_string).collect();
    let mut trees = Vec::new();
    for class in dataset.classes() {
        let of_class: Vec<usize> =
            (0..tasks.len()).filter(|row| dataset.tasks()[tasks[*row]].class == class).collect();
        if of_class.is_empty() {
            continue;
        }
        let training = training_of(dataset, tasks, &kernels, &loss, &of_class);
        let tree = method.learner.grow_telling(&training, method.seed, done)?;
        let tree = ranked(dataset, &kernels, class, &training, tree);
        warnings.extend(indistinct(class, &training));
        trees.push(ClassTree { class, training, tree });
    }
    Ok(Fitted { kernels, trees, warnings })
}

/// Collapse the trees of `fitted` as [`Collapsed`](learn::Collapsed) does, and say how many
/// questions went.
#[must_use]
pub fn collapse(dataset: &Dataset, fitted: Fitted, question_ns: f64) -> (Fitted, usize) {
    let Fitted { kernels, trees, warnings } = fitted;
    let mut gone = 0;
    let collapse = |one: ClassTree| {
        let ClassTree { class, training, tree } = one;
        let (tree, questions) = learn::collapse(tree, &training, question_ns);
        gone += questions;
        let tree = ranked(dataset, &kernels, class, &training, tree);
        ClassTree { class, training, tree }
    };
    let trees = trees.into_iter().map(collapse).collect();
    (Fitted { kernels, trees, warnings }, gone)
}

/// The tree with second kernels that work on all shapes of their leaf, where there are any.
fn ranked(
    dataset: &Dataset,
    kernels: &[usize],
    class: ProblemClass,
    training: &Training,
    tree: Grown,
) -> Grown {
    let works = |row: usize, place: usize| {
        let task = Task { class, shape: training.shapes[row] };
        let task = dataset.tasks().binary_search(&task);
        task.is_ok_and(|task| dataset.time(task, kernels[place]).is_finite())
    };
    redundancy::put_working_seconds_first(tree, &training.shapes, &works)
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

/// The class whose tree serves `class`: itself if it is among `measured`, else the one of the same
/// precision without transposes, else the first of the same precision.
#[must_use]
pub fn measured_as(class: ProblemClass, measured: &[ProblemClass]) -> Option<ProblemClass> {
    let plain = ProblemClass::new(class.precision, Transposes::Nn);
    let same = || measured.iter().copied().filter(|one| one.precision == class.precision);
    [class, plain].into_iter().find(|one| measured.contains(one)).or_else(|| same().next())
}

/// Some `rows` of `loss`, which has one a task and a column for each of `kernels`.
fn training_of(
    dataset: &Dataset,
    tasks: &[usize],
    kernels: &[usize],
    loss: &Array2<f64>,
    rows: &[usize],
) -> Training {
    let task_of = |row: &usize| tasks[*row];
    let best_of = |task: usize| {
        let times = (0..dataset.configurations().len()).map(|one| dataset.time(task, one));
        times.fold(f64::INFINITY, f64::min)
    };
    Training {
        shapes: rows.iter().map(|row| dataset.tasks()[task_of(row)].shape).collect(),
        loss: loss.select(ndarray::Axis(0), rows),
        best_ns: rows.iter().map(task_of).map(best_of).collect(),
        kernels: kernels.iter().map(|one| dataset.configurations()[*one].parse().ok()).collect(),
    }
}
