//! The project's own programs, run as a user runs them.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::{env, io, thread};

use anyhow::{Context, anyhow, bail};
use serde_json::Value;

use crate::laps::Lap;

/// Run `gemmtree` from beside this program and return the JSON objects that it printed.
pub(crate) fn gemmtree(arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
    let mut command = command(arguments)?;
    let output = command.stderr(Stdio::inherit()).output().with_context(|| missing(&command))?;
    objects("gemmtree", arguments, output.status, output.stdout)
}

/// [`gemmtree`] for `gemmtree-board`, on this machine.
pub(crate) fn board(arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
    let this = env::current_exe().context("could not find this program")?;
    let mut command = Command::new(this.with_file_name("gemmtree-board"));
    command.args(arguments);
    let output = command.stderr(Stdio::inherit()).output().with_context(|| missing(&command))?;
    objects("gemmtree-board", arguments, output.status, output.stdout)
}

/// [`gemmtree`] with `--verbose`, and where the time went.
pub(crate) fn gemmtree_timed(arguments: &[&str]) -> anyhow::Result<(Vec<Value>, Vec<Lap>)> {
    let mut command = command(arguments)?;
    command.arg("--verbose").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| missing(&command))?;
    let told = child.stderr.take().context("no stderr")?;
    let told = thread::spawn(|| listen(told));
    let output = child.wait_with_output().with_context(|| missing(&command))?;
    let laps = told.join().map_err(|_| anyhow!("could not read what `gemmtree` told"))?;
    Ok((objects("gemmtree", arguments, output.status, output.stdout)?, laps))
}

/// Passes on what a program tells; returns the steps that it tells the time of.
fn listen(told: impl Read) -> Vec<Lap> {
    let mut laps = Vec::new();
    for line in BufReader::new(told).lines().map_while(Result::ok) {
        laps.extend(Lap::read(&line));
        // A closed stderr must not stop the work.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
    laps
}

fn command(arguments: &[&str]) -> anyhow::Result<Command> {
    let this = env::current_exe().context("could not find this program")?;
    let mut command = Command::new(this.with_file_name("gemmtree"));
    command.args(arguments);
    Ok(command)
}

fn missing(command: &Command) -> String {
    format!("could not run `{}`; build it first", command.get_program().display())
}

fn objects(
    program: &str,
    arguments: &[&str],
    status: ExitStatus,
    stdout: Vec<u8>,
) -> anyhow::Result<Vec<Value>> {
    let shown = format!("{program} {}", arguments.join(" "));
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    let text = String::from_utf8(stdout).context("not text")?;
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
