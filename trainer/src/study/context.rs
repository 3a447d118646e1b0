//! What the parts of a study share: the data, the splits, and results that several of them need.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{STANDING_SEEDS, Step, StudyError};
use crate::dataset::Dataset;
use crate::learn::{Collapsed, QUESTION_NS};
use crate::normalise::Normalisation;
use crate::performance::Performance;
use crate::prune::{Pruned, Pruner, Request};
use crate::score::{self, SplitScore};
use crate::split::Split;
use crate::train::Method;

/// Cost of a method on a split; of one whose learner makes random choices, and so many models.
const SCORE: u64 = 60;
const SCORE_DRAWN: u64 = 3000;

/// A data set with its splits; what is computed for one part is kept for the others.
pub struct Context<'a> {
    /// The data set.
    pub dataset: &'a Dataset,
    /// The splits as they were given.
    pub splits: &'a [Split],
    /// Seed of every random choice.
    pub seed: u64,
    /// Seeds with which a method that has random choices is set in order, [`STANDING_SEEDS`] if not
    /// changed.
    pub standing_seeds: u64,
    /// All tasks.
    pub all: Performance,
    /// The two sides of each split; none where there is only one shape.
    pub sides: Vec<Sides>,
    step: Box<dyn Fn(u64) + Sync + 'a>,
    done: Mutex<BTreeSet<String>>,
    kept: Mutex<BTreeMap<String, Arc<dyn Any + Send + Sync>>>,
}

/// A split's tasks.
pub struct Sides {
    /// The split's name.
    pub name: String,
    /// Tasks to learn from, rising.
    pub train_tasks: Vec<usize>,
    /// Tasks to score on, rising.
    pub test_tasks: Vec<usize>,
    /// One row for each of [`Self::train_tasks`].
    pub train: Performance,
    /// One row for each of [`Self::test_tasks`].
    pub test: Performance,
}

impl<'a> Context<'a> {
    /// A study of `dataset`.
    #[must_use]
    pub fn new(dataset: &'a Dataset, splits: &'a [Split], seed: u64) -> Self {
        let all: Vec<usize> = (0..dataset.tasks().len()).collect();
        Self {
            dataset,
            splits,
            seed,
            standing_seeds: STANDING_SEEDS,
            all: Performance::of(dataset, &all),
            sides: splits.iter().map(|split| Sides::of(dataset, split)).collect(),
            step: Box::new(|_| ()),
            done: Mutex::new(BTreeSet::new()),
            kept: Mutex::new(BTreeMap::new()),
        }
    }

    /// The same; each step calls `step` with its cost when it is done for the first time.
    #[must_use]
    pub fn watched(self, step: impl Fn(u64) + Sync + 'a) -> Self {
        Self { step: Box::new(step), ..self }
    }

    /// One of [`Part::steps`](super::Part::steps) is done.
    pub(super) fn done(&self, step: &Step) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if done.insert(step.name.clone()) {
            (self.step)(step.cost);
        }
    }

    /// What `make` gave when it was first asked for by `key`. Threads that ask at the same time may
    /// each make it, so what is made must not depend on when.
    ///
    /// # Errors
    /// What `make` fails with; then nothing is kept.
    pub fn once<T: Any + Send + Sync, E>(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        // Never held while something is made: that may wait for a thread which waits for this.
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept().get(key).cloned();
        if let Some(found) = found.and_then(|one| one.downcast().ok()) {
            return Ok(found);
        }
        let made = Arc::new(make()?);
        kept().insert(key.to_owned(), made.clone());
        Ok(made)
    }

    /// The seeds that a method is set in order by: as many as [`Self::standing_seeds`] from the study's own on if it
    /// `draws`, which is to say that it has random choices, else that one alone.
    pub fn seeds(&self, draws: bool) -> impl Iterator<Item = u64> + use<> {
        let (first, count) = (self.seed, if draws { self.standing_seeds } else { 1 });
        (0..count).map(move |index| first.wrapping_add(index))
    }

    /// What a pruner is asked for with the study's own seed.
    #[must_use]
    pub fn request(&self, count: usize, normalisation: Normalisation) -> Request {
        Request { count, normalisation, seed: self.seed }
    }

    /// The list that `pruner` chooses from the training side of the split at `place` in
    /// [`Self::sides`], as columns of the data set. What makes no difference to it in `request`
    /// costs no work either.
    ///
    /// # Panics
    /// There is no such split.
    pub fn list(&self, place: usize, pruner: &dyn Pruner, request: &Request) -> Arc<Pruned> {
        let Request { count, normalisation, seed } = *request;
        let normalisation = if pruner.weighs() { normalisation } else { Normalisation::default() };
        let seed = if pruner.draws() { seed } else { self.seed };
        let request = Request { count, normalisation, seed };
        let key = format!("list {place} {} {normalisation} {count} {seed}", pruner.name());
        let train = &self.sides[place].train;
        let made = self.once(&key, || Ok::<_, Infallible>(pruner.prune(train, &request)));
        match made {
            Ok(list) => list,
        }
    }

    /// The scores of `method`'s pruner and learner on each split, with trees collapsed as
    /// `gemmtree train` does unless it is told otherwise.
    ///
    /// # Errors
    /// [`StudyError::Learn`].
    pub fn scores(&self, method: &Method<'_>) -> Result<Arc<Vec<SplitScore>>, StudyError> {
        let seed = self.heeded(method);
        let learner = method.learner;
        let steps = self.score_steps(method);
        self.once(&self.scores_name(method), || {
            let collapsed = Collapsed { learner, question_ns: QUESTION_NS };
            let method = &Method { learner: &collapsed, seed, ..*method };
            let scored = AtomicUsize::new(0);
            let done = || {
                let index = scored.fetch_add(1, Ordering::Relaxed);
                steps.get(index).into_iter().for_each(|step| self.done(step));
            };
            score::score(self.dataset, self.splits, method, None, &done).map_err(|source| {
                let method = format!("{} + {}", method.pruner.name(), method.learner.name());
                StudyError::Learn { method, source }
            })
        })
    }

    /// What [`Self::scores`] does: a step a split.
    #[must_use]
    pub(super) fn score_steps(&self, method: &Method<'_>) -> Vec<Step> {
        let cost = if method.learner.draws() { SCORE_DRAWN } else { SCORE };
        let name = self.scores_name(method);
        (0..self.sides.len()).map(|split| Step::new(format!("{name} {split}"), cost)).collect()
    }

    fn scores_name(&self, method: &Method<'_>) -> String {
        let Method { pruner, learner, kernels, normalisation, .. } = method;
        let (pruner, learner, seed) = (pruner.name(), learner.name(), self.heeded(method));
        format!("scores {pruner} + {learner} {kernels} {normalisation} {seed}")
    }

    /// The method's seed, or the study's own where none makes a difference.
    fn heeded(&self, method: &Method<'_>) -> u64 {
        if method.pruner.draws() || method.learner.draws() { method.seed } else { self.seed }
    }
}

impl Sides {
    fn of(dataset: &Dataset, split: &Split) -> Self {
        let [train_tasks, test_tasks] =
            [&split.train, &split.test].map(|shapes| score::tasks_of(dataset, shapes));
        Self {
            name: split.name.clone(),
            train: Performance::of(dataset, &train_tasks),
            test: Performance::of(dataset, &test_tasks),
            train_tasks,
            test_tasks,
        }
    }

    /// Geometric mean on the held-out tasks of the best of `columns`, 0…1.
    #[must_use]
    pub fn ceiling(&self, columns: &[usize]) -> f64 {
        let rows = 0..self.test.shapes.len();
        score::geometric_mean(rows.map(|row| self.test.best_share(row, columns)))
    }
}
