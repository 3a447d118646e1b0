//! The kernels that ship, and what each is for.

use super::numbers::{KernelNumbers, Numbers};
use super::palette::chip;
use super::text::{Text, percent};

/// The section of the page.
pub(super) fn html(numbers: &Numbers) -> String {
    let rows: String = numbers.kernels.iter().filter(|one| is_shown(one)).map(row).collect();
    let hidden = numbers.kernels.iter().any(|one| !is_shown(one));
    let universal = match hidden {
        true => {
            "<p class=\"small\">Kernel 0, the universal one, is in every model for what no other \
                 kernel can run. It was not measured here.</p>\n"
        }
        false => "",
    };
    format!(
        "<table class=\"kernels\">\n<caption>Kernels, of {} measured configurations</caption>\n<thead>\
         <tr><th scope=\"col\">kernel</th><th scope=\"col\" class=\"number\">runs <small>shapes</small>\
         </th><th scope=\"col\" class=\"number\">fastest <small>shapes</small></th><th scope=\"col\" \
         class=\"number\">alone <small>share of optimal</small></th></tr></thead>\n<tbody>\n{rows}\
         </tbody>\n</table>\n<p class=\"small\">“Runs” counts the shapes that the model chooses it for, \
         “fastest” those on which it is the fastest of this list; “alone” is its share of optimal if it ran for \
         all (–: not measured).</p>\n{universal}",
        numbers.configurations
    )
}

/// The universal kernel says nothing where it was not measured.
fn is_shown(kernel: &KernelNumbers) -> bool {
    kernel.id != 0 || kernel.measured
}

fn row(kernel: &KernelNumbers) -> String {
    let KernelNumbers { id, name, runs, fastest, alone, .. } = kernel;
    let alone = alone.map_or_else(|| "–".to_owned(), percent);
    format!(
        "<tr><th scope=\"row\"><span class=\"named\">{}<code>{}</code></span></th><td class=\"number\">{runs}</td><td \
         class=\"number\">{fastest}</td><td class=\"number\">{alone}</td></tr>\n",
        chip(*id),
        Text(name)
    )
}

/// The colours by kernel, for below a drawing.
pub(super) fn legend(numbers: &Numbers) -> String {
    let item = |kernel: &KernelNumbers| {
        format!("<li>{}<code>{}</code></li>", chip(kernel.id), Text(&kernel.name))
    };
    let items: String = numbers.kernels.iter().filter(|one| is_shown(one)).map(item).collect();
    format!("<ul class=\"legend\" aria-label=\"colours of the kernels\">{items}</ul>\n")
}
