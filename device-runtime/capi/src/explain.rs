//! Why a shape gets its kernel, in words.

use std::fmt::Write;

use device_runtime::opencl::OpenClBuffer;
use device_runtime::{OpenCl, Runtime, RuntimeError};
use kernels::Problem;
use selector_core::{KernelId, Loss, Step};

/// A kernel's name; that of its number if the bundle has none such.
pub(crate) fn name(runtime: &Runtime<'_, OpenCl>, id: KernelId) -> String {
    let configuration = runtime.configurations().get(usize::from(id.0));
    configuration.map_or_else(|| format!("kernel {}", id.0), ToString::to_string)
}

/// The answer, the questions that led to it and what else could run, a line each; `scratch` is the caller's
/// own memory.
///
/// # Errors
/// The class was not shipped, or no buffers hold the matrices.
pub(crate) fn text(
    runtime: &Runtime<'_, OpenCl>,
    problem: &Problem,
    scratch: Option<&OpenClBuffer>,
) -> Result<String, RuntimeError> {
    let Problem { class, shape, .. } = *problem;
    let chosen = runtime.select(problem, scratch)?;
    let why = runtime.model().explain(class, shape);
    let measured_as = match why.measured_as {
        Some(other) if other != class => format!(" (measured as {other})"),
        Some(_) => String::new(),
        None => " (the model has no tree for it)".to_owned(),
    };
    let mut text = format!("{class} {shape}{measured_as}\n");
    let mut line = |line: String| writeln!(text, "{line}").unwrap_or_default();
    for step in &why.path {
        line(question(*step));
    }
    line("kernels, best first:".to_owned());
    for id in why.leaf.kernels() {
        let marked = if chosen == Some(id) { "  runs" } else { "" };
        line(format!("  {:>2}  {}{marked}", id.0, name(runtime, id)));
    }
    let (expected, worst) = (slowdown(why.leaf.expected), slowdown(why.leaf.worst));
    line(format!(
        "time over the best measured configuration's: expected {expected}, worst {worst}"
    ));
    Ok(text)
}

fn question(step: Step) -> String {
    let Step { feature, value, threshold, left, .. } = step;
    let limit = feature.readable(threshold.saturating_add(1));
    let sign = if left { "<" } else { ">=" };
    let margin = f64::from(step.margin()) / 8.0;
    let (value, limit) = (number(feature.readable(value)), number(limit));
    format!("  {feature} ~ {value} {sign} {limit}, by {margin:.2} octaves")
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

fn slowdown(loss: Loss) -> String {
    loss.log2().map_or_else(|| "unknown".to_owned(), |log2| format!("{:.2}x", log2.exp2()))
}
