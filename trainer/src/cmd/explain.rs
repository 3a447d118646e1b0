//! `gemmtree explain`: why a model picks the kernel that it picks.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context, bail};
use selector_core::{
    Explanation, Feature, GemmShape, KernelId, Leaf, Loss, Model, Node, ProblemClass, Step,
};
use serde::Serialize;
use trainer::model_file;
use trainer::report::digits;

use crate::failure::Hint;
use crate::output::Output;

/// Show the way through the tree for a shape, and what the model knows about the answer
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree explain model.gtm 784 1152 256")]
pub(crate) struct Args {
    /// The model, `*.gtm`
    model: PathBuf,
    /// Rows of C, columns of A, columns of C and perhaps the number of products; or all in one,
    /// MxKxN or MxKxNxBATCH
    #[arg(value_name = "M K N [BATCH]", num_args = 1..=4, required_unless_present = "tree")]
    shape: Vec<String>,
    /// Precision (f32, f16, or f16h, which may compute in 16 bits) and transposes
    #[arg(long, default_value_t = ProblemClass::F32_NN)]
    class: ProblemClass,
    /// Print the whole tree instead
    #[arg(long, conflicts_with = "shape")]
    tree: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let shape = args.shape()?;
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
        return none.hint(match known.is_empty() {
            true => "it has no tree at all".to_owned(),
            false => format!("it has trees for: {}", known.join(", ")),
        });
    };
    match shape {
        Some(shape) => out.result(&Reasons::of(&model, &model.explain(args.class, shape))),
        None => out.result(&WholeTree::of(&model, args.class, measured_as)?),
    }
}

impl Args {
    /// The shape that is asked about; `None` for the whole tree.
    fn shape(&self) -> anyhow::Result<Option<GemmShape>> {
        if self.tree {
            return Ok(None);
        }
        let shape: Result<GemmShape, _> = self.shape.join("x").parse();
        let shape = shape.with_context(|| format!("`{}` is no shape", self.shape.join(" ")));
        let shape = shape.hint("`784 1152 256` and `784x1152x256` are")?;
        if [shape.m, shape.k, shape.n, shape.batch].contains(&0) {
            return Err(NothingToCompute(shape)).hint(
                "a product with a size of 0 is settled on the host: C is scaled by beta, if it has \
                 elements, and no kernel is chosen",
            );
        }
        Ok(Some(shape))
    }
}

/// A shape that no kernel ever sees.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` has a size of 0, and such shapes never reach a kernel")]
struct NothingToCompute(GemmShape);

fn served<'a>(model: &'a Model<'_>) -> impl Iterator<Item = ProblemClass> + 'a {
    ProblemClass::all().filter(|class| model.root(*class).is_some())
}

#[derive(Serialize)]
struct Reasons {
    shape: GemmShape,
    class: String,
    measured_as: String,
    path: Vec<Question>,
    /// What the shape answered most narrowly.
    closest: Option<Question>,
    runner_up: Kernel,
    #[serde(flatten)]
    answer: Answer,
}

#[derive(Serialize)]
struct Question {
    feature: String,
    value: f64,
    /// Where the right branch begins: the value is below it, or not.
    limit: f64,
    below: bool,
    /// How far, in steps of an eighth, the value is from the other branch.
    margin_octaves: f64,
    /// Whether value and limit are the dimension's own and not about those of a product.
    exact: bool,
}

#[derive(Serialize)]
struct Answer {
    kernels: Vec<Kernel>,
    expected_slowdown: Option<f64>,
    worst_slowdown: Option<f64>,
    /// Training shapes that led here; above 15 at least so many.
    samples: u32,
}

#[derive(Serialize)]
struct Kernel {
    id: u8,
    name: String,
}

impl Reasons {
    fn of(model: &Model<'_>, why: &Explanation) -> Self {
        let question = |step: Step| Question::of(step, why.shape);
        let measured_as = why.measured_as.unwrap_or(why.class);
        Self {
            shape: why.shape,
            class: why.class.to_string(),
            measured_as: measured_as.to_string(),
            path: why.path.iter().copied().map(question).collect(),
            closest: why.closest().map(question),
            runner_up: Kernel::of(model, why.runner_up()),
            answer: Answer::of(model, why.leaf),
        }
    }
}

impl Question {
    fn of(step: Step, shape: GemmShape) -> Self {
        let Step { feature, value, threshold, left, .. } = step;
        let dimensions = [shape.m, shape.k, shape.n, shape.batch];
        let dimension = feature.dimension().and_then(|place| dimensions.get(place));
        Self {
            feature: feature.to_string(),
            value: dimension.map_or_else(|| feature.readable(value), |one| f64::from(*one)),
            limit: limit(feature, threshold),
            below: left,
            margin_octaves: f64::from(step.margin()) / 8.0,
            exact: dimension.is_some(),
        }
    }
}

/// Where the right branch begins.
fn limit(feature: Feature, threshold: u16) -> f64 {
    feature.readable(threshold + 1)
}

impl Kernel {
    fn of(model: &Model<'_>, id: KernelId) -> Self {
        Self { id: id.0, name: model_file::kernel_name(model, id) }
    }
}

impl Answer {
    fn of(model: &Model<'_>, leaf: Leaf) -> Self {
        Self {
            kernels: leaf.kernels().map(|id| Kernel::of(model, id)).collect(),
            expected_slowdown: slowdown(leaf.expected),
            worst_slowdown: slowdown(leaf.worst),
            samples: leaf.samples.at_least(),
        }
    }
}

/// Time over the best measured time.
fn slowdown(loss: Loss) -> Option<f64> {
    loss.log2().map(f64::exp2)
}

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.class, self.shape)?;
        if self.measured_as != self.class {
            write!(f, " (measured as {})", self.measured_as)?;
        }
        writeln!(f)?;
        for question in &self.path {
            writeln!(f, "  {question}")?;
        }
        write!(f, "{}", self.answer)?;
        match &self.closest {
            Some(closest) => writeln!(
                f,
                "most narrowly decided: {}; {:.2} octaves on, another branch begins",
                closest.feature, closest.margin_octaves
            ),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { feature, value, limit, below, exact, margin_octaves } = self;
        let (is, sign) = (if *exact { "=" } else { "~" }, if *below { "<" } else { ">=" });
        let (value, limit) = (digits(*value), digits(*limit));
        write!(f, "{feature} {is} {value} {sign} {limit}, by {margin_octaves:.2} octaves")
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
        let count = match self.samples {
            1 => "1 shape".to_owned(),
            few @ ..16 => format!("{few} shapes"),
            many => format!("{many} shapes or more"),
        };
        format!("expected {expected}, worst {worst} ({count})")
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
    Split { feature: String, limit: f64 },
    Leaf(Answer),
}

impl WholeTree {
    fn of(
        model: &Model<'_>,
        class: ProblemClass,
        measured_as: ProblemClass,
    ) -> anyhow::Result<Self> {
        let ids = 0..=model.kernels().len() as u8;
        let kernels = ids.map(|id| Kernel::of(model, KernelId(id)));
        let mut nodes = Vec::new();
        let mut pending: Vec<_> = model.root(class).map(|root| (root, 0)).into_iter().collect();
        while let Some((index, depth)) = pending.pop() {
            let node = match model.node(index) {
                Some(Node::Split { feature, threshold, right }) => {
                    pending.push((usize::from(right), depth + 1));
                    pending.push((index + 1, depth + 1));
                    let limit = limit(feature, threshold);
                    Entry::Split { feature: feature.to_string(), limit }
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
                Entry::Split { feature, limit } => {
                    writeln!(f, "{indent}{feature} < {} ?", digits(*limit))?;
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
