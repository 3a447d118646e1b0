//! `gemmtree demo`: the whole loop on this machine, each step a command that anyone can type.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, anyhow, bail};
use kernels::bundle::Bundle;
use kernels::space;
use selector_core::GemmShape;

use super::shapes::Filter;
use crate::failure::hinted;
use crate::on_board::{OnBoard, ReachArgs};
use crate::output::Output;

/// Real layers whose products are small enough for a small machine.
const NETWORKS: [&str; 2] = ["mobilenet_v2", "resnet50"];
const MAX_FLOP: f64 = 2e8;
/// Shapes launched at the end.
const LAUNCHED: usize = 6;

/// Measure, train, compile, flash, check and launch on this machine: the whole loop in minutes
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree demo")]
pub(crate) struct Args {
    /// The board: a name from `gemmtree boards`, or the path of a board file
    #[arg(long, default_value = "pocl-cpu")]
    board: String,
    /// Where the files of the demo go
    #[arg(long, value_name = "FOLDER", default_value = "build/demo")]
    folder: PathBuf,
    /// Configurations to measure
    #[arg(long, value_name = "N", default_value_t = 96)]
    configs: u32,
    /// Kernels to ship
    #[arg(long, default_value_t = 8)]
    kernels: u8,
    #[command(flatten)]
    reach: ReachArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)
        .with_context(|| format!("could not create `{}`", args.folder.display()))?;
    let demo = Demo { args, program: env::current_exe().context("could not find this program")? };
    let filter = Filter { batch: 1, max_flop: Some(MAX_FLOP) };
    let shapes = filter.shapes(&NETWORKS.map(str::to_owned))?;
    let names = NETWORKS.join(" and ");
    out.note(format_args!("{} layer shapes of {names}, up to 0.2 GFLOP each", shapes.len()));
    demo.measure(out)?;
    let [data, model, bundle] = ["data.csv", "model.gtm", "model.gtb"].map(|file| demo.path(file));
    let count = args.kernels.to_string();
    demo.step(out, &["train", &data, "--kernels", &count, "--force", "-o", &model])?;
    demo.step(out, &["explain", &model, "--tree"])?;
    if demo.bundle_is_current(Path::new(&model), Path::new(&bundle))? {
        out.note(format_args!("`{bundle}` has this model's kernels for this driver: reused"));
    } else {
        demo.on_board(out, "compile", &[&model, "-o", &bundle])?;
    }
    demo.on_board(out, "flash", &[&bundle])?;
    demo.on_board(out, "check", &[])?;
    let some = spread(shapes);
    demo.on_board(out, "run", &["--shape", &some[some.len() / 2]])?;
    let more: Vec<&str> =
        ["--", "--shapes"].into_iter().chain(some.iter().map(String::as_str)).collect();
    demo.on_board(out, "bench", &more)?;
    let bytes = |path: &str| fs::metadata(path).map(|file| file.len()).unwrap_or(0);
    out.note(format_args!("model {} bytes, bundle {} bytes", bytes(&model), bytes(&bundle)));
    out.note("next: gemmtree boards; then `gemmtree collect --board …` on your own");
    Ok(())
}

/// A few of the shapes, from the least work to the most.
fn spread(mut shapes: Vec<GemmShape>) -> Vec<String> {
    shapes.sort_by(|one, other| one.flop().total_cmp(&other.flop()));
    let step = (shapes.len() / LAUNCHED).max(1);
    shapes.iter().step_by(step).map(ToString::to_string).collect()
}

struct Demo<'a> {
    args: &'a Args,
    program: PathBuf,
}

impl Demo<'_> {
    fn path(&self, file: &str) -> String {
        self.args.folder.join(file).display().to_string()
    }

    /// Measure what the data set lacks; one of another driver or other kernels is set aside.
    fn measure(&self, out: &Output) -> anyhow::Result<()> {
        let data = self.path("data.csv");
        let (configs, flop) = (self.args.configs.to_string(), MAX_FLOP.to_string());
        let board = &self.args.board;
        let mut arguments = vec!["collect", "--board", board, "--shapes"];
        arguments.extend(NETWORKS);
        arguments.extend(["--max-flop", &flop, "--configs", &configs, "-o", &data]);
        if self.is_foreign(Path::new(&data))? {
            let aside = self.path("data.set-aside.csv");
            fs::rename(&data, &aside).with_context(|| format!("could not rename `{data}`"))?;
            out.note(format_args!(
                "`{data}` was measured with another device, driver or kernel space; it is now `{aside}`"
            ));
        }
        self.step_with(out, &arguments, true)
    }

    fn is_foreign(&self, data: &Path) -> anyhow::Result<bool> {
        let Ok(text) = fs::read_to_string(data) else { return Ok(false) };
        let Ok(header) = kernels::measurement::Header::parse(text.lines()) else {
            return Ok(false);
        };
        let same_space = header.space == Some(space::hash());
        let key = [&*header.platform, &*header.device, &*header.driver];
        Ok(!same_space || !self.driver_is_here(key)?)
    }

    /// Whether the bundle holds this model, compiled from these sources by the board's driver.
    fn bundle_is_current(&self, model: &Path, bundle: &Path) -> anyhow::Result<bool> {
        let (Ok(model), Ok(bytes)) = (fs::read(model), fs::read(bundle)) else { return Ok(false) };
        let Ok(bundle) = Bundle::parse(&bytes) else { return Ok(false) };
        let key = &bundle.key;
        Ok(bundle.model_bytes == model
            && key.space == space::hash()
            && self.driver_is_here([&key.platform, &key.device, &key.driver])?)
    }

    fn driver_is_here(&self, [platform, name, driver]: [&str; 3]) -> anyhow::Result<bool> {
        let board = OnBoard::open(&self.args.board, &self.args.reach)?;
        let mut here = false;
        let found = board.devices()?;
        for device in found {
            let is = |field: &str, value: &str| device.field(field) == Some(value);
            here |= is("platform", platform) && is("name", name) && is("driver", driver);
        }
        Ok(here)
    }

    fn on_board(&self, out: &Output, verb: &str, rest: &[&str]) -> anyhow::Result<()> {
        let arguments = [&[verb, &self.args.board], rest].concat();
        self.step_with(out, &arguments, true)
    }

    fn step(&self, out: &Output, arguments: &[&str]) -> anyhow::Result<()> {
        self.step_with(out, arguments, false)
    }

    /// Show a command and run it.
    fn step_with(&self, out: &Output, arguments: &[&str], reaches: bool) -> anyhow::Result<()> {
        out.note(format_args!("\n$ gemmtree {}", arguments.join(" ")));
        let mut command = Command::new(&self.program);
        command.arg(arguments[0]);
        if reaches {
            command.args(self.args.reach.flags());
        }
        let status = command
            .args(&arguments[1..])
            .status()
            .with_context(|| format!("could not run `{}`", self.program.display()))?;
        match status.code() {
            Some(0) => Ok(()),
            Some(1) => {
                let failed = anyhow!("`gemmtree {}` failed, as said above", arguments[0]);
                Err(hinted(failed, "mend that and run the demo again: it goes on where it ended"))
            }
            _ => bail!("`gemmtree {}` was stopped ({status})", arguments[0]),
        }
    }
}
