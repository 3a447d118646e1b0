//! The orderings of methods on several data sets beside each other.

use super::orderings::{self, METHOD, PLACE, SHARE};
use super::{Cell, Study, Table, Unit};

/// A method on a data set.
#[derive(Clone, Copy)]
struct Entry<'a> {
    method: &'a str,
    place: usize,
    share: f64,
}

/// Tables over all data sets; none where fewer than two have an ordering.
pub(super) fn of(studies: &[Study]) -> Vec<Table> {
    let orderings: Vec<(&str, Vec<Entry<'_>>)> = studies.iter().filter_map(ordering).collect();
    if orderings.len() < 2 {
        return Vec::new();
    }
    // In the order of the first data set.
    let everywhere = |method: &&str| {
        orderings.iter().all(|(_, entries)| entries.iter().any(|one| one.method == *method))
    };
    let methods: Vec<&str> =
        orderings[0].1.iter().map(|one| one.method).filter(everywhere).collect();
    let columns: Vec<(&str, Vec<Entry<'_>>)> = orderings
        .iter()
        .map(|(name, entries)| {
            let entry = |method: &&str| entries.iter().find(|one| one.method == *method).copied();
            (*name, methods.iter().filter_map(entry).collect())
        })
        .collect();
    vec![beside(&methods, &columns), correlations(&columns)]
}

/// The data set's name; its methods in order.
fn ordering(study: &Study) -> Option<(&str, Vec<Entry<'_>>)> {
    let table = study.tables.iter().find(|table| table.id == orderings::ID)?;
    let rows: Vec<_> = table.rows.iter().filter_map(|row| entry(row)).collect();
    (!rows.is_empty()).then_some((&study.dataset, rows))
}

fn entry(row: &[Cell]) -> Option<Entry<'_>> {
    match (row.get(PLACE)?, row.get(METHOD)?, row.get(SHARE)?) {
        (Cell::Count(place), Cell::Text(method), Cell::Share(share)) if share.is_finite() => {
            Some(Entry { method, place: *place, share: *share })
        }
        _ => None,
    }
}

fn beside(methods: &[&str], columns: &[(&str, Vec<Entry<'_>>)]) -> Table {
    let title = "All methods on all data sets";
    let mut table = Table::new("orderings-compared", title, "").column("method", Unit::Text);
    for (name, _) in columns {
        table = table
            .column(format!("place on {name}"), Unit::Count)
            .column(format!("share on {name}"), Unit::Percent);
    }
    let row = |(index, method): (usize, &&str)| {
        let cells = columns.iter().flat_map(|(_, entries)| {
            [Cell::from(entries[index].place), Cell::Share(entries[index].share)]
        });
        std::iter::once(Cell::from(*method)).chain(cells).collect()
    };
    table.with_rows(methods.iter().enumerate().map(row).collect())
}

fn correlations(columns: &[(&str, Vec<Entry<'_>>)]) -> Table {
    let mut rows = Vec::new();
    let places = |entries: &[Entry<'_>]| entries.iter().map(|one| one.place).collect::<Vec<_>>();
    for (index, (one, entries)) in columns.iter().enumerate() {
        for (other, others) in &columns[index + 1..] {
            let correlation = spearman(&places(entries), &places(others));
            rows.push(vec![
                Cell::from(*one),
                Cell::from(*other),
                Cell::from(entries.len()),
                correlation.map_or(Cell::None, Cell::Number),
            ]);
        }
    }
    Table::new("rank-correlation", "How alike the orderings are (Spearman)", "")
        .column("data set", Unit::Text)
        .column("other", Unit::Text)
        .column("methods", Unit::Count)
        .column("correlation", Unit::Number)
        .with_rows(rows)
        .note("1 for the same order, -1 for the reverse, about 0 for unrelated ones; methods that share a place have the mean of the ranks that they take up")
}

/// Ranks, the first place first, from 1; equal places share their mean rank.
fn ranks(places: &[usize]) -> Vec<f64> {
    let rank = |place: &usize| {
        let above = places.iter().filter(|other| *other < place).count();
        let equal = places.iter().filter(|other| *other == place).count();
        above as f64 + (equal as f64 + 1.0) / 2.0
    };
    places.iter().map(rank).collect()
}

/// Spearman's rank correlation of places; `None` where all of one side are equal or fewer than two.
fn spearman(one: &[usize], other: &[usize]) -> Option<f64> {
    let [one, other] = [one, other].map(|places| {
        let ranks = ranks(places);
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
        let places = [1, 2, 3, 4];
        assert_eq!(spearman(&places, &[1, 2, 5, 9]), Some(1.0));
        assert_eq!(spearman(&places, &[7, 5, 4, 1]), Some(-1.0));
        assert_eq!(spearman(&places, &[1; 4]), None);
        assert_eq!(spearman(&[], &[]), None);
        // Ranks 1, 2, 3, 4 against 1.5, 1.5, 3, 4.
        let tied = spearman(&places, &[1, 1, 3, 4]).unwrap();
        assert!((tied - 4.5 / (5.0_f64 * 4.5).sqrt()).abs() < 1e-12, "{tied}");
    }

    #[test]
    fn only_methods_that_all_data_sets_have_are_compared() {
        let study = |name: &str, methods: &[(&str, usize)]| Study {
            dataset: name.to_owned(),
            device: String::new(),
            driver: String::new(),
            seed: 0,
            splits: Vec::new(),
            tables: vec![
                Table::new(orderings::ID, "", "").with_rows(
                    methods
                        .iter()
                        .map(|(method, place)| {
                            vec![Cell::from(*place), Cell::from(*method), Cell::Share(0.9)]
                        })
                        .collect(),
                ),
            ],
        };
        let one = study("one", &[("a", 1), ("b", 1), ("c", 3)]);
        let two = study("two", &[("c", 1), ("a", 2)]);
        let [beside, correlation] = &of(&[one.clone(), two])[..] else { panic!() };
        assert_eq!(beside.rows.len(), 2);
        assert_eq!(beside.rows[0][1..3], [Cell::from(1), Cell::Share(0.9)]);
        assert_eq!(correlation.rows[0][2..], [Cell::from(2), Cell::Number(-1.0)]);
        assert_eq!(of(std::slice::from_ref(&one)), []);
        assert_eq!(of(&[one, study("empty", &[])]), []);
    }
}
