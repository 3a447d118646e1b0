//! A run of peers on a real OpenCL device: what is not there is skipped, a run goes on, results
//! are checked.
#![allow(clippy::unwrap_used, reason = "a test ends by a panic")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use benches::peers::{
    self, CLBLAST, CLBLAST_TUNED, CUBLAS, Header, OPENBLAS, OTHERS, OURS, OURS_BEST, Options,
    Outcome, Places, Plan, Record, SPACE_BEST, Stage,
};
use device_runtime::compile::compile;
use device_runtime::{Device, OpenCl, Runtime};
use kernels::Configuration;
use kernels::bundle::Bundle;
use selector_core::{
    GemmShape, KernelId, Leaf, Loss, ModelSource, ProblemClass, Samples, Tree, TreeSource,
};

const DEVICE: &str = "Portable Computing Language";
const KERNELS: [&str; 2] = ["tile:4x4x4@8x8", "tile:2x4x4@8x8"];
const SHAPES: [GemmShape; 2] = [GemmShape::new(20, 30, 17, 1), GemmShape::new(9, 300, 1, 3)];

fn model() -> Vec<u8> {
    let class = ProblemClass::F32_NN;
    let packed = |name: &str| name.parse::<Configuration>().unwrap().packed();
    let leaf = Leaf::new(&[KernelId(1)], Loss::UNKNOWN, Loss::UNKNOWN, Samples::new(1));
    let source = ModelSource {
        device: "any",
        driver: "1",
        method: "test",
        space: None,
        score: None,
        kernels: KERNELS.map(packed).to_vec(),
        trees: vec![Tree::Leaf(leaf)],
        classes: vec![TreeSource { class, measured_as: class, tree: 0 }],
    };
    source.encode().unwrap()
}

fn run(
    shapes: &[GemmShape],
    path: &Path,
    places: Places,
    limit: Option<Duration>,
) -> anyhow::Result<(Outcome, usize)> {
    let device = OpenCl::open(Some(DEVICE))?;
    let bytes = compile(&device, &model(), &[ProblemClass::F32_NN], |_| {})?;
    let bundle = Bundle::parse(&bytes)?;
    let stage = Stage::new(Runtime::load(device, &bundle)?, places)?;
    let plan = Plan { sample: Duration::from_micros(200), rounds: 3, seed: 1 };
    let options = Options { plan, only: Vec::new(), limit, set_aside: true };
    let mut header = Header::default();
    header.push("device", &stage.info().name);
    header.push("date", &format!("{:?}", std::time::SystemTime::now()));
    header.push(OTHERS, "0.10 cores at noon");
    let mut told = 0;
    let outcome = peers::run(&stage, shapes, path, header, &options, |_| told += 1)?;
    Ok((outcome, told))
}

/// Places where nothing is.
fn nowhere() -> Places {
    let nothing = || vec![PathBuf::from("/nowhere/libpeer.so")];
    let (clblast, cublas, openblas) = (nothing(), nothing(), nothing());
    Places { clblast, cublas, openblas, ..Places::default() }
}

#[test]
fn a_peer_that_is_not_there_is_skipped_with_the_reason_and_ours_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("peers.csv");
    let (outcome, told) = run(&SHAPES, &path, nowhere(), None).unwrap();
    assert_eq!((outcome, told), (Outcome { done: 2, total: 2 }, 2));
    let record = Record::read(&path).unwrap();
    for (peer, reason) in [
        (CLBLAST, "/nowhere/libpeer.so"),
        (CLBLAST_TUNED, "tune-clblast.sh"),
        (SPACE_BEST, "no data set"),
        (CUBLAS, ""),
        (OPENBLAS, "/nowhere/libpeer.so"),
    ] {
        let told = record.header.get(peer).unwrap();
        assert!(told.starts_with("skipped: ") && told.contains(reason), "{peer}: {told}");
        assert!(record.rows.iter().all(|row| row.peer != peer));
    }
    for shape in SHAPES {
        for peer in [OURS, OURS_BEST] {
            let row = record.rows.iter().find(|row| (row.shape, &row.peer[..]) == (shape, peer));
            let row = row.unwrap();
            assert_eq!((row.failure(), row.samples_ns.len()), (None, 3));
            assert!(row.calls > 0 && row.device_ns.is_some(), "{row:?}");
            assert!(KERNELS.contains(&&row.configuration[..]));
        }
    }
    let first = record.rows.iter().find(|row| row.peer == OURS).unwrap();
    assert_eq!(first.configuration, KERNELS[0]);
}

#[test]
fn a_run_goes_on_where_it_ended_and_measures_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("peers.csv");
    let (outcome, told) = run(&SHAPES, &path, nowhere(), Some(Duration::ZERO)).unwrap();
    assert_eq!((outcome.done, told), (0, 0));
    run(&SHAPES[..1], &path, nowhere(), None).unwrap();
    let half = Record::read(&path).unwrap();
    let (outcome, told) = run(&SHAPES, &path, nowhere(), None).unwrap();
    assert_eq!((outcome.done, told), (2, 1));
    let whole = Record::read(&path).unwrap();
    assert_eq!(whole.rows[..half.rows.len()], half.rows[..]);
    assert!(whole.has(SHAPES[0]) && whole.has(SHAPES[1]));
    // Each time that something was measured is told, and the first.
    let others = ["0.10 cores at noon"; 3].join("; ");
    assert_eq!(whole.header.get(OTHERS), Some(&others[..]));
}

#[test]
fn a_library_without_the_functions_is_skipped_by_name_of_the_function() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("peers.csv");
    let wrong = vec![PathBuf::from("libm.so.6")];
    let places = Places { clblast: wrong.clone(), openblas: wrong, ..nowhere() };
    run(&SHAPES[..1], &path, places, None).unwrap();
    let record = Record::read(&path).unwrap();
    let told = |peer| record.header.get(peer).unwrap().to_owned();
    assert!(told(CLBLAST).contains("CLBlastSgemm"), "{}", told(CLBLAST));
    assert!(told(OPENBLAS).contains("openblas_"), "{}", told(OPENBLAS));
}

#[test]
fn a_shape_that_does_not_fit_is_told_and_many_in_a_row_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("peers.csv");
    let huge = |n| GemmShape::new(1 << 20, 1 << 11, n, 1 << 20);
    let shapes = [huge(1), huge(2), SHAPES[0]];
    let (outcome, _) = run(&shapes, &path, nowhere(), None).unwrap();
    assert_eq!(outcome, Outcome { done: 3, total: 3 });
    let record = Record::read(&path).unwrap();
    let [first, second, ..] = &record.rows[..] else { panic!("{record:?}") };
    assert_eq!((first.shape, second.shape), (shapes[0], shapes[1]));
    let failure = first.failure().unwrap();
    assert!(failure.contains("a matrix") || failure.contains("too large"), "{failure}");
    let error = run(&[huge(3), huge(4), huge(5)], &path, nowhere(), None).unwrap_err();
    assert!(format!("{error:#}").contains(&huge(5).to_string()), "{error:#}");
    assert_eq!(Record::read(&path).unwrap(), record);
}

/// A data set of the device here with times of one shape, the least of `fastest`.
fn data_set(folder: &Path, device: &str, fastest: &str) -> PathBuf {
    let mut text = format!("# device: {device}\n# date: 2026-11-30\n");
    text += "m,k,n,batch,class,configuration,status,samples_ns\n";
    let rows = [("gone:1x1", 1), (fastest, 10), ("universal", 20), (KERNELS[1], 30)];
    let GemmShape { m, k, n, batch } = SHAPES[0];
    for (configuration, time) in rows {
        text += &format!("{m},{k},{n},{batch},f32-nn,{configuration},ok,{time}\n");
    }
    let path = folder.join("data.csv");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_best_of_a_data_set_race_and_are_right_and_shapes_that_it_lacks_fail_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("peers.csv");
    let device = OpenCl::open(Some(DEVICE)).unwrap();
    // With scratch memory and two steps.
    let fastest = "split:32x64x16@8x4+528";
    let best_of = Some(data_set(folder.path(), &device.info().name, fastest));
    let places = Places { best_of, candidates: 1, ..nowhere() };
    run(&SHAPES, &path, places, None).unwrap();
    let record = Record::read(&path).unwrap();
    let of_space = |shape| {
        let mut rows = record.rows.iter();
        rows.find(|row| (row.shape, &row.peer[..]) == (shape, SPACE_BEST)).unwrap()
    };
    let (known, unknown) = (of_space(SHAPES[0]), of_space(SHAPES[1]));
    assert_eq!((known.failure(), &known.configuration[..]), (None, fastest));
    assert!(known.device_ns.is_some());
    assert!(unknown.failure().unwrap().contains("no times of this shape"), "{unknown:?}");
    let version = record.header.get(SPACE_BEST).unwrap();
    assert!(version.contains("the best 1 of data.csv of 2026-11-30"), "{version}");
}

#[test]
fn a_data_set_of_another_device_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("peers.csv");
    let best_of = Some(data_set(folder.path(), "another", KERNELS[0]));
    run(&SHAPES[..1], &path, Places { best_of, ..nowhere() }, None).unwrap();
    let record = Record::read(&path).unwrap();
    let told = record.header.get(SPACE_BEST).unwrap();
    assert!(told.starts_with("skipped: ") && told.contains("`another`"), "{told}");
}

#[test]
fn a_record_that_is_damaged_or_of_something_else_is_set_aside_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("peers.csv");
    for (content, old) in
        [("no record", "peers.csv.old"), ("# device: another\n", "peers.csv.old-2")]
    {
        let old = folder.path().join(old);
        std::fs::write(&path, content).unwrap();
        let (outcome, _) = run(&SHAPES[..1], &path, nowhere(), None).unwrap();
        assert_eq!(outcome.done, 1);
        assert_eq!(std::fs::read_to_string(&old).unwrap(), content);
        assert!(Record::read(&path).unwrap().has(SHAPES[0]));
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("peers.csv.old")).unwrap(), "no record");
    // What can go on does.
    let before = std::fs::read(&path).unwrap();
    let (_, told) = run(&SHAPES[..1], &path, nowhere(), None).unwrap();
    assert_eq!((told, std::fs::read(&path).unwrap()), (0, before));
}
