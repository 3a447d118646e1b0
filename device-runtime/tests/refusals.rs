//! What is wrong is refused with its name, before a driver sees it.

mod common;

use std::fs;
use std::time::{Duration, Instant};

use common::{Ended, device, file, model, program, run};
use device_runtime::compile::compile;
use device_runtime::{Device, Runtime, RuntimeError};
use kernels::bundle::{self, Bundle};
use selector_core::ProblemClass;

#[test]
fn without_a_driver_every_verb_says_so_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let ended = |arguments: &[&str]| {
        let output = program().env("OCL_ICD_VENDORS", "/nonexistent").args(arguments).output();
        Ended::of(output.unwrap()).refused(&["no driver is installed", "hint: "])
    };
    ended(&["devices"]);
    let model = file(folder.path(), "m.gtm", &model(&[ProblemClass::F32_NN]));
    let bundle = folder.path().join("b.gtb");
    ended(&["compile", "--model", &model, "--output", bundle.to_str().unwrap()]);
    assert!(!bundle.exists());
    // Each in under a second; the wait that some loaders take is ten.
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn a_missing_library_and_one_without_opencl_are_named() {
    let ended = |library: &str| {
        Ended::of(program().env("GEMMTREE_OPENCL", library).arg("devices").output().unwrap())
    };
    let unseen = program().env("OPENCL_DYLIB_PATH", "/no/lib.so").arg("devices").output().unwrap();
    Ended::of(unseen).refused(&["no OpenCL library", "OPENCL_DYLIB_PATH=/no/lib.so: "]);
    let bad = ended("/no/such.so");
    bad.refused(&["no OpenCL library", "GEMMTREE_OPENCL=/no/such.so: ", "hint: "]);
    let both = ended("/no/such/libOpenCL.so;libm.so.6");
    both.refused(&[
        "no OpenCL in any library",
        "GEMMTREE_OPENCL=/no/such/libOpenCL.so: ",
        "GEMMTREE_OPENCL=libm.so.6: has no clGetPlatformIDs",
    ]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_library_of_any_name_is_used_if_it_is_named() {
    if device().is_none() {
        return;
    }
    // Where the loader found it for this process.
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let Some(library) = paths.find(|path| path.contains("/libOpenCL.so")) else {
        println!("skipped: the library has another name here");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("libmine.so");
    std::os::unix::fs::symlink(library, &mine).unwrap();
    for names in [mine.to_str().unwrap(), &format!("/no/such.so;{}", mine.display())] {
        let output = program().env("GEMMTREE_OPENCL", names).arg("devices").output().unwrap();
        assert!(!Ended::of(output).ok().json().is_empty(), "{names}");
    }
}

#[test]
fn a_device_that_is_not_there_is_listed_against_those_that_are() {
    if device().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let model = file(folder.path(), "m.gtm", &model(&[ProblemClass::F32_NN]));
    let output = folder.path().join("b.gtb");
    let arguments = ["compile", "--model", &model, "--output", output.to_str().unwrap()];
    let with = |wish| run(&[&arguments[..], &["--device", wish]].concat());
    with("no such device").refused(&["no OpenCL device matches `no such device`", "0:0"]);
    with("7:7").refused(&["`7:7`"]);
    with("0:0").ok();
}

#[test]
fn damaged_models_and_bundles_are_refused_by_name_and_replace_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let whole = model(&[ProblemClass::F32_NN]);
    let kept = file(folder.path(), "kept.gtb", b"GTB");
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for (name, bytes) in [
        ("cut.gtm", &whole[..whole.len() - 1]),
        ("flipped.gtm", &flipped),
        ("longer.gtm", &[&whole[..], b"x"].concat()),
        ("empty.gtm", b""),
    ] {
        let path = file(folder.path(), name, bytes);
        run(&["compile", "--model", &path, "--output", &kept]).refused(&[name, "caused by: "]);
        assert_eq!(fs::read(&kept).unwrap(), b"GTB");
        for verb in [&["check"][..], &["bench"], &["run", "--shape", "4x4x4"]] {
            run(&[verb, &["--bundle", &path]].concat()).refused(&[name]);
        }
    }
    let path = file(folder.path(), "whole.gtm", &whole);
    run(&["check", "--bundle", &path]).refused(&["whole.gtm", "not a bundle"]);
    run(&["check", "--bundle", "no/such.gtb"]).refused(&["`no/such.gtb`"]);
}

#[test]
fn a_model_of_other_sources_is_compiled_only_if_asked() {
    let Some(device) = device() else { return };
    drop(device);
    let folder = tempfile::tempdir().unwrap();
    let bytes = common::model_of_space(Some(7));
    let path = file(folder.path(), "foreign.gtm", &bytes);
    let output = folder.path().join("b.gtb");
    let output = output.to_str().unwrap();
    let arguments = ["compile", "--model", &path, "--output", output];
    run(&arguments).refused(&["foreign.gtm", "not measured with these sources"]);
    assert!(!fs::exists(output).unwrap());
    let ended = run(&[&arguments[..], &["--allow-foreign-space"]].concat()).ok();
    assert!(ended.stderr.contains("not measured with these sources"), "{ended:?}");
}

#[test]
fn a_bundle_of_another_driver_is_refused_where_nothing_may_be_built() {
    let Some(device) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let model = model(&[ProblemClass::F32_NN]);
    let bytes = compile(&device, &model, &[], |_| {}).unwrap();
    let bundle = Bundle::parse(&bytes).unwrap();
    // Binaries that might crash this driver, were it to see them.
    let programs: Vec<_> =
        bundle.programs.iter().map(|one| (one.name.to_owned(), b"junk".to_vec())).collect();
    let here = device.info().driver_key();
    for (what, key) in [
        ("binary of another driver", bundle::DriverKey { driver: "other".into(), ..here.clone() }),
        ("another device", bundle::DriverKey { device: "another device".into(), ..here.clone() }),
        ("not tried", bundle::DriverKey { platform: "another platform".into(), ..here.clone() }),
        ("0000000000000007", bundle::DriverKey { space: 7, ..here }),
    ] {
        let stale = bundle::write(&key, &model, &programs).unwrap();
        assert!(matches!(
            Runtime::load(common::device().unwrap(), &Bundle::parse(&stale).unwrap()),
            Err(RuntimeError::StaleBinary { .. })
        ));
        let path = file(folder.path(), "stale.gtb", &stale);
        run(&["check", "--bundle", &path, "--no-build"]).refused(&["stale.gtb", what, "hint: "]);
    }
}

#[test]
fn usage_mistakes_are_code_1_and_help_shows_an_example() {
    assert_eq!(run(&["no-such-verb"]).code, Some(1));
    assert_eq!(run(&["run", "--bundle", "x", "--shape", "4x4"]).code, Some(1));
    for verb in ["bench", "check", "collect", "compile", "devices", "run"] {
        let help = run(&[verb, "--help"]).ok();
        assert!(help.stdout.contains("Example"), "{verb}: {}", help.stdout);
    }
    let version = run(&["--version"]).ok().stdout;
    let hash = format!("{:016x}", kernels::space::hash());
    assert!(version.contains("model format") && version.contains(&hash), "{version}");
}
