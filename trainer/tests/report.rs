//! The report page: what it says, that it is whole and harmless, and what a browser draws of it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod report_page;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kernels::measurement::{Header, Status};
use report_page::markup::{self, Element};
use selector_core::{GemmShape, Model, ProblemClass, Score};
use trainer::dataset::{Dataset, Measurement, RowCounts, Task};
use trainer::report::{Reason, Report, ReportError, Training};
use trainer::scored::Scored;
use trainer::train::{self, Method};
use trainer::{export, learn, normalise, prune, report};

fn h200() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/h200-tile640.csv.gz")
}

/// The bytes of a model trained on all of `dataset`.
fn trained(dataset: &Dataset, kernels: usize, device: &str) -> Vec<u8> {
    let method = Method {
        pruner: prune::by_name("greedy").unwrap(),
        learner: learn::by_name("cost-tree").unwrap(),
        kernels,
        normalisation: normalise::Normalisation::Scaled,
        seed: 0,
    };
    let all: Vec<usize> = (0..dataset.tasks().len()).collect();
    let fitted = train::fit(dataset, &all, &method).unwrap();
    export::encode(
        dataset,
        &fitted,
        &method,
        Some(Scored { score: Score::from_share(0.9), on: 7 }),
        device,
    )
    .unwrap()
}

fn measured(shape: GemmShape, configuration: &str, time: f64) -> Measurement {
    Measurement {
        task: Task { class: ProblemClass::F32_NN, shape },
        configuration: configuration.to_owned(),
        status: Status::Ok,
        times: vec![time],
        spread: None,
        binary_bytes: None,
    }
}

fn dataset(device: &str, rows: Vec<Measurement>) -> Dataset {
    let header = Header { device: device.to_owned(), ..Header::default() };
    Dataset::from_measurements(Path::new("x"), header, RowCounts::default(), rows).unwrap()
}

/// What must hold for every page; its elements.
fn check(html: &str) -> Vec<Element> {
    let elements = markup::parse(html).unwrap_or_else(|wrong| panic!("{wrong}\n{html}"));
    assert!(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    assert!(html[..500].contains(report::MADE_BY));
    for outside in ["http", "src=", "href", "url(", "@import", "<script", "NaN", "inf%"] {
        assert!(!html.contains(outside), "{outside}");
    }
    let named = |name: &str| elements.iter().filter(|one| one.name == name).collect::<Vec<_>>();
    assert_eq!(named("h1").len(), 1);
    assert!(named("h2").len() >= 5);
    assert_eq!(named("table").len(), named("caption").len());
    assert!(named("meta").iter().any(|one| one.attribute("name") == Some("viewport")));
    assert!(named("svg").len() >= 2);
    for drawing in named("svg") {
        assert_eq!(drawing.attribute("role"), Some("img"));
        assert!(drawing.attribute("aria-label").unwrap().len() > 10);
        assert!(drawing.attribute("viewBox").is_some() && drawing.attribute("width").is_none());
    }
    elements
}

#[test]
fn the_page_of_real_data_is_whole_and_says_what_is_known() {
    let dataset = Dataset::open(&h200()).unwrap();
    let blob = trained(&dataset, 8, "some device");
    let model = Model::parse(&blob).unwrap();
    let report = Report::of(("model.gtm", &model), ("data.csv", &dataset)).unwrap();
    let numbers = report.numbers();
    assert_eq!(numbers.training, Training::Same);
    assert_eq!((numbers.tasks.len(), numbers.unmeasured, numbers.without_tree), (245, 0, 0));
    assert_eq!(numbers.histogram.iter().map(|bin| bin.count).sum::<usize>(), 245);
    assert_eq!(numbers.kernels.iter().map(|kernel| kernel.runs).sum::<usize>(), 245);
    let [one, here, held_out, ceiling, peers, best] = &numbers.comparison[..] else { panic!() };
    assert!(one.share < held_out.share && here.share <= ceiling.share);
    assert!(here.share > 0.93 && (held_out.share - 0.9).abs() < 1e-9);
    assert!((ceiling.share - 0.9727).abs() < 0.001 && (best.share - 1.0).abs() < 1e-12);

    assert!(one.share < peers.share && peers.share < ceiling.share);

    let html = report.html();
    let elements = check(&html);
    assert_eq!(html, report.html());
    // Each measured shape of a panel is a dot, and each of the worst has a reason.
    let dots = elements.iter().filter(|one| one.name == "circle").count();
    assert!((60..=245).contains(&dots), "{dots}");
    assert!(html.contains(&format!("Dots: {dots} of 245 shapes measured")));
    assert_eq!(numbers.worst.len(), 10);
    let slowdowns: Vec<_> =
        numbers.worst.iter().map(|place| numbers.tasks[*place].slowdown.unwrap()).collect();
    assert!(slowdowns.is_sorted_by(|one, next| one >= next));
    for task in numbers.worst.iter().map(|place| &numbers.tasks[*place]) {
        assert!(!task.reasons.is_empty() && html.contains(&task.shape.to_string()));
    }
    assert!(html.contains("losses here are on training rows"));
    for kernel in &numbers.kernels[1..] {
        assert!(html.contains(&format!("<code>{}</code>", kernel.name)));
    }
}

#[test]
fn every_loss_has_reasons_that_its_times_bear_out() {
    let dataset = Dataset::open(&h200()).unwrap();
    let blob = trained(&dataset, 8, "some device");
    let model = Model::parse(&blob).unwrap();
    let report = Report::of(("model.gtm", &model), ("data.csv", &dataset)).unwrap();
    let mut kinds = [0; 4];
    for task in &report.numbers().tasks {
        let (taken, list_best) = (task.time_ns.unwrap(), task.list_best_ns.unwrap());
        assert_eq!(task.reasons.is_empty(), taken == task.best_ns, "{}", task.shape);
        for reason in &task.reasons {
            let leaf = model.select(task.class, task.shape);
            let (kind, holds) = match reason {
                Reason::NotInList { better_ns, .. } => {
                    (0, *better_ns == task.best_ns && *better_ns < list_best)
                }
                Reason::NarrowSplit { margin_octaves, other, other_ns, .. } => {
                    let near = (0.125..=1.0).contains(margin_octaves);
                    (1, near && *other_ns < taken && *other != task.chosen)
                }
                Reason::FewSamples { samples } => {
                    (2, *samples <= 3 && *samples == leaf.samples.at_least())
                }
                Reason::LeafIsMixed { samples, better_ns, .. } => {
                    (3, *samples > 3 && *better_ns == list_best && list_best < taken)
                }
                other => panic!("{other:?}"),
            };
            assert!(holds, "{}: {reason:?}", task.shape);
            kinds[kind] += 1;
        }
    }
    assert!(kinds.iter().all(|count| *count > 0), "{kinds:?}");
}

#[test]
fn the_same_shapes_on_another_device_trained_nothing() {
    let here = [("tile:1x4x1@1x128", 1.0), ("tile:2x8x2@8x16", 2.0)];
    let shapes = [GemmShape::new(8, 9, 10, 1), GemmShape::new(800, 9, 10, 1)];
    let rows = |device: &str| {
        let row = |shape| here.map(|(name, time)| measured(shape, name, time));
        dataset(device, shapes.into_iter().flat_map(row).collect())
    };
    let blob = trained(&rows("one"), 2, "one");
    let model = Model::parse(&blob).unwrap();
    let on = |dataset: &Dataset| {
        let report = Report::of(("a", &model), ("b", dataset)).unwrap();
        check(&report.html());
        report.numbers().training
    };
    assert_eq!(on(&rows("one")), Training::Same);
    assert_eq!(on(&rows("other")), Training::OtherDevice);
    let fewer = dataset("one", vec![measured(shapes[0], here[0].0, 1.0)]);
    assert!(matches!(on(&fewer), Training::Unknown { agreeing: 0, .. }));
}

#[test]
fn one_shape_and_one_kernel_make_a_page() {
    let shape = GemmShape::new(1, 1, 1, 1);
    let dataset = dataset("", vec![measured(shape, "tile:1x4x1@1x128", 5.0)]);
    let blob = trained(&dataset, 1, "unknown");
    let model = Model::parse(&blob).unwrap();
    let report = Report::of(("a", &model), ("b", &dataset)).unwrap();
    assert!(report.numbers().worst.is_empty());
    let html = report.html();
    check(&html);
    assert!(html.contains("No shape loses anything") && html.contains("1 leaf, drawn"));
}

#[test]
fn names_are_text_and_extreme_shapes_are_drawn() {
    let evil = "</style><b title='x'>&\"\u{1b}[31m\u{202e}";
    let shapes = [(1, 1), (u32::MAX, 1), (7, u32::MAX), (u32::MAX, u32::MAX), (0, 0), (640, 480)];
    let shapes = shapes.map(|(m, n)| GemmShape::new(m, 3, n, 1));
    let kernel = "tile:1x4x1@1x128";
    let known = dataset("", shapes.map(|shape| measured(shape, kernel, 5.0)).to_vec());
    let blob = trained(&known, 1, &evil[..20]);
    let model = Model::parse(&blob).unwrap();
    let rows = shapes.iter().enumerate().flat_map(|(place, shape)| {
        // On the last shape nothing but the odd configuration was measured.
        let usual = (place < 5).then(|| measured(*shape, kernel, 5.0 * 10_f64.powi(place as i32)));
        [Some(measured(*shape, evil, 4.0)), usual].into_iter().flatten()
    });
    let odd = dataset(evil, rows.collect());
    let report = Report::of((evil, &model), (evil, &odd)).unwrap();
    let numbers = report.numbers();
    assert_eq!(numbers.unmeasured, 1);
    assert_eq!(numbers.tasks[numbers.worst[0]].reasons, [Reason::NotMeasured]);
    let unlisted = &numbers.tasks[numbers.worst[1]];
    assert!(matches!(&unlisted.reasons[0], Reason::NotInList { better, .. } if better == evil));
    let html = report.html();
    check(&html);
    assert!(html.contains("&lt;/style&gt;&lt;b title=&#39;x&#39;&gt;&amp;&quot;\u{FFFD}[31m"));
    assert!(!html.contains("<b ") && !html.contains('\u{1b}') && !html.contains('\u{202e}'));
}

#[test]
fn what_has_nothing_in_common_is_refused() {
    let shape = GemmShape::new(8, 9, 10, 1);
    let one = dataset("", vec![measured(shape, "tile:1x4x1@1x128", 5.0)]);
    let blob = trained(&one, 1, "unknown");
    let model = Model::parse(&blob).unwrap();
    let other = dataset("", vec![measured(shape, "mine", 5.0)]);
    let refused = Report::of(("a", &model), ("b", &other)).err().unwrap();
    assert!(matches!(refused, ReportError::NoKernelMeasured));
    let mut half = measured(shape, "tile:1x4x1@1x128", 5.0);
    half.task.class = "f16-nn".parse().unwrap();
    let refused = Report::of(("a", &model), ("b", &dataset("", vec![half]))).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "the model has no tree for the classes of this data set: f16-nn"
    );
}

/// A folder with `data.csv` and the model `model.gtm`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rows = "m,k,n,batch,configuration,time_ns\n8,9,10,1,tile:1x4x1@1x128,5\n";
    fs::write(folder.path().join("data.csv"), rows).unwrap();
    let dataset = Dataset::open(&folder.path().join("data.csv")).unwrap();
    fs::write(folder.path().join("model.gtm"), trained(&dataset, 1, "unknown")).unwrap();
    folder
}

fn gemmtree(folder: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_gemmtree"));
    program.current_dir(folder).args(["report", "model.gtm", "data.csv"]);
    program.args(arguments).output().unwrap()
}

#[test]
fn only_a_report_is_replaced_without_force() {
    let folder = folder();
    let page = folder.path().join("page.html");
    let write = |arguments: &[&str]| {
        let output = gemmtree(folder.path(), &[&["-o", "page.html"], arguments].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    fs::write(&page, "mine").unwrap();
    let (code, said) = write(&[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("exists and is no report") && said.contains("--force"), "{said}");
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
    assert_eq!(write(&["--force"]).0, Some(0));
    check(&fs::read_to_string(&page).unwrap());
    assert_eq!(write(&[]).0, Some(0));
}

#[test]
fn json_has_the_numbers_behind_the_page() {
    let folder = folder();
    let output = gemmtree(folder.path(), &["--json"]);
    assert_eq!(output.status.code(), Some(0));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["tasks"][0]["class"], "f32-nn");
    assert_eq!(json["tasks"][0]["slowdown"], 1.0);
    assert_eq!(json["training"]["rows"], "same");
    assert_eq!(json["kernels"][1]["name"], "tile:1x4x1@1x128");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_browser_draws_it_on_a_phone_and_on_a_desk() {
    let Some(browser) = report_page::browser::find() else { return };
    let dataset = Dataset::open(&h200()).unwrap();
    let blob = trained(&dataset, 8, "some device");
    let model = Model::parse(&blob).unwrap();
    let report = Report::of(("model.gtm", &model), ("data.csv", &dataset)).unwrap();
    let html = report.html();
    let colours = markup::kernel_colours(&html);
    assert_eq!(colours.len(), 9);
    for width in [390, 1280] {
        let layout = browser.layout(&html, width);
        assert!(layout.scroll_width <= width, "{layout:?}");
        assert!(layout.right <= f64::from(width), "{layout:?}");
        let light = browser.screenshot(&html, width, layout.height, false);
        assert_eq!(light.width, width);
        assert_eq!(light.pixel(1, 1), [255, 255, 255]);
        for kernel in report.numbers().kernels.iter().filter(|kernel| kernel.runs > 0) {
            let count = light.count(colours[usize::from(kernel.id)]);
            assert!(count > 400, "kernel {} at {width}: {count} pixels", kernel.id);
        }
        let blank = light.count([255, 255, 255]) as f64 / light.len() as f64;
        assert!((0.3..0.95).contains(&blank), "{blank}");
        let dark = browser.screenshot(&html, width, layout.height, true);
        assert!(dark.pixel(1, 1).iter().all(|one| *one < 64), "{:?}", dark.pixel(1, 1));
        assert!(dark.count([255, 255, 255]) < dark.len() / 20);
    }
}

#[test]
fn a_browser_finds_room_for_long_names_on_a_phone() {
    let Some(browser) = report_page::browser::find() else { return };
    let long = "W".repeat(300);
    let shape = GemmShape::new(4_000_000_000, 4_000_000_000, 4_000_000_000, 4_000_000_000);
    let kernel = measured(shape, "tile:8x8x8@16x16", 1e12);
    let known = dataset(&long, vec![kernel.clone()]);
    let blob = trained(&known, 1, &long[..60]);
    let model = Model::parse(&blob).unwrap();
    let odd = dataset(&long, vec![kernel, measured(shape, &long, 3.0)]);
    let report = Report::of((&long, &model), (&long, &odd)).unwrap();
    let layout = browser.layout(&report.html(), 390);
    assert!(layout.scroll_width <= 390 && layout.right <= 390.0, "{layout:?}");
}
