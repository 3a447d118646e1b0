//! Every way to choose the kernel list, with every normalisation, at every length.

use rayon::prelude::*;

use super::{COUNTS, Cell, Context, Drawing, Part, Step, StudyError, Table, Unit, splits};
use crate::normalise::Normalisation;
use crate::prune::{self, Clustering, Pruner, Sweep};

/// What the lists can reach at best.
pub(super) struct Pruning;

/// A pruner's lists of one length.
struct Line {
    normalisation: Normalisation,
    pruner: &'static dyn Pruner,
    count: usize,
    /// Kernels in the lists, mean over the splits.
    kept: f64,
    /// Ceilings, one a split.
    shares: Vec<f64>,
}

impl Part for Pruning {
    fn name(&self) -> &'static str {
        "pruning"
    }

    fn about(&self) -> &'static str {
        "what the kernel list of every pruner reaches, if the best of it always ran"
    }

    fn steps(&self, context: &Context<'_>) -> Vec<Step> {
        let lists = jobs(context).into_iter().flat_map(|(place, pruner, normalisation)| {
            COUNTS.map(move |count| list_step(place, pruner, normalisation, count))
        });
        let sweeps = (0..context.sides.len())
            .flat_map(|place| Normalisation::ALL.map(|one| sweep_step(place, one)));
        lists.chain(sweeps).collect()
    }

    fn measure(&self, context: &Context<'_>) -> Result<Vec<Table>, StudyError> {
        jobs(context).par_iter().for_each(|(split, pruner, normalisation)| {
            for count in COUNTS {
                context.list(*split, *pruner, &context.request(count, *normalisation));
                context.done(&list_step(*split, *pruner, *normalisation, count));
            }
        });
        let lines = lines(context);
        Ok(vec![ceilings(context, &lines), against_all(context, &lines), sweep(context)])
    }
}

fn list_step(
    place: usize,
    pruner: &dyn Pruner,
    normalisation: Normalisation,
    count: usize,
) -> Step {
    let name = pruner.name();
    let cost = match name {
        "k-means" => 140,
        "top-n" | "greedy" => 2,
        _ => 30,
    };
    Step::new(format!("list {place} {name} {normalisation} {count}"), cost)
}

fn sweep_step(place: usize, normalisation: Normalisation) -> Step {
    Step::new(format!("sweep {place} {normalisation}"), 300)
}

/// What can be computed side by side: split, pruner, normalisation.
fn jobs(context: &Context<'_>) -> Vec<(usize, &'static dyn Pruner, Normalisation)> {
    let mut jobs = Vec::new();
    for pruner in prune::ALL {
        let different =
            if pruner.weighs() { &Normalisation::ALL[..] } else { &Normalisation::ALL[..1] };
        for normalisation in different {
            jobs.extend((0..context.sides.len()).map(|split| (split, *pruner, *normalisation)));
        }
    }
    jobs
}

fn lines(context: &Context<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    for normalisation in Normalisation::ALL {
        for pruner in prune::ALL.iter().copied() {
            for count in COUNTS {
                let request = context.request(count, normalisation);
                let lists: Vec<_> = (0..context.sides.len())
                    .map(|split| context.list(split, pruner, &request))
                    .collect();
                let kept: Vec<f64> = lists.iter().map(|list| list.kernels.len() as f64).collect();
                let ceilings = context.sides.iter().zip(&lists);
                let shares = ceilings.map(|(side, list)| side.ceiling(&list.kernels)).collect();
                let kept = splits::mean(&kept);
                lines.push(Line { normalisation, pruner, count, kept, shares });
            }
        }
    }
    lines.retain(|line| !line.shares.is_empty());
    lines
}

fn ceilings(context: &Context<'_>, lines: &[Line]) -> Table {
    let title = "Share of optimal of the best kernel of each list";
    let table = Table::new("pruning", title, "first paper, figures 5 and 6")
        .column("normalisation", Unit::Text)
        .column("pruner", Unit::Text)
        .column("kernels", Unit::Count)
        .column("kept", Unit::Number)
        .drawn(Drawing::Lines { panel: Some(0), line: 1, x: 2, y: 4 });
    let row = |line: &Line| {
        let names = [line.normalisation.to_string(), line.pruner.name().to_owned()];
        let counts = [Cell::from(line.count), Cell::Number(line.kept)];
        names.map(Cell::from).into_iter().chain(counts).chain(splits::cells(&line.shares)).collect()
    };
    let table = splits::columns(table, "share", context);
    let table = splits::note(table.with_rows(lines.iter().map(row).collect()), context);
    let fixed: Vec<_> =
        prune::ALL.iter().filter(|one| !one.weighs()).map(|one| one.name()).collect();
    let few = prune::ALL.iter().filter_map(|pruner| few(lines, *pruner));
    let notes = few.chain([format!("{} know no normalisation", fixed.join(" and "))]);
    notes.fold(table, Table::note)
}

/// What to say of a pruner's lists that are shorter than asked for.
fn few(lines: &[Line], pruner: &dyn Pruner) -> Option<String> {
    let of_pruner = || lines.iter().filter(|line| line.pruner.name() == pruner.name());
    let short = of_pruner().filter(|line| line.kept < line.count as f64).count();
    (short > 0).then(|| {
        let all = of_pruner().count();
        format!("{} finds fewer kernels than asked for in {short} of {all} rows", pruner.name())
    })
}

fn against_all(context: &Context<'_>, lines: &[Line]) -> Table {
    let title = "The default pruner beside the best of all others at each length";
    let table = Table::new("pruning-best", title, "")
        .column("kernels", Unit::Count)
        .column(prune::ALL[0].name(), Unit::Percent)
        .column("best other", Unit::Percent)
        .column("pruner", Unit::Text)
        .column("normalisation", Unit::Text)
        .column("difference", Unit::Points)
        .drawn(Drawing::Curves { x: 0, values: vec![1, 2] });
    let row = |count: usize| {
        let is_ours = |line: &&Line| line.pruner.name() == prune::ALL[0].name();
        let here = || lines.iter().filter(move |line| line.count == count);
        let ours = splits::mean(&here().find(is_ours)?.shares);
        // Of equal ones the first.
        let others = here().filter(|line| !is_ours(line)).rev();
        let others = others.map(|line| (splits::mean(&line.shares), line));
        let (best, line) = others.max_by(|one, other| one.0.total_cmp(&other.0))?;
        let name = [line.pruner.name().to_owned(), line.normalisation.to_string()];
        let shares = [ours, best].map(Cell::Share);
        let first = std::iter::once(Cell::from(count)).chain(shares);
        Some(first.chain(name.map(Cell::from)).chain([Cell::Share(ours - best)]).collect())
    };
    splits::note(table.with_rows(COUNTS.filter_map(row).collect()), context)
}

/// Sizes of the smallest cluster that are listed.
const SIZES: [usize; 9] = [2, 3, 4, 5, 6, 8, 10, 15, 20];
/// Neighbours that make a density.
const SAMPLES: [usize; 6] = [1, 2, 3, 5, 10, 20];

fn sweep(context: &Context<'_>) -> Table {
    let title = "What HDBSCAN finds by its parameters";
    let table = Table::new("hdbscan", title, "first paper, section 4")
        .column("normalisation", Unit::Text)
        .column("smallest cluster", Unit::Count)
        .column("neighbours", Unit::Count)
        .column("clusters", Unit::Number)
        .column("tasks in none", Unit::Percent)
        .drawn(Drawing::HeatMap { panel: Some(0), row: 1, column: 2, value: 3 });
    let parameters: Vec<(usize, usize)> =
        SIZES.into_iter().flat_map(|size| SAMPLES.map(|samples| (size, samples))).collect();
    let mut rows = Vec::new();
    for normalisation in Normalisation::ALL {
        let of_side = |(place, side): (usize, &super::Sides)| {
            let sweep = Sweep::of(&side.train, normalisation);
            context.done(&sweep_step(place, normalisation));
            parameters.iter().map(|(size, samples)| sweep.at(*size, *samples)).collect()
        };
        let found: Vec<Vec<_>> = context.sides.par_iter().enumerate().map(of_side).collect();
        for (place, (size, samples)) in parameters.iter().enumerate() {
            let here: Option<Vec<_>> = found.iter().map(|side| side[place].as_ref()).collect();
            // Where there are too few tasks there is no row.
            let Some(here) = here.filter(|here| !here.is_empty()) else { continue };
            let parameters = [*size, *samples].map(Cell::from);
            let first = std::iter::once(Cell::from(normalisation.to_string())).chain(parameters);
            rows.push(first.chain(clustered(context, &here)).collect());
        }
    }
    splits::note(splits::columns(table, "share", context).with_rows(rows), context)
}

/// Clusters, the part of the tasks in none, and shares; one clustering a split.
fn clustered(context: &Context<'_>, found: &[&Clustering]) -> Vec<Cell> {
    let sides = || context.sides.iter().zip(found);
    let clusters: Vec<f64> = found.iter().map(|one| one.clusters as f64).collect();
    let noise: Vec<f64> =
        sides().map(|(side, one)| one.noise as f64 / side.train_tasks.len() as f64).collect();
    let shares: Vec<f64> = sides().map(|(side, one)| side.ceiling(&one.kernels)).collect();
    let first = [Cell::Number(splits::mean(&clusters)), Cell::Share(splits::mean(&noise))];
    first.into_iter().chain(splits::cells(&shares)).collect()
}
