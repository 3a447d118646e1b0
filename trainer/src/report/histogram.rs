//! How many tasks lose how much.

use serde::Serialize;

use super::numbers::{Numbers, TaskNumbers};

/// Tasks whose kernel loses about as much.
#[derive(Clone, Debug, Serialize)]
pub struct Bin {
    /// The time over the best measured one, as a text.
    pub label: String,
    /// The largest slowdown that counts here; `None` in the last bins.
    pub up_to: Option<f64>,
    /// Tasks.
    pub count: usize,
}

/// Where bins end, in hundredths of the best time above it.
const ENDS: [u32; 8] = [0, 1, 2, 5, 10, 20, 50, 100];

pub(super) fn of(tasks: &[TaskNumbers]) -> Vec<Bin> {
    let slowdown = |end: u32| 1.0 + f64::from(end) / 100.0;
    let within = |from: f64, to: f64| {
        let slowdowns = tasks.iter().filter_map(|task| task.slowdown);
        slowdowns.filter(|one| *one > from && *one <= to).count()
    };
    let mut bins = Vec::new();
    let mut from = 0.0;
    let mut begin = 0;
    for end in ENDS {
        let to = slowdown(end);
        let label = match end {
            0 => "the best".to_owned(),
            end => format!("{begin}–{end} % longer"),
        };
        bins.push(Bin { label, up_to: Some(to), count: within(from, to) });
        (from, begin) = (to, end);
    }
    bins.push(Bin {
        label: "more than twice".to_owned(),
        up_to: None,
        count: within(from, f64::INFINITY),
    });
    let unmeasured = tasks.iter().filter(|task| task.slowdown.is_none()).count();
    if unmeasured > 0 {
        bins.push(Bin { label: "not measured".to_owned(), up_to: None, count: unmeasured });
    }
    bins
}

/// The section of the page.
pub(super) fn html(numbers: &Numbers) -> String {
    let most = numbers.histogram.iter().map(|bin| bin.count).max().unwrap_or(0).max(1);
    let row = |bin: &Bin| {
        let Bin { label, count, .. } = bin;
        let width = *count as f64 * 100.0 / most as f64;
        format!(
            "<tr><th scope=\"row\">{label}</th><td class=\"bar\"><span class=\"track plain\">\
             <span class=\"fill\" style=\"width:{width:.1}%\"></span></span></td>\
             <td class=\"number\">{count}</td></tr>\n"
        )
    };
    let rows: String = numbers.histogram.iter().map(row).collect();
    format!(
        "<table class=\"bars short\">\n<caption>Shapes by how much longer the chosen kernel takes \
         than the best measured configuration</caption>\n<thead class=\"unseen\"><tr><th scope=\"col\">\
         time</th><th scope=\"col\">bar</th><th scope=\"col\">shapes</th></tr></thead>\n<tbody>\n\
         {rows}</tbody>\n</table>\n"
    )
}

#[cfg(test)]
mod tests {
    use selector_core::{GemmShape, ProblemClass};

    use super::*;

    #[test]
    fn every_task_is_in_one_bin() {
        let task = |slowdown: Option<f64>| TaskNumbers {
            class: ProblemClass::F32_NN,
            shape: GemmShape::new(1, 1, 1, 1),
            chosen: 1,
            runs: slowdown.map(|_| 1),
            time_ns: slowdown,
            slowdown,
            best: String::new(),
            best_ns: 1.0,
            list_best: None,
            list_best_ns: None,
            reasons: Vec::new(),
        };
        let slowdowns = [1.0, 1.0, 1.005, 1.01, 1.5, 1.51, 2.0, 2.1, 900.0];
        let mut tasks: Vec<_> = slowdowns.into_iter().map(|one| task(Some(one))).collect();
        tasks.push(task(None));
        let counts: Vec<_> = of(&tasks).iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [2, 2, 0, 0, 0, 0, 1, 2, 2, 1]);
    }
}
