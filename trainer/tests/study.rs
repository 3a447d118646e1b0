//! The study: that it agrees with the reference, holds for any data set, and what a browser draws
//! of it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[allow(dead_code, reason = "the report's tests look at more")]
mod report_page;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use kernels::measurement::{Header, Status};
use report_page::markup;
use selector_core::{GemmShape, ProblemClass};
use trainer::dataset::{Dataset, Measurement, RowCounts, Task};
use trainer::normalise::Normalisation;
use trainer::study::{self, COUNTS, Cell, Context, Studies, Study, Table};
use trainer::{prune, split};

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(file)
}

/// The study's `parts` of a data set with seeded splits.
fn studied(dataset: &Dataset, parts: &[&str]) -> Study {
    let splits = split::seeded(&dataset.shapes(), 0);
    let context = Context::new(dataset, &splits, 0);
    let mut study = Study::new("data.csv", &context);
    for part in study::ALL.iter().filter(|one| parts.contains(&one.name())) {
        study.tables.extend(part.measure(&context).unwrap());
    }
    study
}

fn all_parts() -> Vec<&'static str> {
    study::ALL.iter().map(|part| part.name()).collect()
}

fn table<'a>(study: &'a Study, id: &str) -> &'a Table {
    study.tables.iter().find(|table| table.id == id).unwrap()
}

fn place(table: &Table, name: &str) -> usize {
    table.columns.iter().position(|column| column.name == name).unwrap()
}

/// Every sixth shape of the H200 table with every ninth configuration, as lines.
fn thinned() -> Vec<String> {
    let mut text = String::new();
    let file = fs::File::open(data("h200-tile640.csv.gz")).unwrap();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let mut lines = text.lines().map(str::to_owned);
    let mut table = vec![lines.next().unwrap()];
    let some = lines.enumerate().filter(|(index, _)| index / 640 % 6 == 0 && index % 640 % 9 == 0);
    table.extend(some.map(|(_, line)| line));
    table
}

fn opened(lines: &[String]) -> Dataset {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), lines.join("\n") + "\n").unwrap();
    Dataset::open(file.path()).unwrap()
}

static SMALL: LazyLock<Study> =
    LazyLock::new(|| studied(&opened(&thinned()), &["data", "components", "pruning", "method"]));

fn measured(class: ProblemClass, m: u32, configuration: &str, time: Option<f64>) -> Measurement {
    Measurement {
        task: Task { class, shape: GemmShape::new(m, 64, 64, 1) },
        configuration: configuration.to_owned(),
        status: if time.is_some() { Status::Ok } else { Status::LaunchFailed },
        times: time.into_iter().collect(),
        spread: None,
        binary_bytes: None,
    }
}

fn dataset(rows: Vec<Measurement>) -> Dataset {
    let (header, counts) = (Header::default(), RowCounts::default());
    Dataset::from_measurements(Path::new("x"), header, counts, rows).unwrap()
}

/// What must hold for every study, whatever was measured.
fn check(study: &Study) -> String {
    let mut ids: Vec<_> = study.tables.iter().map(|table| table.id).collect();
    for table in &study.tables {
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.id);
        assert!(!table.rows.is_empty() || !table.notes.is_empty(), "{} says nothing", table.id);
        let csv = String::from_utf8(table.csv()).unwrap();
        assert!(!csv.contains("NaN") && !csv.contains("inf"), "{csv}");
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        assert_eq!(reader.headers().unwrap().len(), table.columns.len());
        assert_eq!(reader.records().filter(Result::is_ok).count(), table.rows.len());
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), study.tables.len());
    let studies = Studies::new(vec![study.clone()]);
    let json: serde_json::Value =
        serde_json::from_str(&serde_json::to_string(&studies).unwrap()).unwrap();
    assert_eq!(json["studies"][0]["tables"].as_array().unwrap().len(), study.tables.len());
    let html = studies.html();
    let elements = markup::parse(&html).unwrap_or_else(|wrong| panic!("{wrong}\n{html}"));
    assert!(html[..500].contains(study::MADE_BY));
    for outside in ["http", "src=", "url(", "@import", "<script", "NaN", "inf%", "\"-inf"] {
        assert!(!html.contains(outside), "{outside}");
    }
    for link in elements.iter().filter_map(|one| one.attribute("href")) {
        let id = link.strip_prefix('#').unwrap();
        assert!(elements.iter().any(|one| one.attribute("id") == Some(id)), "{link}");
    }
    for drawing in elements.iter().filter(|one| one.name == "svg") {
        assert_eq!(drawing.attribute("role"), Some("img"));
        assert!(drawing.attribute("viewBox").is_some() && drawing.attribute("width").is_none());
    }
    assert!(!studies.to_string().contains("NaN"));
    html
}

#[test]
fn components_and_winners_are_the_references() {
    let dataset = Dataset::open(&data("h200-tile640.csv.gz")).unwrap();
    let study = studied(&dataset, &["data", "components"]);
    check(&study);
    let needed: Vec<_> = table(&study, "components-needed").rows.iter().collect();
    let counts: Vec<_> = needed.iter().map(|row| row[1].value().unwrap() as usize).collect();
    let winners = table(&study, "winners").rows.len();
    let expected = format!("PCA 80/90/95%: {counts:?} winners {winners}");
    let text = fs::read_to_string(data("reference-h200.txt")).unwrap();
    assert!(text.contains(&expected), "{expected}");
    let wins = table(&study, "winners").rows.iter().map(|row| row[1].value().unwrap());
    assert_eq!(wins.sum::<f64>(), 245.0);
    assert_eq!(table(&study, "rates").rows.len(), 3 * 640);
}

/// Ceilings in percent, one a split.
fn ceilings(
    context: &Context<'_>,
    pruner: &str,
    normalisation: Normalisation,
    count: usize,
) -> Vec<f64> {
    let pruner = prune::by_name(pruner).unwrap();
    let request = context.request(count, normalisation);
    let sides = context.sides.iter().enumerate();
    sides
        .map(|(place, side)| 100.0 * side.ceiling(&context.list(place, pruner, &request).kernels))
        .collect()
}

#[test]
fn the_lists_of_the_study_reach_what_the_references_reach() {
    let dataset = Dataset::open(&data("h200-tile640.csv.gz")).unwrap();
    let splits = split::read(&data("splits-h200.csv"), &dataset.shapes()).unwrap();
    let context = Context::new(&dataset, &splits, 0);
    let text = fs::read_to_string(data("reference-h200.txt")).unwrap();
    let mut checked = 0;
    for piece in text.split("n=").skip(1) {
        // `4: 84.14 89.44 92.29 94.65 87.13 (splits …), mean 89.53`
        let Some((count, rest)) = piece.split_once(": ") else { continue };
        let Ok(count) = count.parse() else { continue };
        let numbers = rest.split([' ', ',']).map_while(|number| number.parse::<f64>().ok());
        let expected: Vec<f64> = numbers.collect();
        let ours = ceilings(&context, "top-n", Normalisation::Cutoff, count);
        assert_eq!(expected.len(), 5);
        for (ours, expected) in ours.iter().zip(&expected) {
            assert!((ours - expected).abs() < 0.01, "{count}: {ours:.2}, not {expected}");
            checked += 1;
        }
    }
    assert_eq!(checked, 4 * 5);
    let written = [("scale", Normalisation::Scaled), ("rawcutoff", Normalisation::RawCutoff)];
    for (start, normalisation) in written
        .into_iter()
        .chain([("cutoff", Normalisation::Cutoff), ("sigmoid", Normalisation::Sigmoid)])
    {
        let line = text.lines().find(|line| line.starts_with(&format!("{start} 6 "))).unwrap();
        let mean = line.split_once("KMeans ").unwrap().1.split_once("(mean ").unwrap().1;
        let expected: f64 = mean.split_once(')').unwrap().0.parse().unwrap();
        let ours = ceilings(&context, "k-means", normalisation, 6);
        let ours = ours.iter().sum::<f64>() / ours.len() as f64;
        assert!((ours - expected).abs() < 1.5, "{start}: {ours:.2}, not {expected}");
    }
}

#[test]
fn a_table_has_every_pruner_normalisation_and_length() {
    let html = check(&SMALL);
    let pruning = table(&SMALL, "pruning");
    let lengths = COUNTS.count();
    assert_eq!(pruning.rows.len(), 4 * prune::ALL.len() * lengths);
    let share = place(pruning, "share");
    for row in &pruning.rows {
        let shares: Vec<f64> = row[share..].iter().map(|cell| cell.value().unwrap()).collect();
        let mean = shares[1..].iter().sum::<f64>() / 5.0;
        assert!((shares[0] - mean).abs() < 1e-5 && shares[0] <= 100.0, "{row:?}");
    }
    // A line for each pruner in each of the four charts.
    let panels = html.split("id=\"pruning-0\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert_eq!(panels.matches("<svg").count(), 4);
    assert_eq!(panels.matches("class=\"line s").count(), 4 * prune::ALL.len());

    let best = table(&SMALL, "pruning-best");
    assert_eq!(best.rows.len(), lengths);
    for row in &best.rows {
        let of = |name: &str| row[place(best, name)].value().unwrap();
        let others = pruning.rows.iter().filter(|one| {
            one[place(pruning, "kernels")] == row[0] && one[1] != Cell::from(prune::ALL[0].name())
        });
        let largest = others.map(|one| one[share].value().unwrap()).fold(0.0, f64::max);
        assert_eq!(of("best other"), largest);
        let difference = of(prune::ALL[0].name()) - largest;
        assert!((of("difference") - difference).abs() < 1e-5, "{row:?}");
    }
}

#[test]
fn the_default_method_is_scored_at_every_length() {
    let method = table(&SMALL, "method");
    assert_eq!(method.rows.len(), COUNTS.count());
    for (row, count) in method.rows.iter().zip(COUNTS) {
        let of = |name: &str| row[place(method, name)].value().unwrap();
        assert_eq!(row[0], Cell::from(count));
        assert!(of("worst") <= of("5th percentile") && of("5th percentile") <= of("share"));
        // A geometric mean is never above the arithmetic one, nor a choice above the best one.
        assert!(of("share") <= of("DTPR") && of("share") <= of("ceiling"), "{row:?}");
        assert!(of("leaves") >= 1.0 && of("DTTR") > 0.0);
    }
}

#[test]
fn the_order_of_rows_does_not_reach_the_study() {
    let parts = ["data", "components", "pruning"];
    let straight = thinned();
    let mut shuffled = straight.clone();
    let count = shuffled.len() - 1;
    for index in 0..count {
        shuffled.swap(1 + index, 1 + (index * 7 + 3) % count);
    }
    assert_ne!(straight, shuffled);
    let [one, other] = [straight, shuffled].map(|lines| studied(&opened(&lines), &parts));
    // The counts of a table's own rows aside, nothing may differ.
    assert_eq!(Studies::new(vec![one]).html(), Studies::new(vec![other]).html());
}

#[test]
fn one_shape_is_studied_with_notes_in_place_of_numbers() {
    let class = ProblemClass::F32_NN;
    let rows = [("a", 1.0), ("b", 2.0)].map(|(name, time)| measured(class, 8, name, Some(time)));
    let study = studied(&dataset(rows.to_vec()), &all_parts());
    let html = check(&study);
    assert_eq!(table(&study, "pruning").rows, Vec::<Vec<Cell>>::new());
    assert!(table(&study, "pruning").notes[0].contains("only one shape"));
    assert!(table(&study, "components").notes[0].contains("all tasks are alike"));
    assert_eq!(table(&study, "winners").rows, [[Cell::from("a"), Cell::from(1)]]);
    assert!(html.contains("Nothing to show."));
}

#[test]
fn fewer_shapes_than_kernels_several_classes_and_failures_are_studied() {
    let mut rows = Vec::new();
    for (index, m) in [3, 17, 64, 300, 5000].into_iter().enumerate() {
        for class in [ProblemClass::F32_NN, ProblemClass::all().last().unwrap()] {
            for (place, name) in
                ["tile:1x1x1@8x8", "tile:8x8x8@16x16", "<b>:x=1", "odd"].into_iter().enumerate()
            {
                let time = (1 + (index + place) % 4) as f64;
                rows.push(measured(class, m, name, (index != place).then_some(time)));
            }
        }
    }
    let study = studied(&dataset(rows), &all_parts());
    let html = check(&study);
    assert!(!html.contains("<b>"));
    let measured = table(&study, "measured");
    let count = |what: &str| {
        measured.rows.iter().find(|row| row[0] == Cell::from(what)).unwrap()[1].clone()
    };
    assert_eq!([count("shapes"), count("classes")], [Cell::from(5), Cell::from(2)]);
    assert_eq!(count("tasks × configurations without a time"), Cell::from(8));
    let families = table(&study, "families");
    let names: Vec<_> = families.rows.iter().map(|row| row[0].shown()).collect();
    assert_eq!(names, ["<b>", "others", "tile"]);
    let pruning = table(&study, "pruning");
    assert_eq!(pruning.rows.len(), 4 * prune::ALL.len() * COUNTS.count());
    assert!(pruning.notes.iter().any(|note| note.contains("tasks only")), "{:?}", pruning.notes);
    assert!(pruning.notes.iter().any(|note| note.contains("fewer kernels than asked for")));
}

fn gemmtree(folder: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_gemmtree"));
    program.current_dir(folder).arg("study").args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with two small data sets.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lines = thinned();
    let few: Vec<_> = lines.iter().take(1 + 9 * 72).cloned().collect();
    fs::write(folder.path().join("one.csv"), few.join("\n") + "\n").unwrap();
    let rest: Vec<_> = lines[..1].iter().chain(&lines[1 + 20 * 72..]).cloned().collect();
    fs::write(folder.path().join("two.csv"), rest.join("\n") + "\n").unwrap();
    folder
}

#[test]
fn the_command_writes_a_page_json_and_a_file_for_each_table() {
    let folder = folder();
    let some = ["one.csv", "--part", "data", "--part", "components", "-o", "out"];
    let output = gemmtree(folder.path(), &some);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("How often each configuration"));
    let out = folder.path().join("out");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("study.json")).unwrap()).unwrap();
    let tables = json["studies"][0]["tables"].as_array().unwrap();
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2 + tables.len());
    for table in tables {
        let csv = fs::read_to_string(out.join(format!("{}.csv", table["id"].as_str().unwrap())));
        assert_eq!(csv.unwrap().lines().count(), 1 + table["rows"].as_array().unwrap().len());
    }
    markup::parse(&fs::read_to_string(out.join("study.html")).unwrap()).unwrap();
    // The same bytes again, over what a study wrote.
    let before = fs::read(out.join("study.html")).unwrap();
    assert_eq!(gemmtree(folder.path(), &some).status.code(), Some(0));
    assert_eq!(fs::read(out.join("study.html")).unwrap(), before);
}

#[test]
fn a_folder_of_others_is_not_written_to_unasked_and_what_was_read_never() {
    let folder = folder();
    let here = ["one.csv", "--part", "components", "-o", "."];
    let output = gemmtree(folder.path(), &here);
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output);
    assert!(text.contains("no study; nothing was written") && text.contains("--force"), "{text}");
    fs::rename(folder.path().join("one.csv"), folder.path().join("components.csv")).unwrap();
    let own = ["components.csv", "--part", "components", "-o", ".", "--force"];
    let output = gemmtree(folder.path(), &own);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("is read by this command"), "{}", said(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn two_data_sets_are_compared_by_the_order_of_methods() {
    let folder = folder();
    let both = ["one.csv", "two.csv", "--part", "orderings", "--seeds", "2", "--json", "-o", "out"];
    let output = gemmtree(folder.path(), &both);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let [beside, correlation] = &json["comparison"].as_array().unwrap()[..] else { panic!() };
    let ordered = json["studies"][0]["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(beside["rows"].as_array().unwrap().len(), ordered.len());
    assert!(ordered.len() >= 21);
    let places: Vec<u64> = ordered.iter().map(|row| row[0].as_u64().unwrap()).collect();
    assert!(places[0] == 1 && places.is_sorted());
    for place in 1..=ordered.len() {
        let here: Vec<_> = ordered.iter().filter(|row| row[0] == place as u64).collect();
        // A place is one more than the methods above it, and its own have an order.
        let first = places.iter().position(|one| *one == place as u64);
        assert!(first.is_none_or(|above| above + 1 == place));
        let keys = here.iter().map(|row| (row[6] != "default", row[1].as_str().unwrap()));
        assert!(keys.is_sorted());
        let share = |row: &serde_json::Value| row[2].as_f64().unwrap();
        let best = here.iter().map(|row| share(row)).fold(0.0, f64::max);
        let below = ordered.iter().filter(|row| row[0].as_u64().unwrap() > place as u64);
        assert!(here.is_empty() || below.map(share).all(|one| one < best));
    }
    assert_eq!(ordered.iter().filter(|row| row[6] == "default").count(), 1);
    for row in ordered {
        let [share, lowest, highest] = [2, 3, 4].map(|cell| row[cell].as_f64().unwrap());
        assert!(lowest <= share + 1e-6 && share <= highest + 1e-6, "{row}");
        let method = row[1].as_str().unwrap();
        let (pruner, picker) = method.split_once(" + ").unwrap();
        let picker = picker.split(',').next().unwrap();
        let draws = ["k-means", "pca-k-means", "spectral"].contains(&pruner)
            || ["tree-a", "tree-b", "tree-c", "random-forest", "mlp", "distilled"]
                .contains(&picker);
        let seeds = if draws { 2 } else { 1 };
        assert_eq!(row[5], seeds, "{row}");
    }
    let value = correlation["rows"][0][3].as_f64().unwrap();
    assert!((-1.0..=1.0).contains(&value), "{value}");
    assert_eq!(correlation["rows"][0][0], "one.csv");
    for file in ["rank-correlation.csv", "1-one/orderings.csv", "2-two/orderings.csv"] {
        assert!(folder.path().join("out").join(file).is_file(), "{file}");
    }
}

#[test]
fn a_browser_draws_it_on_a_phone_and_on_a_desk() {
    let Some(browser) = report_page::browser::find() else { return };
    let html = check(&SMALL);
    let colours = markup::kernel_colours(&html);
    for width in [390, 1280] {
        let layout = browser.layout(&html, width);
        assert!(layout.scroll_width <= width, "{layout:?}");
        let light = browser.screenshot(&html, width, layout.height, false);
        assert_eq!(light.pixel(1, 1), [255, 255, 255]);
        // Lines of all pruners, in four charts.
        assert!(colours.len() > prune::ALL.len());
        for colour in &colours[1..=prune::ALL.len()] {
            let count = light.count(*colour);
            assert!(count > 200, "{colour:?} at {width}: {count} pixels");
        }
        // On a desk the charts take less than half of the width.
        let blank = light.count([255, 255, 255]) as f64 / light.len() as f64;
        assert!((0.5..0.985).contains(&blank), "{blank}");
        let dark = browser.screenshot(&html, width, layout.height, true);
        assert!(dark.pixel(1, 1).iter().all(|one| *one < 64), "{:?}", dark.pixel(1, 1));
        assert!(dark.count([255, 255, 255]) < dark.len() / 20);
    }
}
