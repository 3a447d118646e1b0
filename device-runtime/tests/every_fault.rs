//! Everything that the pretend driver can let go wrong, one thing at a time, and every command that works on a
//! device: a right result or an error in words, within the limit.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use common::pretend::within;
use common::{Ended, program};
use fake_icd::{Fake, Script, Trouble, troubles};
use kernels::bundle::Bundle;
use kernels::measurement::{Row, Status};
use kernels::plan::{self, PlanRow};
use selector_core::{GemmShape, ProblemClass};

/// No command may take longer, and none does if all is well.
const PATIENCE: Duration = Duration::from_secs(120);
/// Most of them wait for a limit.
const AT_ONCE: usize = 8;
const CONFIGURATIONS: [&str; 2] = ["tile:4x4x8@8x8", "universal"];

/// What commands work on; a folder of its own for each run.
struct Files {
    folder: tempfile::TempDir,
    model: String,
    bundle: String,
    plan: String,
    output: String,
}

impl Files {
    fn new(model: &[u8], bundle: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name).to_str().unwrap().to_owned();
        let (model, bundle) = (
            common::file(folder.path(), "m.gtm", model),
            common::file(folder.path(), "m.gtb", bundle),
        );
        let (plan, output) = (path("plan.csv"), path("data.csv"));
        let row = |name: &str| PlanRow {
            shape: GemmShape::new(24, 40, 33, 1),
            class: ProblemClass::F32_NN,
            configuration: name.parse().unwrap(),
            repetitions: 2,
        };
        let rows = CONFIGURATIONS.map(row);
        plan::write(&rows, fs::File::create(&plan).unwrap()).unwrap();
        Self { folder, model, bundle, plan, output }
    }

    fn arguments<'a>(&'a self, command: &'a str, timeout: &'a str) -> Vec<&'a str> {
        let more = match command {
            "bench" => vec!["--bundle", &self.bundle, "--shapes", "24x40x33", "--calls", "5"],
            "check" => vec!["--bundle", &self.bundle],
            "collect" => {
                vec!["--plan", &self.plan, "--output", &self.output, "--timeout", timeout]
            }
            "compile" => vec!["--model", &self.model, "--output", &self.bundle],
            "devices" => Vec::new(),
            "run" => vec!["--bundle", &self.bundle, "--shape", "24x40x33"],
            other => panic!("{other}"),
        };
        [vec![command], more].concat()
    }
}

const COMMANDS: [&str; 6] = ["bench", "check", "collect", "compile", "devices", "run"];

/// How a command ended that did not do what it should not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    /// With the right result.
    Right,
    /// With an error in words.
    Typed,
}

/// Run a command on a driver with this trouble, which has `bundle` from before.
///
/// # Errors
/// What is wrong with how it ended.
fn outcome(command: &str, trouble: &Trouble, files: &Files) -> Result<Outcome, String> {
    let ended = run(command, trouble, files);
    let wrong = |what: &str| Err(format!("{command}, {}: {what}: {ended:#?}", trouble.name));
    // Nothing that is left behind is half written, whatever happened.
    let bundle = fs::read(&files.bundle).unwrap();
    if Bundle::parse(&bundle).is_err() {
        return wrong("the bundle is damaged");
    }
    let Some(rows) = rows(Path::new(&files.output)) else { return wrong("a row is damaged") };
    if ended.stderr.contains("a fault of gemmtree-board") || ended.stderr.contains("panicked") {
        return wrong("a panic");
    }
    match ended.code {
        Some(0) => {
            let claims = ended.stdout.contains("\"checked\":false")
                || ended.stdout.contains("\"status\":\"wrong\"")
                || rows.iter().any(|row| row.status == Status::Ok && row.samples.contains(&0));
            if claims {
                return wrong("a wrong number is called right");
            }
            if trouble.is_wrong() && command != "devices" {
                return wrong("all results are wrong");
            }
            Ok(Outcome::Right)
        }
        Some(1 | 2) if ended.stderr.contains("error: ") && !ended.stderr.contains("Usage:") => {
            Ok(Outcome::Typed)
        }
        Some(1 | 2) => wrong("no error in words"),
        _ => wrong("ended by a signal"),
    }
}

fn run(command: &str, trouble: &Trouble, files: &Files) -> Ended {
    let fake = Fake::new(&trouble.script).unwrap();
    // What hangs is given up soon, anything else has time enough on a busy machine.
    let (patience, timeout) = if trouble.hangs() { ("1", "1") } else { ("60", "30") };
    let arguments = files.arguments(command, timeout);
    let mut program = program();
    fake.lead(program.args(arguments).args(["--give-up-after", patience]));
    Ended::of(within(PATIENCE, program.current_dir(files.folder.path())))
}

/// The rows of a data set, none if there is no file; `None` if one is damaged.
fn rows(path: &Path) -> Option<Vec<Row>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().skip_while(|line| line.starts_with('#')).skip(1);
    lines.map(|line| Row::parse(line).ok()).collect()
}

/// A model, and its bundle as a driver makes it that is well.
fn made() -> [Vec<u8>; 2] {
    let model = common::model(&[ProblemClass::F32_NN]);
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (common::file(folder.path(), "m.gtm", &model), folder.path().join("m.gtb"));
    let fake = Fake::new(&Script::default()).unwrap();
    let mut command = program();
    fake.lead(command.args(["compile", "--model", &from, "--output", to.to_str().unwrap()]));
    Ended::of(within(PATIENCE, &mut command)).ok();
    [model, fs::read(to).unwrap()]
}

#[test]
fn every_command_ends_right_or_in_words_whatever_goes_wrong() {
    let [model, bundle] = made();
    let troubles = troubles();
    let all = COMMANDS.iter().flat_map(|command| troubles.iter().map(move |one| (*command, one)));
    let left = Mutex::new(all.collect::<Vec<_>>());
    let ends = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some((command, trouble)) = left.lock().unwrap().pop() else { return };
                    let end = outcome(command, trouble, &Files::new(&model, &bundle));
                    ends.lock().unwrap().push((command, end));
                }
            });
        }
    });
    let ends = ends.into_inner().unwrap();
    for command in COMMANDS {
        let count = |wanted: Option<Outcome>| {
            let of = ends.iter().filter(|(one, _)| *one == command);
            of.filter(|(_, end)| end.as_ref().ok().copied() == wanted).count()
        };
        let [right, typed, other] = [Some(Outcome::Right), Some(Outcome::Typed), None].map(count);
        println!("faults: {command}: {right} right, {typed} errors in words, {other} neither");
    }
    let bad: Vec<_> = ends.iter().filter_map(|(_, end)| end.as_ref().err()).collect();
    for one in &bad {
        println!("{one}");
    }
    assert_eq!(bad.len(), 0, "of {}", ends.len());
}

#[test]
fn a_command_that_ends_otherwise_is_found_out() {
    let [model, bundle] = made();
    let files = Files::new(&model, &bundle);
    let well = Trouble { name: "none".to_owned(), script: Script::default() };
    for command in COMMANDS {
        assert_eq!(outcome(command, &well, &files), Ok(Outcome::Right));
    }
    fs::write(&files.bundle, &bundle[1..]).unwrap();
    assert!(outcome("devices", &well, &files).unwrap_err().contains("the bundle is damaged"));
}
