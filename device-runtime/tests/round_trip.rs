//! Model to result on a real device: compile, check, run and bench, from binaries only.

mod common;

use std::fs;
use std::process::Command;

use common::{KERNELS, device, file, model, run};
use kernels::bundle::Bundle;
use selector_core::ProblemClass;

#[test]
fn a_model_becomes_a_bundle_that_computes_right_and_tells_its_cost() {
    if device().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let classes = ["f32-nn", "f32-tt", "f16-nt", "f16h-tn"].map(|class| class.parse().unwrap());
    let model = file(folder.path(), "m.gtm", &model(&classes));
    let path = folder.path().join("b.gtb");
    let bundle = path.to_str().unwrap();
    let done = run(&["compile", "--model", &model, "--output", bundle]).ok().done();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(done["bytes"], bytes.len());
    assert_eq!(done["left_out"], 0);
    assert_eq!(Bundle::parse(&bytes).unwrap().programs.len(), classes.len() * 3);
    // Only the bundle is left in the folder, nothing temporary.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);

    let checked = run(&["check", "--bundle", bundle]).ok();
    let done = checked.done();
    assert_eq!((&done["kernels"], &done["wrong"]), (&12.into(), &0.into()), "{checked:?}");
    for line in checked.json() {
        if line["event"] != "done" {
            assert_eq!(line["status"], "ok", "{line}");
            assert!(line["error_share_of_bound"].as_f64().unwrap() <= 1.0, "{line}");
        }
    }

    // The tree asks for m: below 16 goes to the first kernel.
    for (shape, kernel) in [("15x40x24", 1), ("16x40x24", 2)] {
        let done = run(&["run", "--bundle", bundle, "--shape", shape]).ok().done();
        assert_eq!(done["kernel"], kernel);
        assert_eq!(done["configuration"], KERNELS[kernel - 1]);
        assert_eq!(done["checked"], true);
        assert!(done["device_ns"].as_u64().unwrap() > 0);
    }
    for class in ["f16-nt", "f16h-tn"] {
        let shape = ["--shape", "15x300x24", "--class", class];
        let done = run(&[&["run", "--bundle", bundle], &shape[..]].concat()).ok().done();
        assert_eq!((&done["class"], &done["checked"]), (&class.into(), &true.into()), "{done}");
        assert_eq!(done["kernel"], 1);
    }
    let nothing = run(&["run", "--bundle", bundle, "--shape", "0x5x5"]).ok().done();
    assert!(nothing["kernel"].is_null(), "{nothing}");
    run(&["run", "--bundle", bundle, "--shape", "4294967295x4294967295x4294967295"])
        .refused(&["beyond the device's largest buffer"]);
    let scaled = run(&["run", "--bundle", bundle, "--shape", "5x0x5"]).ok().done();
    assert_eq!(scaled["checked"], true);
    run(&["run", "--bundle", bundle, "--shape", "9x9x9", "--class", "f32-nt"]).refused(&["f32-nt"]);

    let bench = run(&["bench", "--bundle", bundle, "--calls", "20", "--shapes", "8x8x8"]).ok();
    let line = &bench.json()[0];
    for part in ["select", "arguments", "enqueue", "device"] {
        let (median, p99) = (&line[part]["median_ns"], &line[part]["p99_ns"]);
        assert!(median.as_u64().unwrap() > 0 && median.as_u64() <= p99.as_u64(), "{line}");
    }
}

#[test]
fn only_the_classes_asked_for_are_compiled() {
    if device().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let both = ["f32-nn", "f32-nt"].map(|class| class.parse().unwrap());
    let model = file(folder.path(), "m.gtm", &model(&both));
    let path = folder.path().join("b.gtb");
    let bundle = path.to_str().unwrap();
    let arguments = ["compile", "--model", &model, "--output", bundle, "--class"];
    run(&[&arguments[..], &["f32-tn"]].concat()).refused(&["m.gtm", "no tree for class f32-tn"]);
    assert!(!path.exists());
    run(&[&arguments[..], &["f32-nt"]].concat()).ok();
    let bytes = fs::read(&path).unwrap();
    let names: Vec<_> =
        Bundle::parse(&bytes).unwrap().programs.iter().map(|one| one.name).collect();
    assert!(names.iter().all(|name| name.ends_with("/f32-nt")), "{names:?}");
    run(&["run", "--bundle", bundle, "--shape", "4x4x4"]).refused(&["f32-nn"]);
}

#[test]
fn a_damaged_bundle_is_refused_wherever_it_is_damaged() {
    let Some(device) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let model = model(&[ProblemClass::F32_NN]);
    let whole = device_runtime::compile::compile(&device, &model, &[], |_| {}).unwrap();
    for position in [0, 4, 9, 13, 30, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[position] ^= 0x10;
        let path = file(folder.path(), "damaged.gtb", &damaged);
        run(&["check", "--bundle", &path]).refused(&["damaged.gtb", "caused by: "]);
        let path = file(folder.path(), "cut.gtb", &whole[..position]);
        run(&["check", "--bundle", &path]).refused(&["cut.gtb", "caused by: "]);
    }
}

#[test]
fn a_part_of_the_whole_kernel_space_is_right() {
    if device().is_none() {
        return;
    }
    // One second ends after the first program that it began.
    let done = run(&["check", "--sources", "--seconds", "1", "--seed", "5"]).ok().done();
    assert!(done["programs"].as_u64().unwrap() >= 1, "{done}");
    assert_eq!((&done["wrong"], &done["not_built"]), (&0.into(), &0.into()));
}

#[test]
fn the_examples_multiply_right() {
    if device().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let model = file(folder.path(), "m.gtm", &model(&[ProblemClass::F32_NN]));
    let path = folder.path().join("b.gtb");
    let bundle = path.to_str().unwrap();
    run(&["compile", "--model", &model, "--output", bundle]).ok();
    for example in ["gemm", "own_context"] {
        let mut command = Command::new(env!("CARGO"));
        let package = ["run", "--quiet", "--package", "device-runtime", "--example", example];
        let out = command.args(package).args(["--", bundle]).output().unwrap();
        assert!(out.status.success() && out.stdout == b"right\n", "{example}: {out:?}");
    }
}
