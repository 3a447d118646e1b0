//! Everything that the page says, as numbers.

use kernels::Configuration;
use selector_core::{GemmShape, KernelId, Model, ProblemClass};
use serde::{Serialize, Serializer};

use super::comparison::{self, Compared};
use super::histogram::{self, Bin};
use super::reason::{self, Reason};
use super::training::{self, Training};
use super::{ReportError, text};
use crate::dataset::{Dataset, Suspect};
use crate::model_file;
use crate::performance::{Performance, first_least};

/// What a model does on a data set.
#[derive(Clone, Debug, Serialize)]
pub struct Numbers {
    /// The model.
    pub model: Source,
    /// How the model was trained.
    pub method: String,
    /// The data set.
    pub dataset: Source,
    /// Configurations that the data set has.
    pub configurations: usize,
    /// Whether the model was trained on these rows, as far as known.
    pub training: Training,
    /// Tasks of classes that the model has no tree for; they count nowhere else.
    pub without_tree: usize,
    /// Tasks where no kernel that the leaf ranks was measured; they count as very slow.
    pub unmeasured: usize,
    /// Configurations that were once wrong, which count nowhere else.
    pub suspects: Vec<SuspectNumbers>,
    /// Ways to choose, by their share of optimal.
    pub comparison: Vec<Compared>,
    /// The kernel list.
    pub kernels: Vec<KernelNumbers>,
    /// Tasks by what their kernel loses.
    pub histogram: Vec<Bin>,
    /// Every task that the model has a tree for.
    pub tasks: Vec<TaskNumbers>,
    /// Places in `tasks` of those that lose most, the worst first.
    pub worst: Vec<usize>,
}

/// A file and the device that it speaks of.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    /// The file's name.
    pub file: String,
    /// The device; empty if not known.
    pub device: String,
    /// Its driver; empty if not known.
    pub driver: String,
}

/// A configuration that computed a wrong result.
#[derive(Clone, Debug, Serialize)]
pub struct SuspectNumbers {
    /// Its name.
    pub name: String,
    /// Where it was wrong, for people.
    pub wrong_on: String,
}

/// A kernel of the list on the data set.
#[derive(Clone, Debug, Serialize)]
pub struct KernelNumbers {
    /// Its number in the model.
    pub id: u8,
    /// Its name.
    pub name: String,
    /// Whether the data set has it.
    pub measured: bool,
    /// Tasks that it runs on.
    pub runs: usize,
    /// Tasks on which it is the fastest of the list.
    pub fastest: usize,
    /// Share of optimal if it ran everywhere; `None` if it was not measured.
    pub alone: Option<f64>,
}

/// What happens on a task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskNumbers {
    /// The class.
    #[serde(serialize_with = "as_text")]
    pub class: ProblemClass,
    /// The shape.
    pub shape: GemmShape,
    /// The first kernel of the leaf.
    pub chosen: u8,
    /// The first kernel of the leaf that was measured here, which is what counts.
    pub runs: Option<u8>,
    /// Its time in nanoseconds.
    pub time_ns: Option<f64>,
    /// Its time over the best measured one.
    pub slowdown: Option<f64>,
    /// The best measured configuration.
    pub best: String,
    /// Its time in nanoseconds.
    pub best_ns: f64,
    /// The best kernel of the list.
    pub list_best: Option<u8>,
    /// Its time in nanoseconds.
    pub list_best_ns: Option<f64>,
    /// Why the kernel loses, the main reason first; none where it loses nothing.
    pub reasons: Vec<Reason>,
}

/// Most tasks that are called the worst.
const WORST: usize = 10;

fn as_text<S: Serializer>(class: &ProblemClass, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(class)
}

pub(super) fn of(
    (model_name, model): (&str, &Model<'_>),
    (dataset_name, dataset): (&str, &Dataset),
) -> Result<Numbers, ReportError> {
    let columns = columns(model, dataset);
    if columns.iter().all(Option::is_none) {
        return Err(ReportError::NoKernelMeasured);
    }
    let all = 0..dataset.tasks().len();
    let known: Vec<usize> =
        all.filter(|task| model.root(dataset.tasks()[*task].class).is_some()).collect();
    if known.is_empty() {
        let classes: Vec<_> = dataset.classes().iter().map(ToString::to_string).collect();
        return Err(ReportError::NoTree { classes: classes.join(", ") });
    }
    let tasks: Vec<_> = known.iter().map(|task| of_task(model, dataset, &columns, *task)).collect();
    let performance = Performance::of(dataset, &known);
    Ok(Numbers {
        model: source(model_name, model.device(), model.driver()),
        method: model.method().to_owned(),
        dataset: source(dataset_name, &dataset.header.device, &dataset.header.driver),
        configurations: dataset.configurations().len(),
        training: training::of(model, dataset, &tasks),
        without_tree: dataset.tasks().len() - known.len(),
        unmeasured: tasks.iter().filter(|task| task.runs.is_none()).count(),
        suspects: dataset.suspects.iter().map(SuspectNumbers::of).collect(),
        comparison: comparison::of(model, dataset, &performance, &columns, &tasks),
        kernels: kernels(model, &performance, &columns, &tasks),
        histogram: histogram::of(&tasks),
        worst: worst(&tasks),
        tasks,
    })
}

impl SuspectNumbers {
    fn of(suspect: &Suspect) -> Self {
        Self { name: suspect.configuration.clone(), wrong_on: suspect.places() }
    }
}

fn source(file: &str, device: &str, driver: &str) -> Source {
    Source { file: file.to_owned(), device: device.to_owned(), driver: driver.to_owned() }
}

/// The data set's column of each kernel, by id.
fn columns(model: &Model<'_>, dataset: &Dataset) -> Vec<Option<usize>> {
    let parsed: Vec<Option<Configuration>> =
        dataset.configurations().iter().map(|name| name.parse().ok()).collect();
    let column = |id: u8| {
        let name = model_file::kernel_name(model, KernelId(id));
        let wanted = name.parse::<Configuration>().ok()?;
        parsed.iter().position(|one| one.as_ref() == Some(&wanted))
    };
    (0..=model.kernels().len() as u8).map(column).collect()
}

fn of_task(
    model: &Model<'_>,
    dataset: &Dataset,
    columns: &[Option<usize>],
    task: usize,
) -> TaskNumbers {
    let wanted = dataset.tasks()[task];
    let width = dataset.configurations().len();
    let times: Vec<f64> = (0..width).map(|one| dataset.time(task, one)).collect();
    let of_list: Vec<f64> =
        columns.iter().map(|column| column.map_or(f64::INFINITY, |one| times[one])).collect();
    let time = |id: u8| of_list.get(usize::from(id)).copied().filter(|time| time.is_finite());
    let leaf = model.select(wanted.class, wanted.shape);
    let runs = leaf.kernels().map(|id| id.0).find(|id| time(*id).is_some());
    let best = first_least(&times);
    let list_best = Some(first_least(&of_list) as u8).filter(|id| time(*id).is_some());
    let time_ns = runs.and_then(time);
    let mut numbers = TaskNumbers {
        class: wanted.class,
        shape: wanted.shape,
        chosen: leaf.first().0,
        runs,
        time_ns,
        slowdown: time_ns.map(|time| time / times[best]),
        best: dataset.configurations()[best].clone(),
        best_ns: times[best],
        list_best,
        list_best_ns: list_best.and_then(time),
        reasons: Vec::new(),
    };
    numbers.reasons = reason::of(model, &numbers, time);
    numbers
}

fn kernels(
    model: &Model<'_>,
    performance: &Performance,
    columns: &[Option<usize>],
    tasks: &[TaskNumbers],
) -> Vec<KernelNumbers> {
    let of_kernel = |id: u8| {
        let column = columns.get(usize::from(id)).copied().flatten();
        KernelNumbers {
            id,
            name: model_file::kernel_name(model, KernelId(id)),
            measured: column.is_some(),
            runs: tasks.iter().filter(|task| task.runs == Some(id)).count(),
            fastest: tasks.iter().filter(|task| task.list_best == Some(id)).count(),
            alone: column.map(|one| comparison::share(performance, &[one])),
        }
    };
    (0..=model.kernels().len() as u8).map(of_kernel).collect()
}

/// Places of the tasks that lose most; those that lose nothing are not among them.
fn worst(tasks: &[TaskNumbers]) -> Vec<usize> {
    let loss = |place: &usize| tasks[*place].slowdown.unwrap_or(f64::INFINITY);
    let mut places: Vec<usize> = (0..tasks.len()).filter(|place| loss(place) > 1.0).collect();
    places.sort_by(|one, other| loss(other).total_cmp(&loss(one)));
    places.truncate(WORST);
    places
}

impl std::fmt::Display for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} on {}: share of optimal", self.model.file, self.dataset.file)?;
        for one in &self.comparison {
            writeln!(f, "  {:>7}  {}", text::percent(one.share), one.way)?;
        }
        writeln!(f, "{}", self.training.sentence())?;
        for suspect in &self.suspects {
            writeln!(f, "  {} is left out: wrong result on {}", suspect.name, suspect.wrong_on)?;
        }
        for task in self.worst.iter().take(3).map(|place| &self.tasks[*place]) {
            let reason = task.reasons.first().map(ToString::to_string).unwrap_or_default();
            let lost = text::times_best(task.slowdown);
            writeln!(f, "  {} {}: {lost}; {reason}", task.class, task.shape)?;
        }
        Ok(())
    }
}
