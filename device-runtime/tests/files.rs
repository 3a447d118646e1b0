//! Files that are named: what is something else is neither read nor replaced, and is told before any work.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::pretend::within;
use common::{Ended, file, model, program};
use fake_icd::{Fake, Script};
use selector_core::ProblemClass;

const PATIENCE: Duration = Duration::from_secs(90);

/// Run without any driver: what is refused here is refused before a device is opened.
fn refused(arguments: &[&str], words: &[&str]) {
    let mut command = program();
    command.env("OCL_ICD_VENDORS", "/nonexistent").args(arguments);
    Ended::of(within(PATIENCE, &mut command)).refused(words);
}

fn well(arguments: &[&str]) -> Ended {
    let (mut command, fake) = (program(), Fake::new(&Script::default()).unwrap());
    fake.lead(command.args(arguments));
    Ended::of(within(PATIENCE, &mut command))
}

fn model_in(folder: &Path) -> String {
    file(folder, "m.gtm", &model(&[ProblemClass::F32_NN]))
}

fn bundle_in(folder: &Path) -> String {
    let (model, bundle) = (model_in(folder), folder.join("m.gtb"));
    let bundle = bundle.to_str().unwrap().to_owned();
    well(&["compile", "--model", &model, "--output", &bundle]).ok();
    bundle
}

fn pipe_in(folder: &Path, name: &str) -> String {
    let path = folder.join(name).to_str().unwrap().to_owned();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[test]
fn only_a_bundle_or_the_beginning_of_one_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let model = model_in(folder.path());
    for bytes in [&b"x"[..], b"notes", b"GTX", b"GTM\x1a", b"GTBx", b"twelve bytes and more"] {
        let kept = file(folder.path(), "kept", bytes);
        let compile = ["compile", "--model", &model, "--output", &kept];
        refused(&compile, &["kept` is there, but is not a bundle"]);
        assert_eq!(fs::read(&kept).unwrap(), bytes);
    }
    for bytes in [&b""[..], b"GT", b"GTB\x1a\x00"] {
        let old = file(folder.path(), "old", bytes);
        well(&["compile", "--model", &model, "--output", &old]).ok();
        assert!(fs::read(&old).unwrap().starts_with(b"GTB\x1a\x00\x02"));
    }
}

#[test]
fn what_is_wrong_with_a_bundle_comes_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(bundle_in(folder.path())).unwrap();
    for (bytes, words) in [
        (b"abc".to_vec(), "not a gemmtree bundle"),
        (b"a file that is longer".to_vec(), "not a gemmtree bundle"),
        (whole[..whole.len() - 1].to_vec(), "truncated"),
        ([&whole[..], b"12"].concat(), "2 bytes follow the end"),
    ] {
        let path = file(folder.path(), "it.gtb", &bytes);
        refused(&["check", "--bundle", &path], &["it.gtb", words, "hint: "]);
    }
    refused(&["check", "--bundle", "no/such.gtb"], &["no/such.gtb", "hint: "]);
}

#[test]
fn a_folder_without_a_model_keeps_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let bundles = folder.path().to_str().unwrap();
    let ended = well(&["run", "--bundles", bundles, "--shape", "4x4x4", "--refresh"]).ok();
    assert!(ended.stderr.contains("nothing was kept"), "{ended:#?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn only_a_networks_samples_are_replaced_by_such() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = bundle_in(folder.path());
    let kept = file(folder.path(), "kept.csv", b"m,k,n\n1,2,3\n");
    let bench = ["bench", "--bundle", &bundle, "--network", "vgg16", "--output", &kept];
    refused(&bench, &["kept.csv` is there, but is not a run of a network"]);
    assert_eq!(fs::read(&kept).unwrap(), b"m,k,n\n1,2,3\n");
}

#[test]
fn where_nothing_can_be_written_is_told_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let (bundle, model) = (bundle_in(folder.path()), model_in(folder.path()));
    let words = ["could not write", "the folder `no/such`", "No such file or directory"];
    refused(&["compile", "--model", &model, "--output", "no/such/b.gtb"], &words);
    let bench = ["bench", "--bundle", &bundle, "--network", "vgg16", "--output", "no/such/b.csv"];
    refused(&bench, &words);
    let inside = folder.path().to_str().unwrap();
    refused(&["compile", "--model", &model, "--output", inside], &["is not a file"]);
}

#[test]
fn what_is_no_file_is_refused_where_it_is_named_and_passed_over_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = pipe_in(folder.path(), "pipe.gtb");
    for path in [&pipe, "/dev/zero", folder.path().to_str().unwrap()] {
        refused(&["check", "--bundle", path], &[path, "is not a file"]);
        refused(&["compile", "--model", path, "--output", "new.gtb"], &[path, "is not a file"]);
    }
    let bundles = folder.path().to_str().unwrap();
    let ended = well(&["run", "--bundles", bundles, "--shape", "4x4x4"]).ok();
    assert!(ended.stderr.contains("it is passed over"), "{ended:#?}");
    let bundle = bundle_in(folder.path());
    let named = ["--network", "vgg16", "--side", "32", "--clblast-parameters", &pipe];
    refused(&[&["bench", "--bundle", &bundle], &named[..]].concat(), &[&pipe, "is not a file"]);
    let missing = ["--network", "vgg16", "--clblast-parameters", "no/such.txt"];
    refused(
        &[&["bench", "--bundle", &bundle], &missing[..]].concat(),
        &["no/such.txt", "No such file"],
    );
    for named in [&["--clblast", "no/such.so"][..], &["--network", "vgg16", "--clblast", &bundle]] {
        let bench = ["bench", "--bundle", &bundle];
        refused(&[&bench, named].concat(), &[named[named.len() - 1], "not found", "hint: "]);
    }
}
