//! `gemmtree explain`: why a model picks the kernel that it picks.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use anyhow::bail;
use selector_core::{GemmShape, KernelId, Leaf, Loss, Model, Node, ProblemClass, Step};
use serde::Serialize;
use trainer::model_file;

use crate::failure::Hint;
use crate::output::Output;

/// Show the way through the tree for a shape, and what the model knows about the answer
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree explain model.gtm 784 1152 256")]
pub(crate) struct Args {
    /// The model, `*.gtm`
    model: PathBuf,
    /// Rows of C
    #[arg(required_unless_present = "tree")]
    m: Option<u32>,
    /// Columns of A, rows of B
    #[arg(required_unless_present = "tree")]
    k: Option<u32>,
    /// Columns of C
    #[arg(required_unless_present = "tree")]
    n: Option<u32>,
    /// Number of products
    #[arg(default_value_t = 1)]
    batch: u32,
    /// Element type and transposes
    #[arg(long, default_value_t = ProblemClass::F32_NN)]
    class: ProblemClass,
    /// Print the whole tree instead
    #[arg(long, conflicts_with = "m")]
    tree: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let blob = model_file::read(&args.model)?;
    let model = model_file::parse(&args.model, &blob)?;
    if model.space() != Some(kernels::space::hash()) {
        out.note("note: not measured with these kernel sources");
    }
    let Some(measured_as) = model.measured_as(args.class) else {
        let known: Vec<_> = served(&model).map(|class| class.to_string()).collect();
        let none = Err(anyhow::anyhow!(
            "the model has no tree for class {}; the universal kernel is used",
            args.class
        ));
        return none.hint(format!("it has trees for: {}", known.join(", ")));
    };
    match (args.m, args.k, args.n) {
        (Some(m), Some(k), Some(n)) => {
            let shape = GemmShape::new(m, k, n, args.batch);
            out.result(&Explanation::of(&model, args.class, measured_as, shape))
        }
        _ => out.result(&WholeTree::of(&model, args.class, measured_as)?),
    }
}

fn served<'a>(model: &'a Model<'_>) -> impl Iterator<Item = ProblemClass> + 'a {
    ProblemClass::all().filter(|class| model.root(*class).is_some())
}

#[derive(Serialize)]
struct Explanation {
    shape: GemmShape,
    class: String,
    measured_as: String,
    path: Vec<Question>,
    #[serde(flatten)]
    answer: Answer,
}

#[derive(Serialize)]
struct Question {
    feature: String,
    value: f64,
    threshold: f64,
    left: bool,
}

#[derive(Serialize)]
struct Answer {
    kernels: Vec<Kernel>,
    expected_slowdown: Option<f64>,
    worst_slowdown: Option<f64>,
    samples: u32,
}

#[derive(Serialize)]
struct Kernel {
    id: u8,
    name: String,
}

impl Explanation {
    fn of(
        model: &Model<'_>,
        class: ProblemClass,
        measured_as: ProblemClass,
        shape: GemmShape,
    ) -> Self {
        Self {
            shape,
            class: class.to_string(),
            measured_as: measured_as.to_string(),
            path: model.path(class, shape).map(Question::of).collect(),
            answer: Answer::of(model, model.select(class, shape)),
        }
    }
}

impl Question {
    fn of(step: Step) -> Self {
        Self {
            feature: step.feature.to_string(),
            value: step.feature.readable(step.value),
            threshold: step.feature.readable(step.threshold),
            left: step.left,
        }
    }
}

impl Answer {
    fn of(model: &Model<'_>, leaf: Leaf) -> Self {
        let name = |id: KernelId| model_file::kernel_name(model, id);
        Self {
            kernels: leaf.kernels().map(|id| Kernel { id: id.0, name: name(id) }).collect(),
            expected_slowdown: slowdown(leaf.expected),
            worst_slowdown: slowdown(leaf.worst),
            samples: leaf.samples,
        }
    }
}

/// At most six decimals, and none that is zero.
fn decimal(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Time over the best measured time.
fn slowdown(loss: Loss) -> Option<f64> {
    loss.log2().map(f64::exp2)
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.class, self.shape)?;
        if self.measured_as != self.class {
            write!(f, " (measured as {})", self.measured_as)?;
        }
        writeln!(f)?;
        for Question { feature, value, threshold, left } in &self.path {
            let sign = if *left { "<=" } else { ">" };
            writeln!(f, "  {feature} = {} {sign} {}", decimal(*value), decimal(*threshold))?;
        }
        write!(f, "{}", self.answer)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernels, best first:")?;
        for kernel in &self.kernels {
            writeln!(f, "  {:>2}  {}", kernel.id, kernel.name)?;
        }
        writeln!(f, "time over the best measured configuration's: {}", self.losses())
    }
}

impl Answer {
    fn losses(&self) -> String {
        let largest = slowdown(Loss::LARGEST).unwrap_or(f64::INFINITY);
        let say = |loss: Option<f64>| match loss {
            None => "unknown".to_owned(),
            Some(times) if times >= largest => format!("{times:.2}× or more"),
            Some(times) => format!("{times:.2}×"),
        };
        let (expected, worst) = (say(self.expected_slowdown), say(self.worst_slowdown));
        let shapes = if self.samples == 1 { "shape" } else { "shapes" };
        format!("expected {expected}, worst {worst} ({} {shapes})", self.samples)
    }
}

#[derive(Serialize)]
struct WholeTree {
    class: String,
    measured_as: String,
    kernels: Vec<Kernel>,
    nodes: Vec<Line>,
}

/// A node of the tree in preorder.
#[derive(Serialize)]
struct Line {
    depth: usize,
    #[serde(flatten)]
    node: Entry,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    Split { feature: String, threshold: f64 },
    Leaf(Answer),
}

impl WholeTree {
    fn of(
        model: &Model<'_>,
        class: ProblemClass,
        measured_as: ProblemClass,
    ) -> anyhow::Result<Self> {
        let ids = 0..=model.kernels().len() as u8;
        let kernels =
            ids.map(|id| Kernel { id, name: model_file::kernel_name(model, KernelId(id)) });
        let mut nodes = Vec::new();
        let mut pending: Vec<_> = model.root(class).map(|root| (root, 0)).into_iter().collect();
        while let Some((index, depth)) = pending.pop() {
            let node = match model.node(index) {
                Some(Node::Split { feature, threshold, right }) => {
                    pending.push((usize::from(right), depth + 1));
                    pending.push((index + 1, depth + 1));
                    let threshold = feature.readable(threshold);
                    Entry::Split { feature: feature.to_string(), threshold }
                }
                Some(Node::Leaf(leaf)) => Entry::Leaf(Answer::of(model, leaf)),
                None => bail!("entry {index} is missing"),
            };
            nodes.push(Line { depth, node });
        }
        let (class, measured_as) = (class.to_string(), measured_as.to_string());
        Ok(Self { class, measured_as, kernels: kernels.collect(), nodes })
    }
}

impl fmt::Display for WholeTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (measured as {})", self.class, self.measured_as)?;
        for Kernel { id, name } in &self.kernels {
            writeln!(f, "  {id:>2}  {name}")?;
        }
        for Line { depth, node } in &self.nodes {
            let mut indent = String::new();
            for _ in 0..*depth {
                indent.write_str("| ")?;
            }
            match node {
                Entry::Split { feature, threshold } => {
                    writeln!(f, "{indent}{feature} <= {} ?", decimal(*threshold))?;
                }
                Entry::Leaf(answer) => {
                    let ids: Vec<_> = answer.kernels.iter().map(|one| one.id.to_string()).collect();
                    writeln!(f, "{indent}-> {}; {}", ids.join(" "), answer.losses())?;
                }
            }
        }
        Ok(())
    }
}
