//! What becomes of odd data, from the file to the model, the report and the study.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use selector_core::GemmShape;
use serde_json::Value;
use trainer::dataset::Dataset;
use trainer::learn;
use trainer::normalise::Normalisation;
use trainer::performance::Performance;
use trainer::prune;
use trainer::train::{self, Fitted, Method};

const COLUMNS: &str = "m,k,n,batch,configuration,status,samples_ns\n";
/// Two configurations that all tests know.
const KERNELS: [&str; 2] = ["tile:1x1x1@8x8", "tile:4x4x4@8x8"];

/// A folder with a file `data.csv`.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("data.csv"), text).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn dataset(&self) -> Dataset {
        Dataset::open(&self.path("data.csv")).unwrap()
    }

    fn gemmtree(&self, args: &[&str]) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_gemmtree"));
        program.args(args).current_dir(self.0.path()).output().unwrap()
    }

    /// What the command prints with `--json`.
    fn json(&self, args: &[&str]) -> Value {
        let output = self.gemmtree(&[args, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What the command says when it refuses what the user gave.
    fn refusal(&self, args: &[&str]) -> String {
        let output = self.gemmtree(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", stderr(&output));
        stderr(&output)
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn row(shape: (u32, u32, u32), configuration: &str, status: &str, samples: &str) -> String {
    let (m, k, n) = shape;
    format!("{m},{k},{n},1,{configuration},{status},{samples}\n")
}

/// A row of each of [`KERNELS`], with the times that `times` gives.
fn rows(shape: (u32, u32, u32), times: [f64; 2]) -> String {
    let one = |(kernel, time): (&str, f64)| row(shape, kernel, "ok", &time.to_string());
    KERNELS.into_iter().zip(times).map(one).collect()
}

fn fit(dataset: &Dataset, learner: &str) -> Fitted {
    let method = Method {
        pruner: prune::by_name("greedy").unwrap(),
        learner: learn::by_name(learner).unwrap(),
        kernels: 2,
        normalisation: Normalisation::Scaled,
        seed: 0,
    };
    let all: Vec<usize> = (0..dataset.tasks().len()).collect();
    train::fit(dataset, &all, &method).unwrap()
}

/// The configuration that wins each task, as methods see it.
fn winners(dataset: &Dataset) -> Vec<String> {
    let all: Vec<usize> = (0..dataset.tasks().len()).collect();
    let performance = Performance::of(dataset, &all);
    let best = |row: usize| {
        let losses = performance.loss.row(row).to_vec();
        losses.iter().position(|loss| *loss == 0.0).unwrap()
    };
    all.iter().map(|row| dataset.configurations()[best(*row)].clone()).collect()
}

/// Thin shapes that the second kernel wins among square ones that the first one wins.
fn thin_and_square() -> String {
    let mut text = COLUMNS.to_owned();
    for size in [256, 512, 768, 1024, 1536, 2048, 3072, 4096] {
        text += &rows((size, size, size), [1000.0, 2000.0]);
        for m in [1, 2, 4, 8] {
            text += &rows((m, size, size), [800.0, 400.0]);
        }
    }
    text
}

#[test]
fn shapes_whose_inverses_differ_by_less_than_1e_5_are_told_apart() {
    let sizes = [1000, 1005, 1010, 1020, 1030, 1040, 1050, 1060];
    assert!((1.0f64 / 1020.0 - 1.0 / 1030.0).abs() < 1e-5);
    let times = |m| if m < 1024 { [100.0, 900.0] } else { [900.0, 100.0] };
    let text: String = sizes.iter().map(|m| rows((*m, 4096, 4096), times(*m))).collect();
    let folder = Folder::with(&format!("{COLUMNS}{text}"));
    for learner in learn::ALL.iter().filter(|one| one.name() != "single-best") {
        let fitted = fit(&folder.dataset(), learner.name());
        let pick = |m| fitted.trees[0].tree.rank(GemmShape::new(m, 4096, 4096, 1))[0];
        assert_eq!([1000, 1020, 1030, 1060].map(pick), [0, 0, 1, 1], "{}", learner.name());
    }
}

#[test]
fn shapes_that_fall_together_though_other_kernels_win_are_told() {
    let text = rows((1000, 64, 64), [100.0, 900.0]) + &rows((1010, 64, 64), [900.0, 100.0]);
    let folder = Folder::with(&format!("{COLUMNS}{text}"));
    let output = folder.gemmtree(&["train", "data.csv"]);
    assert_eq!(output.status.code(), Some(0));
    let told = stderr(&output);
    assert!(told.contains("1000x64x64 and 1010x64x64"), "{told}");
}

#[test]
fn without_a_usable_row_every_command_says_why_and_exits_1() {
    let failed = row((8, 9, 10), "tile:1x1x1@8x8", "build_failed", "");
    let throttled = row((8, 9, 10), "tile:1x1x1@8x8", "throttled", "100 100");
    for (text, why) in [
        (String::new(), "read 0, dropped 0"),
        (failed.repeat(3), "read 3, dropped 3: 3 build_failed"),
        (throttled.repeat(2), "read 2, dropped 2: 2 throttled"),
    ] {
        let folder = Folder::with(&format!("{COLUMNS}{text}"));
        for command in ["train", "study"] {
            let told = folder.refusal(&[command, "data.csv"]);
            assert!(told.contains(&format!("no usable rows ({why})")), "{command}: {told}");
        }
    }
}

#[test]
fn one_shape_is_one_leaf_with_a_warning_and_can_be_reported_and_studied() {
    let folder = Folder::with(&format!("{COLUMNS}{}", rows((8, 9, 10), [100.0, 300.0])));
    let output = folder.gemmtree(&["train", "data.csv", "-o", "m.gtm", "--json"]);
    assert!(stderr(&output).contains("warning: only one shape, 8x9x10"), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["leaves"], &json["depth"]), (&1.into(), &0.into()));
    assert_eq!(json["share_of_optimal"], Value::Null);
    folder.json(&["report", "m.gtm", "data.csv"]);
    folder.json(&["study", "data.csv"]);
}

#[test]
fn what_spreadsheets_write_is_taken_or_refused_by_line() {
    let head = "m,k,n,batch,configuration,time_ns";
    let row = "8,9,10,1,tile:1x1x1@8x8,100";
    for taken in [
        format!("\u{feff}{head}\n{row}\n"),
        format!("{head}\r\n{row}\r\n"),
        format!("m, k, n, batch, configuration, time_ns\n{row}\n"),
        format!("\u{feff}\"m\",k,n,batch,configuration,time_ns\r\n{row}\r\n"),
    ] {
        let output = Folder::with(&taken).gemmtree(&["train", "data.csv"]);
        assert_eq!(output.status.code(), Some(0), "{taken:?}: {}", stderr(&output));
    }
    for (text, said) in [
        ("m;k;n;batch;configuration;time_ns\n8;9;10;1;a;1,5\n".to_owned(), "line 1: no column `m`"),
        (format!("{head}\n8,9,10,1,a,\"1,5\"\n"), "line 2: `1,5` in column `time_ns`"),
        (format!("{head}\n{row}\n\"1,024\",9,10,1,a,5\n"), "line 3: `1,024` in column `m`"),
        (format!("{head}\n64.0,9,10,1,a,5\n"), "line 2: `64.0` in column `m`"),
        (format!("{head},time_ns\n{row},5\n"), "line 1: column `time_ns` is there twice"),
        (format!("{head}\n8,9,10,1,a,1"), "1 cut last line"),
    ] {
        let told = Folder::with(&text).refusal(&["train", "data.csv"]);
        assert!(told.contains(said), "{text:?}: {told}");
    }
    let cut = Folder::with(&format!("{head}\n{row}\n8,9,10,2,tile:1x1x1@8x8,1"));
    let output = cut.gemmtree(&["train", "data.csv"]);
    assert!(stderr(&output).contains("dropped 1: 1 cut last line"), "{}", stderr(&output));
}

/// Names of the fields of `json` that are null.
fn nulls(json: &Value, name: &str, found: &mut Vec<String>) {
    match json {
        Value::Null => found.push(name.to_owned()),
        Value::Array(items) => items.iter().for_each(|item| nulls(item, name, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| nulls(field, name, found)),
        _ => {}
    }
}

#[test]
fn no_json_holds_a_number_that_is_not_finite_however_odd_the_times() {
    let mut text = COLUMNS.to_owned();
    for (index, m) in [1, 2, 8, 64, 512, 4096].into_iter().enumerate() {
        text += &rows((m, 64, 64), [1e-3, 1e18]);
        text += &rows((m, 4_294_967_295, 4_294_967_295), [1e18, 1e-3]);
        text += &row((m, 77, 77), KERNELS[index % 2], "ok", "5 5 5");
    }
    text += &row((64, 77, 77), "tile:2x2x2@8x8", "ok", "NaN");
    text += &row((64, 77, 77), "tile:8x8x8@8x8", "launch_failed", "");
    let folder = Folder::with(&text);
    // A NaN became null in what is printed; what may be null says so by its meaning.
    let check = |args: &[&str], may_be_null: &[&str]| {
        let (json, mut found) = (folder.json(args), Vec::new());
        nulls(&json, "", &mut found);
        found.retain(|name| !may_be_null.contains(&name.as_str()));
        assert_eq!(found, [""; 0], "{args:?}: {json}");
    };
    check(&["train", "data.csv", "-o", "m.gtm", "--force"], &[]);
    check(&["train", "data.csv", "--compare", "--kernels", "2"], &[]);
    check(&["explain", "m.gtm", "64", "77", "77"], &[]);
    // The universal kernel was not measured, and the last bin is open.
    check(&["report", "m.gtm", "data.csv"], &["alone", "up_to"]);
    check(&["study", "data.csv"], &[]);
    let html = {
        folder.gemmtree(&["report", "m.gtm", "data.csv", "-o", "page.html"]);
        fs::read_to_string(folder.path("page.html")).unwrap()
    };
    assert!(!html.contains("NaN") && !html.contains(">inf"), "{html}");
}

#[test]
fn thin_shapes_get_another_kernel_than_square_ones() {
    let folder = Folder::with(&thin_and_square());
    let trained = folder.json(&["train", "data.csv", "--kernels", "2", "-o", "m.gtm"]);
    // What is reported is about shapes held out, not those trained on.
    let held_out = trained["share_of_optimal"]["held_out"].as_object().unwrap();
    assert_eq!(held_out.len(), 5);
    for (shape, expected) in [(["8", "3200", "3200"], KERNELS[1]), (["2048"; 3], KERNELS[0])] {
        let [m, k, n] = shape;
        let why = folder.json(&["explain", "m.gtm", m, k, n]);
        assert_eq!(why["kernels"][0]["name"], expected, "{shape:?}");
    }
}

#[test]
fn a_kernel_that_is_wrong_at_one_size_ships_nowhere_and_is_named_everywhere() {
    let wrong = "tile:8x4x2@16x16";
    let mut text = thin_and_square();
    for size in [256, 512, 1024, 2048] {
        let (status, time) = if size == 2048 { ("wrong_result", "") } else { ("ok", "10") };
        text += &row((size, size, size), wrong, status, time);
    }
    let folder = Folder::with(&text);
    let output = folder.gemmtree(&["train", "data.csv", "-o", "m.gtm", "--json"]);
    let said = format!("`{wrong}` is left out: wrong result on f32-nn 2048x2048x2048");
    assert!(stderr(&output).contains(&said), "{}", stderr(&output));
    let trained: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(trained["suspects"][0]["configuration"], wrong);
    assert_eq!(trained["suspects"][0]["wrong_on"][0], "f32-nn 2048x2048x2048");
    assert!(!trained["kernels"].as_array().unwrap().contains(&wrong.into()), "{trained}");
    let dataset = folder.dataset();
    assert!(!winners(&dataset).contains(&wrong.to_owned()));
    let reported = folder.json(&["report", "m.gtm", "data.csv", "-o", "page.html"]);
    assert_eq!(reported["suspects"][0]["name"], wrong);
    let page = fs::read_to_string(folder.path("page.html")).unwrap();
    let notice =
        format!("<code>{wrong}</code> is left out: wrong result on f32-nn 2048x2048x2048.");
    assert!(page.contains(&notice), "{page}");
}

#[test]
fn a_slow_first_sample_does_not_decide_who_wins() {
    let text = row((8, 9, 10), KERNELS[0], "ok", "50.0 1.00 1.01 1.00 1.02")
        + &row((8, 9, 10), KERNELS[1], "ok", "1.10 1.10 1.10 1.10 1.10");
    let dataset = Folder::with(&format!("{COLUMNS}{text}")).dataset();
    assert_eq!(winners(&dataset), [KERNELS[0]]);
}

#[test]
fn a_kernel_that_wins_by_less_than_the_noise_gives_way_to_the_one_that_wins_elsewhere() {
    // Medians of 1.000 and 1.004, samples that vary by 2 %.
    let close = [("0.980 1.000 1.020", 0), ("0.984 1.004 1.024", 1)];
    let mut text = COLUMNS.to_owned();
    for (samples, kernel) in close {
        text += &row((64, 64, 64), KERNELS[kernel], "ok", samples);
    }
    for m in [8, 16, 32] {
        text += &rows((m, 64, 64), [9.0, 1.0]);
    }
    let folder = Folder::with(&text);
    let trained = |text: &str| {
        fs::write(folder.path("data.csv"), text).unwrap();
        let json = folder.json(&["train", "data.csv", "--kernels", "2"]);
        (json["kernels"].clone(), json["leaves"].clone())
    };
    let expected = (Value::from(vec![KERNELS[1]]), Value::from(1));
    assert_eq!(trained(&text), expected);
    // Whoever's turn it was to be a little faster.
    let swapped = text.replace("0.980 1.000 1.020", "0.985 1.005 1.025");
    assert_eq!(trained(&swapped), expected);
}

#[test]
fn a_time_of_a_low_clock_does_not_decide_who_wins() {
    let shape = (8, 9, 10);
    // The second was measured while the clock was high, the first when it was low, then again.
    let text = row(shape, KERNELS[0], "throttled", "1600 1600")
        + &row(shape, KERNELS[1], "ok", "1200 1200")
        + &row(shape, KERNELS[0], "ok", "1000 1000");
    let dataset = Folder::with(&format!("{COLUMNS}{text}")).dataset();
    assert_eq!(winners(&dataset), [KERNELS[0]]);
    assert_eq!(dataset.rows.dropped["throttled"], 1);
}

#[test]
#[cfg(unix)]
fn a_path_that_leads_nowhere_is_the_users_mistake() {
    let folder = Folder::with("");
    std::os::unix::fs::symlink("circle", folder.path("circle")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(folder.path("socket")).unwrap();
    let long = "x".repeat(300);
    for path in ["circle", "socket", &long] {
        let told = folder.refusal(&["train", path]);
        assert!(told.contains("could not read data set"), "{told}");
    }
    drop(socket);
}

#[test]
#[cfg(unix)]
fn a_file_without_an_end_is_read_to_a_limit_that_is_named() {
    let folder = Folder::with(&thin_and_square());
    for args in [
        vec!["explain", "/dev/zero", "1", "1", "1"],
        vec!["shapes", "/dev/zero"],
        vec!["train", "data.csv", "--splits", "/dev/zero"],
    ] {
        let told = folder.refusal(&args);
        assert!(told.contains("MiB, which is the most that is read"), "{args:?}: {told}");
    }
}

#[test]
fn a_shape_may_be_asked_about_in_one_word() {
    let folder = Folder::with(&thin_and_square());
    folder.json(&["train", "data.csv", "--kernels", "2", "-o", "m.gtm"]);
    let words = folder.json(&["explain", "m.gtm", "8", "3200", "3200", "2"]);
    assert_eq!(folder.json(&["explain", "m.gtm", "8x3200x3200x2"]), words);
    assert_eq!(words["shape"]["batch"], 2);
}
