//! What was measured: shapes, configurations, and which of them win how often.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use kernels::Configuration;

use super::{Cell, Context, Drawing, Part, Step, StudyError, Table, Unit};
use crate::import::Name;
use crate::normalise::Normalisation;
use crate::performance::first_largest;

/// Counts of the data set.
pub(super) struct Data;

impl Part for Data {
    fn name(&self) -> &'static str {
        "data"
    }

    fn about(&self) -> &'static str {
        "what was measured, and which configurations win how often"
    }

    fn steps(&self, _: &Context<'_>) -> Vec<Step> {
        Vec::new()
    }

    fn measure(&self, context: &Context<'_>) -> Result<Vec<Table>, StudyError> {
        let wins = wins(context);
        Ok(vec![
            counts(context, &wins),
            rates(context),
            winners(context, &wins),
            families(context, &wins),
            weights(context),
        ])
    }
}

/// Tasks that each configuration wins; of equal ones the first in natural order wins.
fn wins(context: &Context<'_>) -> Vec<usize> {
    let mut wins = vec![0; context.dataset.configurations().len()];
    for relative in context.all.relative.rows() {
        wins[first_largest(relative)] += 1;
    }
    wins
}

fn counts(context: &Context<'_>, wins: &[usize]) -> Table {
    let dataset = context.dataset;
    let measured = context.all.relative.iter().filter(|share| **share > 0.0).count();
    let mut rows = vec![
        ("shapes".to_owned(), dataset.shapes().len()),
        ("classes".to_owned(), dataset.classes().len()),
        ("tasks: shapes of a class".to_owned(), dataset.tasks().len()),
        ("configurations".to_owned(), wins.len()),
        ("tasks × configurations without a time".to_owned(), context.all.relative.len() - measured),
        ("configurations that win a task".to_owned(), wins.iter().filter(|one| **one > 0).count()),
        (
            "configurations that win one task".to_owned(),
            wins.iter().filter(|one| **one == 1).count(),
        ),
        (
            "tasks that the most frequent winner wins".to_owned(),
            wins.iter().copied().max().unwrap_or(0),
        ),
        ("rows read".to_owned(), dataset.rows.read),
        ("rows merged".to_owned(), dataset.rows.merged),
    ];
    let dropped = dataset.rows.dropped.iter();
    rows.extend(dropped.map(|(reason, count)| (format!("rows dropped: {reason}"), *count)));
    let wrong = "configurations left out, since they once computed a wrong result".to_owned();
    rows.push((wrong, dataset.suspects.len()));
    let row = |(what, count): (String, usize)| vec![Cell::from(what), Cell::from(count)];
    Table::new("measured", "What was measured", "")
        .column("what", Unit::Text)
        .column("count", Unit::Count)
        .with_rows(rows.into_iter().map(row).collect())
}

/// Operations a nanosecond, which is to say 10⁹ a second.
fn rate(context: &Context<'_>, task: usize, configuration: usize) -> f64 {
    let shape = context.dataset.tasks()[task].shape;
    let products = [shape.m, shape.k, shape.n, shape.batch].map(f64::from);
    2.0 * products.iter().product::<f64>() / context.dataset.time(task, configuration)
}

/// The task that runs fastest and those of the squarest and the narrowest result.
fn told_apart(context: &Context<'_>) -> Vec<usize> {
    let tasks = context.dataset.tasks();
    let narrow = |task: &usize| {
        let shape = tasks[*task].shape;
        let [m, n] = [shape.m, shape.n].map(|size| f64::from(size.max(1)).log2());
        (m - n).abs()
    };
    let all = || 0..tasks.len();
    let by = |one: f64, other: f64| one.total_cmp(&other);
    let mut chosen: Vec<usize> = [
        fastest(context),
        all().min_by(|one, other| by(narrow(one), narrow(other))),
        // Of equal ones the first.
        all().rev().max_by(|one, other| by(narrow(one), narrow(other))),
    ]
    .into_iter()
    .flatten()
    .collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// The task with the highest rate of all.
fn fastest(context: &Context<'_>) -> Option<usize> {
    let best = |task: usize| rate(context, task, first_largest(context.all.relative.row(task)));
    (0..context.dataset.tasks().len())
        .rev()
        .max_by(|one, other| best(*one).total_cmp(&best(*other)))
}

fn rates(context: &Context<'_>) -> Table {
    let dataset = context.dataset;
    let mut rows = Vec::new();
    for task in told_apart(context) {
        let name = format!("{} {}", dataset.tasks()[task].class, dataset.tasks()[task].shape);
        for (place, column) in by_rate(context, task).into_iter().enumerate() {
            let rate = match dataset.time(task, column) {
                time if time.is_finite() => Cell::Number(rate(context, task, column)),
                _ => Cell::None,
            };
            let configuration = &dataset.configurations()[column];
            let [task, configuration] = [&name, configuration].map(|text| Cell::from(text.clone()));
            rows.push(vec![task, Cell::from(place + 1), configuration, rate]);
        }
    }
    Table::new("rates", "Rates of all configurations on three tasks", "first paper, figure 1")
        .column("task", Unit::Text)
        .column("place", Unit::Count)
        .column("configuration", Unit::Text)
        .column("10⁹ operations a second", Unit::Number)
        .drawn(Drawing::Lines { panel: None, line: 0, x: 1, y: 3 })
        .with_rows(rows)
        .note("the task with the highest rate, the squarest and the narrowest result; the fastest configuration of each has place 1")
}

/// Columns, the fastest on `task` first; equal ones in the order of their names, those without a
/// time last.
fn by_rate(context: &Context<'_>, task: usize) -> Vec<usize> {
    let time = |column: &usize| context.dataset.time(task, *column);
    let mut columns: Vec<usize> = (0..context.dataset.configurations().len()).collect();
    columns.sort_by(|one, other| {
        let missing = |column| !time(column).is_finite();
        let finite = missing(one).cmp(&missing(other));
        finite.then_with(|| time(one).total_cmp(&time(other))).then(one.cmp(other))
    });
    columns
}

fn winners(context: &Context<'_>, wins: &[usize]) -> Table {
    let mut order: Vec<usize> = (0..wins.len()).filter(|one| wins[*one] > 0).collect();
    order.sort_by_key(|one| (Reverse(wins[*one]), *one));
    let row = |one: &usize| {
        vec![Cell::from(context.dataset.configurations()[*one].clone()), Cell::from(wins[*one])]
    };
    Table::new("winners", "How often each configuration is best", "first paper, figure 2")
        .column("configuration", Unit::Text)
        .column("tasks", Unit::Count)
        .drawn(Drawing::Columns { label: 0, value: 1 })
        .with_rows(order.iter().map(row).collect())
        .note("of equal configurations the first in the order of their names wins")
}

/// Configurations, winners and tasks won.
#[derive(Default)]
struct Family {
    configurations: usize,
    winners: usize,
    tasks: usize,
}

fn families(context: &Context<'_>, wins: &[usize]) -> Table {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for (name, wins) in context.dataset.configurations().iter().zip(wins) {
        let family = families.entry(family(name)).or_default();
        family.configurations += 1;
        family.winners += usize::from(*wins > 0);
        family.tasks += wins;
    }
    let tasks = context.dataset.tasks().len() as f64;
    let row = |(name, family): (String, Family)| {
        let counts = [family.configurations, family.winners, family.tasks].map(Cell::from);
        let share = Cell::Share(family.tasks as f64 / tasks);
        std::iter::once(Cell::from(name)).chain(counts).chain([share]).collect()
    };
    Table::new("families", "Winners by kernel family", "second paper, tables 3 and 4")
        .column("family", Unit::Text)
        .column("configurations", Unit::Count)
        .column("distinct winners", Unit::Count)
        .column("tasks won", Unit::Count)
        .column("part of tasks", Unit::Percent)
        .with_rows(families.into_iter().map(row).collect())
}

/// The family of a configuration: what stands before the colon, in our names and in others'.
fn family(name: &str) -> String {
    if name.parse::<Configuration>().is_ok() {
        return name.split(':').next().unwrap_or(name).to_owned();
    }
    match Name::parse(name) {
        Name::Foreign { kernel, .. } => kernel,
        Name::Whole(_) => "others".to_owned(),
    }
}

/// What is not drawn, since every weighing makes nothing of it.
const LEAST_DRAWN: f64 = 0.75;

fn weights(context: &Context<'_>) -> Table {
    let table = Table::new(
        "normalisations",
        "What each normalisation makes of performance",
        "first paper, figure 4",
    )
    .column("normalisation", Unit::Text)
    .column("place", Unit::Count)
    .column("weight", Unit::Number)
    .drawn(Drawing::Lines { panel: None, line: 0, x: 1, y: 2 });
    let Some(task) = fastest(context) else { return table };
    let mut shares: Vec<f64> = context.all.relative.row(task).to_vec();
    shares.retain(|share| *share > LEAST_DRAWN);
    shares.sort_by(|one, other| other.total_cmp(one));
    let line = |normalisation: Normalisation| {
        let weights = shares.iter().map(move |share| normalisation.weigh(*share));
        let name = Cell::from(normalisation.to_string());
        let row =
            move |(place, weight)| vec![name.clone(), Cell::from(place + 1), Cell::Number(weight)];
        weights.enumerate().map(row)
    };
    let rows = Normalisation::ALL.into_iter().flat_map(line).collect();
    table.with_rows(rows).note(format!(
        "configurations on {}, the task with the highest rate, that reach more than 75 % of the best",
        context.dataset.tasks()[task].shape
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::dataset::{Dataset, Rows};

    #[test]
    fn the_fastest_of_each_task_has_the_first_place_and_what_failed_the_last() {
        let mut text = "m,k,n,batch,configuration,time_ns,status\n".to_owned();
        for (name, time, status) in
            [("a", "", "launch_failed"), ("b", "30", "ok"), ("c", "20", "ok"), ("d", "20", "ok")]
        {
            text += &format!("64,64,64,1,{name},{time},{status}\n64,64,1,1,{name},1,ok\n");
        }
        let rows = Rows::read(Path::new("four.csv"), text.as_bytes()).unwrap();
        let (counts, measurements) = (rows.counts, rows.measurements);
        let dataset =
            Dataset::from_measurements(Path::new("four.csv"), rows.header, counts, measurements)
                .unwrap();
        let table = rates(&Context::new(&dataset, &[], 0));
        let square = dataset.tasks().iter().find(|task| task.shape.n == 64).unwrap();
        let name = format!("{} {}", square.class, square.shape);
        let rows = table.rows.iter().filter(|row| row[0].shown() == name);
        let order = rows.map(|row| (row[1].shown(), row[2].shown()));
        let expected = [("1", "c"), ("2", "d"), ("3", "b"), ("4", "a")];
        let expected = expected.map(|(place, name)| (place.to_owned(), name.to_owned()));
        assert_eq!(order.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_largest_rate_that_a_file_can_hold_is_a_number() {
        let text = "m,k,n,batch,configuration,time_ns\n\
                    4294967295,4294967295,4294967295,4294967295,a,1e-3\n";
        let rows = Rows::read(Path::new("fast.csv"), text.as_bytes()).unwrap();
        let (counts, measurements) = (rows.counts, rows.measurements);
        let dataset =
            Dataset::from_measurements(Path::new("fast.csv"), rows.header, counts, measurements)
                .unwrap();
        let table = rates(&Context::new(&dataset, &[], 0));
        assert!(matches!(table.rows[0][3], Cell::Number(rate) if rate.is_finite() && rate > 1e41));
    }
}
