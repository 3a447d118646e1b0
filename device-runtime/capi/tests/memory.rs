//! The C programs use no memory wrongly and lose none: they run in a memory checker, on the pretend driver,
//! since what a real one does with memory is its own affair.
#![expect(clippy::print_stdout, reason = "a test that is skipped says why")]
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::env;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use common::{Installed, Source, installed, output};
use fake_icd::{Fake, Script};

/// Set in the process that sees the pretend driver alone.
const INSIDE: &str = "GEMMTREE_TEST_INSIDE";
/// What the checker ends with where it finds a fault.
const FAULTY: i32 = 99;

/// Run the test of this name in a process that sees the pretend driver alone; there, return what it needs.
fn inside(test: &str) -> Option<&'static Installed> {
    if env::var_os(INSIDE).is_some() {
        return installed();
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed");
        return None;
    }
    // They install to one folder.
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let fake = Fake::new(&Script::default()).unwrap();
    let mut again = Command::new(env::current_exe().unwrap());
    output(fake.lead(&mut again).args(["--exact", test]).env(INSIDE, "1"));
    None
}

/// Run a program in the checker.
fn checked(installed: &Installed, program: &Path, arguments: &[&str]) -> Output {
    let mut command = installed.run(Path::new("valgrind"));
    command.args(["--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
    command.args(["--show-leak-kinds=definite", &format!("--error-exitcode={FAULTY}")]);
    command.arg(program).args(arguments).env("GEMMTREE_BUNDLE", &installed.small);
    command.output().unwrap()
}

#[test]
fn c_programs_use_memory_rightly_and_lose_none() {
    let Some(installed) = inside("c_programs_use_memory_rightly_and_lose_none") else { return };
    // Every kernel of a bundle is run by whoever loads it, and a memory checker takes its time.
    let [all, few] = [&installed.bundle, &installed.small].map(|path| path.to_str().unwrap());
    let client = Source {
        define: "-DCLBLAST_HEADER=<gemmtree_clblast.h>",
        ..Source::c("examples/clblast_client.c")
    };
    for (source, bundle) in [
        (Source::c("examples/sgemm.c"), few),
        (Source::cpp("examples/sgemm.cpp"), few),
        (client, few),
        (Source::c("tests/whole_header.c"), all),
    ] {
        let program = installed.compile(&source);
        let out = checked(installed, &program, &[bundle]);
        let told = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(0), "{}: {told}", source.file);
        assert!(out.stdout.ends_with(b"right\n"), "{}: {out:?}", source.file);
    }
}

#[test]
fn what_is_lost_and_what_is_used_when_it_is_gone_is_found() {
    let Some(installed) = inside("what_is_lost_and_what_is_used_when_it_is_gone_is_found") else {
        return;
    };
    let program = installed.compile(&Source::c("tests/faulty.c"));
    let bundle = installed.small.to_str().unwrap();
    for (fault, code, told) in
        [("none", 0, ""), ("lost", FAULTY, "definitely lost"), ("gone", FAULTY, "Invalid read")]
    {
        let out = checked(installed, &program, &[bundle, fault]);
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{fault}: {text}");
        assert!(text.contains(told), "{fault}: {text}");
    }
}
