//! What the parts of a study share: the data, the splits, and results that several of them need.

use std::any::Any;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use super::{STANDING_SEEDS, StudyError};
use crate::dataset::Dataset;
use crate::learn::{Collapsed, QUESTION_NS};
use crate::normalise::Normalisation;
use crate::performance::Performance;
use crate::prune::{Pruned, Pruner, Request};
use crate::score::{self, SplitScore};
use crate::split::Split;
use crate::train::Method;

/// A data set with its splits; what is computed for one part is kept for the others.
pub struct Context<'a> {
    /// The data set.
    pub dataset: &'a Dataset,
    /// The splits as they were given.
    pub splits: &'a [Split],
    /// Seed of every random choice.
    pub seed: u64,
    /// All tasks.
    pub all: Performance,
    /// The two sides of each split; none where there is only one shape.
    pub sides: Vec<Sides>,
    step: Box<dyn Fn() + Sync + 'a>,
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
            all: Performance::of(dataset, &all),
            sides: splits.iter().map(|split| Sides::of(dataset, split)).collect(),
            step: Box::new(|| ()),
            kept: Mutex::new(BTreeMap::new()),
        }
    }

    /// The same; each step calls `step`.
    #[must_use]
    pub fn watched(self, step: impl Fn() + Sync + 'a) -> Self {
        Self { step: Box::new(step), ..self }
    }

    /// Another of [`Part::steps`](super::Part::steps) is done.
    pub fn step(&self) {
        (self.step)();
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

    /// The seeds that a method is set in order by: [`STANDING_SEEDS`] from the study's own on if it
    /// `draws`, which is to say that it has random choices, else that one alone.
    pub fn seeds(&self, draws: bool) -> impl Iterator<Item = u64> + use<> {
        let (first, count) = (self.seed, if draws { STANDING_SEEDS } else { 1 });
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
        let Method { pruner, learner, kernels, normalisation, .. } = method;
        let seed = if pruner.draws() || learner.draws() { method.seed } else { self.seed };
        let name = format!("{} + {}", pruner.name(), learner.name());
        let key = format!("scores {name} {kernels} {normalisation} {seed}");
        self.once(&key, || {
            let collapsed = Collapsed { learner: *learner, question_ns: QUESTION_NS };
            let method = &Method { learner: &collapsed, seed, ..*method };
            score::score(self.dataset, self.splits, method, None, &|| self.step())
                .map_err(|source| StudyError::Learn { method: name, source })
        })
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
