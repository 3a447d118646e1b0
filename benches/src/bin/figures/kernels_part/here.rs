//! Measuring on this machine: train, compile and run `peers`, which goes on where it ended.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use benches::peers::Record;

use super::device::{Device, Here};
use crate::figure::Sheet;
use crate::folder;
use crate::programs::gemmtree;

/// Kernels that ship.
pub(super) const KERNELS: &str = "16";
/// Seconds after which no new shape is begun.
const LIMIT: &str = "1200";

/// Measure `device`; what is there of an earlier run of the same is kept.
pub(super) fn measure(sheet: &Sheet, device: &Device, here: &Here) -> anyhow::Result<Record> {
    let environment = here.environment.map(environment).transpose()?.unwrap_or_default();
    let bundle = bundle(sheet, device, here, &environment)?;
    let output = path(device, "peers.csv");
    let mut asked = vec!["measure", "--bundle", &bundle, "--output", &output];
    // Of another model, driver or peer it cannot go on; it stays beside the new one.
    asked.extend(["--set-aside", "--seconds", LIMIT]);
    asked.extend(["--device", device.platform]);
    if Path::new(here.clblast).exists() {
        asked.extend(["--clblast-parameters", here.clblast]);
    }
    sheet.note(&format!("measuring; raw numbers in `{output}`"));
    run("peers", &asked, &environment)?;
    Ok(Record::read(Path::new(&output))?)
}

/// Run the board's program with `asked` on `device`, with a bundle made for it and CLBlast's parameters.
pub(super) fn board(
    sheet: &Sheet,
    device: &Device,
    here: &Here,
    asked: &[&str],
) -> anyhow::Result<()> {
    let environment = here.environment.map(environment).transpose()?.unwrap_or_default();
    let bundle = bundle(sheet, device, here, &environment)?;
    let mut asked = [asked, &["--bundle", &bundle, "--device", device.platform]].concat();
    if Path::new(here.clblast).exists() {
        asked.extend(["--clblast-parameters", here.clblast]);
    }
    run("gemmtree-board", &asked, &environment)
}

fn path(device: &Device, file: &str) -> String {
    folder().join(format!("{}-{file}", device.name)).display().to_string()
}

/// Train on the data set of `device` and compile; the bundle's path.
fn bundle(
    sheet: &Sheet,
    device: &Device,
    here: &Here,
    environment: &[(String, String)],
) -> anyhow::Result<String> {
    fs::create_dir_all(folder())?;
    let (model, bundle) = (path(device, "kernels.gtm"), path(device, "kernels.gtb"));
    let data = here.data.iter().find(|file| Path::new(file).exists());
    let data = data.with_context(|| format!("there is no `{}`", here.data.join("` or `")))?;
    sheet.note(&format!("kernels.{}: kernels chosen on `{data}`", device.name));
    train(sheet, data, &model)?;
    // The data set may be older than the sources: a choice made on it still is one.
    let compile = ["compile", "--model", &model, "--output", &bundle, "--allow-foreign-space"];
    let compile = [&compile[..], &["--class", "f32-nn", "--device", device.platform]].concat();
    run("gemmtree-board", &compile, environment)?;
    Ok(bundle)
}

/// A tree that loses to the one best configuration is not written: then that ships.
fn train(sheet: &Sheet, data: &str, model: &str) -> anyhow::Result<()> {
    // Whatever is there is of an earlier data set, so that its score is no reason to keep it.
    let _ = fs::remove_file(model);
    let train = ["train", data, "--kernels", KERNELS, "-o", model, "--json", "--quiet"];
    if gemmtree(&train).is_err() {
        sheet.note("no tree was written; trying the one best configuration instead");
        gemmtree(&[&train[..], &["--learner", "single-best"]].concat())?;
    }
    Ok(())
}

/// The variables that a file of lines `export NAME=VALUE` sets.
fn environment(file: &str) -> anyhow::Result<Vec<(String, String)>> {
    let text = fs::read_to_string(file);
    let text = text.with_context(|| format!("`{file}` is not there; `make peers` makes it"))?;
    Ok(variables(&text))
}

fn variables(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("export ")?.split_once('='));
    lines.map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned())).collect()
}

/// A program from beside this one. What it prints is for people and goes to stderr.
fn run(program: &str, arguments: &[&str], environment: &[(String, String)]) -> anyhow::Result<()> {
    let this = std::env::current_exe().context("could not find this program")?;
    let program = this.with_file_name(program);
    let shown = program.display();
    let mut command = Command::new(&program);
    command.args(arguments).stdout(std::io::stderr());
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let status = command.status().with_context(|| format!("could not run `{shown}`"))?;
    ensure!(status.success(), "`{shown} {}` failed ({status})", arguments.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_what_the_file_exports() {
        let text = "# said here\nexport ONE='/a b:/c'\nexport TWO=2\nTHREE=3\n";
        let expected = [("ONE", "/a b:/c"), ("TWO", "2")];
        assert_eq!(variables(text), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        let error = environment("/nowhere/environment").unwrap_err().to_string();
        assert!(error.contains("make peers"), "{error}");
    }
}
