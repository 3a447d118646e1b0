//! The orderings of methods on several data sets beside each other.

use super::orderings::{self, METHOD, SHARE};
use super::{Cell, Study, Table, Unit};

/// Tables over all data sets; none where fewer than two have an ordering.
pub(super) fn of(studies: &[Study]) -> Vec<Table> {
    let orderings: Vec<(&str, Vec<(&str, f64)>)> = studies.iter().filter_map(ordering).collect();
    if orderings.len() < 2 {
        return Vec::new();
    }
    // In the order of the first data set.
    let everywhere = |method: &&str| {
        orderings.iter().all(|(_, shares)| shares.iter().any(|(one, _)| one == method))
    };
    let methods: Vec<&str> =
        orderings[0].1.iter().map(|(method, _)| *method).filter(everywhere).collect();
    let columns: Vec<(&str, Vec<f64>)> = orderings
        .iter()
        .map(|(name, shares)| {
            let share =
                |method: &&str| shares.iter().find(|(one, _)| one == method).map(|one| one.1);
            (*name, methods.iter().filter_map(share).collect())
        })
        .collect();
    vec![beside(&methods, &columns), correlations(&columns)]
}

/// The data set's name; methods and their shares.
fn ordering(study: &Study) -> Option<(&str, Vec<(&str, f64)>)> {
    let table = study.tables.iter().find(|table| table.id == orderings::ID)?;
    let rows: Vec<_> = table.rows.iter().filter_map(|row| standing(row)).collect();
    (!rows.is_empty()).then_some((&study.dataset, rows))
}

fn standing(row: &[Cell]) -> Option<(&str, f64)> {
    match (row.get(METHOD)?, row.get(SHARE)?) {
        (Cell::Text(method), Cell::Share(share)) if share.is_finite() => Some((method, *share)),
        _ => None,
    }
}

fn beside(methods: &[&str], columns: &[(&str, Vec<f64>)]) -> Table {
    let title = "All methods on all data sets";
    let mut table = Table::new("orderings-compared", title, "").column("method", Unit::Text);
    for (name, _) in columns {
        table = table
            .column(format!("place on {name}"), Unit::Number)
            .column(format!("share on {name}"), Unit::Percent);
    }
    let places: Vec<Vec<f64>> = columns.iter().map(|(_, shares)| ranks(shares)).collect();
    let row = |(index, method): (usize, &&str)| {
        let both = columns.iter().zip(&places);
        let cells = both.flat_map(|((_, shares), places)| {
            [Cell::Number(places[index]), Cell::Share(shares[index])]
        });
        std::iter::once(Cell::from(*method)).chain(cells).collect()
    };
    table.with_rows(methods.iter().enumerate().map(row).collect())
}

fn correlations(columns: &[(&str, Vec<f64>)]) -> Table {
    let mut rows = Vec::new();
    for (index, (one, shares)) in columns.iter().enumerate() {
        for (other, others) in &columns[index + 1..] {
            let correlation = spearman(shares, others).map_or(Cell::None, Cell::Number);
            rows.push(vec![
                Cell::from(*one),
                Cell::from(*other),
                Cell::from(shares.len()),
                correlation,
            ]);
        }
    }
    Table::new("rank-correlation", "How alike the orderings are (Spearman)", "")
        .column("data set", Unit::Text)
        .column("other", Unit::Text)
        .column("methods", Unit::Count)
        .column("correlation", Unit::Number)
        .with_rows(rows)
        .note("1 for the same order, -1 for the reverse, about 0 for unrelated ones; equal shares have their mean place")
}

/// Places, the largest first, from 1; equal values share their mean place.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let above = values.iter().filter(|other| *other > value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        above as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// Spearman's rank correlation; `None` where all of one side are equal or fewer than two.
fn spearman(one: &[f64], other: &[f64]) -> Option<f64> {
    let [one, other] = [one, other].map(|values| {
        let ranks = ranks(values);
        let middle = (ranks.len() as f64 + 1.0) / 2.0;
        ranks.into_iter().map(|rank| rank - middle).collect::<Vec<f64>>()
    });
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scale = (product(&one, &one) * product(&other, &other)).sqrt();
    (scale > 0.0).then(|| product(&one, &other) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orderings_are_alike_by_their_ranks_alone() {
        let shares = [0.9, 0.8, 0.7, 0.1];
        assert_eq!(spearman(&shares, &[0.99, 0.5, 0.4, 0.3]), Some(1.0));
        assert_eq!(spearman(&shares, &[0.1, 0.2, 0.3, 0.4]), Some(-1.0));
        assert_eq!(spearman(&shares, &[0.5; 4]), None);
        assert_eq!(spearman(&[], &[]), None);
        // Ranks 1, 2, 3, 4 against 1.5, 1.5, 3, 4.
        let tied = spearman(&shares, &[0.6, 0.6, 0.3, 0.2]).unwrap();
        assert!((tied - 4.5 / (5.0_f64 * 4.5).sqrt()).abs() < 1e-12, "{tied}");
    }

    #[test]
    fn only_methods_that_all_data_sets_have_are_compared() {
        let study = |name: &str, methods: &[(&str, f64)]| Study {
            dataset: name.to_owned(),
            device: String::new(),
            driver: String::new(),
            seed: 0,
            splits: Vec::new(),
            tables: vec![
                Table::new(orderings::ID, "", "").with_rows(
                    methods
                        .iter()
                        .map(|(method, share)| {
                            vec![Cell::from(1), Cell::from(*method), Cell::Share(*share)]
                        })
                        .collect(),
                ),
            ],
        };
        let one = study("one", &[("a", 0.9), ("b", 0.8), ("c", 0.7)]);
        let two = study("two", &[("c", 0.9), ("a", 0.8)]);
        let [beside, correlation] = &of(&[one.clone(), two])[..] else { panic!() };
        assert_eq!(beside.rows.len(), 2);
        assert_eq!(beside.rows[0][1..3], [Cell::Number(1.0), Cell::Share(0.9)]);
        assert_eq!(correlation.rows[0][2..], [Cell::from(2), Cell::Number(-1.0)]);
        assert_eq!(of(std::slice::from_ref(&one)), []);
        assert_eq!(of(&[one, study("empty", &[])]), []);
    }
}
