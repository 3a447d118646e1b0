//! `--without`: what is lost where a configuration cannot be used.

use std::fmt;

use anyhow::anyhow;
use trainer::damage::Damage;
use trainer::dataset::Dataset;

use super::report::percent;
use crate::failure::Hint as _;
use crate::output::Output;

/// The column of the configuration called `name`.
///
/// # Errors
/// There is none.
pub(super) fn column(dataset: &Dataset, name: &str) -> anyhow::Result<usize> {
    let column = dataset.configurations().iter().position(|one| one == name);
    column.ok_or_else(|| anyhow!("`{name}` is no configuration of the data set")).hint(format!(
        "its configurations are such as `{}`",
        dataset.configurations().first().map(String::as_str).unwrap_or_default()
    ))
}

/// The data set without `columns`.
///
/// # Errors
/// Nothing is left.
pub(super) fn rest(dataset: &Dataset, columns: &[usize]) -> anyhow::Result<Dataset> {
    let rest = dataset.without(columns);
    rest.ok_or_else(|| anyhow!("`--without` leaves no measured configuration"))
}

/// Tell of shapes that only the configurations left out were measured on.
pub(super) fn warn_of_lost(whole: &Dataset, rest: &Dataset, out: &Output) {
    let (all, left) = (whole.tasks().len(), rest.tasks().len());
    if left < all {
        out.warn(format_args!(
            "{} of {all} shapes, counted once for each class, have no other measured configuration: \
             the table and the model leave them out",
            all - left
        ));
    }
    for class in whole.classes().iter().filter(|class| !rest.classes().contains(class)) {
        out.warn(format_args!("class {class} has no measured configuration left"));
    }
}

/// The damage on each split, for people and as JSON.
#[derive(serde::Serialize)]
pub(super) struct Without {
    configurations: Vec<String>,
    shipped: Option<f64>,
    failing: Option<f64>,
    afresh: Option<f64>,
    per_split: Vec<Damage>,
}

impl Without {
    pub(super) fn of(configurations: &[String], per_split: Vec<Damage>) -> Self {
        let mean = |of: fn(&Damage) -> f64| {
            let sum: f64 = per_split.iter().map(of).sum();
            (!per_split.is_empty()).then(|| sum / per_split.len() as f64)
        };
        Self {
            configurations: configurations.to_vec(),
            shipped: mean(|one| one.shipped),
            failing: mean(|one| one.failing),
            afresh: mean(|one| one.afresh),
            per_split,
        }
    }
}

impl fmt::Display for Without {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> =
            self.configurations.iter().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        writeln!(f, "\nwithout {names}: share of optimal with every configuration")?;
        let longest = self.per_split.iter().map(|one| one.split.chars().count()).max();
        let width = longest.map_or(10, |longest| (longest + 1).max(10));
        let row = |f: &mut fmt::Formatter<'_>, name: &str, cells: [String; 3]| {
            write!(f, "{name:<width$}")?;
            cells.iter().try_for_each(|cell| write!(f, "{cell:>12}"))?;
            writeln!(f)
        };
        row(f, "split", HEADS.map(|(head, _)| head.to_owned()))?;
        for Damage { split, shipped, failing, afresh } in &self.per_split {
            row(f, split, [shipped, failing, afresh].map(|share| percent(Some(*share))))?;
        }
        row(f, "mean", [self.shipped, self.failing, self.afresh].map(percent))?;
        HEADS.iter().try_for_each(|(head, about)| writeln!(f, "{head:<width$}  {about}"))
    }
}

/// The columns, and what each says.
const HEADS: [(&str, &str); 3] = [
    ("as shipped", "list and tree chosen among all configurations, all of which work"),
    ("failing", "the same, where those named fail at run time and the leaf's next kernel runs"),
    ("afresh", "list and tree chosen without those named, which `-o` writes"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_explained_whatever_splits_are_called() {
        let split = |split: &str| Damage {
            split: split.to_owned(),
            shipped: 1.0,
            failing: 0.5,
            afresh: 0.75,
        };
        let names = ["a", "a_network_with_a_long_name"];
        let without = Without::of(&["x".to_owned()], names.map(split).to_vec());
        let text = without.to_string();
        let table: Vec<_> = text.lines().skip(2).take(4).map(str::len).collect();
        assert!(table.iter().all(|length| *length == table[0]), "{text}");
        for (head, about) in HEADS {
            let explained = |line: &str| line.starts_with(head) && line.ends_with(about);
            assert_eq!(text.lines().filter(|line| explained(line)).count(), 1, "{text}");
        }
    }
}
