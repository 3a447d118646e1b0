//! Handles on a driver that fails by a script: each ends on the right rung with a right result, or in a status.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, unsafe_code, reason = "a C caller; and a test ends by a panic")]

mod common;

use std::path::Path;
use std::process::Command;
use std::{env, fs, ptr};

use common::caller::{Around, Caller, last_error, release_buffers, sgemm};
use common::{TILES, model, output};
use fake_icd::{Fake, Fault, RESULT, Rule, Script, StaleBinaries};
use gemmtree::*;

/// Set in the process that sees the pretend driver alone, to what it does.
const ROLE: &str = "GEMMTREE_TEST_ROLE";
/// The file that it does that with.
const FILE: &str = "GEMMTREE_TEST_FILE";
const TEST: &str = "whatever_a_driver_does_a_handle_stands_on_some_rung_or_says_why_not";
const SIDE: usize = 8;
const BUILD_FAILURE: i32 = -11;

/// Do `role` on a driver with this script.
fn led(script: &Script, role: &str, file: &Path) {
    let fake = Fake::new(script).unwrap();
    let mut again = Command::new(env::current_exe().unwrap());
    output(fake.lead(&mut again).args(["--exact", TEST]).env(ROLE, role).env(FILE, file));
}

/// Status of a handle that is made of the file, and its rung if it multiplies right.
fn ended(file: &Path) -> String {
    let bytes = fs::read(file).unwrap();
    let caller = Caller::new(0);
    let (mut handle, mut rung, none) = (ptr::null_mut(), -1, ptr::null_mut());
    let (start, length) = (bytes.as_ptr().cast(), bytes.len());
    // SAFETY: all that is not null is live.
    unsafe {
        let (context, device) = (caller.context, caller.device);
        let status = gemmtree_create_from_memory(context, device, start, length, &raw mut handle);
        if status != 0 {
            assert!(handle.is_null() && last_error().contains("tried:"), "{}", last_error());
            return status.to_string();
        }
        assert_eq!(gemmtree_standing(handle, &raw mut rung, none, 0, ptr::null_mut()), 0);
    }
    let buffers = [1.0, 2.0, 0.0].map(|value| caller.matrix(&[value; SIDE * SIDE]));
    sgemm((&caller, handle), [SIDE, SIDE], [3.0, 0.0], buffers, Around::default());
    let values = caller.values(buffers[2], SIDE * SIDE, &[]);
    assert!(values.iter().all(|value| *value == 48.0), "{values:?}");
    release_buffers(&buffers);
    // SAFETY: it is used no more.
    unsafe { gemmtree_destroy(handle) };
    format!("rung {rung}")
}

#[test]
fn whatever_a_driver_does_a_handle_stands_on_some_rung_or_says_why_not() {
    if let Ok(role) = env::var(ROLE) {
        let file = env::var_os(FILE).unwrap();
        if role == "make" {
            fs::write(file, Caller::bundle(TILES)).unwrap();
        } else {
            assert_eq!(ended(Path::new(&file)), role);
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (bundle, only_model) = (folder.path().join("one.gtb"), folder.path().join("one.gtm"));
    fs::write(&only_model, model(TILES)).unwrap();
    let one = |rule: Rule| Script::default().with(rule);
    led(&Script::default(), "make", &bundle);
    assert!(bundle.exists());
    led(&Script::default(), "rung 0", &bundle);
    led(&Script::default(), "rung 2", &only_model);
    // After an update of the driver, which dies of the old binaries.
    let stale_binaries = StaleBinaries::Crash;
    let updated = Script { driver: "2.0".to_owned(), stale_binaries, ..Script::default() };
    led(&updated, "rung 2", &bundle);
    // Kernels that cannot be built, or are wrong.
    let no_tile = Rule::new("clBuildProgram", Fault::Fail(BUILD_FAILURE)).of("tile:");
    led(&one(no_tile), "rung 3", &only_model);
    led(&one(Rule::new(RESULT, Fault::Wrong).of("tile:")), "rung 3", &bundle);
    // None at all.
    let nothing = Rule::new("clBuildProgram", Fault::Fail(BUILD_FAILURE));
    led(&one(nothing), "18", &only_model);
    led(&one(Rule::new(RESULT, Fault::Wrong)), "18", &bundle);
}
