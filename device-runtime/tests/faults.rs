//! Whatever the driver does: a right result or an error that says what to do, never a crash, a hang or a
//! wrong number. The driver is the pretend one (`fake-icd`).
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use common::{Ended, program};
use fake_icd::{Fake, Script};

fn run(fake: &Fake, arguments: &[&str]) -> Ended {
    Ended::of(fake.lead(program().args(arguments)).output().unwrap())
}

#[test]
fn the_loader_finds_the_driver_and_nothing_else() {
    let fake = Fake::new(&Script::default()).unwrap();
    let devices = run(&fake, &["devices"]).ok().json();
    assert_eq!(devices.len(), 1, "{devices:?}");
    assert_eq!(devices[0]["name"], "Pretend GPU");
}
