//! Whole networks beside CLBlast, as in the first paper's figure 7: VGG16 on PoCL here, and every run of a
//! network that is kept.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use device_runtime::network::Record;

use crate::figure::{Line, Sheet, Target};
use crate::folder;
use crate::kernels_part;

const RUNS: &str = "benches/runs";
/// The network that is to be faster than CLBlast's.
const GOAL: &str = "vgg16";
/// Rounds here: an inference by CLBlast on two cores takes seconds.
const ROUNDS: &str = "5";
const OURS: &str = "ours";
const OTHERS: [&str; 3] = ["ours-one", "clblast", "clblast-tuned"];
/// What devices are called, by a part of their platform's name.
const DEVICES: [(&str, &str); 3] = [
    ("NVIDIA CUDA", "h200"),
    ("Portable Computing Language", "pocl"),
    ("Intel(R) OpenCL", "intel-cpu"),
];

/// Networks by what is said of them: device, network and images.
type Newest = BTreeMap<[String; 3], (String, Record)>;

pub(crate) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    let mut newest = kept(Path::new(RUNS))?;
    match here(sheet) {
        Ok(record) => put(&mut newest, "measured here".to_owned(), record),
        Err(why) => sheet.skipped("runtime.pocl.vgg16.batch1.here", &format!("{why:#}")),
    }
    for (device, images) in [("h200", "1"), ("h200", "16"), ("pocl", "1")] {
        if !newest.contains_key(&[device, GOAL, images].map(str::to_owned)) {
            sheet
                .skipped(&format!("runtime.{device}.{GOAL}.batch{images}"), "no run of it is kept");
        }
    }
    for (key, (whence, record)) in &newest {
        sheet.note(&format!("{}: {whence}", key.join(" ")));
        for line in lines(key, record) {
            sheet.tell(&line);
        }
    }
    Ok(())
}

/// The newest kept run of each device, network and number of images; of one day the last by name.
fn kept(runs: &Path) -> anyhow::Result<Newest> {
    let mut newest = Newest::new();
    for folder in sorted(runs)?.iter().filter(|folder| folder.is_dir()) {
        let is_table = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "csv");
        for path in sorted(folder)?.into_iter().filter(is_table) {
            let shown = path.display();
            let text = fs::read_to_string(&path);
            let text = text.with_context(|| format!("could not read `{shown}`"))?;
            if Record::is_one(&text) {
                let record = Record::parse(&text).with_context(|| format!("`{shown}`"))?;
                put(&mut newest, format!("kept run {shown}, not measured now"), record);
            }
        }
    }
    Ok(newest)
}

/// Keep a run, unless a newer one is known.
fn put(newest: &mut Newest, whence: String, record: Record) {
    let told = |record: &Record, key: &str| record.told(key).unwrap_or("unknown").to_owned();
    let platform = told(&record, "platform");
    let device = DEVICES.iter().find(|(part, _)| platform.contains(part));
    let device = device.map_or_else(|| told(&record, "device"), |(_, name)| (*name).to_owned());
    let key = [device, told(&record, "network"), told(&record, "images")];
    let is_newer = |(_, known): &(String, Record)| told(known, "date") <= told(&record, "date");
    if newest.get(&key).is_none_or(is_newer) {
        newest.insert(key, (whence, record));
    }
}

/// How many times as long as ours each peer takes, for the inference and for its multiplications alone.
fn lines([device, network, images]: &[String; 3], record: &Record) -> Vec<Line> {
    let name = format!("runtime.{device}.{network}.batch{images}");
    let mut lines = Vec::new();
    for peer in OTHERS {
        let name = format!("{name}.{peer}");
        let Some(ratio) = record.ratio(peer, OURS) else {
            lines.push(Line::skipped(format!("{name}.ratio"), "it is not in the run"));
            continue;
        };
        let is_goal = network == GOAL && peer.starts_with("clblast");
        let target = if is_goal { Target::AtLeast(1.0) } else { Target::None };
        lines.push(Line::figure(format!("{name}.ratio"), ratio, target));
        let both = record.multiplications(peer).zip(record.multiplications(OURS));
        if let Some((theirs, ours)) = both {
            let name = format!("{name}.multiplications.ratio");
            lines.push(Line::figure(name, theirs / ours, Target::None));
        }
    }
    lines
}

/// VGG16 on PoCL, now.
fn here(sheet: &Sheet) -> anyhow::Result<Record> {
    let folder = folder();
    fs::create_dir_all(&folder)?;
    let output = folder.join("pocl-vgg16.csv");
    let shown = output.display().to_string();
    // What an earlier call left is not measured now.
    let _ = fs::remove_file(&output);
    let mut asked = vec!["bench", "--network", GOAL, "--rounds", ROUNDS, "--output", &shown];
    asked.push("--text");
    kernels_part::on_pocl(sheet, &asked)?;
    let text = fs::read_to_string(&output).with_context(|| format!("could not read `{shown}`"))?;
    Ok(Record::parse(&text)?)
}

/// What is in a folder, by name.
fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("could not read `{}`", folder.display()))?;
    let mut paths = entries.map(|one| Ok(one?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(date: &str, clblast: &str) -> String {
        format!(
            "# network: vgg16\n# images: 1\n# platform: NVIDIA CUDA\n# date: {date}\n\
             part,layers,shape,times,peer,kernel,calls,samples_ns\n\
             inference,,,1,ours,,1,10.0 20.0 30.0\ninference,,,1,clblast,,1,{clblast}\n"
        )
    }

    #[test]
    fn the_newest_run_of_a_device_and_network_is_told_with_its_goal() {
        let runs = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("a", run("2026-12-02", "20.0 50.0 60.0")),
            ("b", run("2026-12-01", "5.0 5.0 5.0")),
            ("c", "m,k,n\n1,2,3\n".to_owned()),
        ] {
            let folder = runs.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("vgg16.csv"), text).unwrap();
        }
        let newest = kept(runs.path()).unwrap();
        let [(key, (whence, record))] = &newest.iter().collect::<Vec<_>>()[..] else {
            panic!("{newest:?}")
        };
        assert_eq!(key.join(" "), "h200 vgg16 1");
        assert!(whence.contains("a/vgg16.csv"), "{whence}");
        let told: Vec<String> = lines(key, record).iter().map(ToString::to_string).collect();
        assert!(
            told.contains(&"runtime.h200.vgg16.batch1.clblast.ratio 2 >=1 ok".to_owned()),
            "{told:?}"
        );
        assert!(told.iter().any(|line| line.contains("clblast-tuned.ratio skipped")), "{told:?}");
    }
}
