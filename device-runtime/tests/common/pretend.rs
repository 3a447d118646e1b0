//! Tests that work on the pretend driver in their own process: each is run again in one that sees nothing else.
#![cfg(target_os = "linux")]
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test takes what it needs and ends by a panic"
)]

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use device_runtime::OpenCl;
use fake_icd::{Fake, Script, VARIABLE};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device as ClDevice};
use opencl3::platform::get_platforms;

/// No test takes longer if all is well.
const PATIENCE: Duration = Duration::from_secs(90);

/// Whether this is the process that works on the pretend driver; if not, test `name` is run in one that is.
pub(crate) fn is_pretending(name: &str, script: &Script) -> bool {
    if env::var_os(VARIABLE).is_some() {
        return true;
    }
    let fake = Fake::new(script).unwrap();
    let mut again = Command::new(env::current_exe().unwrap());
    let output = within(PATIENCE, fake.lead(again.args(["--exact", name, "--nocapture"])));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:#?}");
    false
}

/// What a command writes and how it ends; one that takes longer fails the test.
pub(crate) fn within(limit: Duration, command: &mut Command) -> Output {
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&running);
    let begun = Instant::now();
    let waiter = thread::spawn(move || running.wait_with_output().unwrap());
    while !waiter.is_finished() {
        if begun.elapsed() > limit {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            panic!("{command:?} hangs");
        }
        thread::sleep(Duration::from_millis(5));
    }
    waiter.join().unwrap()
}

/// A context of the devices with these numbers.
pub(crate) fn context(numbers: &[usize]) -> Context {
    // The library is loaded, and its name settled, by the first look.
    let _ = device_runtime::opencl::devices().unwrap();
    let all = get_platforms().unwrap()[0].get_devices(CL_DEVICE_TYPE_ALL).unwrap();
    let ids: Vec<_> = numbers.iter().map(|at| ClDevice::new(all[*at]).id()).collect();
    Context::from_devices(&ids, &[], None, std::ptr::null_mut()).unwrap()
}

/// The device with this number, in a context of its own.
pub(crate) fn device(number: usize) -> OpenCl {
    OpenCl::open(Some(&format!("0:{number}"))).unwrap()
}
