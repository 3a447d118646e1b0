//! Libraries that end or hold up the program as soon as they are loaded: told in words, within the limit.
#![cfg(target_os = "linux")]
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may print, and ends by a panic"
)]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::pretend::within;
use common::{Ended, file, program};
use kernels::Configuration;
use kernels::plan::{self, PlanRow};
use selector_core::{GemmShape, ProblemClass};

const PATIENCE: Duration = Duration::from_secs(60);

/// A library that does this when it is loaded; `None` where there is no compiler.
fn library(folder: &Path, does: &str) -> Option<String> {
    let text = format!(
        "#include <stdlib.h>\n#include <unistd.h>\n__attribute__((constructor)) static void begin(void) {{ {does} }}\n"
    );
    let (source, library) = (file(folder, "it.c", text.as_bytes()), folder.join("it.so"));
    let library = library.to_str().unwrap().to_owned();
    let mut compiler = Command::new("cc");
    let made = compiler.args(["-shared", "-fPIC", "-o", &library, &source]).status();
    if made.is_err() {
        println!("skipped: there is no C compiler");
        return None;
    }
    assert!(made.unwrap().success());
    Some(library)
}

fn ended(library: &str) -> Ended {
    let mut command = program();
    command.env("GEMMTREE_OPENCL", library).args(["devices", "--give-up-after", "1"]);
    Ended::of(within(PATIENCE, &mut command))
}

#[test]
fn a_driver_that_ends_the_program_is_an_error_whatever_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    for code in [0, 1, 7] {
        let Some(library) = library(folder.path(), &format!("exit({code});")) else { return };
        let ended = ended(&library);
        assert_eq!(ended.code, Some(2), "{ended:#?}");
        let words = format!("the driver ended the program before it was done (exit code {code})");
        assert!(ended.stderr.contains(&words) && ended.stderr.contains("hint: "), "{ended:#?}");
    }
}

#[test]
fn a_driver_that_ends_the_worker_is_told_too() {
    let folder = tempfile::tempdir().unwrap();
    let row = PlanRow {
        shape: GemmShape::new(8, 8, 8, 1),
        class: ProblemClass::F32_NN,
        configuration: Configuration::universal(),
        repetitions: 1,
    };
    let (plan, output) = (folder.path().join("plan.csv"), folder.path().join("data.csv"));
    plan::write(&[row], fs::File::create(&plan).unwrap()).unwrap();
    for code in [0, 1] {
        let Some(library) = library(folder.path(), &format!("exit({code});")) else { return };
        let mut command = program();
        command.env("GEMMTREE_OPENCL", library).arg("collect");
        command.arg("--plan").arg(&plan).arg("--output").arg(&output);
        let ended = Ended::of(within(PATIENCE, &mut command));
        assert_eq!(ended.code, Some(2), "{ended:#?}");
        assert!(ended.stderr.contains("the driver ended the program"), "{ended:#?}");
    }
}

#[test]
fn a_library_that_is_named_and_crashes_is_named_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = library(folder.path(), "abort();") else { return };
    let mut command = program();
    command.args(["bench", "--bundle", "no.gtb", "--clblast", &library]);
    let ended = Ended::of(within(PATIENCE, &mut command));
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains(&library) && ended.stderr.contains("signal 6"), "{ended:#?}");
}

#[test]
fn a_driver_that_hangs_while_it_is_loaded_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = library(folder.path(), "for (;;) pause();") else { return };
    // The watch may be late in one run of many.
    for _ in 0..5 {
        let ended = ended(&library);
        assert_eq!(ended.code, Some(2), "{ended:#?}");
        assert!(ended.stderr.contains("the device did not answer"), "{ended:#?}");
    }
}
