//! Claims that are tests: each is 1 where its test passes.

use std::env;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::figure::{Sheet, Target};

/// Tests of one file, and what each stands for.
struct File {
    package: &'static str,
    test: &'static str,
    claims: &'static [(&'static str, &'static str)],
}

const FILES: [File; 3] = [
    File {
        package: "device-runtime",
        test: "steady",
        claims: &[
            ("a_million_calls_allocate_nothing_and_memory_is_flat", "million_calls_flat"),
            ("calls_on_a_driver_allocate_nothing_of_ours", "calls_on_a_driver_flat"),
            (
                "eight_threads_of_ten_thousand_calls_with_their_own_alpha_are_all_right",
                "threads_right",
            ),
            ("a_thousand_contexts_that_come_and_go_leave_nothing_behind", "thousand_contexts_flat"),
        ],
    },
    File {
        package: "gemmtree",
        test: "c_programs",
        claims: &[
            ("a_program_of_clblasts_runs_unchanged", "clblast_program_unchanged"),
            ("a_program_with_clblasts_own_header_runs_unchanged", "clblast_own_header_unchanged"),
            ("all_calls_of_the_header_work_and_wrong_arguments_are_statuses", "c_header_whole"),
        ],
    },
    File {
        package: "gemmtree",
        test: "memory",
        claims: &[
            ("c_programs_use_memory_rightly_and_lose_none", "c_programs_memory_clean"),
            (
                "what_is_lost_and_what_is_used_when_it_is_gone_is_found",
                "memory_checker_finds_faults",
            ),
        ],
    },
];

pub(super) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    FILES.iter().try_for_each(|file| file.tell(sheet))
}

impl File {
    /// Run the tests of the file. What is skipped, since something is not installed, is told as skipped.
    fn tell(&self, sheet: &mut Sheet) -> anyhow::Result<()> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["test", "--release", "--quiet", "--package", self.package]);
        command.args(["--test", self.test, "--", "--format", "pretty", "--show-output"]);
        let output = command.stderr(Stdio::inherit()).output().context("could not run cargo")?;
        let text = String::from_utf8_lossy(&output.stdout);
        for (test, name) in self.claims {
            let name = format!("runtime.{name}");
            let ran = text.lines().any(|line| line.starts_with(&format!("test {test} ... ")));
            ensure!(
                ran,
                "`{test}` of {} was not run: it does not build, or has another name",
                self.test
            );
            let passed = text.lines().any(|line| line.starts_with(&format!("test {test} ... ok")));
            match skipped(&text, test) {
                Some(why) if passed => sheet.skipped(&name, why),
                _ => sheet.figure(&name, f64::from(u8::from(passed)), Target::Exactly(1.0)),
            }
        }
        Ok(())
    }
}

/// Why a test was skipped, as it printed it.
fn skipped<'a>(text: &'a str, test: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    let heading = format!("---- {test} stdout ----");
    lines.find(|line| *line == heading)?;
    let told = lines.take_while(|line| !line.is_empty());
    told.filter_map(|line| line.strip_prefix("skipped: ")).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_was_skipped_is_told_by_its_own_output() {
        let text = "test a ... ok\ntest b ... ok\n\nsuccesses:\n\n---- a stdout ----\nskipped: no device\n\n\
                    ---- b stdout ----\nsome words\n\n";
        assert_eq!(skipped(text, "a"), Some("no device"));
        assert_eq!([skipped(text, "b"), skipped(text, "c")], [None, None]);
    }
}
