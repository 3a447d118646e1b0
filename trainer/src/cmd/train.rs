//! `gemmtree train`: from a data set to a model, with its score on held-out shapes.

mod budget;
mod clock;
mod report;
mod without;

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::builder::PossibleValuesParser;
use selector_core::{MAX_KERNELS, Model, ModelError, Score};
use trainer::damage::{self, Damage, Rest};
use trainer::dataset::Dataset;
use trainer::export::{self, ExportError, HeldOut};
use trainer::learn::{Collapsed, Learner, QUESTION_NS};
use trainer::normalise::Normalisation;
use trainer::performance::Performance;
use trainer::prune::Budgeted;
use trainer::redundancy::Redundancy;
use trainer::score::{self, SplitScore};
use trainer::split::Split;
use trainer::train::{self, Fitted, Method};
use trainer::{file, learn, prune};

use self::budget::Binaries;
use self::clock::Clock;
use self::report::Extra;
use self::without::Without;
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
    #[arg(long)]
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
    let old = args.output.as_deref();
    old.map(|path| keep_inputs(path, &[&args.dataset])).transpose()?;
    let old = old.map(|path| check_target(path, &method, args.force)).transpose()?;
    let whole = open(&args.dataset, out)?;
    clock.lap("reading");
    let device = device(&whole, args.device.as_deref(), out)?;
    let without = args.without(&whole)?;
    let rest = (!without.is_empty()).then(|| without::rest(&whole, &without)).transpose()?;
    let dataset = rest.as_ref().unwrap_or(&whole);
    without::warn_of_lost(&whole, dataset, out);
    let grower = method.learner;
    let collapsed = Collapsed { learner: grower, question_ns: args.select_cost };
    let method = Method { learner: &collapsed, ..method };
    let budget = |dataset| args.budget.map(|bytes| budget::of(dataset, bytes, &method, out));
    let (budget, of_whole) =
        (budget(dataset).transpose()?, rest.as_ref().and_then(|_| budget(&whole)).transpose()?);
    let [within, of_whole] = [&budget, &of_whole].map(|one| one.as_ref().map(Budgeted::new));
    let (method, of_whole) = (limited(method, within.as_ref()), limited(method, of_whole.as_ref()));
    let splits = args.splits.draw(dataset, args.seed, out)?;
    if args.compare {
        return compare(dataset, &splits, &method, args.select_cost, out);
    }
    let tuned = args.tuned(dataset)?;
    let (fitted, questions) = fit(dataset, &method, grower, args.select_cost, &mut clock)?;
    for warning in &fitted.warnings {
        out.warn(warning);
    }
    if args.output.is_some() {
        // Before the time is spent on scores.
        export::check(dataset, &fitted).map_err(export_failed)?;
    }
    if let Some(budget) = &budget {
        budget::tell_curve(dataset, budget, &method, out);
        clock.lap("trying other budgets");
    }
    let scores = scores(dataset, &splits, &method, tuned, out)?;
    clock.lap("scoring splits");
    let damage = match &rest {
        Some(rest) => {
            let rest = Rest { dataset: rest, method: &method };
            let damage = damage(&whole, &splits, &of_whole, &without, &rest, out)?;
            clock.lap("measuring the damage");
            Some(Without::of(&args.without, damage))
        }
        None => None,
    };
    let held_out = cross_validate(&fitted, &method, out)?;
    clock.lap("checking leaves on held-out shapes");
    let mean = score::mean(&scores, |score| score.share).map(Score::from_share);
    let blob = match export::encode_with(dataset, &fitted, &method, &held_out, mean, &device) {
        Err(error @ ExportError::ForeignConfiguration { .. }) if args.output.is_none() => {
            out.note(format_args!("note: {error}"));
            None
        }
        blob => Some(blob.map_err(export_failed)?),
    };
    clock.tell(out);
    let extra = Extra {
        binaries: budget.as_ref().map(|budget| Binaries::of(budget, &fitted.kernels)),
        collapsed: questions,
        splits: args.splits.protocol.to_string(),
        redundancy: Redundancy::of(dataset, &fitted),
        without: damage,
    };
    let report =
        report::Report::of(dataset, &device, &method, &fitted, &scores, blob.as_deref(), extra);
    // Written first: that nobody reads the report must not cost the model.
    let written = match (&args.output, &blob, old) {
        (Some(path), Some(blob), Some(old)) => worth_writing(&scores, &method, args.force, out)
            .and_then(|()| write(path, blob, &old, args.force, out)),
        _ => {
            out.note("nothing written; `-o model.gtm` writes the model");
            Ok(())
        }
    };
    out.result(&report).and(written)
}

/// The method with a pruner that keeps to a budget, if there is one.
fn limited<'a>(method: Method<'a>, within: Option<&'a Budgeted<'a>>) -> Method<'a> {
    match within {
        Some(pruner) => Method { pruner, ..method },
        None => method,
    }
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

    /// The column of the tuned configuration that was named.
    fn tuned(&self, dataset: &Dataset) -> anyhow::Result<Option<usize>> {
        self.tuned.as_ref().map(|name| without::column(dataset, name)).transpose()
    }

    /// The columns to do without.
    fn without(&self, dataset: &Dataset) -> anyhow::Result<Vec<usize>> {
        self.without.iter().map(|name| without::column(dataset, name)).collect()
    }
}

/// Read the data set and tell what is odd about it.
pub(super) fn open(path: &Path, out: &Output) -> anyhow::Result<Dataset> {
    let dataset = Dataset::open(path)?;
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

/// The device's name, from the data set or the user.
fn device(dataset: &Dataset, named: Option<&str>, out: &Output) -> anyhow::Result<String> {
    match (dataset.header.device.as_str(), named.map(str::trim)) {
        ("", Some("")) => bail!("`--device` is empty"),
        ("", Some(named)) => Ok(named.to_owned()),
        ("", None) => {
            out.note("the data set does not name its device; `--device NAME` does");
            Ok("unknown".to_owned())
        }
        (said, Some(named)) if said != named => {
            bail!("the data set was measured on `{said}`, not on `{named}`")
        }
        (said, _) => Ok(said.to_owned()),
    }
}

/// Train on all rows; also says how many questions of `grower`'s trees were collapsed.
fn fit(
    dataset: &Dataset,
    method: &Method<'_>,
    grower: &dyn Learner,
    question_ns: f64,
    clock: &mut Clock,
) -> anyhow::Result<(Fitted, usize)> {
    let all: Vec<usize> = (0..dataset.tasks().len()).collect();
    let performance = Performance::of(dataset, &all);
    let pruned = train::choose(&performance, method);
    clock.lap("choosing kernels");
    let method = Method { learner: grower, ..*method };
    let grown = train::grow(dataset, &all, &performance, &pruned, &method);
    let fitted =
        train::collapse(dataset, grown.context("could not train on all rows")?, question_ns);
    clock.lap("growing trees");
    Ok(fitted)
}

fn cross_validate(
    fitted: &Fitted,
    method: &Method<'_>,
    out: &mut Output,
) -> anyhow::Result<HeldOut> {
    let progress = out.progress(export::folds(fitted) as u64, "checking leaves");
    let held_out = export::cross_validate(fitted, method, &|| progress.step());
    held_out.context("could not check the leaves on held-out shapes")
}

fn damage(
    dataset: &Dataset,
    splits: &[Split],
    method: &Method<'_>,
    without: &[usize],
    rest: &Rest<'_>,
    out: &mut Output,
) -> anyhow::Result<Vec<Damage>> {
    let progress = out.progress(splits.len() as u64, "measuring the damage");
    let damage = damage::measure(dataset, splits, method, without, rest, &|| progress.step());
    damage.context("could not train on a split")
}

fn scores(
    dataset: &Dataset,
    splits: &[Split],
    method: &Method<'_>,
    tuned: Option<usize>,
    out: &mut Output,
) -> anyhow::Result<Vec<SplitScore>> {
    let progress = out.progress(splits.len() as u64, "scoring");
    let scores = score::score(dataset, splits, method, tuned, &|| progress.step());
    scores.context("could not train on a split")
}

fn compare(
    dataset: &Dataset,
    splits: &[Split],
    method: &Method<'_>,
    question_ns: f64,
    out: &mut Output,
) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for pruner in prune::ALL {
        for learner in learn::ALL {
            let learner = Collapsed { learner: *learner, question_ns };
            let method = Method { pruner: *pruner, learner: &learner, ..*method };
            let scores = scores(dataset, splits, &method, None, out)?;
            rows.push(report::Compared::of(&method, &scores));
        }
    }
    out.result(&report::Comparison { methods: rows })
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

/// The learner that ships one kernel for all shapes.
const SINGLE_BEST: &str = "single-best";

/// What stands where the model is to be written.
enum Old {
    Model {
        score: Option<Score>,
        device: String,
        method: String,
    },
    Nothing,
    /// Something else, which is to be replaced.
    Other,
}

/// Refuse what cannot be written before the time is spent.
fn check_target(path: &Path, method: &Method<'_>, force: bool) -> anyhow::Result<Old> {
    if !method.learner.repeatable() {
        let (name, about) = (method.learner.name(), method.learner.about());
        let refused = anyhow!("learner `{name}` is compared, never shipped: {about}");
        return Err(hinted(refused, "leave out `-o`, or choose another learner"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        bail!("could not write `{}`: no folder `{}`", path.display(), folder.display());
    }
    let shown = path.display();
    let there = file::existing(path).with_context(|| format!("could not write `{shown}`"))?;
    let Some(blob) = there else { return Ok(Old::Nothing) };
    let what = match Model::parse(&blob) {
        Ok(model) => {
            let [device, method] = [model.device(), model.method()].map(str::to_owned);
            return Ok(Old::Model { score: model.score(), device, method });
        }
        Err(_) if force => return Ok(Old::Other),
        Err(ModelError::Version { found: (major, minor), .. }) => {
            format!("is a model of format {major}.{minor}, whose score this build cannot read")
        }
        Err(_) => "exists and is not a model".to_owned(),
    };
    Err(hinted(anyhow!("`{shown}` {what}; nothing was written"), "`--force` replaces it"))
}

/// Refuse a tree that picks worse, on held-out shapes, than the one best configuration would.
fn worth_writing(
    scores: &[SplitScore],
    method: &Method<'_>,
    force: bool,
    out: &Output,
) -> anyhow::Result<()> {
    let [share, one_best] =
        [score::mean(scores, |one| one.share), score::mean(scores, |one| one.one_best)];
    let (Some(share), Some(one_best)) = (share, one_best) else { return Ok(()) };
    if share >= one_best || method.learner.name() == SINGLE_BEST {
        return Ok(());
    }
    let loses = format!(
        "on held-out shapes the tree picks worse than the one best configuration: {} against {}",
        report::percent(Some(share)),
        report::percent(Some(one_best))
    );
    if force {
        out.warn(loses);
        return Ok(());
    }
    let refused = anyhow!("{loses}; nothing was written");
    Err(hinted(
        refused,
        format_args!(
            "measure more shapes; `--learner {SINGLE_BEST}` ships that one, `--force` the tree"
        ),
    ))
}

/// Replace what stands at `path`, never silently, and never by something worse without `force`.
fn write(path: &Path, blob: &[u8], old: &Old, force: bool, out: &Output) -> anyhow::Result<()> {
    let model = Model::parse(blob).map_err(|error| Unexpected(error.to_string()))?;
    let shown = path.display();
    let refusal = match old {
        Old::Nothing | Old::Other => None,
        Old::Model { score, device, method } => {
            out.note(format_args!(
                "`{shown}`: share of optimal {} -> {}; the old one by `{method}`, perhaps on other \
                 data and splits",
                report::percent(score.map(Score::share)),
                report::percent(model.score().map(Score::share))
            ));
            if device != model.device() {
                Some(format!("`{shown}` is a model for `{device}`, not for `{}`", model.device()))
            } else if *score > model.score() {
                Some(format!("the model in `{shown}` has the better score"))
            } else {
                None
            }
        }
    };
    if let Some(refusal) = refusal.filter(|_| !force) {
        let refused = anyhow!("{refusal}; nothing was written");
        return Err(hinted(refused, "`--force` replaces it"));
    }
    file::write_atomically(path, blob).with_context(|| format!("could not write `{shown}`"))?;
    out.note(format_args!("wrote {} bytes to `{shown}`", blob.len()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(share: f64, one_best: f64) -> SplitScore {
        SplitScore {
            split: "seed0".to_owned(),
            tasks: 49,
            share,
            ceiling: 1.0,
            one_best,
            fifth_percentile: 0.5,
            worst: 0.4,
            dtpr: share,
            dttr: 1.0,
            leaves: 1,
            unmeasured: 0,
        }
    }

    #[test]
    fn a_tree_that_loses_to_one_kernel_is_not_written_unasked() {
        let method = |learner: &str| Method {
            pruner: prune::ALL[0],
            learner: learn::by_name(learner).unwrap(),
            kernels: 8,
            normalisation: Normalisation::default(),
            seed: 0,
        };
        let out = Output::plain();
        let refused = |scores: &[SplitScore], learner: &str, force| {
            worth_writing(scores, &method(learner), force, &out)
                .err()
                .map(|error| error.to_string())
        };
        let loses = [scored(0.9, 0.95), scored(0.91, 0.9)];
        let said = refused(&loses, "distilled", false).unwrap();
        assert!(said.contains("90.50 % against 92.50 %") && said.contains("nothing"), "{said}");
        assert_eq!(refused(&loses, "distilled", true), None);
        assert_eq!(refused(&loses, "single-best", false), None);
        assert_eq!(refused(&[scored(0.9, 0.9)], "distilled", false), None);
        assert_eq!(refused(&[], "distilled", false), None);
    }
}
