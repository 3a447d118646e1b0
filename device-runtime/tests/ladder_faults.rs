//! The ladder on a driver that fails by a script: each fault ends on the right rung with a right result, or in
//! an error that says what to do.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::fs;
use std::path::Path;

use common::{Ended, file, model, program};
use fake_icd::{Fake, Fault, RESULT, Rule, Script, StaleBinaries};
use kernels::bundle::Bundle;
use selector_core::ProblemClass;

const BUILD_FAILURE: i32 = -11;
const INVALID_BINARY: i32 = -42;
const OUT_OF_RESOURCES: i32 = -5;
/// The program of small m, and what the model of the tests names it.
const SMALL: &str = "tile:4x4x8/";

/// Run the program on the pretend driver. One that hangs is given up soon, any other has time enough.
fn run(script: &Script, arguments: &[&str]) -> Ended {
    let hangs = script.rules.iter().any(|rule| rule.does == Fault::Hang);
    let patience = if hangs { "5" } else { "60" };
    let (mut command, fake) = (program(), Fake::new(script).unwrap());
    fake.lead(command.args(arguments).args(["--give-up-after", patience]));
    Ended::of(command.output().unwrap())
}

fn one(rule: Rule) -> Script {
    Script::default().with(rule)
}

/// The driver after an update.
fn updated(stale_binaries: StaleBinaries) -> Script {
    Script { driver: "2.0".to_owned(), stale_binaries, ..Script::default() }
}

/// A bundle that driver 1.0 makes.
fn bundle(folder: &Path) -> String {
    let (from, to) = (file(folder, "m.gtm", &model(&[ProblemClass::F32_NN])), folder.join("m.gtb"));
    let to = to.to_str().unwrap().to_owned();
    run(&Script::default(), &["compile", "--model", &from, "--output", &to]).ok();
    to
}

/// Multiply by it, with an m for which the model chooses kernel 1: on which rung, by which kernel, and what was
/// said.
fn multiplied(script: &Script, bundle: &str) -> (String, u64, String) {
    let ended = run(script, &["run", "--bundle", bundle, "--shape", "15x40x33"]).ok();
    let done = ended.done();
    assert_eq!(done["checked"], true, "{ended:#?}");
    (done["rung"].as_str().unwrap().to_owned(), done["kernel"].as_u64().unwrap(), ended.stderr)
}

#[test]
fn after_an_update_of_the_driver_run_computes_right_whatever_becomes_of_the_binaries() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = bundle(folder.path());
    let before = fs::read(&bundle).unwrap();
    let (rung, kernel, said) = multiplied(&Script::default(), &bundle);
    assert_eq!((&rung[..], kernel), ("binary", 1), "{said}");
    assert!(!said.contains("made for"), "{said}");
    for stale in [StaleBinaries::Refused, StaleBinaries::Wrong, StaleBinaries::Crash] {
        let (rung, kernel, said) = multiplied(&updated(stale), &bundle);
        assert_eq!((&rung[..], kernel), ("source", 1), "{stale:?}: {said}");
        assert!(said.contains("driver 1.0, but this is `Pretend GPU`, driver 2.0"), "{said}");
        assert!(said.contains("3 programs were built from source ("), "{said}");
        assert!(said.contains("; --refresh keeps them"), "{said}");
        assert!(said.contains("the model was trained on times of `test`"), "{said}");
    }
    assert_eq!(fs::read(&bundle).unwrap(), before, "nothing is written unasked");
}

#[test]
fn a_bundle_is_refreshed_once_and_its_model_is_marked_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let before = fs::read(&path).unwrap();
    let script = updated(StaleBinaries::Crash);
    let ended = run(&script, &["check", "--bundle", &path, "--refresh"]).ok();
    assert_eq!((&ended.done()["rung"], &ended.done()["wrong"]), (&"source".into(), &0.into()));
    let after = fs::read(&path).unwrap();
    let bundle = Bundle::parse(&after).unwrap();
    assert_eq!((&bundle.key.driver[..], bundle.programs.len()), ("2.0", 3));
    assert_eq!(bundle.model_bytes, Bundle::parse(&before).unwrap().model_bytes);
    assert_eq!(fs::read(format!("{path}.previous")).unwrap(), before);
    let (rung, _, said) = multiplied(&script, &path);
    assert_eq!(rung, "binary", "{said}");
    assert!(said.contains("trained on") && !said.contains("built from source"), "{said}");
    // A refresh that fails leaves the file as it is.
    let broken = updated(StaleBinaries::Refused)
        .with(Rule::new("clBuildProgram", Fault::Fail(BUILD_FAILURE)));
    let broken = Script { driver: "3.0".to_owned(), ..broken };
    run(&broken, &["check", "--bundle", &path, "--refresh"]).refused(&["no kernel can be used"]);
    assert_eq!(fs::read(&path).unwrap(), after);
}

#[test]
fn a_driver_that_fails_over_its_own_binaries_is_built_for() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = bundle(folder.path());
    let faults = [
        (Fault::Crash, "took the process down"),
        (Fault::Abort, "took the process down"),
        (Fault::Hang, "no answer within 5 s"),
        (Fault::Fail(INVALID_BINARY), "(-42)"),
        (Fault::Lose(OUT_OF_RESOURCES), "(-5)"),
    ];
    for (does, why) in faults {
        // The first look at a program fails, and a later one does not.
        let rule = Rule::new("clCreateProgramWithBinary", does).of(SMALL).once();
        let (rung, kernel, said) = multiplied(&one(rule.clone()), &bundle);
        assert_eq!((&rung[..], kernel), ("source", 1), "{rule:?}: {said}");
        assert!(said.contains("1 program was built from source"), "{rule:?}: {said}");
        let arguments = ["check", "--bundle", &bundle, "--no-build"];
        let ended = run(&one(rule), &arguments).ok();
        assert!(ended.stderr.contains(why) && ended.stderr.contains("left out"), "{ended:#?}");
    }
}

#[test]
fn a_kernel_that_computes_something_else_gives_way_to_the_next_of_its_leaf() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = bundle(folder.path());
    let wrong = one(Rule::new(RESULT, Fault::Wrong).of(SMALL));
    let (rung, kernel, said) = multiplied(&wrong, &bundle);
    assert_eq!((&rung[..], kernel), ("binary", 0), "{said}");
    assert!(said.contains("`tile:4x4x8/f32-nn` is left out"), "{said}");
    assert!(said.contains("computes something else than the reference"), "{said}");
    let ended = run(&wrong, &["check", "--bundle", &bundle]);
    assert_eq!((ended.code, &ended.done()["wrong_binaries"]), (Some(1), &1.into()));
    assert!(ended.stderr.contains("error: 1 of the bundle's binaries"), "{ended:#?}");
    // Also where only what comes from a binary is wrong, even after it was built.
    let rule = Rule::new(RESULT, Fault::Wrong).of(SMALL).from_binary();
    assert_eq!(multiplied(&one(rule), &bundle).1, 0);
    let all = one(Rule::new(RESULT, Fault::Wrong).from_binary());
    run(&all, &["run", "--bundle", &bundle, "--shape", "15x40x33"]).refused(&[
        "no kernel can be used on `Pretend GPU`",
        "binary of `universal/f32-nn`: universal computes something else",
        "source of `universal/f32-nn`: universal computes something else",
        "hint: ",
    ]);
}

#[test]
fn what_neither_loads_nor_builds_leaves_the_universal_kernel_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = bundle(folder.path());
    let rule = Rule::new("clBuildProgram", Fault::Fail(BUILD_FAILURE));
    let tiles = updated(StaleBinaries::Refused).with(rule.clone().of("tile:"));
    let (rung, kernel, said) = multiplied(&tiles, &bundle);
    assert_eq!((&rung[..], kernel), ("universal", 0), "{said}");
    assert!(said.contains("only the universal kernel can be used"), "{said}");
    for (does, code) in [(Fault::Fail(BUILD_FAILURE), 1), (Fault::Crash, 2), (Fault::Hang, 2)] {
        let script = updated(StaleBinaries::Refused).with(Rule { does, ..rule.clone() });
        let ended = run(&script, &["run", "--bundle", &bundle, "--shape", "15x40x33"]);
        assert_eq!(ended.code, Some(code), "{does:?}: {ended:#?}");
        for words in [
            "no kernel can be used",
            "binary of another driver of `universal/f32-nn`: ",
            "source of `universal/f32-nn`: ",
            "hint: ",
        ] {
            assert!(ended.stderr.contains(words), "{words}: {ended:#?}");
        }
    }
}

#[test]
fn a_program_that_crashes_the_compiler_is_left_out_of_the_bundle_and_the_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = bundle(folder.path());
    let from = file(folder.path(), "m.gtm", &model(&[ProblemClass::F32_NN]));
    let arguments = ["compile", "--model", &from, "--output", &bundle];
    for does in [Fault::Crash, Fault::Hang] {
        let script = one(Rule::new("clBuildProgram", does).of(SMALL));
        let ended = run(&script, &arguments).ok();
        assert_eq!(ended.done()["left_out"], 1, "{ended:#?}");
        assert!(ended.stderr.contains("`tile:4x4x8/f32-nn` is left out: "), "{ended:#?}");
        // It was told once; it is neither built nor missed later.
        let (rung, kernel, said) = multiplied(&script, &bundle);
        assert_eq!((&rung[..], kernel), ("binary", 0), "{said}");
        assert!(!said.contains("left out"), "{said}");
    }
    let before = fs::read(&bundle).unwrap();
    let ended = run(&one(Rule::new("clBuildProgram", Fault::Crash)), &arguments);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains("the universal kernel cannot be used"), "{ended:#?}");
    assert_eq!(fs::read(&bundle).unwrap(), before);
}

#[test]
fn devices_of_one_name_and_odd_names_have_bundles_of_their_own() {
    let names = ["Mali-T628", "Mali-T628", "../a/b QUALCOMM "];
    let devices = names.map(str::to_owned).to_vec();
    let script = Script { devices, compute_units: vec![4, 2, 2], ..Script::default() };
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "trained.gtm", &model(&[ProblemClass::F32_NN]));
    let path = folder.path().to_str().unwrap();
    let run_on = |device: &str| {
        let arguments = ["run", "--bundles", path, "--shape", "15x40x33", "--device", device];
        run(&script, &[&arguments[..], &["--refresh"]].concat()).ok()
    };
    // The model is of another family: the universal kernel, and nothing is kept.
    let ended = run_on("0:0");
    assert_eq!(ended.done()["rung"], "universal");
    assert!(ended.stderr.contains("no bundle or model for `Mali-T628`"), "{ended:#?}");
    let bundle = folder.path().join("m.gtb");
    let to = bundle.to_str().unwrap();
    let trained = format!("{path}/trained.gtm");
    run(&script, &["compile", "--model", &trained, "--output", to, "--device", "0:0"]).ok();
    let told = |device: &str, rung: &str, words: &str| {
        let ended = run_on(device);
        assert_eq!(ended.done()["rung"], rung, "{device}: {ended:#?}");
        assert!(ended.stderr.contains(words), "{device}: {ended:#?}");
    };
    told("0:0", "binary", "of this device and driver");
    told("0:1", "source", "with other compute units");
    told("0:1", "binary", "of this device and driver");
    told("0:0", "binary", "of this device and driver");
    told("0:2", "universal", "no bundle or model for `../a/b QUALCOMM`");
    let mut files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap()).collect();
    files.sort_by_key(fs::DirEntry::file_name);
    let names: Vec<String> =
        files.iter().map(|one| one.file_name().into_string().unwrap()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("mali-t628-")), "{names:?}");
}
