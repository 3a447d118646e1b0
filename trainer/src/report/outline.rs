//! The whole tree in words, to fold and unfold.

use selector_core::{Leaf, Model, Node};

use super::numbers::Numbers;
use super::palette::chip;
use super::question;
use super::text::{Text, counted, slowdown};
use super::tree::{Reached, expected};

/// Levels that are unfolded at first.
const OPEN: usize = 2;

/// The outline of the tree at `root`, in which `reached` counts tasks.
pub(super) fn html(model: &Model<'_>, numbers: &Numbers, root: usize, reached: &Reached) -> String {
    let tree = branch(model, numbers, root, reached, (0, ""));
    format!(
        "<details class=\"outline\" open=\"open\"><summary>The whole tree in words</summary>\n\
         <ul>{tree}</ul>\n</details>\n"
    )
}

/// The item of the subtree at `index`, where `answer` leads to it; a model is at most 64 splits deep.
fn branch(
    model: &Model<'_>,
    numbers: &Numbers,
    index: usize,
    reached: &Reached,
    (depth, answer): (usize, &str),
) -> String {
    match model.node(index) {
        Some(Node::Split { feature, threshold, right }) => {
            let question = question::below(feature, threshold);
            let shapes = counted(reached.at(index), "shape");
            let [yes, no] = [(index + 1, "yes"), (usize::from(right), "no")]
                .map(|(next, answer)| branch(model, numbers, next, reached, (depth + 1, answer)));
            let open = if depth < OPEN { " open=\"open\"" } else { "" };
            format!(
                "<li><details{open}><summary><span class=\"answer\">{answer}</span> {}? <span \
                 class=\"small\">{shapes}</span></summary><ul>{yes}{no}</ul></details></li>\n",
                Text(question)
            )
        }
        Some(Node::Leaf(leaf)) => {
            let kernel = numbers.kernels.get(usize::from(leaf.first().0));
            let name = Text(kernel.map_or("", |kernel| &kernel.name));
            let chip = chip(leaf.first().0);
            let known = known(leaf, reached.at(index));
            format!(
                "<li><span class=\"answer\">{answer}</span> {chip}<code>{name}</code> <span \
                 class=\"small\">{known}</span></li>\n"
            )
        }
        None => String::new(),
    }
}

/// What is known of a leaf.
fn known(leaf: Leaf, shapes: usize) -> String {
    let worst = slowdown(leaf.worst.log2().map(f64::exp2));
    let samples = leaf.samples.at_least();
    let more = if leaf.samples.is_exact() { "" } else { " or more" };
    let next: Vec<_> = leaf.kernels().skip(1).map(|id| id.0.to_string()).collect();
    let trained = counted(samples as usize, "shape");
    format!(
        "{} here, trained on {trained}{more}; time over the best: {} expected, {worst} at worst; then kernel {}",
        counted(shapes, "shape"),
        expected(leaf),
        next.join(", ")
    )
}
