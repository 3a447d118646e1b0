//! How deep a tree and how large its leaves (second paper, section 5).

use ndarray::Axis;
use rayon::prelude::*;

use super::{
    Cell, Context, Drawing, Part, STANDING_KERNELS, Sides, Step, StudyError, Table, Unit, splits,
    tree_families,
};
use crate::classify::tree::{self, Growth, Tree};
use crate::classify::{Examples, FeatureSet, Fitted};
use crate::normalise::Normalisation;
use crate::performance::first_largest;
use crate::prune;
use crate::random;
use crate::score;

/// Trees of every depth and leaf size.
pub(super) struct Trees;

/// Largest depths, H; the last is none.
const DEPTHS: [(&str, usize); 5] = [("1", 1), ("2", 2), ("4", 4), ("8", 8), ("max", usize::MAX)];
/// Fewest shapes of a leaf, L.
const LEAVES: [(&str, Leaf); 8] = [
    ("1", Leaf::Count(1)),
    ("2", Leaf::Count(2)),
    ("4", Leaf::Count(4)),
    ("0.1", Leaf::Part(0.1)),
    ("0.2", Leaf::Part(0.2)),
    ("0.3", Leaf::Part(0.3)),
    ("0.4", Leaf::Part(0.4)),
    ("0.5", Leaf::Part(0.5)),
];
/// Shapes are told by m, k, n and batch.
const FEATURES: FeatureSet = FeatureSet::Raw;

#[derive(Clone, Copy)]
enum Leaf {
    /// So many shapes.
    Count(usize),
    /// Of the shapes trained on, rounded up.
    Part(f64),
}

impl Leaf {
    fn fewest(self, shapes: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Part(part) => ((part * shapes as f64).ceil() as usize).max(1),
        }
    }
}

/// Which configurations are labels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Labels {
    /// The winner among all.
    All,
    /// The winner of our default list.
    List,
}

impl Labels {
    pub(super) const ALL: [Self; 2] = [Self::All, Self::List];

    pub(super) fn name(self) -> String {
        match self {
            Self::All => "all configurations".to_owned(),
            Self::List => format!("{} kernels of {}", STANDING_KERNELS, prune::ALL[0].name()),
        }
    }

    /// Columns of the data set that may be labels.
    fn columns(self, context: &Context<'_>, place: usize) -> Vec<usize> {
        match self {
            Self::All => (0..context.dataset.configurations().len()).collect(),
            Self::List => {
                let (pruner, scaled) = (prune::ALL[0], Normalisation::Scaled);
                let request = context.request(STANDING_KERNELS, scaled);
                context.list(place, pruner, &request).kernels.clone()
            }
        }
    }
}

impl Part for Trees {
    fn name(&self) -> &'static str {
        "trees"
    }

    fn about(&self) -> &'static str {
        "how deep a tree and how large its leaves, by accuracy, DTPR and DTTR"
    }

    fn steps(&self, context: &Context<'_>) -> Vec<Step> {
        let of_labels = |labels| (0..context.sides.len()).map(move |place| step(labels, place));
        Labels::ALL.into_iter().flat_map(of_labels).collect()
    }

    fn measure(&self, context: &Context<'_>) -> Result<Vec<Table>, StudyError> {
        let sets: Vec<(Labels, Vec<OnSplit>)> = Labels::ALL
            .into_iter()
            .map(|labels| Ok((labels, on_splits(context, labels)?)))
            .collect::<Result<_, StudyError>>()?;
        let tables = vec![models(&sets), tree_families::table(context, &sets)];
        Ok(tables.into_iter().map(|table| splits::note(table, context)).collect())
    }
}

/// The trees of one split.
pub(super) struct OnSplit {
    /// The label of each shape trained on, a column of the data set.
    pub(super) learnt: Vec<usize>,
    /// By depth, then leaf size.
    pub(super) models: Vec<Model>,
}

/// What a tree is like, and how it does on the held-out tasks.
pub(super) struct Model {
    accuracy: f64,
    pub(super) dtpr: f64,
    dttr: f64,
    leaves: usize,
    depth: usize,
    /// Different labels among the leaves.
    distinct: usize,
    /// The column picked for each held-out task.
    pub(super) picked: Vec<usize>,
}

fn step(labels: Labels, place: usize) -> Step {
    Step::new(format!("trees {labels:?} {place}"), 50)
}

fn on_splits(context: &Context<'_>, labels: Labels) -> Result<Vec<OnSplit>, StudyError> {
    let one = |place: usize| {
        let on_split = OnSplit::of(context, labels, place);
        context.done(&step(labels, place));
        on_split
    };
    (0..context.sides.len()).into_par_iter().map(one).collect()
}

impl OnSplit {
    fn of(context: &Context<'_>, labels: Labels, place: usize) -> Result<Self, StudyError> {
        let sides = &context.sides[place];
        let columns = labels.columns(context, place);
        let best = |relative: &ndarray::Array2<f64>| -> Vec<usize> {
            let among = relative.select(Axis(1), &columns);
            among.rows().into_iter().map(|row| columns[first_largest(row)]).collect()
        };
        let (learnt, right) = (best(&sides.train.relative), best(&sides.test.relative));
        // Classes are the labels that are there, in the order of columns.
        let mut classes = learnt.clone();
        classes.sort_unstable();
        classes.dedup();
        let class = |label: &usize| classes.partition_point(|one| one < label);
        let table = FEATURES.table(&sides.train.shapes);
        let examples = Examples::new(&table, learnt.iter().map(class).collect(), classes.len())
            .map_err(|error| StudyError::Method {
                method: "a decision tree".to_owned(),
                problem: error.to_string(),
            })?;
        let tuned = score::tuned_column(context.dataset, &sides.train);
        let seed = random::stream(context.seed, "trees");
        let model = |growth| {
            let tree = Tree::grow(&examples, growth, seed);
            Model::of(&tree, &classes, sides, &right, tuned)
        };
        Ok(Self { models: growths(learnt.len()).into_iter().map(model).collect(), learnt })
    }
}

/// By depth, then leaf size.
fn growths(shapes: usize) -> Vec<Growth> {
    let of_depth = |(_, deepest)| {
        LEAVES.map(|(_, leaf)| Growth { deepest, in_leaf: leaf.fewest(shapes), ..tree::UNLIMITED })
    };
    DEPTHS.into_iter().flat_map(of_depth).collect()
}

impl Model {
    fn of(tree: &Tree, classes: &[usize], sides: &Sides, right: &[usize], tuned: usize) -> Self {
        let shapes = &sides.test.shapes;
        let picked: Vec<usize> =
            shapes.iter().map(|shape| classes[tree.predict(&FEATURES.of(*shape))]).collect();
        let count = picked.len().max(1) as f64;
        let hits = picked.iter().zip(right).filter(|(one, other)| one == other).count();
        let share = |row: usize, column| sides.test.best_share(row, &[column]);
        let shares = || picked.iter().copied().enumerate();
        let ratio = |(row, column)| share(row, column) / share(row, tuned);
        let leaves = tree.leaves();
        let mut distinct = leaves.clone();
        distinct.sort_unstable();
        distinct.dedup();
        Self {
            accuracy: hits as f64 / count,
            dtpr: shares().map(|(row, column)| share(row, column)).sum::<f64>() / count,
            dttr: shares().map(ratio).sum::<f64>() / count,
            leaves: leaves.len(),
            depth: tree.depth(),
            distinct: distinct.len(),
            picked,
        }
    }
}

/// A number of a model, mean over the splits.
fn mean(splits: &[OnSplit], model: usize, of: impl Fn(&Model) -> f64) -> f64 {
    splits::mean(&splits.iter().map(|split| of(&split.models[model])).collect::<Vec<_>>())
}

pub(super) type Metric = fn(&Model) -> f64;

/// What makes one model better than another.
const METRICS: [(&str, Metric); 3] =
    [("accuracy", |one| one.accuracy), ("DTPR", |one| one.dtpr), ("DTTR", |one| one.dttr)];

/// The first of the models with the largest mean.
pub(super) fn best(splits: &[OnSplit], metric: Metric) -> usize {
    let models = 0..DEPTHS.len() * LEAVES.len();
    first_largest(&models.map(|model| mean(splits, model, metric)).collect::<Vec<_>>())
}

/// The second paper's tables 5 and 6.
fn models(sets: &[(Labels, Vec<OnSplit>)]) -> Table {
    let mut cells = Vec::new();
    for (labels, splits) in sets.iter().filter(|(_, splits)| !splits.is_empty()) {
        let bests = METRICS.map(|(name, metric)| (name, best(splits, metric)));
        let names = DEPTHS.iter().flat_map(|(depth, _)| LEAVES.map(|(leaf, _)| (*depth, leaf)));
        for (model, (depth, leaf)) in names.enumerate() {
            let leads: Vec<&str> =
                bests.iter().filter(|(_, best)| *best == model).map(|(name, _)| *name).collect();
            let mean = |of: Metric| mean(splits, model, of);
            cells.push(vec![
                labels.name().into(),
                format!("h{depth}-L{leaf}").into(),
                depth.into(),
                leaf.into(),
                Cell::Share(mean(|one| one.accuracy)),
                Cell::Number(mean(|one| one.dtpr)),
                Cell::Number(mean(|one| one.dttr)),
                Cell::Number(mean(|one| one.leaves as f64)),
                Cell::Number(mean(|one| one.depth as f64)),
                Cell::Number(mean(|one| one.distinct as f64)),
                leads.join(", ").into(),
            ]);
        }
    }
    Table::new(
        "trees",
        "Decision trees by largest depth H and fewest shapes a leaf L, mean over the splits",
        "second paper, figures 3 to 5 and tables 5 and 6",
    )
    .column("labels", Unit::Text)
    .column("model", Unit::Text)
    .column("H", Unit::Text)
    .column("L", Unit::Text)
    .column("accuracy", Unit::Percent)
    .column("DTPR", Unit::Number)
    .column("DTTR", Unit::Number)
    .column("leaves", Unit::Number)
    .column("depth", Unit::Number)
    .column("distinct configurations", Unit::Number)
    .column("best by", Unit::Text)
    .drawn(Drawing::HeatMap { panel: Some(0), row: 2, column: 3, value: 5 })
    .with_rows(cells)
    .note("an L below 1 is a part of the shapes trained on")
    .note("DTTR compares with the configuration that is best where libraries are tuned")
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use super::*;
    use crate::dataset::{Dataset, Rows};
    use crate::split;

    /// Two families, of which one wins below m = 300 and the other above, twice as fast.
    pub(in crate::study) fn two_families() -> Dataset {
        let row = |at: usize| {
            let m = 10 * (at + 1);
            let direct = if at < 30 { 1000 } else { 2000 };
            let names = [("xgemm_direct:1", direct), ("xgemm:1", 3000 - direct)];
            let lines = names.map(|(name, time)| format!("{m},256,256,1,{name},{time}"));
            lines.join("\n")
        };
        let rows: Vec<String> = (0..60).map(row).collect();
        let text = format!("m,k,n,batch,configuration,time_ns\n{}\n", rows.join("\n"));
        let rows = Rows::read(Path::new("two.csv"), text.as_bytes()).unwrap();
        let (counts, measurements) = (rows.counts, rows.measurements);
        Dataset::from_measurements(Path::new("two.csv"), rows.header, counts, measurements).unwrap()
    }

    pub(in crate::study) fn row<'a>(table: &'a Table, labels: Labels, name: &str) -> &'a [Cell] {
        let names = [Cell::from(labels.name()), Cell::from(name)];
        table.rows.iter().find(|row| row[..2] == names).unwrap()
    }

    #[test]
    fn one_question_is_enough_for_two_kernels_and_half_a_leaf_is_the_limit() {
        let dataset = two_families();
        let splits = split::seeded(&dataset.shapes(), 0);
        let tables = Trees.measure(&Context::new(&dataset, &splits, 0)).unwrap();
        for labels in Labels::ALL {
            let small = row(&tables[0], labels, "h1-L1");
            assert!(small[4].value().unwrap() > 90.0 && small[5].value().unwrap() > 0.95);
            // Against the configuration that wins near 256³ half the shapes are twice as fast.
            assert!(small[6].value().unwrap() > 1.2);
            assert_eq!(small[7..10], [Cell::Number(2.0), Cell::Number(1.0), Cell::Number(2.0)]);
            let marked =
                |row: &&Vec<Cell>| matches!(&row[10], Cell::Text(by) if by.contains("DTPR"));
            let of_set = || tables[0].rows.iter().filter(|row| row[0] == labels.name().into());
            let best: Vec<_> = of_set().filter(marked).map(|row| row[5].value().unwrap()).collect();
            let most = of_set().map(|row| row[5].value().unwrap()).fold(0.0, f64::max);
            assert_eq!(best, [most]);
            let deep = row(&tables[0], labels, "hmax-L0.5");
            assert!(deep[7].value().unwrap() <= 2.0);
        }
        assert_eq!(tables[0].rows.len(), 2 * DEPTHS.len() * LEAVES.len());
    }

    #[test]
    fn a_part_of_the_shapes_is_rounded_up() {
        let fewest = |leaf: Leaf| leaf.fewest(196);
        assert_eq!([Leaf::Count(4), Leaf::Part(0.1), Leaf::Part(0.5)].map(fewest), [4, 20, 98]);
        assert_eq!(Leaf::Part(0.1).fewest(1), 1);
    }

    #[test]
    fn one_shape_is_not_split_and_the_tables_say_so() {
        let dataset = two_families();
        for table in Trees.measure(&Context::new(&dataset, &[], 0)).unwrap() {
            assert!(table.rows.is_empty(), "{}", table.id);
            assert!(table.notes.iter().any(|note| note.contains("only one shape")));
        }
    }
}
