//! The shapes that lose most, each with the reason.

use super::numbers::{Numbers, TaskNumbers};
use super::palette::chip;
use super::text::{Text, time, times_best};

/// The section of the page.
pub(super) fn html(numbers: &Numbers) -> String {
    if numbers.worst.is_empty() {
        return "<p>No shape loses anything: each gets the best measured configuration.</p>\n"
            .to_owned();
    }
    let classes = numbers.tasks.iter().any(|task| task.class != numbers.tasks[0].class);
    let items: String =
        numbers.worst.iter().map(|place| item(numbers, &numbers.tasks[*place], classes)).collect();
    format!(
        "<p class=\"small\">Shapes are m×k×n, ×batch if that is not 1.</p>\n<ol class=\"worst\">\n{items}</ol>\n"
    )
}

fn item(numbers: &Numbers, task: &TaskNumbers, with_class: bool) -> String {
    let class = if with_class { format!("{} ", task.class) } else { String::new() };
    let times = match (task.runs, task.time_ns) {
        (Some(id), Some(taken)) => {
            let name = numbers.kernels.get(usize::from(id)).map_or("", |kernel| &kernel.name);
            format!("{}<code>{}</code> takes {}", chip(id), Text(name), time(taken))
        }
        _ => format!("{}was not measured", chip(task.chosen)),
    };
    let reasons: String =
        task.reasons.iter().map(|reason| format!("<li>{}</li>", Text(reason))).collect();
    format!(
        "<li><h3>{class}{} <span class=\"lost\">{}</span></h3>\n<p>{times}; the best, \
         <code>{}</code>, {}.</p>\n<ul>{reasons}</ul></li>\n",
        task.shape,
        times_best(task.slowdown),
        Text(&task.best),
        time(task.best_ns)
    )
}
