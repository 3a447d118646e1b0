//! Which families win, and which the best tree picks (second paper, tables 3 and 4).

use std::collections::BTreeMap;

use super::trees::{Labels, OnSplit, best};
use super::{Cell, Context, Table, Unit};
use crate::score;

/// Which families win and which are picked (second paper, tables 3 and 4).
pub(super) fn table(context: &Context<'_>, sets: &[(Labels, Vec<OnSplit>)]) -> Table {
    let mut cells = Vec::new();
    for (labels, splits) in sets.iter().filter(|(_, splits)| !splits.is_empty()) {
        let model = best(splits, |one| one.dtpr);
        let mut counts: BTreeMap<Kind, Counts> = BTreeMap::new();
        let of = |column: &usize| kind(&context.dataset.configurations()[*column]);
        for split in splits {
            for column in &split.learnt {
                let counts = counts.entry(of(column)).or_default();
                counts.learnt += 1;
                counts.labels.push(*column);
            }
            for column in &split.models[model].picked {
                counts.entry(of(column)).or_default().picked += 1;
            }
        }
        let learnt: usize = counts.values().map(|one| one.learnt).sum();
        let picked: usize = counts.values().map(|one| one.picked).sum();
        for ((family, style), mut counts) in counts {
            counts.labels.sort_unstable();
            counts.labels.dedup();
            cells.push(vec![
                labels.name().into(),
                family.into(),
                style.into(),
                counts.labels.len().into(),
                Cell::Share(counts.learnt as f64 / learnt.max(1) as f64),
                Cell::Share(counts.picked as f64 / picked.max(1) as f64),
            ]);
        }
    }
    Table::new(
        "tree-families",
        "Families of the labels, and of what the tree with the best DTPR picks",
        "second paper, tables 3 and 4",
    )
    .column("labels", Unit::Text)
    .column("family", Unit::Text)
    .column("style", Unit::Text)
    .column("distinct configurations", Unit::Count)
    .column("shapes trained on", Unit::Percent)
    .column("shapes held out", Unit::Percent)
    .with_rows(cells)
    .note("configurations are counted over all splits, whose kernel lists differ, so there may be more of them than a list holds")
    .note("a direct kernel takes operands as they are; an indirect one wants them prepared")
}

/// A family, and whether its kernels take operands as they are or want them prepared.
type Kind = (String, &'static str);

fn kind(name: &str) -> Kind {
    let family = name.split(':').next().unwrap_or(name);
    let style = match family {
        _ if score::is_direct(name) => "direct",
        "xgemm" => "indirect",
        _ => "unknown",
    };
    (family.to_owned(), style)
}

/// Labels of a kind: their share of the shapes trained on, and of what the tree with the best DTPR
/// picks for those held out.
#[derive(Default)]
struct Counts {
    learnt: usize,
    picked: usize,
    labels: Vec<usize>,
}

#[cfg(test)]
mod tests {
    use super::super::Part;
    use super::super::trees::Trees;
    use super::super::trees::tests::{row, two_families};
    use super::*;
    use crate::split;

    #[test]
    fn families_are_counted_with_their_style() {
        let dataset = two_families();
        let splits = split::seeded(&dataset.shapes(), 0);
        let tables = Trees.measure(&Context::new(&dataset, &splits, 0)).unwrap();
        let direct = row(&tables[1], Labels::All, "xgemm_direct");
        let indirect = row(&tables[1], Labels::All, "xgemm");
        assert_eq!((&direct[2], &indirect[2]), (&"direct".into(), &"indirect".into()));
        for column in [4, 5] {
            let sum = direct[column].value().unwrap() + indirect[column].value().unwrap();
            assert!((sum - 100.0).abs() < 1e-6);
        }
        assert_eq!(kind("tile:1x1x1@8x8"), ("tile".to_owned(), "direct"));
        assert_eq!(kind("mystery"), ("mystery".to_owned(), "unknown"));
    }
}
