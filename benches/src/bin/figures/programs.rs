//! The project's own programs, run as a user runs them.

use std::env;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

/// Run `gemmtree` from beside this program and return the JSON objects that it printed.
pub(crate) fn gemmtree(arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
    let this = env::current_exe().context("could not find this program")?;
    let program = this.with_file_name("gemmtree");
    let shown = format!("gemmtree {}", arguments.join(" "));
    let output = Command::new(&program)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("could not run `{}`; build it first", program.display()))?;
    if !output.status.success() {
        bail!("`{shown}` failed ({})", output.status);
    }
    let text = String::from_utf8(output.stdout).context("not text")?;
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).with_context(|| format!("`{shown}`: {line}")))
        .collect()
}

/// The number at a path of keys, e.g. `/share_of_optimal/mean`.
pub(crate) fn number(value: &Value, path: &str) -> anyhow::Result<f64> {
    let number = value.pointer(path).and_then(Value::as_f64);
    number.with_context(|| format!("no number at `{path}` of {value}"))
}
