//! Classes that allow arithmetic in 16 bits, on devices with it and without: both measure, compile and
//! run them, and whoever has none is told what is computed instead.
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::fs;

use common::{Ended, device, file, model, run};
use device_runtime::Device;
use kernels::measurement::{Header, Row, Status};
use kernels::plan::{self, PlanRow};
use selector_core::{GemmShape, ProblemClass};

const INSTEAD: &str = "class f16h-nn is computed as f16-nn there";

fn half() -> ProblemClass {
    "f16h-nn".parse().unwrap()
}

/// The run succeeded, and warned just where the device has no such arithmetic.
fn warned(ended: Ended, has_half: bool) {
    let ended = ended.ok();
    assert_eq!(ended.stderr.contains(INSTEAD), !has_half, "{ended:#?}");
}

#[test]
fn collecting_says_in_the_data_set_whether_the_device_has_16_bit_arithmetic() {
    let Some(device) = device() else { return };
    let has_half = device.info().half_arithmetic();
    let folder = tempfile::tempdir().unwrap();
    let rows = ["f32-nn", "f16-nn", "f16h-nn"].map(|class| PlanRow {
        shape: GemmShape::new(16, 40, 24, 1),
        class: class.parse().unwrap(),
        configuration: "tile:4x4x8@8x8".parse().unwrap(),
        repetitions: 1,
    });
    let collect = |name: &str, rows: &[PlanRow]| {
        let mut bytes = Vec::new();
        plan::write(rows, &mut bytes).unwrap();
        let plan = file(folder.path(), "plan.csv", &bytes);
        let output = folder.path().join(name);
        let ended = run(&["collect", "--plan", &plan, "--output", output.to_str().unwrap()]);
        (ended, fs::read_to_string(output).unwrap())
    };
    let (ended, text) = collect("all.csv", &rows);
    warned(ended, has_half);
    assert_eq!(Header::parse(text.lines()).unwrap().half_arithmetic, Some(has_half));
    let measured = text.lines().filter_map(|line| Row::parse(line).ok());
    let measured: Vec<_> = measured.map(|row| (row.class, row.status)).collect();
    assert_eq!(measured, rows.each_ref().map(|row| (row.class, Status::Ok)));
    let (ended, _) = collect("others.csv", &rows[..2]);
    warned(ended, true);
}

#[test]
fn compiling_and_running_say_what_is_computed_instead() {
    let Some(device) = device() else { return };
    let has_half = device.info().half_arithmetic();
    let folder = tempfile::tempdir().unwrap();
    let model = file(folder.path(), "m.gtm", &model(&[ProblemClass::F32_NN, half()]));
    let bundle = folder.path().join("b.gtb");
    let bundle = bundle.to_str().unwrap();
    let compile = ["compile", "--model", &model, "--output", bundle];
    warned(run(&compile), has_half);
    warned(run(&[&compile[..], &["--class", "f32-nn"]].concat()), true);
    warned(run(&[&compile[..], &["--class", "f16h-nn"]].concat()), has_half);
    let shape = ["--shape", "15x300x24"];
    let run_class =
        |class| run(&[&["run", "--bundle", bundle, "--class", class], &shape[..]].concat());
    warned(run_class("f16h-nn"), has_half);
    run_class("f16-nn").refused(&["f16-nn"]);
}
