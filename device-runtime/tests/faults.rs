//! Whatever the driver does: a right result or an error that says what to do, never a crash, a hang or a
//! wrong number. The driver is the pretend one (`fake-icd`).
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use common::pretend::within;
use common::{Ended, program};
use fake_icd::{Clock, Fake, Fault, Oddity, RESULT, Rule, Script, StaleBinaries};
use kernels::measurement::{Header, Row, Status, Timing};
use kernels::plan::{self, PlanRow};
use selector_core::{GemmShape, ProblemClass};

/// No command may take longer, and none does if all is well.
const PATIENCE: Duration = Duration::from_secs(90);
/// Arguments that let a command give a device up soon.
const SOON: [&str; 2] = ["--give-up-after", "1"];

const DEVICE_NOT_AVAILABLE: i32 = -2;
const ALLOCATION_FAILURE: i32 = -4;
const OUT_OF_RESOURCES: i32 = -5;
const BUILD_FAILURE: i32 = -11;

fn fake(script: &Script) -> Fake {
    Fake::new(script).unwrap()
}

fn one(rule: Rule) -> Script {
    Script::default().with(rule)
}

/// Run the program on the pretend driver; a command that hangs fails the test.
fn run(fake: &Fake, arguments: &[&str]) -> Ended {
    let mut command = program();
    fake.lead(command.args(arguments));
    Ended::of(within(PATIENCE, &mut command))
}

/// It went well, or ended with an error in words.
fn sound(ended: &Ended, what: &str) {
    match ended.code {
        Some(0) => assert!(!ended.stdout.contains("\"checked\":false"), "{what}: {ended:#?}"),
        Some(1 | 2) => {
            assert!(ended.stderr.contains("error: "), "{what}: {ended:#?}");
            assert!(!ended.stderr.contains("Usage:"), "{what}: {ended:#?}");
            assert!(!ended.stderr.contains("a fault of gemmtree-board"), "{what}: {ended:#?}");
        }
        _ => panic!("{what}: {ended:#?}"),
    }
}

/// A model, and its bundle as a driver makes it that is well.
struct Bundled {
    folder: tempfile::TempDir,
    model: String,
    bundle: String,
}

impl Bundled {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = common::file(folder.path(), "m.gtm", &common::model(&[ProblemClass::F32_NN]));
        let bundle = folder.path().join("m.gtb").to_str().unwrap().to_owned();
        let well = fake(&Script::default());
        run(&well, &["compile", "--model", &model, "--output", &bundle]).ok();
        Self { folder, model, bundle }
    }

    /// What may be done with it, each with the arguments that say so.
    fn commands(&self) -> [Vec<&str>; 4] {
        let new = "--output";
        [
            vec!["run", "--bundle", &self.bundle, "--shape", "24x40x33"],
            vec!["check", "--bundle", &self.bundle],
            vec!["bench", "--bundle", &self.bundle, "--shapes", "24x40x33", "--calls", "5"],
            vec!["compile", "--model", &self.model, new, &self.bundle],
        ]
    }
}

/// Measure `configurations` on one shape; how it ended, and the last word on each row.
fn collect(fake: &Fake, configurations: &[&str], more: &[&str]) -> (Ended, String, Vec<Row>) {
    let folder = tempfile::tempdir().unwrap();
    let (plan, output) = (folder.path().join("plan.csv"), folder.path().join("data.csv"));
    plan::write(&rows(configurations), fs::File::create(&plan).unwrap()).unwrap();
    let (plan, output) = (plan.to_str().unwrap(), output.to_str().unwrap());
    let arguments = ["collect", "--plan", plan, "--output", output, "--timeout", "3"];
    let ended = run(fake, &[&arguments, more].concat());
    let (header, rows) = data(Path::new(output));
    (ended, header, rows)
}

fn rows(configurations: &[&str]) -> Vec<PlanRow> {
    let row = |name: &&str| PlanRow {
        shape: GemmShape::new(24, 40, 33, 1),
        class: ProblemClass::F32_NN,
        configuration: name.parse().unwrap(),
        repetitions: 3,
    };
    configurations.iter().map(row).collect()
}

fn data(path: &Path) -> (String, Vec<Row>) {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().skip_while(|line| line.starts_with('#')).skip(1);
    (text.clone(), lines.map(|line| Row::parse(line).unwrap()).collect())
}

fn statuses(rows: &[Row]) -> Vec<Status> {
    rows.iter().map(|row| row.status).collect()
}

const TILE: &str = "tile:4x4x8@8x8";
const THREE: [&str; 3] = ["tile:1x1x1@8x8", TILE, "universal"];

#[test]
fn the_loader_finds_the_driver_and_nothing_else() {
    let devices = run(&fake(&Script::default()), &["devices"]).ok().json();
    assert_eq!(devices.len(), 1, "{devices:?}");
    assert_eq!(devices[0]["name"], "Pretend GPU");
}

#[test]
fn a_driver_that_is_well_gives_right_results_and_the_times_of_its_table() {
    let times = vec![
        fake_icd::Time { of: TILE.to_owned(), shape: "24x40x33x1".to_owned(), ns: 7777 },
        fake_icd::Time { of: "universal".to_owned(), shape: String::new(), ns: 70_000 },
    ];
    let (ended, _, rows) = collect(&fake(&Script { times, ..Script::default() }), &THREE, &[]);
    ended.ok();
    let samples: Vec<_> = rows.iter().map(|row| row.samples.clone()).collect();
    assert_eq!(samples[1..], [vec![7777; 3], vec![70_000]]);
    let bundled = Bundled::new();
    for arguments in bundled.commands() {
        run(&fake(&Script::default()), &arguments).ok();
    }
}

#[test]
fn no_platform_and_no_device_are_told_with_what_to_do() {
    let none = fake(&Script { no_platform: true, ..Script::default() });
    run(&none, &["devices"]).refused(&["no platform", "hint: install"]);
    let empty = fake(&Script { devices: Vec::new(), ..Script::default() });
    run(&empty, &["check", "--sources"]).refused(&["no OpenCL device"]);
}

#[test]
fn names_with_blanks_are_trimmed_and_twins_are_told_apart_by_number() {
    let devices = vec!["QUALCOMM ".to_owned(), "Mali-T628\n".to_owned(), "Mali-T628".to_owned()];
    let compute_units = vec![4, 4, 2];
    let twins = fake(&Script { devices, compute_units, ..Script::default() });
    let names: Vec<_> =
        run(&twins, &["devices"]).ok().json().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["QUALCOMM", "Mali-T628", "Mali-T628"]);
    let check = ["check", "--sources", "--family", "universal", "--few", "--device"];
    run(&twins, &[&check[..], &["qualcomm"]].concat()).ok();
    run(&twins, &[&check[..], &["0:2"]].concat()).ok();
    run(&twins, &[&check[..], &["mali"]].concat()).refused(&["0:1", "0:2", "--device P:D"]);
}

#[test]
fn a_fault_of_one_configuration_is_its_rows_and_the_others_are_measured() {
    let cases = [
        (Rule::new("clBuildProgram", Fault::Fail(BUILD_FAILURE)), Status::BuildFailed),
        (Rule::new("clBuildProgram", Fault::Abort), Status::BuildFailed),
        (Rule::new("clBuildProgram", Fault::Hang), Status::TimedOut),
        (Rule::new("clCreateKernel", Fault::Fail(-46)), Status::LaunchFailed),
        (Rule::new("clSetKernelArg", Fault::Fail(-51)), Status::LaunchFailed),
        (Rule::new("clEnqueueNDRangeKernel", Fault::Fail(OUT_OF_RESOURCES)), Status::LaunchFailed),
        (Rule::new("clEnqueueNDRangeKernel", Fault::Lose(OUT_OF_RESOURCES)), Status::LaunchFailed),
        (Rule::new("clEnqueueNDRangeKernel", Fault::Crash), Status::LaunchFailed),
        (Rule::new("clEnqueueNDRangeKernel", Fault::Hang), Status::TimedOut),
        (Rule::new(RESULT, Fault::Wrong), Status::WrongResult),
    ];
    for (rule, status) in cases {
        let rule = rule.of(TILE);
        let (ended, _, rows) = collect(&fake(&one(rule.clone())), &THREE, &[]);
        assert_eq!(ended.code, Some(0), "{rule:?}: {ended:#?}");
        assert_eq!(statuses(&rows).iter().filter(|one| **one == status).count(), 1, "{rule:?}");
        let failed = rows.iter().find(|row| row.status == status).unwrap();
        assert_eq!((&failed.configuration[..], failed.samples.len()), (TILE, 0), "{rule:?}");
        assert_eq!(statuses(&rows).iter().filter(|one| **one == Status::Ok).count(), 2);
    }
}

#[test]
fn a_fault_of_the_whole_device_ends_collecting_and_blames_no_row() {
    let rules = [
        Rule::new("clBuildProgram", Fault::Fail(BUILD_FAILURE)),
        Rule::new("clBuildProgram", Fault::Crash),
        Rule::new("clCreateBuffer", Fault::Fail(ALLOCATION_FAILURE)),
        Rule::new("clEnqueueNDRangeKernel", Fault::Lose(DEVICE_NOT_AVAILABLE)),
        Rule::new("clFinish", Fault::Fail(OUT_OF_RESOURCES)),
        Rule::new("clFinish", Fault::Hang),
        Rule::new("clEnqueueReadBuffer", Fault::Hang),
        Rule::new("clWaitForEvents", Fault::Crash),
        Rule::new(RESULT, Fault::Wrong),
    ];
    for rule in rules {
        let (ended, text, rows) = collect(&fake(&one(rule.clone())), &THREE, &[]);
        assert_eq!(ended.code, Some(2), "{rule:?}: {ended:#?}\n{text}");
        assert!(ended.stderr.contains("not to blame"), "{rule:?}: {ended:#?}");
        assert!(ended.stderr.contains("hint: "), "{rule:?}: {ended:#?}");
        assert_eq!(rows, [], "{rule:?}");
    }
}

#[test]
fn what_happens_once_costs_no_row() {
    for does in [Fault::Crash, Fault::Lose(OUT_OF_RESOURCES), Fault::Lose(DEVICE_NOT_AVAILABLE)] {
        let rule = Rule::new("clEnqueueNDRangeKernel", does).after(7).once();
        let (ended, _, rows) = collect(&fake(&one(rule)), &THREE, &[]);
        ended.ok();
        assert_eq!(statuses(&rows), [Status::Ok; 3], "{does:?}");
    }
}

#[test]
fn a_row_that_finds_no_memory_costs_that_row_alone() {
    let script = Script { memory: 64 << 20, largest_buffer: 1 << 20, ..Script::default() };
    let rows = rows(&[TILE]);
    let large = PlanRow { shape: GemmShape::new(600, 8, 600, 1), ..rows[0].clone() };
    let folder = tempfile::tempdir().unwrap();
    let (plan, output) = (folder.path().join("plan.csv"), folder.path().join("data.csv"));
    let both = [large, rows[0].clone()];
    plan::write(&both, fs::File::create(&plan).unwrap()).unwrap();
    let (plan, output) = (plan.to_str().unwrap(), output.to_str().unwrap());
    run(&fake(&script), &["collect", "--plan", plan, "--output", output]).ok();
    assert_eq!(statuses(&data(Path::new(output)).1), [Status::LaunchFailed, Status::Ok]);
}

#[test]
fn a_hang_ends_within_its_limit() {
    let bundled = Bundled::new();
    let bytes = fs::read(&bundled.bundle).unwrap();
    for at in ["clGetPlatformIDs", "clBuildProgram", "clEnqueueNDRangeKernel", "clFinish"] {
        let driver = fake(&one(Rule::new(at, Fault::Hang)));
        for arguments in bundled.commands() {
            let ended = run(&driver, &[&arguments[..], &SOON].concat());
            assert!(matches!(ended.code, Some(1 | 2)), "{at} {arguments:?}: {ended:#?}");
            sound(&ended, at);
            fs::write(&bundled.bundle, &bytes).unwrap();
        }
    }
}

#[test]
fn a_wrong_number_is_never_called_right() {
    let bundled = Bundled::new();
    for rule in [
        Rule::new(RESULT, Fault::Wrong),
        Rule::new(RESULT, Fault::Wrong).from_binary(),
        Rule::new(RESULT, Fault::Wrong).of("tile:"),
        Rule::new(RESULT, Fault::Wrong).after(2),
    ] {
        let driver = fake(&one(rule.clone()));
        let [run_it, check, _, _] = bundled.commands();
        for arguments in [run_it, check] {
            sound(&run(&driver, &arguments), &format!("{rule:?} {arguments:?}"));
        }
    }
    // What is left out of a bundle is told, and no bundle is made of wrong kernels only.
    let output = bundled.folder.path().join("new.gtb");
    let compile = ["compile", "--model", &bundled.model, "--output", output.to_str().unwrap()];
    let wrong = fake(&one(Rule::new(RESULT, Fault::Wrong).of("tile:4x4x8/")));
    let ended = run(&wrong, &compile).ok();
    assert!(ended.stderr.contains("`tile:4x4x8/f32-nn` is left out"), "{ended:#?}");
    fs::remove_file(&output).unwrap();
    let ended = run(&fake(&one(Rule::new(RESULT, Fault::Wrong))), &compile);
    sound(&ended, "all kernels are wrong");
    assert!(ended.stderr.contains("universal"), "{ended:#?}");
    assert!(!output.exists());
}

#[test]
fn a_bundle_of_another_driver_is_never_run_unseen() {
    let bundled = Bundled::new();
    for stale_binaries in [StaleBinaries::Refused, StaleBinaries::Wrong, StaleBinaries::Crash] {
        let driver = "2.0".to_owned();
        let updated = fake(&Script { driver, stale_binaries, ..Script::default() });
        for arguments in &bundled.commands()[..3] {
            let ended = run(&updated, arguments);
            sound(&ended, &format!("{stale_binaries:?} {arguments:?}"));
            assert!(!ended.stdout.contains("\"status\":\"wrong\""), "{ended:#?}");
        }
    }
}

/// A script whose clock is odd, and whose launches of `TILE` last so many nanoseconds.
fn clocked(clock: Clock, ns: u64) -> Script {
    let times = vec![fake_icd::Time { of: TILE.to_owned(), shape: String::new(), ns }];
    Script { clock, times, ..Script::default() }
}

#[test]
fn a_clock_that_gives_no_times_gives_way_to_the_hosts_and_the_data_set_says_so() {
    let odd = |oddity| Clock { oddity: Some(oddity), ..Clock::default() };
    let clocks = [
        odd(Oddity::EndBeforeStart),
        odd(Oddity::Zero),
        odd(Oddity::Unwritten),
        odd(Oddity::Unavailable),
        Clock { step_ns: 1 << 40, ..Clock::default() },
        Clock { refuses_profiling: true, ..Clock::default() },
    ];
    for clock in clocks {
        // What the host sees is never less than what the device takes.
        let script = Script { paced: true, ..clocked(clock.clone(), 300_000) };
        let driver = fake(&script);
        let (ended, text, rows) = collect(&driver, &[TILE, "universal"], &[]);
        let ended = ended.ok();
        assert_eq!(ended.done()["clock"], "host", "{clock:?}");
        assert!(ended.stderr.contains("clock"), "{clock:?}: {ended:#?}");
        assert_eq!(Header::parse(text.lines()).unwrap().timing, Timing::Stream, "{clock:?}");
        let samples = &rows[0].samples;
        assert!(samples.iter().all(|sample| *sample >= 300_000), "{clock:?}: {samples:?}");
        assert_eq!(rows[0].configuration, TILE);
        assert!(matches!(rows[1].status, Status::Ok | Status::Throttled), "{clock:?}: {text}");
    }
}

#[test]
fn a_coarse_clock_is_found_out_and_looped_until_it_says_something() {
    for (step_ns, told_ns, ns) in [(1_000_000, 1, 90_000), (1000, 1, 700), (2_000, 1000, 100)] {
        let clock = Clock { step_ns, told_ns, gap_ns: 0, ..Clock::default() };
        let (ended, text, rows) = collect(&fake(&clocked(clock, ns)), &[TILE], &[]);
        assert_eq!(ended.ok().done()["clock"], "device");
        assert_eq!(Header::parse(text.lines()).unwrap().clock_resolution_ns, Some(step_ns));
        assert_eq!(rows[0].status, Status::Ok);
        for sample in &rows[0].samples {
            // One step of twenty.
            let off = sample.abs_diff(ns);
            assert!(off <= ns / 20 + 1, "{step_ns} {ns}: {sample}");
        }
    }
}

#[test]
fn a_clock_that_is_finer_than_told_is_believed() {
    let clock = Clock { step_ns: 32, told_ns: 1000, ..Clock::default() };
    let (ended, text, rows) = collect(&fake(&clocked(clock, 6400)), &[TILE], &[]);
    ended.ok();
    let step = Header::parse(text.lines()).unwrap().clock_resolution_ns.unwrap();
    assert!(step.is_multiple_of(32) && step < 1000, "{step}");
    assert_eq!(rows[0].status, Status::Ok);
    assert!(rows[0].samples.iter().all(|sample| sample.abs_diff(6400) <= 32), "{rows:?}");
}

#[test]
fn times_that_are_odd_for_one_configuration_only_cost_its_row() {
    for oddity in [Oddity::EndBeforeStart, Oddity::Zero, Oddity::Unwritten, Oddity::Unavailable] {
        let clock =
            Clock { oddity: Some(oddity), of: "tile:4x4x8/".to_owned(), ..Clock::default() };
        let (ended, _, rows) = collect(&fake(&clocked(clock, 5000)), &THREE, &[]);
        assert_eq!(ended.ok().done()["clock"], "device");
        assert_eq!(statuses(&rows), [Status::LaunchFailed, Status::Ok, Status::Ok], "{oddity:?}");
    }
}

#[test]
fn run_and_bench_tell_cold_start_launch_and_steady_state_by_a_clock_that_can() {
    let bundled = Bundled::new();
    let [run_it, _, bench, _] = bundled.commands();
    let of = |clock: Clock| {
        let script = Script { paced: true, ..clocked(clock, 200_000) };
        let times = vec![fake_icd::Time { of: String::new(), shape: String::new(), ns: 200_000 }];
        fake(&Script { times, ..script })
    };
    let odd = |oddity| Clock { oddity: Some(oddity), ..Clock::default() };
    let coarse = Clock { step_ns: 50_000, gap_ns: 0, ..Clock::default() };
    for (clock, told_by) in [
        (Clock::default(), "device"),
        (coarse, "device"),
        (odd(Oddity::EndBeforeStart), "host"),
        (odd(Oddity::Zero), "host"),
        (odd(Oddity::Unwritten), "host"),
        (odd(Oddity::Unavailable), "host"),
        (Clock { refuses_profiling: true, ..Clock::default() }, "host"),
    ] {
        let driver = of(clock.clone());
        let done = run(&driver, &run_it).ok().done();
        let line = run(&driver, &bench).ok().json().remove(0);
        let steady =
            [&done["device_ns"], &line["device"]["median_ns"]].map(|ns| ns.as_u64().unwrap());
        let launch =
            [&done["host_ns"], &line["enqueue"]["median_ns"]].map(|ns| ns.as_u64().unwrap());
        let cold = [&done["cold_ns"], &line["first_call_ns"]].map(|ns| ns.as_u64().unwrap());
        assert_eq!((&done["told_by"], &line["told_by"]), (&told_by.into(), &told_by.into()));
        assert_eq!(done["checked"], true);
        for ns in steady {
            let right =
                if told_by == "host" { ns >= 200_000 } else { ns.abs_diff(200_000) <= 10_000 };
            assert!(right, "{clock:?}: {ns}");
        }
        // Until its result is there, the first call takes what the device takes at least.
        assert!(cold.iter().all(|ns| *ns >= 200_000), "{clock:?}: {cold:?}");
        assert!(launch.iter().all(|ns| *ns > 0), "{clock:?}: {launch:?}");
    }
}

#[test]
fn what_a_driver_refuses_is_told_by_its_function_and_its_own_code() {
    let bundled = Bundled::new();
    let [run_it, ..] = bundled.commands();
    for (at, code) in [
        // A platform that refuses is none to the loader.
        ("clGetDeviceInfo", -33),
        ("clCreateContext", -2),
        ("clCreateCommandQueue", -34),
        ("clCreateBuffer", ALLOCATION_FAILURE),
        ("clEnqueueWriteBuffer", -38),
        ("clSetKernelArg", -51),
        ("clEnqueueReadBuffer", -6),
        ("clFinish", -36),
    ] {
        let ended = run(&fake(&one(Rule::new(at, Fault::Fail(code)))), &run_it);
        assert!(matches!(ended.code, Some(1 | 2)), "{at}: {ended:#?}");
        let code = format!("({code})");
        assert!(ended.stderr.contains(at) && ended.stderr.contains(&code), "{at}: {ended:#?}");
    }
}

#[test]
fn a_driver_that_crashes_at_the_end_takes_no_result_with_it() {
    let bundled = Bundled::new();
    let output = bundled.folder.path().join("new.gtb");
    let compile = ["compile", "--model", &bundled.model, "--output", output.to_str().unwrap()];
    for at in ["clReleaseCommandQueue", "clReleaseContext"] {
        for does in [Fault::Crash, Fault::Abort, Fault::Hang] {
            let driver = fake(&one(Rule::new(at, does)));
            let (ended, _, rows) = collect(&driver, &THREE, &[]);
            assert_eq!(statuses(&rows), [Status::Ok; 3], "{at} {does:?}: {ended:#?}");
            ended.ok();
        }
    }
    for does in [Fault::Crash, Fault::Abort, Fault::Hang] {
        let driver = fake(&one(Rule::new("clReleaseContext", does)));
        let ended = run(&driver, &[&compile[..], &SOON].concat());
        assert_eq!(ended.code, Some(2), "{does:?}: {ended:#?}");
        sound(&ended, "clReleaseContext");
        // What was made is there, whole, and as it is told.
        assert!(ended.done()["event"] == "done", "{does:?}: {ended:#?}");
        let bytes = fs::read(&output).unwrap();
        assert!(kernels::bundle::Bundle::parse(&bytes).is_ok(), "{does:?}");
        fs::remove_file(&output).unwrap();
    }
}

#[test]
fn a_driver_that_is_long_in_coming_is_waited_for_within_the_limit() {
    let slow = |platform_delay_ms| fake(&Script { platform_delay_ms, ..Script::default() });
    let check = ["check", "--sources", "--family", "universal", "--few"];
    run(&slow(300), &check).ok();
    let (ended, _, rows) = collect(&slow(300), &THREE, &[]);
    ended.ok();
    assert_eq!(statuses(&rows), [Status::Ok; 3]);
    let ended = run(&slow(60_000), &[&check[..], &SOON].concat());
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains("did not answer") && ended.stderr.contains("hint: "));
}

#[test]
fn collecting_calls_no_driver_itself_and_tells_how_the_device_could_not_be_opened() {
    let calls = ["clGetPlatformIDs", "clGetDeviceIDs", "clGetDeviceInfo", "clCreateContext"];
    for at in calls {
        for (does, words) in [
            (Fault::Crash, "the driver crashed (signal 11)"),
            (Fault::Abort, "the driver crashed (signal 6)"),
            (Fault::Hang, "the device did not answer for 1s"),
            (Fault::Fail(OUT_OF_RESOURCES), ""),
        ] {
            let driver = fake(&one(Rule::new(at, does)));
            let (ended, data, _) = collect(&driver, &THREE, &SOON);
            let what = format!("{at} {does:?}");
            sound(&ended, &what);
            let code = if words.is_empty() { 1 } else { 2 };
            assert_eq!(ended.code, Some(code), "{what}: {ended:#?}");
            assert!(ended.stderr.contains(words), "{what}: {ended:#?}");
            assert_eq!(ended.stderr.matches("error: ").count(), 1, "{what}: {ended:#?}");
            assert!(code == 1 || ended.stderr.contains("hint: "), "{what}: {ended:#?}");
            // Nothing is begun on a device that is not known.
            assert_eq!((&ended.stdout[..], &data[..]), ("", ""), "{what}");
        }
    }
    // A device that is not chosen well is told of as by every command.
    let devices = vec!["one".to_owned(), "two".to_owned()];
    let (ended, ..) = collect(&fake(&Script { devices, ..Script::default() }), &THREE, &[]);
    ended.refused(&["several devices match", "hint: choose by its number"]);
}

#[test]
fn a_check_that_lasts_tells_a_log_how_far_it_is_unless_it_is_to_be_quiet() {
    // Twelve programs of a second and more each: one that ends after ten is told of.
    let slow = Rule::new("clBuildProgram", Fault::DelayMs(1100));
    let driver = fake(&one(slow));
    let check = ["check", "--sources", "--family", "universal", "--few", "--text"];
    let [told, silent] = thread::scope(|scope| {
        [&[][..], &["--quiet"]]
            .map(|more| scope.spawn(|| run(&driver, &[&check[..], more].concat()).ok()))
            .map(|run| run.join().unwrap())
    });
    let is_progress = |line: &str| line.contains(" of ") && line.ends_with(" s left");
    assert!(told.stderr.lines().any(is_progress), "{told:#?}");
    assert_eq!(silent.stderr, "");
    assert_eq!(silent.stdout, told.stdout);
}

#[test]
fn quiet_keeps_warnings_to_itself_and_tells_errors() {
    let bundled = Bundled::new();
    let wrong = fake(&one(Rule::new(RESULT, Fault::Wrong).of("tile:4x4x8/")));
    let output = bundled.folder.path().join("new.gtb");
    let compile = ["compile", "--model", &bundled.model, "--output", output.to_str().unwrap()];
    assert!(run(&wrong, &compile).ok().stderr.contains("is left out"));
    assert_eq!(run(&wrong, &[&compile[..], &["-q"]].concat()).ok().stderr, "");
    let all = fake(&one(Rule::new(RESULT, Fault::Wrong)));
    let ended = run(&all, &[&compile[..], &["-q"]].concat());
    sound(&ended, "all are wrong");
    assert!(ended.code != Some(0) && ended.stderr.contains("error: "), "{ended:#?}");
}
