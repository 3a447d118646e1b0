//! How well classifiers pick among the kernels of a list (first paper, section 6).

mod job;

use std::sync::Arc;

use rayon::prelude::*;

use self::job::{Found, Job, SEEDS};
use super::{
    COUNTS, Cell, Context, Drawing, Part, STANDING_KERNELS, Standing, Step, StudyError, Table,
    Unit, method, splits,
};
use crate::classify::{self, FeatureSet};
use crate::learn;
use crate::normalise::Normalisation;
use crate::performance::first_largest;
use crate::prune::{self, Pruner, Request};
use crate::score;

/// Shares of optimal with the kernel that each classifier predicts.
pub(super) struct Classifiers;

/// The first paper's way to choose the kernels that classifiers pick among.
const PEER: &str = "pca-k-means";
/// The plain cover, whose lists other programs find too.
const PLAIN: &str = "greedy";

impl Part for Classifiers {
    fn name(&self) -> &'static str {
        "classifiers"
    }

    fn about(&self) -> &'static str {
        "how well ten classifiers pick among the kernels of a list"
    }

    fn steps(&self, context: &Context<'_>) -> Vec<Step> {
        let counts: Vec<usize> = COUNTS.collect();
        let jobs = |pruner| jobs(context, pruner, &counts, context.seed);
        let classified = pruners().into_iter().flat_map(jobs).map(|job| job.step(context));
        let ours = COUNTS.flat_map(|count| context.score_steps(&method::method(context, count)));
        classified.chain(ours).collect()
    }

    fn measure(&self, context: &Context<'_>) -> Result<Vec<Table>, StudyError> {
        let mut all = Vec::new();
        for pruner in pruners() {
            all.push((pruner, rows(context, pruner, &COUNTS.collect::<Vec<_>>(), context.seed)?));
        }
        let ours = against(context, &all)?;
        let lists = all.iter().map(|(pruner, rows)| on_list(context, *pruner, rows));
        let tables = lists.chain([ours]);
        Ok(tables.map(|table| splits::note(table, context)).collect())
    }

    fn standing_steps(&self, context: &Context<'_>) -> Vec<Step> {
        let of_seed = |pruner| {
            let jobs = move |seed| jobs(context, pruner, &[STANDING_KERNELS], seed);
            context.seeds(true).flat_map(jobs)
        };
        let jobs = pruners().into_iter().flat_map(of_seed);
        jobs.map(|job| job.step(context)).collect()
    }

    fn standings(&self, context: &Context<'_>) -> Result<Vec<Standing>, StudyError> {
        let mut standings = Vec::new();
        for pruner in pruners() {
            let of_seed = |seed| rows(context, pruner, &[STANDING_KERNELS], seed);
            let seeds: Vec<u64> = context.seeds(true).collect();
            let rows: Vec<Vec<Row>> =
                seeds.into_iter().map(of_seed).collect::<Result<_, StudyError>>()?;
            for (index, row) in rows[0].iter().enumerate() {
                let Some(classifier) = row.classifier else { continue };
                let draws = pruner.draws() || classify::ALL[classifier].draws();
                let seeds = rows.iter().take(context.seeds(draws).count());
                let method = format!("{} + {}, {}", pruner.name(), row.name, row.features.name());
                let shares = seeds.map(|rows| rows[index].shares.clone()).collect();
                standings.push(Standing { method, shares });
            }
        }
        Ok(standings)
    }
}

/// The first paper's, our default, and the plain cover; none twice.
fn pruners() -> Vec<&'static dyn Pruner> {
    let ours = prune::ALL[0].name();
    let mut names = vec![PEER, ours, PLAIN];
    names.dedup();
    names.into_iter().filter_map(prune::by_name).collect()
}

/// The id of the table on a pruner's list.
fn id(pruner: &dyn Pruner) -> &'static str {
    match pruner.name() {
        PEER => "classifiers-peer-list",
        name if name == prune::ALL[0].name() => "classifiers-our-list",
        _ => "classifiers-plain-list",
    }
}

/// A method with a list of at most `kernels`, on every split.
struct Row {
    features: FeatureSet,
    kernels: usize,
    name: &'static str,
    /// `None` for what no classifier changes.
    classifier: Option<usize>,
    shares: Vec<f64>,
}

impl Row {
    fn mean(&self) -> f64 {
        splits::mean(&self.shares)
    }
}

/// By features, count and split.
fn jobs(
    context: &Context<'_>,
    pruner: &'static dyn Pruner,
    counts: &[usize],
    seed: u64,
) -> Vec<Job> {
    let mut jobs = Vec::new();
    for features in FeatureSet::ALL {
        for kernels in counts.iter().copied() {
            let job = |place| Job { pruner, features, kernels, place, seed };
            jobs.extend((0..context.sides.len()).map(job));
        }
    }
    jobs
}

/// By features, count and method: the ceiling, the one best, then the classifiers.
fn rows(
    context: &Context<'_>,
    pruner: &'static dyn Pruner,
    counts: &[usize],
    seed: u64,
) -> Result<Vec<Row>, StudyError> {
    let places = 0..context.sides.len();
    // First, so that no two threads choose the same lists.
    places.clone().into_par_iter().for_each(|place| {
        for count in counts {
            let normalisation = Normalisation::Scaled;
            context.list(place, pruner, &Request { count: *count, normalisation, seed });
        }
    });
    let jobs = jobs(context, pruner, counts, seed);
    let found: Vec<Arc<Found>> =
        jobs.par_iter().map(|job| job.found(context)).collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    for (jobs, found) in jobs.chunks(places.len().max(1)).zip(found.chunks(places.len().max(1))) {
        let row = |name, classifier, share: &dyn Fn(&Found) -> f64| Row {
            features: jobs[0].features,
            kernels: jobs[0].kernels,
            name,
            classifier,
            shares: found.iter().map(|one| share(one)).collect(),
        };
        rows.push(row("ceiling", None, &|found| found.ceiling));
        rows.push(row("one best", None, &|found| found.one_best));
        for (index, classifier) in classify::ALL.iter().enumerate() {
            rows.push(row(classifier.name(), Some(index), &|found| found.shares[index]));
        }
    }
    Ok(rows)
}

/// The first paper's tables, at every count and on every split.
fn on_list(context: &Context<'_>, pruner: &dyn Pruner, rows: &[Row]) -> Table {
    let title = format!(
        "Share of optimal with the kernel that a classifier predicts, on the list of {}",
        pruner.name()
    );
    let table = Table::new(id(pruner), title, "first paper, tables 1 and 2")
        .column("features", Unit::Text)
        .column("kernels", Unit::Count)
        .column("classifier", Unit::Text);
    let cells = |row: &Row| {
        let names = vec![row.features.name().into(), row.kernels.into(), row.name.into()];
        names.into_iter().chain(splits::cells(&row.shares)).collect()
    };
    splits::columns(table, "share", context)
        .drawn(Drawing::HeatMap { panel: Some(0), row: 2, column: 1, value: 3 })
        .with_rows(rows.iter().map(cells).collect())
        .note("raw features are m, k, n and batch; aug has products and ratios of them too")
        .note(format!("trees are means of {SEEDS} seeds, which break ties between questions"))
}

/// Our default method against the best of all classifiers on the first paper's list.
fn against(
    context: &Context<'_>,
    all: &[(&'static dyn Pruner, Vec<Row>)],
) -> Result<Table, StudyError> {
    let names = format!("{} + {}", prune::ALL[0].name(), learn::ALL[0].name());
    let table = Table::new(
        "ours-against-classifiers",
        format!("The default method, {names}, against the best of ten classifiers"),
        "",
    )
    .column("kernels", Unit::Count)
    .column("ours", Unit::Percent)
    .column("best classifier's", Unit::Percent)
    .column("difference", Unit::Points)
    .column("best classifier", Unit::Text)
    .column("features", Unit::Text);
    let mut cells = Vec::new();
    for kernels in COUNTS.filter(|_| !context.sides.is_empty()) {
        let ours =
            score::mean(&context.scores(&method::method(context, kernels))?, |one| one.share);
        let peers = all.iter().filter(|(pruner, _)| pruner.name() == PEER);
        let of_count = |row: &&Row| row.kernels == kernels && row.classifier.is_some();
        let peers: Vec<&Row> = peers.flat_map(|(_, rows)| rows).filter(of_count).collect();
        let best = first_largest(&peers.iter().map(|row| row.mean()).collect::<Vec<_>>());
        if let (Some(ours), Some(best)) = (ours, peers.get(best)) {
            let theirs = best.mean();
            cells.push(vec![
                kernels.into(),
                Cell::Share(ours),
                Cell::Share(theirs),
                Cell::Share(ours - theirs),
                best.name.into(),
                best.features.name().into(),
            ]);
        }
    }
    let note =
        format!("classifiers on the list of {PEER}, both feature sets; means over the splits");
    Ok(table.with_rows(cells).note(note))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::dataset::{Dataset, Rows};
    use crate::split;
    use crate::study::STANDING_SEEDS;

    /// Shapes in three groups, each with a kernel of its own that is twice as fast.
    fn grouped(shapes: usize) -> Dataset {
        let row = |at: usize| {
            let m = 10 * (at + 1);
            let time = |kernel: usize| if kernel == 3 * at / shapes { 1000 } else { 2000 };
            let lines =
                (0..4).map(|kernel| format!("{m},64,64,1,kernel-{kernel},{}", time(kernel)));
            lines.collect::<Vec<_>>().join("\n")
        };
        let rows: Vec<String> = (0..shapes).map(row).collect();
        let text = format!("m,k,n,batch,configuration,time_ns\n{}\n", rows.join("\n"));
        let rows = Rows::read(Path::new("grouped.csv"), text.as_bytes()).unwrap();
        let (counts, measurements) = (rows.counts, rows.measurements);
        Dataset::from_measurements(Path::new("grouped.csv"), rows.header, counts, measurements)
            .unwrap()
    }

    /// With 8 kernels and raw features.
    fn share(table: &Table, classifier: &str) -> f64 {
        let names = ["raw".into(), 8.into(), classifier.into()];
        let row = table.rows.iter().find(|row| row[..3] == names).unwrap();
        row[3].value().unwrap()
    }

    #[test]
    fn trees_find_groups_that_one_threshold_parts() {
        let dataset = grouped(60);
        let splits = split::seeded(&dataset.shapes(), 0);
        let context = Context::new(&dataset, &splits, 0);
        let tables = Classifiers.measure(&context).unwrap();
        let ids: Vec<&str> = tables.iter().map(|table| table.id).collect();
        let (last, lists) = tables.split_last().unwrap();
        let expected = ["classifiers-peer-list", "classifiers-our-list"];
        assert_eq!(ids[..2], expected);
        assert_eq!(last.id, "ours-against-classifiers");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), pruners().len() + 1);
        assert!(lists.iter().any(|table| table.title.ends_with("the list of greedy")));
        for table in lists {
            assert_eq!(share(table, "ceiling"), 100.0);
            assert!(share(table, "tree-a") > 97.0);
            assert!(share(table, "one best") < 70.0);
            assert_eq!(table.rows.len(), 2 * COUNTS.count() * (2 + classify::ALL.len()));
        }
        assert_eq!(last.rows.len(), COUNTS.count());
        let standings = Classifiers.standings(&context).unwrap();
        assert_eq!(standings.len(), pruners().len() * 2 * classify::ALL.len());
        let tree = standings.iter().find(|one| one.method == "pca-k-means + tree-a, raw").unwrap();
        let shown = share(&tables[0], "tree-a");
        assert_eq!(tree.shares.len(), STANDING_SEEDS as usize);
        assert!((100.0 * splits::mean(&tree.shares[0]) - shown).abs() < 1e-6);
        let seeds = |name: &str| {
            let standing = standings.iter().find(|one| one.method == name).unwrap();
            standing.shares.len()
        };
        assert_eq!(seeds("greedy + linear-svm, aug"), 1);
        assert_eq!(seeds("greedy + random-forest, aug"), STANDING_SEEDS as usize);
        assert_eq!(seeds("pca-k-means + 1-nn, raw"), STANDING_SEEDS as usize);
    }

    #[test]
    fn the_number_of_threads_reaches_no_number() {
        let dataset = grouped(20);
        let splits = split::seeded(&dataset.shapes(), 3);
        let tables = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let context = Context::new(&dataset, &splits[..2], 3);
                serde_json::to_string(&rows_of(&context)).unwrap()
            })
        };
        assert_eq!(tables(1), tables(3));
    }

    fn rows_of(context: &Context<'_>) -> Vec<Table> {
        let pruners = pruners().into_iter();
        pruners
            .map(|pruner| {
                on_list(context, pruner, &rows(context, pruner, &[4, 5], context.seed).unwrap())
            })
            .collect()
    }

    #[test]
    fn one_shape_is_not_split_and_the_tables_say_so() {
        let dataset = grouped(1);
        let context = Context::new(&dataset, &[], 0);
        for table in Classifiers.measure(&context).unwrap() {
            assert!(table.rows.is_empty(), "{}", table.id);
            assert!(table.notes.iter().any(|note| note.contains("only one shape")));
        }
    }
}
