//! `gemmtree train`: from a data set to a model, with its score on held-out shapes.

mod budget;
mod clock;
mod compare;
mod material;
mod report;
mod steps;
mod target;
mod without;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use selector_core::{MAX_KERNELS, Score};
use trainer::dataset::Dataset;
use trainer::export::{self, ExportError};
use trainer::learn::{Collapsed, QUESTION_NS};
use trainer::normalise::Normalisation;
use trainer::prune::Budgeted;
use trainer::redundancy::Redundancy;
use trainer::score;
use trainer::scored::{self, Scored};
use trainer::train::Method;
use trainer::{learn, prune};

use self::clock::Clock;
use self::material::Material;
use self::report::Extra;
use self::target::Target;
use super::device;
use super::inputs::keep_inputs;
use super::splits::SplitArgs;
use crate::failure::{Unexpected, hinted};
use crate::output::Output;

/// Choose the kernels worth shipping, grow the tree that picks among them, and score both on
/// held-out shapes
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree train data.csv --kernels 8 -o model.gtm")]
pub(crate) struct Args {
    /// The data set: CSV, gzip or not
    dataset: PathBuf,
    /// Where to write the model, trained on all rows
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Most kernels to ship [default: 8, or 16 with --budget]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=MAX_KERNELS as i64))]
    kernels: Option<u8>,
    /// What the binaries of the kernels may take, of the classes that were measured, such as
    /// 65536, 256KiB or 1MiB; the data set must have their sizes
    #[arg(long, value_name = "BYTES")]
    budget: Option<budget::Bytes>,
    /// A pruner and a learner that go together
    #[arg(long, value_enum, default_value_t)]
    method: Preset,
    /// How the kernels are chosen, if not as the method says
    #[arg(long, value_parser = PossibleValuesParser::new(prune::ALL.iter().map(|one| one.name())))]
    pruner: Option<String>,
    /// How the tree is grown, if not as the method says
    #[arg(long, value_parser = PossibleValuesParser::new(learn::ALL.iter().map(|one| one.name())))]
    learner: Option<String>,
    /// How performance is weighed, for the pruners that group shapes
    #[arg(long, value_enum, default_value_t)]
    normalise: Normalisation,
    #[command(flatten)]
    splits: SplitArgs,
    /// Seed of every random choice
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The one tuned configuration that DTTR compares with; without it, the best at the shape
    /// nearest to 256x256x256, or 1024x1024x1024 for kernels of others
    #[arg(long, value_name = "CONFIG")]
    tuned: Option<String>,
    /// Do without this configuration, and tell what that loses: with the list as shipped, with the
    /// configuration failing at run time, and with a list chosen without it, which is what `-o`
    /// writes; may be given several times
    #[arg(long, value_name = "CONFIG")]
    without: Vec<String>,
    /// What a question of the tree costs, in nanoseconds: questions that save less are not asked
    #[arg(long, value_name = "NS", default_value_t = QUESTION_NS, value_parser = nanoseconds)]
    select_cost: f64,
    /// Name of the device, for a data set that does not say
    #[arg(long, value_name = "NAME", value_parser = device::name)]
    device: Option<String>,
    /// Score every pruner with every learner instead
    #[arg(long, conflicts_with_all = ["output", "pruner", "learner", "method", "budget", "without"])]
    compare: bool,
    /// Replace a file that is no model, or a model that is better or for another device
    #[arg(long, requires = "output")]
    force: bool,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Preset {
    /// What is usual: k-means and linfa's tree, to compare with
    Classic,
    /// Smoothed and distilled
    #[default]
    Default,
    /// Greedy and cost-tree
    Plain,
}

impl Preset {
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Classic => ("k-means", "linfa"),
            Self::Default => ("smoothed", "distilled"),
            Self::Plain => ("greedy", "cost-tree"),
        }
    }
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let mut clock = Clock::start();
    let method = args.method()?;
    let target = args.target(&method)?;
    let whole = open(&args.dataset, out)?;
    clock.lap("reading");
    let device = material::device(&whole, args.device.as_deref(), out)?;
    let material = Material::of(whole, args, &method, out)?;
    let dataset = material.dataset();
    let grower = method.learner;
    let collapsed = Collapsed { learner: grower, question_ns: args.select_cost };
    let method = Method { learner: &collapsed, ..method };
    let within = material.budget.as_ref().map(Budgeted::new);
    let method = material::limited(method, within.as_ref());
    let splits = args.splits.draw(dataset, args.seed, out)?;
    if args.compare {
        return compare::compare(dataset, &splits, &method, args.select_cost, out);
    }
    let tuned = args.tuned(dataset)?;
    let (fitted, questions) =
        steps::fit(dataset, &method, grower, args.select_cost, &mut clock, out)?;
    for warning in &fitted.warnings {
        out.warn(warning);
    }
    if target.is_some() {
        // Before the time is spent on scores.
        export::check(dataset, &fitted).map_err(export_failed)?;
    }
    material.tell_curve(&method, &mut clock, out);
    let scores = steps::scores(dataset, &splits, &method, tuned, out)?;
    clock.lap("scoring splits");
    let without = material.damage(&args.without, &splits, &method, &mut clock, out)?;
    let held_out = steps::cross_validate(&fitted, &method, out)?;
    clock.lap("checking leaves on held-out shapes");
    let scored = score::mean(&scores, |score| score.share).map(|share| Scored {
        score: Score::from_share(share),
        on: scored::digest(dataset, &splits),
    });
    let blob = match export::encode_with(dataset, &fitted, &method, &held_out, scored, &device) {
        Err(error @ ExportError::ForeignConfiguration { .. }) if target.is_none() => {
            out.note(format_args!("note: {error}"));
            None
        }
        blob => Some(blob.map_err(export_failed)?),
    };
    clock.tell(out);
    let loses = target::loses(&scores, &method);
    let extra = Extra {
        binaries: material.binaries(&fitted.kernels),
        collapsed: questions,
        splits: args.splits.protocol.to_string(),
        loses_to_one_best: loses.is_some(),
        redundancy: Redundancy::of(dataset, &fitted),
        without,
    };
    let report =
        report::Report::of(dataset, &device, &method, &fitted, &scores, blob.as_deref(), extra);
    // Written first: that nobody reads the report must not cost the model.
    let written = match (&target, &blob) {
        (Some(target), Some(blob)) => target.write(blob, loses.as_deref(), out),
        _ => {
            loses.iter().for_each(|loses| out.warn(loses));
            out.note("nothing written; `-o model.gtm` writes the model");
            Ok(())
        }
    };
    out.result(&report).and(written)
}

impl Args {
    fn method(&self) -> anyhow::Result<Method<'static>> {
        let (pruner, learner) = self.method.names();
        let pruner = self.pruner.as_deref().unwrap_or(pruner);
        let learner = self.learner.as_deref().unwrap_or(learner);
        let unknown = |name: &str| anyhow!(Unexpected(format!("no method is called `{name}`")));
        Ok(Method {
            pruner: prune::by_name(pruner).ok_or_else(|| unknown(pruner))?,
            learner: learn::by_name(learner).ok_or_else(|| unknown(learner))?,
            kernels: usize::from(self.kernels.unwrap_or(match self.budget {
                Some(_) => budget::MOST_KERNELS,
                None => KERNELS,
            })),
            normalisation: self.normalise,
            seed: self.seed,
        })
    }

    /// Where to write the model, if anywhere.
    fn target(&self, method: &Method<'_>) -> anyhow::Result<Option<Target<'_>>> {
        let Some(path) = &self.output else { return Ok(None) };
        keep_inputs(path, &[&self.dataset])?;
        Target::check(path, method, self.force).map(Some)
    }

    /// The column of the tuned configuration that was named.
    fn tuned(&self, dataset: &Dataset) -> anyhow::Result<Option<usize>> {
        self.tuned.as_ref().map(|name| without::column(dataset, name)).transpose()
    }
}

/// Read the data set and tell what is odd about it.
pub(super) fn open(path: &Path, out: &Output) -> anyhow::Result<Dataset> {
    let dataset = Dataset::open(path).map_err(device::explained)?;
    let dropped: usize = dataset.rows.dropped.values().sum();
    if dropped > 0 || dataset.rows.merged > 0 {
        out.warn(format_args!("`{}`: {}", path.display(), dataset.rows));
    }
    for suspect in &dataset.suspects {
        out.warn(format_args!(
            "`{}` is left out: wrong result on {}",
            suspect.configuration,
            suspect.places()
        ));
    }
    if dataset.header.space.is_some_and(|space| space != kernels::space::hash()) {
        out.warn("not measured with these kernel sources");
    }
    Ok(dataset)
}

fn export_failed(error: ExportError) -> anyhow::Error {
    match error {
        ExportError::ForeignConfiguration { .. } => {
            hinted(error, "leave out `-o` to score it only")
        }
        _ => error.into(),
    }
}

/// Most kernels of a list, unless the user says.
const KERNELS: u8 = 8;

/// A time as a user writes it, in nanoseconds.
fn nanoseconds(text: &str) -> Result<f64, String> {
    let time = text.parse().ok().filter(|time: &f64| time.is_finite() && *time >= 0.0);
    time.ok_or_else(|| "not a number of nanoseconds, at least 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_method_is_the_first_pruner_and_the_first_learner() {
        assert_eq!(Preset::default().names(), (prune::ALL[0].name(), learn::ALL[0].name()));
    }
}
