//! The default method beside all others, as `gemmtree study` finds it.

use anyhow::{Context, ensure};
use serde_json::Value;

use super::agreement;
use super::reference::Reference;
use super::tables::{Study, Table};
use super::{H200, SPLITS, XEON};
use crate::figure::{Sheet, Target};
use crate::folder;
use crate::laps::Lap;
use crate::programs::gemmtree_timed;

/// Seconds of the study of the H200 data, at most.
const STUDY: f64 = 600.0;
/// Lengths of kernel lists that are compared.
const COUNTS: std::ops::RangeInclusive<usize> = 4..=15;

/// Study both data sets and print what the study found.
pub(super) fn measure(sheet: &mut Sheet, reference: &Reference) -> anyhow::Result<()> {
    let folder = folder().join("study");
    let output = folder.to_str().context("the folder for figures has no UTF-8 name")?;
    let asked = ["study", H200, XEON, "--splits", SPLITS, "--json", "-o", output, "--force"];
    let (objects, laps) = gemmtree_timed(&asked)?;
    let studies = objects.last().context("`gemmtree study` printed nothing")?;
    let [h200, xeon] = studies["studies"].as_array().map_or(&[][..], Vec::as_slice) else {
        anyhow::bail!("`gemmtree study` printed no study of each data set");
    };
    let [h200, xeon] = [h200, xeon].map(Study);
    sheet.figure("trainer.seconds.h200_study", first_study(&laps)?, Target::AtMost(STUDY));
    differences(sheet, h200)?;
    agreement::tell(sheet, h200, reference)?;
    orderings(sheet, h200, xeon, studies)?;
    let eight = [("kernels", "8")];
    let best = xeon.table("ours-against-classifiers")?;
    let best = best.number(&eight, "best classifier's")? / 100.0;
    sheet.figure("trainer.xeon.8.best_of_ten_classifiers", best, Target::None);
    sheet.note(&format!("tables and page of the study: {}", folder.display()));
    Ok(())
}

/// Seconds of the first of two studies: the steps before its first one comes again.
fn first_study(laps: &[Lap]) -> anyhow::Result<f64> {
    let (first, rest) = laps.split_first().context("the study told no times")?;
    let steps = rest.iter().position(|lap| lap.step == first.step);
    let steps = steps.context("the study told the times of one data set only")? + 1;
    ensure!(laps.len() == 2 * steps, "the study did not tell the times of all of its parts");
    Ok(laps[..steps].iter().map(|lap| lap.seconds).sum())
}

/// In points, of means over the splits.
fn differences(sheet: &mut Sheet, study: Study<'_>) -> anyhow::Result<()> {
    for (name, table) in [
        ("list_above_best_pruner", study.table("pruning-best")?),
        ("list_and_tree_above_best_classifier", study.table("ours-against-classifiers")?),
    ] {
        for kernels in COUNTS {
            let difference = table.number(&[("kernels", &kernels.to_string())], "difference")?;
            let name = format!("trainer.h200.{kernels}.{name}_points");
            sheet.figure(&name, difference, Target::AtLeast(0.0));
        }
    }
    Ok(())
}

fn orderings(
    sheet: &mut Sheet,
    h200: Study<'_>,
    xeon: Study<'_>,
    studies: &Value,
) -> anyhow::Result<()> {
    let ours = default_method(h200)?;
    for (name, study) in [("h200", h200), ("xeon", xeon)] {
        let table = study.table("orderings")?;
        let place = table.number(&[("method", ours)], "place")?;
        let share = table.number(&[("method", ours)], "share")?;
        let (method, best) = best_other(&table, ours)?;
        let lead = share - best;
        let beside = table.numbers("place")?.filter(|one| *one == place).count() - 1;
        sheet.note(&format!(
            "{name}: {ours} is in place {place}, with {beside} others within a standard error of the best of them; the best other mean is that of {method}"
        ));
        let name = format!("trainer.orderings.{name}.default");
        for column in ["lowest", "highest"] {
            let value = table.number(&[("method", ours)], &format!("{column} of seeds"))?;
            let figure = format!("{name}.share_of_optimal.{column}_of_seeds");
            sheet.figure(&figure, value / 100.0, Target::None);
        }
        sheet.figure(&format!("{name}.others_in_place"), beside as f64, Target::None);
        sheet.figure(&format!("{name}.place"), place, Target::Exactly(1.0));
        sheet.figure(&format!("{name}.lead_points"), lead, Target::None);
    }
    let tables = studies["comparison"].as_array().context("the study compares nothing")?;
    let table = tables.iter().find(|table| table["id"] == "rank-correlation");
    let table = Table::of(table.context("the study has no rank correlation")?, "rank-correlation")?;
    for (name, column) in [("methods", "methods"), ("rank_correlation", "correlation")] {
        let value = table.number(&[], column)?;
        sheet.figure(&format!("trainer.orderings.{name}"), value, Target::None);
    }
    Ok(())
}

/// The method other than `ours` with the largest share, and that; of equal ones the first.
fn best_other<'a>(table: &Table<'a>, ours: &str) -> anyhow::Result<(&'a str, f64)> {
    let others = table.texts("method")?.zip(table.numbers("share")?);
    let others = others.filter(|(method, _)| *method != ours);
    let best = others.reduce(|best, one| if one.1 > best.1 { one } else { best });
    best.context("the orderings hold no other method")
}

/// What the orderings call the default method, from the title of its own table.
fn default_method(study: Study<'_>) -> anyhow::Result<&str> {
    let tables = study.0["tables"].as_array().context("a study without tables")?;
    let table = tables.iter().find(|table| table["id"] == "method");
    let title = table.and_then(|table| table["title"].as_str()).context("no default method")?;
    let name = title.strip_prefix("The default method, ");
    let name = name.and_then(|name| name.strip_suffix(", on held-out tasks"));
    name.with_context(|| format!("`{title}` does not name the default method"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_of_two_studies_is_timed() {
        let laps = |steps: &[(&str, f64)]| -> Vec<Lap> {
            let lap =
                |(step, seconds): &(&str, f64)| Lap { step: (*step).to_owned(), seconds: *seconds };
            steps.iter().map(lap).collect()
        };
        let both = [("data", 0.5), ("pruning", 60.0), ("data", 0.25), ("pruning", 20.0)];
        assert_eq!(first_study(&laps(&both)).unwrap(), 60.5);
        assert!(first_study(&laps(&both[..2])).is_err());
        assert!(first_study(&laps(&both[..3])).is_err());
        assert!(first_study(&[]).is_err());
    }

    #[test]
    fn the_lead_is_over_the_best_mean_wherever_it_stands() {
        let table = json!({
            "columns": [{"name": "place"}, {"name": "method"}, {"name": "share"}],
            "rows": [[1, "ours", 95.0], [1, "b", 94.5], [1, "c", 95.25], [4, "d", 95.25]],
        });
        let table = Table::of(&table, "orderings").unwrap();
        assert_eq!(best_other(&table, "ours").unwrap(), ("c", 95.25));
        assert_eq!(table.numbers("place").unwrap().filter(|one| *one == 1.0).count(), 3);
        assert!(table.numbers("lacking").is_err());
    }

    #[test]
    fn the_default_method_is_the_one_that_the_study_names() {
        let title = "The default method, smoothed + distilled, on held-out tasks";
        let study = json!({"tables": [{"id": "method", "title": title}]});
        assert_eq!(default_method(Study(&study)).unwrap(), "smoothed + distilled");
        assert!(default_method(Study(&json!({"tables": []}))).is_err());
    }
}
