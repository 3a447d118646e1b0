//! The ladder on a real driver: what another driver made is tried in a child process, built anew and kept.
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::fs;

use common::{Ended, device, file, model, program, run};
use device_runtime::check::check_bundle;
use device_runtime::compile::compile;
use device_runtime::ladder::{Fault, InProcess, Options, Rung, Source, climb};
use device_runtime::nearest::file_name;
use device_runtime::{Device, OpenCl};
use kernels::bundle::{self, Bundle, DriverKey};
use selector_core::ProblemClass;

const CLASSES: [ProblemClass; 1] = [ProblemClass::F32_NN];

/// What this driver makes of the model, under another key and with other binaries.
fn bundle_of(
    device: &OpenCl,
    key: impl Fn(DriverKey) -> DriverKey,
    binary: impl Fn(&str, &[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let bytes = compile(device, &model(&CLASSES), &[], |_| {}).unwrap();
    let own = Bundle::parse(&bytes).unwrap();
    let programs = own.programs.iter();
    let programs: Vec<_> =
        programs.map(|one| (one.name.to_owned(), binary(one.name, one.binary))).collect();
    bundle::write(&key(own.key), &model(&CLASSES), &programs).unwrap()
}

fn other_driver(key: DriverKey) -> DriverKey {
    DriverKey { driver: "another driver".to_owned(), ..key }
}

fn keep(_: &str, binary: &[u8]) -> Vec<u8> {
    binary.to_vec()
}

fn junk(_: &str, _: &[u8]) -> Vec<u8> {
    b"junk".to_vec()
}

#[test]
fn binaries_of_another_driver_serve_if_they_load_and_compute_right() {
    let Some(device) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "b.gtb", &bundle_of(&device, other_driver, keep));
    let ended = run(&["run", "--bundle", &path, "--shape", "15x40x24"]).ok();
    assert_eq!(ended.done()["rung"], "foreign_binary");
    assert_eq!((&ended.done()["kernel"], &ended.done()["checked"]), (&1.into(), &true.into()));
    assert!(ended.stderr.contains("made for") && ended.stderr.contains("another driver"));
    assert!(ended.stderr.contains("trained on times of `test`"), "{ended:?}");
}

#[test]
fn what_the_driver_refuses_is_built_and_kept_only_if_asked() {
    let Some(device) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let stale = bundle_of(&device, other_driver, junk);
    let path = file(folder.path(), "b.gtb", &stale);
    run(&["check", "--bundle", &path, "--no-build"]).refused(&[
        "b.gtb",
        "binary of another driver of `universal/f32-nn`: ",
        "source of `universal/f32-nn`: not tried",
    ]);
    let ended = run(&["check", "--bundle", &path]).ok();
    assert_eq!((&ended.done()["rung"], &ended.done()["wrong"]), (&"source".into(), &0.into()));
    assert!(ended.stderr.contains("3 programs were built from source"), "{ended:?}");
    assert_eq!(fs::read(&path).unwrap(), stale);

    let ended = run(&["check", "--bundle", &path, "--refresh"]).ok();
    assert_eq!(ended.done()["rung"], "source");
    let refreshed = fs::read(&path).unwrap();
    assert_eq!(Bundle::parse(&refreshed).unwrap().key, device.info().driver_key());
    assert_eq!(Bundle::parse(&refreshed).unwrap().model_bytes, model(&CLASSES));
    assert_eq!(fs::read(format!("{path}.previous")).unwrap(), stale);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    let ended = run(&["bench", "--bundle", &path, "--shapes", "4x4x4", "--calls", "2"]).ok();
    assert!(!ended.stderr.contains("built from source"), "{ended:?}");
    let ended = run(&["check", "--bundle", &path, "--refresh"]).ok();
    assert_eq!(ended.done()["rung"], "binary");
    assert!(ended.stderr.contains("this driver's own already"), "{ended:?}");
    assert_eq!(fs::read(&path).unwrap(), refreshed);
}

#[test]
fn one_bad_binary_under_the_right_key_costs_a_build_of_its_own_alone() {
    let Some(device) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cut = |name: &str, binary: &[u8]| {
        let whole = !name.starts_with("tile:4x4x8");
        binary[..if whole { binary.len() } else { binary.len() / 2 }].to_vec()
    };
    let path = file(folder.path(), "b.gtb", &bundle_of(&device, |key| key, cut));
    let ended = run(&["check", "--bundle", &path]).ok();
    assert_eq!((&ended.done()["rung"], &ended.done()["wrong"]), (&"source".into(), &0.into()));
    assert!(ended.stderr.contains("1 program was built from source"), "{ended:?}");
}

#[test]
fn a_folder_gives_the_nearest_of_its_bundles_and_models_and_keeps_what_is_built_beside_them() {
    let Some(device) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let arguments = ["run", "--bundles", path, "--shape", "15x40x24"];
    let ended = run(&arguments).ok();
    assert_eq!(ended.done()["rung"], "universal");
    assert!(ended.stderr.contains("no bundle or model for"), "{ended:?}");
    // Of a device with more compute units, and with binaries that must not reach the driver.
    let more = |key: DriverKey| DriverKey { compute_units: key.compute_units + 1000, ..key };
    let sibling = bundle_of(&device, more, junk);
    file(folder.path(), "sibling.gtb", &sibling);
    file(folder.path(), "damaged.gtb", &sibling[..20]);
    let ended = run(&[&arguments[..], &["--refresh"]].concat()).ok();
    assert_eq!(ended.done()["rung"], "source");
    assert!(ended.stderr.contains("with other compute units"), "{ended:?}");
    assert!(ended.stderr.contains("damaged.gtb") && ended.stderr.contains("passed over"));
    assert_eq!(fs::read(folder.path().join("sibling.gtb")).unwrap(), sibling);
    let own = fs::read(folder.path().join(file_name(&device.info().driver_key()))).unwrap();
    assert_eq!(Bundle::parse(&own).unwrap().key, device.info().driver_key());
    let ended = run(&arguments).ok();
    assert_eq!((&ended.done()["rung"], &ended.done()["kernel"]), (&"binary".into(), &1.into()));
    run(&["run", "--bundles", "no/such", "--shape", "4x4x4"]).refused(&["`no/such`"]);
}

#[test]
fn binaries_taken_after_a_kernel_ran_hold_all_kernels_of_the_program() {
    let Some(device) = device() else { return };
    let bytes = compile(&device, &model(&CLASSES), &[], |_| {}).unwrap();
    let own = Bundle::parse(&bytes).unwrap();
    for configuration in &own.kernels {
        let wanted = configuration.program(ProblemClass::F32_NN);
        let early = device.binary(&device.build(&wanted).unwrap()).unwrap();
        let late = own.binary(&wanted.name).unwrap();
        assert!(late.len() >= early.len(), "{}: {} < {}", wanted.name, late.len(), early.len());
        // From the binary alone, in a context of its own.
        let loaded = OpenCl::open(None).unwrap();
        let kernel = loaded.load(&wanted, late).unwrap();
        assert!(loaded.work_group_limit(&kernel).unwrap() > 0);
    }
}

#[test]
fn a_host_climbs_in_its_own_process_with_a_bundle_a_model_or_nothing() {
    let Some(device) = device() else { return };
    let (stale, model) = (bundle_of(&device, other_driver, junk), model(&CLASSES));
    let wanted = Options { classes: Some(&CLASSES), ..Options::default() };
    for (source, rung, kernels) in [
        (Source::Bundle(&stale), Rung::Source, 3),
        (Source::Model(&model), Rung::Source, 3),
        (Source::Universal(&CLASSES), Rung::Universal, 1),
    ] {
        let standing = climb(&device, source, wanted, &mut InProcess(&device)).unwrap();
        assert_eq!(standing.report().rung, rung, "{source:?}");
        let mut checked = 0;
        let mut runtime = standing.load(common::device().unwrap()).unwrap();
        check_bundle(&mut runtime, 1, |report| {
            assert!(report.problems > 0 && report.outcome.is_ok(), "{report:?}");
            checked += 1;
        })
        .unwrap();
        assert_eq!(checked, kernels);
    }
    // Another driver's binaries are not tried where they could take the host down.
    let standing = climb(&device, Source::Bundle(&stale), wanted, &mut InProcess(&device)).unwrap();
    let mut programs = standing.report().programs.iter();
    assert!(programs.all(|one| one.tried == [(Rung::ForeignBinary, Fault::NoChild)]));
}

#[test]
fn a_child_that_hears_what_is_no_request_says_so() {
    let Some(device) = device() else { return };
    drop(device);
    let input = tempfile::NamedTempFile::new().unwrap();
    fs::write(input.path(), "no request\n").unwrap();
    let attempt = program().arg("attempt").stdin(input.reopen().unwrap()).output().unwrap();
    Ended::of(attempt).refused(&["`no request` is not a request"]);
}
