//! The tree, drawn from its root down the page: a row a node.

use std::collections::BTreeMap;

use selector_core::{GemmShape, Leaf, Model, Node, ProblemClass};

use super::numbers::{Numbers, TaskNumbers};
use super::question;
use super::text::{Text, counted, shortened};

/// How many tasks come by each entry of a model.
pub(super) struct Reached(BTreeMap<usize, usize>);

impl Reached {
    pub(super) fn of<'t>(
        model: &Model<'_>,
        tasks: impl IntoIterator<Item = &'t TaskNumbers>,
    ) -> Self {
        let mut counts = BTreeMap::new();
        for task in tasks {
            for index in entries(model, task.class, task.shape) {
                *counts.entry(index).or_default() += 1;
            }
        }
        Self(counts)
    }

    pub(super) fn at(&self, index: usize) -> usize {
        self.0.get(&index).copied().unwrap_or(0)
    }
}

/// The entries that `shape` meets, its leaf included.
fn entries(model: &Model<'_>, class: ProblemClass, shape: GemmShape) -> Vec<usize> {
    let mut met: Vec<usize> = model.root(class).into_iter().collect();
    for step in model.path(class, shape) {
        let right = match model.node(step.index) {
            Some(Node::Split { right, .. }) => usize::from(right),
            _ => step.index + 1,
        };
        met.push(if step.left { step.index + 1 } else { right });
    }
    met
}

/// Most splits that are drawn; more stand in the outline.
const DRAWN: usize = 15;

/// A node as it is drawn.
struct Row {
    depth: usize,
    /// The row of the split above, and whether its answer is yes.
    above: Option<(usize, bool)>,
    shapes: usize,
    what: What,
}

enum What {
    Leaf(Leaf),
    /// A subtree that is not drawn: its leaves and the kernels that they choose.
    Folded(usize, Vec<u8>),
    Split(String),
}

/// The figure of the tree at `root`, in which `reached` counts tasks.
pub(super) fn figure(
    model: &Model<'_>,
    numbers: &Numbers,
    root: usize,
    reached: &Reached,
) -> String {
    let rows = rows(model, root, reached);
    let folded = rows.iter().any(|row| matches!(row.what, What::Folded(..)));
    let depth = rows.iter().map(|row| row.depth).max().unwrap_or(0);
    let step = (96 / depth.max(1)).min(14);
    let height = rows.len() * ROW + 8;
    let drawn: String = rows
        .iter()
        .enumerate()
        .map(|(place, row)| draw(numbers, &rows, place, row, step))
        .collect();
    let more = match folded {
        true => " A dotted box is a subtree and the kernels in it; the outline has it in full.",
        false => "",
    };
    let leaves = leaves(model, root).len();
    format!(
        "<figure class=\"tree\"><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"Decision tree with {}; the outline says the same in words\">\n{drawn}</svg>\
         <figcaption>{}, drawn from the root down: each question leads to the row below “yes” or \
         “no”. At a leaf: the kernel, the shapes of these data that come here, and how much longer than \
         the best the model expects it to take.{more}</figcaption></figure>\n",
        counted(leaves, "leaf").replace("leafs", "leaves"),
        counted(leaves, "leaf").replace("leafs", "leaves"),
    )
}

const WIDTH: usize = 360;
const ROW: usize = 24;

fn draw(numbers: &Numbers, rows: &[Row], place: usize, row: &Row, step: usize) -> String {
    let left = |depth: usize| 6 + depth * step;
    let (x, y) = (left(row.depth), place * ROW + ROW / 2 + 4);
    let mut drawn = String::new();
    let mut at = x;
    if let Some((above, yes)) = row.above {
        let from = rows.get(above).map_or(0, |row| left(row.depth)) + 4;
        let top = above * ROW + ROW / 2 + 14;
        drawn += &format!("<path class=\"branch\" d=\"M{from} {top}V{y}H{}\"/>", x + 2);
        let answer = if yes { "yes" } else { "no" };
        drawn += &format!("<text class=\"answer\" x=\"{}\" y=\"{}\">{answer}</text>", x + 4, y + 4);
        at += 28;
    }
    drawn + &node(numbers, row, at, y)
}

fn node(numbers: &Numbers, row: &Row, x: usize, y: usize) -> String {
    let base = y + 4;
    let shapes = row.shapes;
    match &row.what {
        What::Split(question) => {
            let question = Text(question);
            format!("<text class=\"question\" x=\"{x}\" y=\"{base}\">{question}?</text>\n")
        }
        What::Leaf(leaf) => {
            let id = leaf.first().0;
            let kernel = numbers.kernels.get(usize::from(id));
            let name = kernel.map_or("", |kernel| &kernel.name);
            let lost = expected(*leaf);
            let room = (WIDTH - x - 36).saturating_sub(76) / 7;
            format!(
                "<g><title>{}; {}; expected time over the best: {lost}</title>{}<text class=\"name\" x=\"{}\" \
                 y=\"{base}\">{}</text><text class=\"note\" x=\"{}\" y=\"{base}\">{shapes} · {lost}</text>\
                 </g>\n",
                Text(name),
                counted(shapes, "shape"),
                chip(id, x, y),
                x + 30,
                Text(shortened(name, room.max(6))),
                WIDTH - 4
            )
        }
        What::Folded(leaves, kernels) => {
            let room = (WIDTH - x - 140) / 26;
            let chips: String = kernels
                .iter()
                .take(room)
                .enumerate()
                .map(|(place, id)| chip(*id, x + 4 + place * 26, y))
                .collect();
            let more = if kernels.len() > room { "…" } else { "" };
            format!(
                "<g><title>subtree with {leaves} leaves</title><rect class=\"folded\" x=\"{x}\" y=\"{}\" \
                 width=\"{}\" height=\"20\" rx=\"5\"/>{chips}<text class=\"note\" x=\"{}\" y=\"{base}\">\
                 {more} {leaves} leaves · {}</text></g>\n",
                y - 10,
                WIDTH - 1 - x,
                WIDTH - 4,
                counted(shapes, "shape")
            )
        }
    }
}

/// A chip with the kernel's number, for SVG.
fn chip(id: u8, x: usize, y: usize) -> String {
    format!(
        "<rect class=\"k{id}\" x=\"{x}\" y=\"{}\" width=\"24\" height=\"17\" rx=\"4\"/><text class=\"id \
         i{id}\" x=\"{}\" y=\"{}\">{id}</text>",
        y - 8,
        x + 12,
        y + 4
    )
}

/// How much longer than the best the leaf's kernel is expected to take.
pub(super) fn expected(leaf: Leaf) -> String {
    super::text::slowdown(leaf.expected.log2().map(f64::exp2))
}

/// What is drawn of the tree: the splits that most tasks come by.
fn rows(model: &Model<'_>, root: usize, reached: &Reached) -> Vec<Row> {
    let open = opened(model, root, reached);
    let mut rows = Vec::new();
    let mut pending = vec![(root, 0, None)];
    while let Some((index, depth, above)) = pending.pop() {
        let what = match model.node(index) {
            Some(Node::Split { feature, threshold, right }) if open.contains(&index) => {
                pending.push((usize::from(right), depth + 1, Some((rows.len(), false))));
                pending.push((index + 1, depth + 1, Some((rows.len(), true))));
                What::Split(question::below(feature, threshold))
            }
            Some(Node::Split { .. }) => {
                let leaves = leaves(model, index);
                let mut kernels: Vec<u8> = leaves.iter().map(|leaf| leaf.first().0).collect();
                kernels.sort_unstable();
                kernels.dedup();
                What::Folded(leaves.len(), kernels)
            }
            Some(Node::Leaf(leaf)) => What::Leaf(leaf),
            None => continue,
        };
        rows.push(Row { depth, above, shapes: reached.at(index), what });
    }
    rows
}

/// The splits to draw, those first that most tasks come by.
fn opened(model: &Model<'_>, root: usize, reached: &Reached) -> Vec<usize> {
    let mut open = Vec::new();
    let mut next = vec![root];
    while open.len() < DRAWN {
        let splits =
            next.iter().enumerate().filter_map(|(place, index)| match model.node(*index) {
                Some(Node::Split { right, .. }) => Some((place, *index, usize::from(right))),
                _ => None,
            });
        let most = splits.min_by_key(|(_, index, _)| (usize::MAX - reached.at(*index), *index));
        let Some((place, index, right)) = most else { break };
        next.remove(place);
        next.extend([index + 1, right]);
        open.push(index);
    }
    open
}

/// The leaves below `index`, from left to right.
pub(super) fn leaves(model: &Model<'_>, index: usize) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    let mut pending = vec![index];
    while let Some(index) = pending.pop() {
        match model.node(index) {
            Some(Node::Split { right, .. }) => pending.extend([usize::from(right), index + 1]),
            Some(Node::Leaf(leaf)) => leaves.push(leaf),
            None => {}
        }
    }
    leaves
}
