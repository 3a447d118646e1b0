//! Whether a million calls, threads and contexts leave anything behind: the tests that say so, counted.

use std::env;
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::figure::{Sheet, Target};

/// The tests, and what each stands for.
const TESTS: [(&str, &str); 4] = [
    ("a_million_calls_allocate_nothing_and_memory_is_flat", "million_calls_flat"),
    ("calls_on_a_driver_allocate_nothing_of_ours", "calls_on_a_driver_flat"),
    ("eight_threads_of_ten_thousand_calls_with_their_own_alpha_are_all_right", "threads_right"),
    ("a_thousand_contexts_that_come_and_go_leave_nothing_behind", "thousand_contexts_flat"),
];

pub(super) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "test",
        "--release",
        "--quiet",
        "--package",
        "device-runtime",
        "--test",
        "steady",
    ]);
    command.args(["--", "--format", "pretty"]).stderr(Stdio::inherit());
    let output = command.output().context("could not run cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    for (test, name) in TESTS {
        let passed = text.lines().any(|line| line.starts_with(&format!("test {test} ... ok")));
        sheet.figure(&format!("runtime.{name}"), f64::from(u8::from(passed)), Target::Exactly(1.0));
    }
    Ok(())
}
