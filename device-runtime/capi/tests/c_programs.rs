//! The library as C and C++ programs have it: installed, found by pkg-config or CMake, linked and run.

mod common;

use std::fs;
use std::process::Command;

use common::{Source, installed, output};

const OUR_HEADER: &str = "-DCLBLAST_HEADER=<gemmtree_clblast.h>";

#[test]
fn the_c_example_multiplies_right() {
    let Some(installed) = installed() else { return };
    let program = installed.compile(&Source::c("examples/sgemm.c"));
    let out = output(installed.run(&program).arg(&installed.bundle));
    assert!(out.ends_with("right\n") && out.contains("kernels, best first"), "{out}");
    assert!(out.contains(concat!("gemmtree ", env!("CARGO_PKG_VERSION"))), "{out}");
}

#[test]
fn the_cpp_example_multiplies_right() {
    let Some(installed) = installed() else { return };
    let program = installed.compile(&Source::cpp("examples/sgemm.cpp"));
    assert_eq!(output(installed.run(&program).arg(&installed.bundle)), "right\n");
}

#[test]
fn a_program_needs_no_library_of_ours_if_it_is_linked_with_the_static_one() {
    let Some(installed) = installed() else { return };
    let program = installed.compile(&Source { is_static: true, ..Source::c("examples/sgemm.c") });
    let out = output(Command::new(program).arg(&installed.bundle));
    assert!(out.ends_with("right\n"), "{out}");
}

#[test]
fn a_program_of_clblasts_runs_unchanged() {
    let Some(installed) = installed() else { return };
    let program =
        installed.compile(&Source { define: OUR_HEADER, ..Source::c("examples/clblast_client.c") });
    let out = output(installed.run(&program).env("GEMMTREE_BUNDLE", &installed.bundle));
    assert_eq!(out, "right\n");
}

#[test]
fn a_bundle_that_is_named_and_cannot_be_used_is_told_once() {
    let Some(installed) = installed() else { return };
    let program = installed.compile(&Source {
        define: OUR_HEADER,
        program: "clblast_told",
        ..Source::c("examples/clblast_client.c")
    });
    let out = installed.run(&program).env("GEMMTREE_BUNDLE", "/no/such").output().unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(!out.status.success());
    assert_eq!(told.matches("GEMMTREE_BUNDLE cannot be used").count(), 1, "{told}");
    assert!(told.contains("/no/such"), "{told}");
}

/// With the header that CLBlast itself brings, the same.
#[test]
fn a_program_with_clblasts_own_header_runs_unchanged() {
    let Some(installed) = installed() else { return };
    let probe = ["-E", "-include", "clblast_c.h", "-x", "c", "/dev/null"];
    if !Command::new("cc").args(probe).output().unwrap().status.success() {
        println!("skipped: no clblast_c.h; install libclblast-dev");
        return;
    }
    let program = installed
        .compile(&Source { program: "clblast_own", ..Source::c("examples/clblast_client.c") });
    let out = output(installed.run(&program).env("GEMMTREE_BUNDLE", &installed.bundle));
    assert_eq!(out, "right\n");
}

/// What the headers declare and what a panic is provoked in is one list; this is the other side of it.
#[test]
fn the_library_exports_nothing_that_its_headers_do_not_declare() {
    let Some(installed) = installed() else { return };
    let header = |name| fs::read_to_string(installed.prefix.join("include").join(name)).unwrap();
    let headers = header("gemmtree.h") + &header("gemmtree_clblast.h");
    let library = installed.prefix.join("lib/libgemmtree.so");
    let symbols = output(Command::new("nm").args(["-D", "--defined-only"]).arg(library));
    let names: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    assert!(names.contains(&"gemmtree_sgemm") && names.contains(&"CLBlastSgemm"), "{names:?}");
    for name in names {
        assert!(headers.contains(&format!("{name}(")), "{name}");
    }
}

#[test]
fn cmake_finds_both_libraries() {
    let Some(installed) = installed() else { return };
    if Command::new("cmake").arg("--version").output().is_err() {
        println!("skipped: cmake is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/sgemm.c");
    let lists = format!(
        "cmake_minimum_required(VERSION 3.13)\nproject(client C)\n\
         find_package(gemmtree 0.1 REQUIRED CONFIG)\n\
         foreach(kind gemmtree gemmtree_static)\n  add_executable(use_${{kind}} {example})\n  \
         target_link_libraries(use_${{kind}} gemmtree::${{kind}} OpenCL)\nendforeach()\n"
    );
    fs::write(folder.path().join("CMakeLists.txt"), lists).unwrap();
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", installed.prefix.display());
    output(Command::new("cmake").current_dir(folder.path()).args(["-S.", "-Bbuild", &prefix]));
    output(Command::new("cmake").current_dir(folder.path()).args(["--build", "build"]));
    for kind in ["gemmtree", "gemmtree_static"] {
        let program = folder.path().join(format!("build/use_{kind}"));
        let out = output(Command::new(program).arg(&installed.bundle));
        assert!(out.ends_with("right\n"), "{out}");
    }
}

#[test]
fn all_calls_of_the_header_work_and_wrong_arguments_are_statuses() {
    let Some(installed) = installed() else { return };
    let program = installed.compile(&Source::c("tests/whole_header.c"));
    assert_eq!(output(installed.run(&program).arg(&installed.bundle)), "right\n");
}

#[test]
fn clblasts_codes_transposes_layouts_threads_and_contexts_that_come_and_go() {
    let Some(installed) = installed() else { return };
    let program = installed.compile(&Source::c("tests/clblast.c"));
    let out = output(installed.run(&program).env("GEMMTREE_BUNDLE", &installed.bundle));
    assert_eq!(out, "right\n");
}
