//! The page around the figures.

use selector_core::{Model, ProblemClass};

use super::numbers::{Numbers, Source};
use super::text::{Text, counted, percent};
use super::training::Training;
use super::tree::Reached;
use super::{MADE_BY, comparison, histogram, kernel_list, map, outline, palette, tree, worst};

const STYLE: &str = include_str!("page.css");

pub(super) fn html(model: &Model<'_>, numbers: &Numbers) -> String {
    let last = model.kernels().len() as u8;
    let title = format!("{} on {}", Text(&numbers.model.file), Text(&numbers.dataset.file));
    let colours = palette::css(last);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n{MADE_BY}\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n<title>{title}</title>\n\
         <style>\n{STYLE}{colours}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n{}</header>\n<main>\n{}\
         </main>\n<footer>{}</footer>\n</body>\n</html>\n",
        header(numbers),
        sections(model, numbers),
        footer(numbers)
    )
}

fn header(numbers: &Numbers) -> String {
    let lead = numbers.comparison.iter().find(|one| one.this_model).map(|one| percent(one.share));
    // Elsewhere the model's own score says nothing.
    let held_out = numbers.comparison.iter().filter(|one| one.this_model).nth(1);
    let held_out = held_out.filter(|_| numbers.training != Training::OtherDevice);
    let held_out = held_out.map_or_else(String::new, |one| {
        format!(", and {} on shapes held out from training", percent(one.share))
    });
    let shapes = counted(numbers.tasks.len(), "shape");
    let kernels = numbers.kernels.len().saturating_sub(1);
    let mut notes = vec![format!("<p class=\"notice\">{}</p>", Text(numbers.training.sentence()))];
    if numbers.without_tree > 0 {
        let left_out = counted(numbers.without_tree, "shape");
        notes.push(format!(
            "<p class=\"notice\">{left_out} of classes that the model has no tree for are left out.</p>"
        ));
    }
    notes.extend(numbers.suspects.iter().map(|suspect| {
        format!(
            "<p class=\"notice\"><code>{}</code> is left out: wrong result on {}.</p>",
            Text(&suspect.name),
            Text(&suspect.wrong_on)
        )
    }));
    if numbers.unmeasured > 0 {
        let count = counted(numbers.unmeasured, "shape");
        notes.push(format!(
            "<p class=\"notice\">On {count} no kernel that the leaf ranks was measured; they count as very \
             slow.</p>"
        ));
    }
    format!(
        "<p class=\"lead\">With {} the model reaches <strong>{}</strong> of the best measured speed on \
         {shapes}{held_out}.</p>\n<dl><dt>model</dt><dd>{}</dd><dt>method</dt><dd>{}</dd><dt>data</dt><dd>{}; {} × \
         {}</dd></dl>\n{}\n",
        counted(kernels, "kernel"),
        lead.unwrap_or_default(),
        device(&numbers.model),
        Text(&numbers.method),
        device(&numbers.dataset),
        shapes,
        counted(numbers.configurations, "configuration"),
        notes.join("\n")
    )
}

fn device(source: &Source) -> String {
    let said =
        |text: &str| if text.is_empty() { "unknown".to_owned() } else { Text(text).to_string() };
    format!(
        "<code>{}</code>, device {}, driver {}",
        Text(&source.file),
        said(&source.device),
        said(&source.driver)
    )
}

fn sections(model: &Model<'_>, numbers: &Numbers) -> String {
    let mut classes: Vec<ProblemClass> = numbers.tasks.iter().map(|task| task.class).collect();
    classes.dedup();
    let section =
        |name: &str, body: String| format!("<section>\n<h2>{name}</h2>\n{body}</section>\n");
    let mut all = section("Compared", comparison::html(numbers));
    all += &section("Kernel list", kernel_list::html(numbers));
    for class in &classes {
        let of = if classes.len() > 1 { format!(", {class}") } else { String::new() };
        let body = kernel_list::legend(numbers) + &map::figure(model, numbers, *class);
        all += &section(&format!("Which kernel where{of}"), body);
    }
    for class in &classes {
        let Some(root) = model.root(*class) else { continue };
        let of = match model.measured_as(*class) {
            Some(other) if other != *class => format!(", {class} (measured as {other})"),
            _ if classes.len() > 1 => format!(", {class}"),
            _ => String::new(),
        };
        let reached = Reached::of(model, numbers.tasks.iter().filter(|task| task.class == *class));
        let figure = tree::figure(model, numbers, root, &reached);
        let outline = outline::html(model, numbers, root, &reached);
        all += &section(
            &format!("Tree{of}"),
            format!("<div class=\"trees\">\n{figure}{outline}</div>\n"),
        );
    }
    all += &section("What is lost", histogram::html(numbers));
    all + &section("Worst shapes", worst::html(numbers))
}

fn footer(numbers: &Numbers) -> String {
    format!(
        "<p>Made by <code>gemmtree report {} {}</code>. Shapes are m×k×n×batch: C of m rows and n columns is A·B, A \
         having k columns. Times are those of the data set. A kernel that was not measured on a shape is passed \
         over for the next that its leaf ranks.</p>",
        Text(&numbers.model.file),
        Text(&numbers.dataset.file)
    )
}
