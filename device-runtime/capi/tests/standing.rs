//! Bundles whose binaries are not this driver's: what becomes of them through C, and who is told.
#![expect(clippy::unwrap_used, unsafe_code, reason = "a C caller; and a test ends by a panic")]

mod common;

use std::ffi::{CStr, c_char};
use std::path::Path;
use std::process::{Command, Output};
use std::{fs, ptr};

use common::caller::{Around, Caller, last_error, release_buffers, sgemm};
use common::{Installed, Source, TILES, cache, device, installed};
use device_runtime::{Device, nearest};
use gemmtree::*;
use kernels::bundle::{self, Bundle, DriverKey};

const SIDE: usize = 8;
const STALE: i32 = 10;
const SOURCE: i32 = 2;

/// The same bundle, made by another.
fn remade(bytes: &[u8], change: impl FnOnce(&mut DriverKey)) -> Vec<u8> {
    let bundle = Bundle::parse(bytes).unwrap();
    let mut key = bundle.key.clone();
    change(&mut key);
    let programs = bundle.programs.iter();
    let binaries: Vec<(String, Vec<u8>)> =
        programs.map(|one| (one.name.to_owned(), one.binary.to_vec())).collect();
    bundle::write(&key, bundle.model_bytes, &binaries).unwrap()
}

/// Status, rung and warnings of a handle that is made of these bytes and multiplies.
fn stands(caller: &Caller, bytes: &[u8]) -> (i32, String) {
    let handle = caller.handle(bytes);
    let (mut rung, mut text) = (-1, [0 as c_char; 4096]);
    let (start, no_length) = (text.as_mut_ptr(), ptr::null_mut());
    // SAFETY: all of this is live.
    let status = unsafe { gemmtree_standing(handle, &raw mut rung, start, 4096, no_length) };
    assert_eq!(status, 0);
    let buffers = [1.0, 2.0, 0.0].map(|value| caller.matrix(&[value; SIDE * SIDE]));
    sgemm((caller, handle), [SIDE, SIDE], [3.0, 0.0], buffers, Around::default());
    let values = caller.values(buffers[2], SIDE * SIDE, &[]);
    assert!(values.iter().all(|value| *value == 48.0), "{values:?}");
    release_buffers(&buffers);
    // SAFETY: the text ends with a zero byte; the handle is used no more.
    let warnings = unsafe {
        gemmtree_destroy(handle);
        CStr::from_ptr(text.as_ptr()).to_str().unwrap().to_owned()
    };
    (rung, warnings)
}

fn strict(caller: &Caller, bytes: &[u8]) -> i32 {
    let mut handle = ptr::null_mut();
    let (start, length) = (bytes.as_ptr().cast(), bytes.len());
    // SAFETY: all of this is live.
    unsafe {
        let (context, device) = (caller.context, caller.device);
        let status =
            gemmtree_create_strict_from_memory(context, device, start, length, &raw mut handle);
        assert_eq!(handle.is_null(), status != 0);
        gemmtree_destroy(handle);
        status
    }
}

#[test]
fn a_bundle_of_another_driver_is_built_anew_unless_it_is_wanted_as_it_is() {
    if device().is_none() {
        return;
    }
    let own = Caller::bundle(TILES);
    let caller = Caller::new(0);
    assert_eq!(stands(&caller, &own).0, 0);
    assert_eq!(strict(&caller, &own), 0);
    let other_driver = remade(&own, |key| key.driver = "0.1".to_owned());
    let other_device = remade(&own, |key| key.device = "another".to_owned());
    let other_sources = remade(&own, |key| key.space ^= 1);
    for bytes in [other_driver, other_device, other_sources] {
        let (rung, warnings) = stands(&caller, &bytes);
        assert_eq!(rung, SOURCE, "{warnings}");
        assert!(warnings.contains("3 programs were built from source"), "{warnings}");
        assert_eq!(strict(&caller, &bytes), STALE);
        assert!(last_error().contains("compile it again"), "{}", last_error());
    }
    let model = Bundle::parse(&own).unwrap().model_bytes;
    assert_eq!(stands(&caller, model).0, SOURCE);
    assert_eq!(strict(&caller, model), 9);
}

/// A program written for CLBlast, in a process without variables but these.
fn client(installed: &Installed, home: &Path, variables: &[(&str, &Path)]) -> Output {
    let source = Source {
        define: "-DCLBLAST_HEADER=<gemmtree_clblast.h>",
        ..Source::c("examples/clblast_client.c")
    };
    let program = installed.prefix.join("clblast_client.c-shared");
    let program = if program.exists() { program } else { installed.compile(&source) };
    let mut command: Command = installed.run(&program);
    command.env("POCL_CACHE_DIR", cache()).env("HOME", home);
    for name in ["GEMMTREE_BUNDLE", "GEMMTREE_BUNDLES", "GEMMTREE_QUIET", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    for (name, value) in variables {
        command.env(name, value);
    }
    command.output().unwrap()
}

/// What a client that multiplies right is told.
fn told(out: &Output) -> String {
    let told = String::from_utf8(out.stderr.clone()).unwrap();
    assert!(out.status.success() && out.stdout == b"right\n", "{told}");
    assert!(told.lines().count() <= 1, "{told}");
    told
}

#[test]
fn clblasts_functions_find_a_bundle_or_run_the_universal_kernel_and_say_so_once() {
    let Some(installed) = installed() else { return };
    let here = device().unwrap().info().driver_key();
    let bundle = fs::read(&installed.bundle).unwrap();
    let model = Bundle::parse(&bundle).unwrap().model_bytes;
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = |variables: &[(&str, &Path)]| client(installed, home, variables);

    // Nothing anywhere.
    let out = told(&run(&[]));
    assert!(out.starts_with("gemmtree: warning: no bundle for `"), "{out}");
    assert!(out.contains(&nearest::file_name(&here)) && out.contains("universal"), "{out}");
    assert_eq!(told(&run(&[("GEMMTREE_QUIET", Path::new("1"))])), "");

    // The device's own bundle, in each of the folders.
    let folders = [".local/share/gemmtree", "data/gemmtree", "named"].map(|one| home.join(one));
    for folder in &folders {
        fs::create_dir_all(folder).unwrap();
    }
    let put = |folder: &Path, bytes: &[u8]| {
        let path = folder.join(nearest::file_name(&here));
        fs::write(&path, bytes).unwrap();
        path
    };
    put(&folders[0], &bundle);
    assert_eq!(told(&run(&[])), "");
    let data = home.join("data");
    let with_data: [(&str, &Path); 1] = [("XDG_DATA_HOME", &data)];
    assert!(told(&run(&with_data)).contains("universal"));
    put(&folders[1], &bundle);
    assert_eq!(told(&run(&with_data)), "");
    let with_folder: [(&str, &Path); 2] =
        [("XDG_DATA_HOME", &data), ("GEMMTREE_BUNDLES", &folders[2])];
    assert!(told(&run(&with_folder)).contains("universal"));

    // One of another driver is built anew, kept, and then its own.
    let stale = remade(&bundle, |key| key.driver = "0.1".to_owned());
    let own = put(&folders[2], &stale);
    let out = told(&run(&with_folder));
    assert!(out.contains("built from source") && out.contains("kept as"), "{out}");
    assert_eq!(Bundle::parse(&fs::read(&own).unwrap()).unwrap().key, here);
    assert_eq!(fs::read(device_runtime::file::previous(&own)).unwrap(), stale);
    assert_eq!(told(&run(&with_folder)), "");

    // A damaged one is passed over for a model of another device of this family.
    fs::write(&own, &bundle[..bundle.len() / 2]).unwrap();
    assert!(told(&run(&with_folder)).contains("is passed over"));
    let family = remade(&bundle, |key| {
        key.compute_units += 1;
        key.driver = "0.1".to_owned();
    });
    fs::write(folders[2].join("near.gtb"), family).unwrap();
    let out = told(&run(&with_folder));
    assert!(out.contains("is passed over") && out.contains("near.gtb`, of a device of"), "{out}");
    assert_eq!(told(&run(&with_folder)), "");

    // A file that is named counts alone.
    let missing = home.join("missing.gtb");
    let out = run(&[("GEMMTREE_BUNDLE", &missing), ("GEMMTREE_BUNDLES", &folders[2])]);
    assert!(!out.status.success());
    assert!(String::from_utf8_lossy(&out.stderr).contains("CLBlastSgemm failed: -42"));
    let named = home.join("model.gtm");
    fs::write(&named, model).unwrap();
    let out = told(&run(&[("GEMMTREE_BUNDLE", &named)]));
    assert!(out.contains("model.gtm") && out.contains("built from source"), "{out}");
}
