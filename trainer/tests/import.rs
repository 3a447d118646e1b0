//! `gemmtree import`: what a user sees, in `import/*.trycmd`, and files broken in every way.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use trainer::dataset::{Dataset, Rows};
use trainer::import::{self, Import, ImportError, Source, Told};

/// The files that the page imports.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/import/import.in");

/// What makes each of them whole where it does not say all.
fn told() -> Told {
    Told { shape: "64x32x96".parse().ok(), ..Told::default() }
}

fn device(name: &str) -> Told {
    Told { device: Some(name.to_owned()), ..told() }
}

fn fixture(name: &str) -> String {
    fs::read_to_string(Path::new(FILES).join(name)).unwrap()
}

/// Import `text` as a file, then read what was made of it.
fn imported(text: &[u8], told: &Told) -> Result<(Import, Dataset), ImportError> {
    let (_, part) = import::parse(Source { path: Path::new("file"), bytes: text }, None, told)?;
    let import = import::merge(vec![(PathBuf::from("file"), part)], told)?;
    let path = Path::new("data.csv");
    let Rows { header, counts, measurements } = Rows::read(path, &import.csv().unwrap()).unwrap();
    let dataset = Dataset::from_measurements(path, header, counts, measurements).unwrap();
    Ok((import, dataset))
}

fn refusal(text: &str, told: &Told) -> String {
    imported(text.as_bytes(), told).unwrap_err().to_string()
}

#[test]
fn commands_print_what_their_pages_show() {
    trycmd::TestCases::new().case("tests/import/*.trycmd");
}

#[test]
fn every_file_cut_anywhere_is_imported_in_part_or_refused_and_never_misread() {
    for (name, told) in [
        ("kernel-tuner-new.json", told()),
        ("kernel-tuner-old.json", told()),
        ("clblast_square.json", told()),
        ("database.json", device("Mali-G71")),
        ("cltune.json", told()),
        ("paper.csv", device("R9 Nano")),
        ("own-one.csv", told()),
    ] {
        let text = fixture(name);
        let (_, whole) = imported(text.as_bytes(), &told).unwrap();
        for length in 0..text.len() {
            let Ok((import, data)) = imported(&text.as_bytes()[..length], &told) else { continue };
            assert!(data.tasks().len() <= whole.tasks().len(), "{name}, {length}");
            assert!(import.counts.read <= 8, "{name}, {length}");
            for (index, task) in data.tasks().iter().enumerate() {
                let there = whole.tasks().iter().position(|one| one == task);
                let there = there.unwrap_or_else(|| panic!("{name}, {length}: {task:?}"));
                for (column, configuration) in data.configurations().iter().enumerate() {
                    let time = data.time(index, column);
                    let mut names = whole.configurations().iter();
                    let place = names.position(|one| one == configuration);
                    let place =
                        place.unwrap_or_else(|| panic!("{name}, {length}: {configuration}"));
                    assert!(
                        time.is_infinite() || time == whole.time(there, place),
                        "{name}, {length}: {configuration} takes {time}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    for (name, told) in [
        ("kernel-tuner-new.json", told()),
        ("clblast_square.json", told()),
        ("paper.csv", device("R9 Nano")),
        ("own-one.csv", told()),
    ] {
        let text = fixture(name);
        let plain = imported(text.as_bytes(), &told).unwrap().0;
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let windows = imported(windows.as_bytes(), &told).unwrap().0;
        assert_eq!(plain.csv().unwrap(), windows.csv().unwrap(), "{name}");
        assert_eq!(plain.counts, windows.counts, "{name}");
    }
}

#[test]
fn what_is_written_is_imported_again_as_it_is() {
    for (name, told) in [
        ("kernel-tuner-new.json", told()),
        ("clblast_square.json", told()),
        ("cltune.json", told()),
        ("paper.csv", device("R9 Nano")),
        ("own-one.csv", told()),
    ] {
        let once = imported(fixture(name).as_bytes(), &told).unwrap().0.csv().unwrap();
        let twice = imported(&once, &Told::default()).unwrap().0.csv().unwrap();
        assert_eq!(String::from_utf8(once).unwrap(), String::from_utf8(twice).unwrap(), "{name}");
    }
}

#[test]
fn nothing_written_is_not_finite() {
    for bad in ["NaN", "Infinity", "-Infinity", "1e400", "-1", "0", "1e-9", "\"fast\"", "{}", "[]"]
    {
        let text = fixture("kernel-tuner-old.json").replace("0.0551", bad);
        let message = refusal(&text, &told());
        let expected = ["no usable rows (read 4, dropped", "number out of range"];
        assert!(expected.iter().any(|one| message.contains(one)), "{bad}: {message}");
    }
    for bad in ["NaN", "inf", "-inf", "1e999", "0", "-5", ""] {
        let row = "m,k,n,batch,row_tile,acc_tile,col_tile,wg_a,wg_b,wg_c,items_per_second\n\
                   64,128,32,1,4,8,2,8,32,1,";
        let message = refusal(&format!("{row}{bad}\n"), &device("x"));
        assert!(message.contains("no usable rows (read 1, dropped 1"), "{bad}: {message}");
    }
}

#[test]
fn missing_fields_are_named() {
    let square = fixture("clblast_square.json");
    for (name, without, field) in [
        ("clblast_square.json", "\"precision\": \"32\",", "`precision`; `--class` says it"),
        ("clblast_square.json", "\"arg_m\": \"1024\",", "`arg_m`; `--shape` says it"),
        ("clblast_square.json", "\"arg_k\": \"1024\",", "`arg_k`; `--shape` says it"),
        ("kernel-tuner-old.json", "\"kernel_name\": \"gemm_fast\",", "`kernel_name`"),
        ("kernel-tuner-old.json", "\"device_name\": \"Mali-G71\",", "does not say its device"),
    ] {
        let message = refusal(&fixture(name).replacen(without, "", 1), &Told::default());
        assert!(message.ends_with(field) || message.contains(field), "{without}: {message}");
    }
    let no_list = refusal(&square.replace("\"results\"", "\"outcomes\""), &told());
    assert!(no_list.contains("has no `results`"), "{no_list}");
    let lacks = fixture("kernel-tuner-lacks.json");
    let message = refusal(&lacks, &told());
    assert!(message.contains("entry `4,4` lacks parameter `tile_x`"), "{message}");
    let defaults = [("tile_x".to_owned(), "8".to_owned())].into();
    let (_, data) = imported(lacks.as_bytes(), &Told { defaults, ..told() }).unwrap();
    assert_eq!(data.configurations()[1], "gemm_fast:tile_x=8,tile_y=4");
}

#[test]
fn fields_with_values_that_they_cannot_have_are_named() {
    for (from, to, expected) in [
        ("\"arg_m\": \"1024\"", "\"arg_m\": \"64.5\"", "`arg_m` is `64.5`, not a whole number"),
        ("\"arg_n\": \"1024\"", "\"arg_n\": 4294967296", "`arg_n` is `4294967296`, not a whole"),
        (
            "\"arg_beta\": \"2.000000\"",
            "\"arg_beta\": \"2,0\"",
            "`arg_beta` is `2,0`, not a number",
        ),
        ("\"precision\": \"32\"", "\"precision\": \"f32\"", "`precision` is `f32`, not 16, 32,"),
        ("\"time\": 12.500", "\"time\": \"12.5\"", "no whole JSON file of format `clblast`"),
    ] {
        let message = refusal(&fixture("clblast_square.json").replace(from, to), &told());
        assert!(message.contains(expected), "{message}");
    }
    let half = Told { class: "f16-nn".parse().ok(), ..told() };
    let message = refusal(&fixture("clblast_square.json"), &half);
    assert!(message.contains("f32") && message.contains("`--class f16-nn`"), "{message}");
}

#[test]
fn what_our_classes_cannot_say_is_dropped_by_reason() {
    let square = fixture("clblast_square.json");
    for (from, to, reason) in [
        ("\"32\"", "\"64\"", "3 of doubles"),
        ("\"32\"", "\"6464\"", "3 of complex numbers"),
        ("\"arg_alpha\": \"2.000000\"", "\"arg_alpha\": \"0\"", "3 alpha 0: nothing is multiplied"),
        ("\"arg_k\": \"1024\"", "\"arg_k\": \"0\"", "3 nothing to compute"),
        ("\"PRECISION\": 32", "\"PRECISION\": 16", "3 of another precision than its file"),
    ] {
        let message = refusal(&square.replace(from, to), &told());
        assert!(
            message.contains(&format!("no usable rows (read 3, dropped 3: {reason}")),
            "{message}"
        );
    }
    let half = square.replace("\"32\"", "\"16\"").replace("\"PRECISION\": 32", "\"PRECISION\": 16");
    let (import, data) = imported(half.as_bytes(), &told()).unwrap();
    assert_eq!(data.tasks()[0].class.to_string(), "f16-nn");
    assert_eq!(import.counts.dropped["time not above zero"], 1);
    let transposed = Told { class: "f32-tn".parse().ok(), ..told() };
    let (_, data) = imported(square.as_bytes(), &transposed).unwrap();
    assert_eq!(data.tasks()[0].class.to_string(), "f32-tn");
}

#[test]
fn deep_json_is_refused_with_its_place() {
    let old = fixture("kernel-tuner-old.json");
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let within_entry = refusal(&old.replacen("0.0551", &deep, 1), &told());
        assert!(within_entry.contains("nested too deeply at line 7"), "{within_entry}");
        let of_tuner = fixture("clblast_square.json").replacen(
            "\"time\": 12.500",
            &format!("\"time\": {deep}"),
            1,
        );
        assert!(refusal(&of_tuner, &told()).contains("nested too deeply"));
        let skipped = format!("{{\"notes\": {deep}, {}", &old.trim_start()[1..]);
        assert!(imported(skipped.as_bytes(), &told()).is_ok());
    }
}

#[test]
fn the_order_of_fields_does_not_matter() {
    let text = r#"{"cache": {"2": {"time": 0.5, "t": 2}}, "tune_params_keys": ["t"], "kernel_name":
        "k", "device_name": "d"}"#;
    let (_, data) = imported(text.as_bytes(), &told()).unwrap();
    assert_eq!(data.configurations(), ["k:t=2"]);
    assert_eq!(data.time(0, 0), 500_000.0);
}

#[test]
fn either_name_that_clblast_has_for_a_device_chooses_it() {
    let square = fixture("clblast_square.json").replacen("Mali-G71", "ARM G71", 1);
    for name in ["ARM G71", "Mali-G71"] {
        let (import, _) = imported(square.as_bytes(), &device(name)).unwrap();
        assert_eq!(import.header.device, name);
    }
    assert!(refusal(&square, &device("G71")).contains("`Mali-G71`"));
}

#[test]
fn gzip_is_unpacked() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(fixture("cltune.json").as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cltune.json.gz");
    fs::write(&path, &packed).unwrap();
    let (format, part) = import::read(&path, None, &told()).unwrap();
    assert_eq!((format.name(), part.rows.len()), ("cltune", 2));
    fs::write(&path, &packed[..packed.len() - 9]).unwrap();
    let cut = import::read(&path, None, &told());
    assert!(matches!(cut, Err(ImportError::Read { .. })));
}
