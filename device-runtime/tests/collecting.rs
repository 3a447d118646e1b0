//! Collecting survives what happens to it: signals, kills, hangs, cut files.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Ended, device, program};
use kernels::measurement::{COLUMNS, COLUMNS_WITHOUT_BYTES, Header, Row, Status};
use kernels::plan::{self, PlanRow};
use rustix::process::{Pid, Signal, kill_process};
use selector_core::{GemmShape, ProblemClass};

/// Long enough for any step of a test, and no test waits for it if all is well.
const PATIENCE: Duration = Duration::from_secs(60);

/// A plan and the data set that is made of it.
struct Collecting {
    _folder: tempfile::TempDir,
    plan: PathBuf,
    output: PathBuf,
}

impl Collecting {
    fn new(rows: &[PlanRow]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (plan, output) = (folder.path().join("plan.csv"), folder.path().join("data.csv"));
        plan::write(rows, fs::File::create(&plan).unwrap()).unwrap();
        Self { _folder: folder, plan, output }
    }

    fn start(&self, more: &[&str]) -> Child {
        program()
            .args(["collect", "--plan"])
            .arg(&self.plan)
            .arg("--output")
            .arg(&self.output)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run(&self, more: &[&str]) -> Ended {
        Ended::of(self.start(more).wait_with_output().unwrap())
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.output).unwrap()
    }

    /// The last word on each row, in the order of the first.
    fn rows(&self) -> Vec<Row> {
        let text = self.text();
        let mut lines = text.lines().skip_while(|line| line.starts_with('#'));
        assert_eq!(lines.next(), Some(COLUMNS));
        let mut rows: Vec<Row> = Vec::new();
        for row in lines.map(|line| Row::parse(line).unwrap()) {
            let same =
                |one: &&mut Row| (one.shape, &one.configuration) == (row.shape, &row.configuration);
            match rows.iter_mut().find(same) {
                Some(earlier) => *earlier = row,
                None => rows.push(row),
            }
        }
        rows
    }

    fn marker(&self) -> PathBuf {
        let mut path = self.output.clone().into_os_string();
        path.push(".started");
        path.into()
    }

    /// Wait until a row of `configuration` is being measured.
    fn wait_for(&self, configuration: &str) {
        let begun = Instant::now();
        let is_on = || fs::read_to_string(self.marker()).is_ok_and(|on| on.contains(configuration));
        while !is_on() {
            assert!(begun.elapsed() < PATIENCE, "{configuration} was never begun");
            sleep(Duration::from_millis(10));
        }
        // From the note to the launch.
        sleep(Duration::from_millis(500));
    }
}

fn row(shape: GemmShape, configuration: &str, repetitions: u32) -> PlanRow {
    let configuration = configuration.parse().unwrap();
    PlanRow { shape, class: ProblemClass::F32_NN, configuration, repetitions }
}

/// Quick rows around one that takes far longer than a test may.
fn plan_with_a_slow_row() -> Vec<PlanRow> {
    let quick = GemmShape::new(24, 40, 33, 1);
    vec![
        row(quick, "tile:4x4x8@8x8", 3),
        row(GemmShape::new(1200, 1200, 1200, 1), "tile:1x1x1@128x1", 2000),
        row(quick, "tile:1x1x1@8x8", 3),
    ]
}

/// The child of a process, from the kernel's own list.
fn child_of(parent: &Child) -> Option<Pid> {
    let parent = parent.id().to_string();
    let of = |path: &Path| {
        let stat = fs::read_to_string(path.join("stat")).ok()?;
        // The name, in brackets, may hold anything.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        (fields.nth(1)? == parent).then(|| path.file_name()?.to_str()?.parse().ok())?
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    Pid::from_raw(processes.map(|one| one.path()).find_map(|path| of(&path))?)
}

fn is_running(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// How the rows ended. A machine that is busy with other tests looks like a slow clock: throttled
/// is measured too.
fn statuses(rows: &[Row]) -> Vec<Status> {
    let status = |row: &Row| match row.status {
        Status::Throttled => Status::Ok,
        status => status,
    };
    rows.iter().map(status).collect()
}

#[test]
fn a_plan_becomes_a_data_set_that_a_cut_does_not_harm() {
    let Some(device) = device() else { return };
    let quick = GemmShape::new(24, 40, 33, 1);
    let rows = [
        row(quick, "tile:4x4x8@8x8", 3),
        row(quick, "tile:4x4x8@16x16", 3),
        row(quick, "universal", 3),
        row(GemmShape::new(5, 7, 3, 2), "tile:4x4x8@8x8", 3),
    ];
    let collecting = Collecting::new(&rows);
    let ended = collecting.run(&[]).ok();
    assert_eq!(ended.done()["rows"], 4);
    let progress: Vec<_> = ended.json();
    assert!(progress.iter().any(|line| line["event"] == "progress" && line["total"] == 4));
    let text = collecting.text();
    let header = Header::parse(text.lines()).unwrap();
    assert_eq!(header.device, device_runtime::Device::info(&device).name);
    assert_eq!(header.space, Some(kernels::space::hash()));
    for (row, plan) in collecting.rows().iter().zip(&rows) {
        assert_eq!(row.shape, plan.shape);
        assert_eq!(row.configuration, plan.configuration.to_string());
        assert!(matches!(row.samples.len(), 1 | 3), "{row:?}");
        assert!(row.samples.iter().all(|sample| *sample > 0));
        assert!(row.binary_bytes.is_some_and(|bytes| bytes > 0), "{row:?}");
    }
    // The first two share a program, and so does the last.
    let bytes: Vec<_> = collecting.rows().iter().map(|row| row.binary_bytes).collect();
    assert_eq!((bytes[0], bytes[0]), (bytes[1], bytes[3]));
    assert_ne!(bytes[0], bytes[2]);
    assert_eq!(statuses(&collecting.rows()), [Status::Ok; 4]);
    assert!(!collecting.marker().exists());

    // As on a machine with nothing else to do, with a row a line.
    let head: String = text
        .lines()
        .take_while(|line| line.starts_with('#'))
        .flat_map(|line| [line, "\n"])
        .collect();
    let lines: String = collecting.rows().iter().map(Row::line).collect();
    let text = format!("{head}{COLUMNS}\n{}", lines.replace(",throttled,", ",ok,"));
    // Cut anywhere: what is whole stays, what is not is measured again.
    let whole_rows = text.find(COLUMNS).unwrap() + COLUMNS.len() + 1;
    for cut in [0, 10, whole_rows - 3, whole_rows, whole_rows + 20, text.len() - 1, text.len()] {
        fs::write(&collecting.output, &text[..cut]).unwrap();
        let kept = text[..cut]
            .matches('\n')
            .count()
            .saturating_sub(text[..whole_rows].matches('\n').count());
        let done = collecting.run(&[]).ok().done();
        assert_eq!((&done["rows"], &done["reused"]), (&4.into(), &kept.into()), "cut at {cut}");
        assert_eq!(collecting.rows().len(), 4, "cut at {cut}");
    }

    // What was begun without sizes of binaries goes on without.
    let rows = collecting.rows();
    let (first, rest) = rows.split_first().unwrap();
    let old = format!("{head}{COLUMNS_WITHOUT_BYTES}\n{}", first.line_without_bytes());
    fs::write(&collecting.output, &old).unwrap();
    assert_eq!(collecting.run(&[]).ok().done()["reused"], 1);
    let text_after = collecting.text();
    assert!(text_after.starts_with(&old), "{text_after}");
    let later = text_after[old.len()..].lines().map(|line| Row::parse(line).unwrap());
    assert!(later.clone().all(|row| row.binary_bytes.is_none()), "{text_after}");
    assert!(later.count() >= rest.len(), "{text_after}");

    // Another device's file is left as it is.
    let other = text.replace(&header.device, "another device");
    fs::write(&collecting.output, &other).unwrap();
    collecting.run(&[]).refused(&["data.csv", "another device"]);
    assert_eq!(collecting.text(), other);
    // So is what is no data set at all.
    fs::write(&collecting.output, "shopping list\n").unwrap();
    collecting.run(&[]).refused(&["data.csv", "not a data set"]);
    assert_eq!(collecting.text(), "shopping list\n");
}

#[test]
fn a_row_that_hangs_is_given_up_and_the_rest_goes_on() {
    if device().is_none() {
        return;
    }
    // What the driver compiles late is in its cache then, however busy the machine.
    let [first, _, last] = &plan_with_a_slow_row()[..] else { panic!("three rows") };
    Collecting::new(&[first.clone(), last.clone()]).run(&["--timeout", "120"]).ok();
    let collecting = Collecting::new(&plan_with_a_slow_row());
    let done = collecting.run(&["--timeout", "8"]).ok().done();
    assert_eq!((&done["rows"], &done["failed"]), (&3.into(), &1.into()));
    let rows = collecting.rows();
    assert_eq!(statuses(&rows), [Status::Ok, Status::TimedOut, Status::Ok]);
    // On a busy machine some may be throttled, and are measured again.
    let kept = rows.iter().filter(|row| row.status != Status::Throttled).count();
    assert_eq!(collecting.run(&[]).ok().done()["reused"], kept);
}

#[test]
fn a_row_whose_worker_is_killed_is_tried_once_more() {
    if device().is_none() {
        return;
    }
    // What the driver compiles late is in its cache then, however busy the machine.
    let [first, _, last] = &plan_with_a_slow_row()[..] else { panic!("three rows") };
    Collecting::new(&[first.clone(), last.clone()]).run(&["--timeout", "120"]).ok();
    let collecting = Collecting::new(&plan_with_a_slow_row());
    let running = collecting.start(&["--timeout", "8"]);
    collecting.wait_for("tile:1x1x1@128x1");
    kill_process(child_of(&running).unwrap(), Signal::KILL).unwrap();
    Ended::of(running.wait_with_output().unwrap()).ok();
    // The first end may have been chance; the second is the row's own.
    assert_eq!(statuses(&collecting.rows()), [Status::Ok, Status::TimedOut, Status::Ok]);
}

#[test]
fn what_was_running_when_all_was_killed_is_tried_once_more_and_then_given_up() {
    if device().is_none() {
        return;
    }
    let collecting = Collecting::new(&plan_with_a_slow_row());
    for _ in 0..2 {
        let mut running = collecting.start(&[]);
        collecting.wait_for("tile:1x1x1@128x1");
        let worker = child_of(&running).unwrap();
        running.kill().unwrap();
        running.wait().unwrap();
        // The worker must not go on alone.
        let begun = Instant::now();
        while is_running(worker) {
            assert!(begun.elapsed() < PATIENCE, "the worker outlived its parent");
            sleep(Duration::from_millis(10));
        }
        // A row that was half written.
        let mut file = fs::OpenOptions::new().append(true).open(&collecting.output).unwrap();
        file.write_all(b"24,40,33,1,f32-nn,tile:1x").unwrap();
    }
    let done = collecting.run(&[]).ok().done();
    assert_eq!((&done["rows"], &done["failed"]), (&3.into(), &1.into()));
    assert_eq!(statuses(&collecting.rows()), [Status::Ok, Status::LaunchFailed, Status::Ok]);
}

#[test]
fn ctrl_c_ends_at_once_says_how_to_go_on_and_blames_no_row() {
    if device().is_none() {
        return;
    }
    let collecting = Collecting::new(&plan_with_a_slow_row());
    for _ in 0..3 {
        let running = collecting.start(&[]);
        collecting.wait_for("tile:1x1x1@128x1");
        kill_process(Pid::from_child(&running), Signal::INT).unwrap();
        Ended::of(running.wait_with_output().unwrap())
            .refused(&["interrupted", "run the same command again"]);
        assert!(!collecting.marker().exists());
    }
    assert!(statuses(&collecting.rows()).iter().all(|status| *status == Status::Ok));
}

#[test]
fn plans_that_are_none_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("data.csv");
    for (text, words) in [
        ("m,k,n,batch,class,configuration,repetitions\n", "no rows"),
        ("m,k\n1,2\n", "not a plan"),
        ("m,k,n,batch,class,configuration,repetitions\n1,1,1,1,f32-nn,tile:3,1\n", "line 2"),
    ] {
        let plan = common::file(folder.path(), "plan.csv", text.as_bytes());
        let arguments = ["collect", "--plan", &plan, "--output", output.to_str().unwrap()];
        common::run(&arguments).refused(&["plan.csv", words]);
        assert!(!output.exists());
    }
}
