//! The commands that use a board, against a board without a device.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kernels::bundle::{self, Bundle, DriverKey};
use kernels::{Configuration, space};
use selector_core::{
    KernelId, Leaf, Loss, ModelSource, ProblemClass, Samples, Score, Tree, TreeSource,
};

const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake-board");

/// A folder with a board file, `desk.toml`.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let board = "name = \"Desk\"\ntier = 3\ngpu = \"none\"\ndevice = { name = \"fake\" }\n\
            limits = { work_group = 64 }\nreach = { over = \"local\", folder = \"board\" }\n";
        fs::write(folder.path().join("desk.toml"), board).unwrap();
        fs::write(folder.path().join("shapes.csv"), "m,k,n\n1,2,3\n4,5,6\n").unwrap();
        Self(folder)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gemmtree"));
        command.args(words.split_whitespace()).current_dir(self.0.path());
        command
    }

    /// `collect` of 2 shapes by 5 configurations.
    fn collect(&self) -> Command {
        let mut command = self.command(
            "collect --board ./desk.toml --shapes shapes.csv --configs 5 -o data.csv --json",
        );
        command.args(["--board-program", FAKE]);
        command
    }
}

fn succeeds(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn fails(command: &mut Command, code: i32) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert_eq!(status.code(), Some(code), "{}", String::from_utf8_lossy(&stderr));
    assert!(stdout.is_empty());
    String::from_utf8(stderr).unwrap()
}

fn model(space: Option<u64>, score: f64) -> Vec<u8> {
    let class = ProblemClass::F32_NN;
    let leaf = Leaf::new(&[KernelId(0)], Loss::UNKNOWN, Loss::UNKNOWN, Samples::new(1));
    let source = ModelSource {
        device: "fake",
        driver: "1",
        method: "test",
        space,
        score: Some(Score::from_share(score)),
        kernels: Vec::new(),
        trees: vec![Tree::Leaf(leaf)],
        classes: vec![TreeSource { class, measured_as: class, tree: 0 }],
    };
    source.encode().unwrap()
}

fn bundle(space: Option<u64>, score: f64) -> Vec<u8> {
    let key = DriverKey {
        platform: "fake".to_owned(),
        vendor: "fake".to_owned(),
        device: "fake".to_owned(),
        compute_units: 1,
        driver: "1".to_owned(),
        space: space::hash(),
    };
    let program = Configuration::universal().program(ProblemClass::F32_NN).name;
    bundle::write(&key, &model(space, score), &[(program, vec![1, 2, 3])]).unwrap()
}

#[test]
fn collect_brings_back_every_row_and_leaves_nothing_on_the_board() {
    let desk = Desk::new();
    let printed = succeeds(&mut desk.collect());
    assert_eq!(printed, "{\"data\":\"data.csv\",\"rows\":10,\"by_status\":{\"ok\":10}}\n");
    let data = desk.text("data.csv");
    assert_eq!(data.lines().count(), 12);
    // The board's limit holds for what is drawn, and one shape comes after the other.
    let rows: Vec<Vec<&str>> = data.lines().skip(2).map(|row| row.split(',').collect()).collect();
    assert!(rows[..5].iter().all(|row| row[..3] == ["1", "2", "3"]));
    for row in rows {
        let group = row[5].split_once('@').unwrap().1.split_once('x').unwrap();
        assert!(group.0.parse::<u32>().unwrap() * group.1.parse::<u32>().unwrap() <= 64);
    }
    assert_eq!(fs::read_dir(desk.path("board")).unwrap().count(), 0);
}

#[test]
fn what_was_measured_before_a_failure_is_kept_and_gone_on_with() {
    let desk = Desk::new();
    let whole = {
        let other = Desk::new();
        succeeds(&mut other.collect());
        other.text("data.csv")
    };
    let message = fails(desk.collect().env("FAKE_ROWS", "4"), 2);
    assert!(message.contains("board: error: the fake device is lost"), "{message}");
    assert!(message.contains("hint: run the same command again"), "{message}");
    assert_eq!(desk.text("data.csv").lines().count(), 6);
    // The board has lost its files meanwhile: those of the host go there.
    fs::remove_dir_all(desk.path("board")).unwrap();
    fails(desk.collect().env("FAKE_ROWS", "3"), 2);
    assert_eq!(desk.text("data.csv").lines().count(), 9);
    // The host has lost its file: the board's own are gone on with.
    fs::remove_file(desk.path("data.csv")).unwrap();
    succeeds(&mut desk.collect());
    assert_eq!(desk.text("data.csv"), whole);
}

#[test]
fn measurements_of_another_run_are_set_aside() {
    let desk = Desk::new();
    fails(desk.collect().env("FAKE_ROWS", "4"), 2);
    let left = desk.text("data.csv");
    fs::remove_file(desk.path("data.csv")).unwrap();
    fs::write(desk.path("shapes.csv"), "m,k,n\n7,8,9\n").unwrap();
    succeeds(&mut desk.collect());
    assert_eq!(desk.text("data.csv").lines().count(), 7);
    assert_eq!(desk.text("board/measurements.set-aside.csv"), left);
    // The next to be set aside does not overwrite it.
    fs::write(desk.path("shapes.csv"), "m,k,n\n6,8,9\n").unwrap();
    fs::remove_file(desk.path("data.csv")).unwrap();
    fails(desk.collect().env("FAKE_ROWS", "2"), 2);
    fs::write(desk.path("shapes.csv"), "m,k,n\n5,8,9\n").unwrap();
    fs::remove_file(desk.path("data.csv")).unwrap();
    succeeds(&mut desk.collect());
    assert_eq!(desk.text("board/measurements.set-aside.csv"), left);
    assert_eq!(desk.text("board/measurements.set-aside-2.csv").lines().count(), 4);
}

#[test]
fn another_timing_is_refused_before_anything_is_sent_and_no_other_file_gets_the_rows() {
    let desk = Desk::new();
    succeeds(&mut desk.collect());
    let device = desk.text("data.csv");
    let message = fails(desk.collect().args(["--timing", "stream"]), 1);
    assert!(message.contains("`data.csv` has times of a device, not of a stream"), "{message}");
    assert!(message.contains("hint: name a new file, or say --timing device"), "{message}");
    assert_eq!(desk.text("data.csv"), device);
    assert!(!desk.path("board/measurements.csv").exists());
    // What the board refuses before it measures anything is neither left there nor fetched.
    fs::write(desk.path("shapes.csv"), "m,k,n\n1,2,3\n4,5,6\n7,8,9\n").unwrap();
    fails(desk.collect().env("FAKE_ROWS", "0"), 2);
    assert_eq!(desk.text("data.csv"), device);
    assert!(!desk.path("board/measurements.csv").exists());
}

#[test]
#[cfg(unix)]
fn a_request_to_end_keeps_what_was_measured() {
    let desk = Desk::new();
    let mut child =
        desk.collect().arg("-q").env("FAKE_ROWS", "4").env("FAKE_WAITS", "1").spawn().unwrap();
    let measurements = desk.path("board/measurements.csv");
    let measured = || fs::read_to_string(&measurements).is_ok_and(|text| text.lines().count() == 6);
    while !measured() {
        assert!(child.try_wait().unwrap().is_none(), "ended too early");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let kill = format!("kill -TERM {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(desk.text("data.csv").lines().count(), 6);
}

#[test]
fn a_plan_that_is_too_large_or_a_file_that_is_no_data_set_is_refused() {
    let desk = Desk::new();
    let message = fails(desk.collect().args(["--most", "9"]), 1);
    assert!(message.contains("10 measurements are more than 9"), "{message}");
    assert!(!desk.path("board").exists());
    for other in ["m,k,n\n1,2,3\n", "# device: x\nm,k,n\n", "# devise: x\n", "GTM\n"] {
        fs::write(desk.path("data.csv"), other).unwrap();
        let message = fails(&mut desk.collect(), 1);
        assert!(message.contains("`data.csv` is not a data set of ours"), "{message}");
        assert_eq!(desk.text("data.csv"), other);
    }
}

#[test]
fn flash_says_what_it_replaced() {
    let desk = Desk::new();
    let space = Some(space::hash());
    let flash = |bytes: &[u8]| {
        fs::write(desk.path("model.gtb"), bytes).unwrap();
        desk.command("flash ./desk.toml model.gtb")
    };
    let printed = succeeds(&mut flash(&bundle(space, 0.5)));
    assert!(printed.contains("share of optimal none → 0.5000"), "{printed}");
    let printed = succeeds(&mut flash(&bundle(space, 0.75)));
    assert!(printed.contains("share of optimal 0.5000 → 0.7500"), "{printed}");
    assert_eq!(fs::read(desk.path("board/current.gtb")).unwrap(), bundle(space, 0.75));
    assert_eq!(fs::read(desk.path("board/previous.gtb")).unwrap(), bundle(space, 0.5));
}

#[test]
fn flash_refuses_damaged_and_foreign_bundles() {
    let desk = Desk::new();
    let flash = |bytes: &[u8]| {
        fs::write(desk.path("model.gtb"), bytes).unwrap();
        desk.command("flash ./desk.toml model.gtb")
    };
    let mut damaged = bundle(Some(space::hash()), 0.5);
    damaged.pop();
    let message = fails(&mut flash(&damaged), 1);
    assert!(message.contains("`model.gtb` cannot be flashed"), "{message}");
    let message = fails(&mut flash(&model(None, 0.5)), 1);
    assert!(message.contains("this is a model, not a bundle"), "{message}");
    let message = fails(&mut flash(&bundle(None, 0.5)), 1);
    assert!(message.contains("not measured with these sources"), "{message}");
    let other = desk.text("desk.toml").replace("name = \"fake\"", "name = \"Mali\"");
    fs::write(desk.path("other.toml"), other).unwrap();
    let mut to_other = desk.command("flash ./other.toml model.gtb --allow-foreign-space");
    let message = fails(&mut to_other, 1);
    assert!(message.contains("made for `fake`; board `other` has `Mali`"), "{message}");
    assert!(!desk.path("board").exists());
    succeeds(flash(&bundle(None, 0.5)).arg("--allow-foreign-space"));
    assert!(desk.path("board/current.gtb").exists());
}

#[test]
fn compile_fetches_the_bundle_that_the_board_made() {
    let desk = Desk::new();
    let space = Some(space::hash());
    fs::write(desk.path("model.gtm"), model(space, 0.5)).unwrap();
    fs::write(desk.path("made.gtb"), bundle(space, 0.5)).unwrap();
    let compile = |made: &str| {
        let mut command = desk.command("compile ./desk.toml model.gtm -o model.gtb");
        command.args(["--board-program", FAKE]).env("FAKE_BUNDLE", desk.path(made));
        command
    };
    let printed = succeeds(&mut compile("made.gtb"));
    assert!(printed.contains("1 programs for fake, 1"), "{printed}");
    let made = fs::read(desk.path("model.gtb")).unwrap();
    assert_eq!(made, bundle(space, 0.5));
    assert!(Bundle::parse(&made).is_ok());
    // What the board makes is checked before it replaces anything.
    let message = fails(&mut compile("shapes.csv"), 1);
    assert!(message.contains("the board's bundle cannot be used"), "{message}");
    assert_eq!(fs::read(desk.path("model.gtb")).unwrap(), made);
    fs::write(desk.path("model.gtm"), model(None, 0.5)).unwrap();
    let message = fails(&mut compile("made.gtb"), 1);
    assert!(message.contains("--allow-foreign-space"), "{message}");
}

#[test]
fn check_and_bench_use_the_flashed_bundle_or_one_that_is_sent() {
    let desk = Desk::new();
    let on = |words: &str| {
        let mut command = desk.command(words);
        command.args(["--board-program", FAKE]);
        command
    };
    let message = fails(&mut on("check ./desk.toml"), 1);
    assert!(message.contains("hint: gemmtree flash ./desk.toml BUNDLE"), "{message}");
    let flashed = bundle(Some(space::hash()), 0.5);
    fs::write(desk.path("model.gtb"), &flashed).unwrap();
    succeeds(&mut desk.command("flash ./desk.toml model.gtb"));
    let printed = succeeds(&mut on("check ./desk.toml"));
    assert_eq!(printed, "bundle current.gtb  device fake  verb check\n");
    let printed = succeeds(&mut on("bench ./desk.toml model.gtb --device other --json"));
    assert_eq!(printed, "{\"bundle\":\"bench.gtb\",\"device\":\"other\",\"verb\":\"bench\"}\n");
    assert!(!desk.path("board/bench.gtb").exists());
}

#[test]
fn a_board_without_its_program_or_out_of_reach_says_what_to_do() {
    let desk = Desk::new();
    let mut command =
        desk.command("collect --board ./desk.toml --shapes shapes.csv --configs 1 -o data.csv");
    let message = fails(command.args(["--board-program", "no/such"]), 1);
    assert!(message.contains("found no gemmtree-board; tried: `no/such`"), "{message}");
    assert!(message.contains("--board-program PATH/gemmtree-board"), "{message}");
    assert!(!Path::new(&desk.path("data.csv")).exists());
    let message = fails(&mut desk.command("check rk3399"), 1);
    assert!(message.contains("over ssh; this build reaches boards over: local"), "{message}");
    assert!(message.contains("scp gemmtree-board"), "{message}");
    let message = fails(&mut desk.command("check nowhere"), 1);
    assert!(
        message.contains("boards: hikey960, intel-cpu, nuc-gen9, pocl-cpu, rk3399"),
        "{message}"
    );
}
