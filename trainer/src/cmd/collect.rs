//! `gemmtree collect`: have a board measure configurations on shapes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use anyhow::{Context, bail};
use boards::reach::Reach;
use boards::{Offer, deliver};
use kernels::measurement::{self, Header, Row, Status, Timing};
use kernels::plan::{self, PlanRow};
use selector_core::{GemmShape, ProblemClass};
use serde::Serialize;
use trainer::config_choice::{Choice, Chosen};
use trainer::{device_name, file};

use super::device;
use super::shapes;
use crate::failure::Hint;
use crate::on_board::{Ended, OnBoard, ReachArgs, hinted};
use crate::output::Output;

/// Names of the files on a board.
const PLAN: &str = "plan.csv";
const MEASUREMENTS: &str = "measurements.csv";
const SET_ASIDE: &str = "measurements.set-aside";

/// Measure configurations on a board, or go on where an interrupted run ended
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree collect --board pocl-cpu --shapes mobilenet_v2 \
    --max-flop 2e8 --configs 96 -o data.csv")]
pub(crate) struct Args {
    /// The board: a name from `gemmtree boards`, or the path of a board file
    #[arg(long)]
    board: String,
    /// Networks, grids, or CSV files with columns m,k,n and perhaps batch
    #[arg(long, required = true, num_args = 1.., value_name = "SOURCE")]
    shapes: Vec<String>,
    #[command(flatten)]
    filter: shapes::Filter,
    /// `all`, `starter` (at most 200 that cover all well), how many to draw, names separated by commas,
    /// or a file with one a line
    #[arg(long, value_name = "CHOICE", default_value = "all")]
    configs: Choice,
    /// Decides which configurations are drawn
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    sample: u64,
    /// Precision (f32, f16, or f16h, which may compute in 16 bits) and transposes;
    /// may be given more than once
    #[arg(long, default_values_t = [ProblemClass::F32_NN])]
    class: Vec<ProblemClass>,
    /// Samples of each measurement
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// What is timed: `device`, a call alone by the device's clock; or `stream`, calls enqueued one after
    /// another without events, as programs make them
    #[arg(long, default_value_t = Timing::Device)]
    timing: Timing,
    /// Refuse to begin if there is more to measure than this
    #[arg(long, value_name = "N", default_value_t = 250_000)]
    most: usize,
    /// The data set to write, or to go on with
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    reach: ReachArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let shapes = args.filter.shapes(&args.shapes)?;
    let board = OnBoard::open(&args.board, &args.reach)?;
    check_output(&board, &args.output)?;
    let offer = Offer::of(&board.board);
    let Chosen { configurations, ruled_out } =
        args.configs.make(|one| offer.check(one).is_ok(), args.sample)?;
    if ruled_out > 0 {
        out.note(format_args!("the board file rules {ruled_out} configurations out"));
    }
    let total = shapes.len() * configurations.len() * args.class.len();
    let classes: Vec<_> = args.class.iter().map(ToString::to_string).collect();
    out.note(format_args!(
        "{total} measurements: {} shapes × {} configurations × {}",
        shapes.len(),
        configurations.len(),
        classes.join("+")
    ));
    if total > args.most {
        let refused = Err(anyhow::anyhow!("{total} measurements are more than {}", args.most));
        return refused.hint(format!("take fewer with --configs, or allow them: --most {total}"));
    }
    let rows = rows(&shapes, &args.class, &configurations, args.repetitions);
    let summary = measure(&board, &rows, args.timing, &args.output, out)?;
    out.result(&summary)
}

/// The board's own work files come and go: nothing of the user's may be one.
fn check_output(board: &OnBoard, output: &Path) -> anyhow::Result<()> {
    let folder = |path: &Path| fs::canonicalize(path).ok();
    let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = folder(parent.unwrap_or(Path::new(".")));
    if parent.is_some() && parent == folder(Path::new(&board.board.folder().to_string())) {
        let refused = anyhow::anyhow!("`{}` is in the board's own folder", output.display());
        return Err(refused).hint("name a file elsewhere");
    }
    Ok(())
}

/// All of a shape before the next: what an interrupted run leaves is complete for some shapes.
fn rows(
    shapes: &[GemmShape],
    classes: &[ProblemClass],
    configurations: &[kernels::Configuration],
    repetitions: u32,
) -> Vec<PlanRow> {
    let mut rows = Vec::new();
    for &shape in shapes {
        for &class in classes {
            rows.extend(configurations.iter().map(|configuration| {
                let configuration = configuration.clone();
                PlanRow { shape, class, configuration, repetitions }
            }));
        }
    }
    rows
}

/// What a data set holds.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    data: PathBuf,
    rows: usize,
    by_status: BTreeMap<&'static str, usize>,
}

/// Have `board` measure `rows`, into the data set `output`; what it holds already is not measured
/// again. Whatever was measured is in `output` when this returns, also after a failure.
pub(crate) fn measure(
    board: &OnBoard,
    rows: &[PlanRow],
    timing: Timing,
    output: &Path,
    out: &mut Output,
) -> anyhow::Result<Summary> {
    let mut bytes = Vec::new();
    plan::write(rows, &mut bytes).context("could not write the plan")?;
    let before = bring_partial(board, output, timing, &bytes, out)?;
    hinted(deliver(&*board.reach, PLAN, &bytes)).context("could not send the plan")?;
    let arguments =
        ["--plan", PLAN, "--output", MEASUREMENTS, "--attended", "--timing", timing.name()]
            .map(str::to_owned);
    let ended = board.run("collect", &arguments, out, &mut |report, out| {
        out.detail(report);
        Ok(())
    });
    let ended = match ended {
        // Where the board cannot be asked, the first failure is what is told.
        Err(refused) if before.is_unchanged(board).unwrap_or(false) => {
            // Nothing was measured, so nothing is written here, and what was sent goes again: another
            // run must not take it for its own.
            if before.was_sent
                && let Err(error) = board.reach.remove(MEASUREMENTS)
            {
                out.warn(format_args!("could not remove {MEASUREMENTS} on the board: {error}"));
            }
            return Err(refused);
        }
        ended => ended,
    };
    let fetched = fetch(board, output);
    let again = "run the same command again to go on where it ended";
    let (ended, summary) = match (ended, fetched) {
        (Err(failed), Ok(None)) => return Err(failed),
        (ended, fetched) => {
            let on_board = "what was measured is still on the board; run the same command again";
            (ended.hint(again)?, fetched.hint(on_board)?)
        }
    };
    let summary = summary.context("the board has measured nothing")?;
    check_device(output)?;
    if ended == Ended::Done && summary.rows == 0 {
        bail!("the board has measured nothing; does another collection use it at the same time?");
    }
    if ended == Ended::Interrupted {
        let (rows, output) = (summary.rows, output.display());
        return Err(anyhow::anyhow!("interrupted; `{output}` has {rows} rows")).hint(again);
    }
    for file in [MEASUREMENTS, PLAN] {
        hinted(board.reach.remove(file))?;
    }
    Ok(summary)
}

/// What was on the board before it began to measure.
struct Before {
    measurements: Option<Vec<u8>>,
    /// Whether this run has put it there.
    was_sent: bool,
}

impl Before {
    /// Whether the board has it still as it was.
    fn is_unchanged(&self, board: &OnBoard) -> anyhow::Result<bool> {
        let Some(before) = &self.measurements else { return Ok(false) };
        let there = hinted(board.reach.exists(MEASUREMENTS))?;
        Ok(there && hinted(board.reach.get(MEASUREMENTS))? == *before)
    }
}

/// Put the rows measured before on the board, unless it has them and perhaps more.
fn bring_partial(
    board: &OnBoard,
    output: &Path,
    timing: Timing,
    plan: &[u8],
    out: &mut Output,
) -> anyhow::Result<Before> {
    let here = read_partial(output)?;
    if let Some(here) = &here {
        check_timing(output, here, timing)?;
    }
    let reach = &*board.reach;
    let get = |file| {
        let there = hinted(reach.exists(file))?;
        if there { hinted(reach.get(file)).map(Some) } else { Ok(None) }
    };
    let there = get(MEASUREMENTS)?;
    let goes_on = match (&here, &there) {
        (_, None) => false,
        (Some(here), Some(there)) => there.starts_with(here),
        (None, Some(there)) => timing_of(there) == timing && get(PLAN)?.as_deref() == Some(plan),
    };
    if goes_on {
        out.note("going on with what an earlier run of the same plan left on the board");
        return Ok(Before { measurements: there, was_sent: false });
    }
    if there.is_some() {
        let aside = set_aside(reach)?;
        out.warn(format_args!(
            "another run left measurements on the board; they are now {aside} in {}; to go on with \
             them, copy that file and name it with -o",
            reach.place()
        ));
    }
    if let Some(here) = &here {
        out.note(format_args!("going on with `{}`", output.display()));
        hinted(deliver(reach, MEASUREMENTS, here))
            .context("could not send what was measured before")?;
    }
    let was_sent = here.is_some();
    Ok(Before { measurements: here, was_sent })
}

/// Rename what is on the board to a name that nothing has.
fn set_aside(reach: &dyn Reach) -> anyhow::Result<String> {
    let mut number = 1;
    loop {
        let name = match number {
            1 => format!("{SET_ASIDE}.csv"),
            _ => format!("{SET_ASIDE}-{number}.csv"),
        };
        if !hinted(reach.exists(&name))? {
            hinted(reach.rename(MEASUREMENTS, &name))?;
            return Ok(name);
        }
        number += 1;
    }
}

/// What the times of a data set are.
fn timing_of(bytes: &[u8]) -> Timing {
    let text = String::from_utf8_lossy(bytes);
    Header::parse(text.lines()).map(|header| header.timing).unwrap_or_default()
}

/// Refuse to go on with a data set of another timing before anything is sent.
fn check_timing(output: &Path, bytes: &[u8], want: Timing) -> anyhow::Result<()> {
    let have = timing_of(bytes);
    if have == want {
        return Ok(());
    }
    let output = output.display();
    let refused =
        anyhow::anyhow!("`{output}` has times of a {have}, not of a {want}: they never mix");
    Err(refused).hint(format!("name a new file, or say --timing {have}"))
}

/// The data set to go on with; `None` if there is none yet.
fn read_partial(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    if path.extension().is_some_and(|ending| ending == "gz") {
        bail!("`{}`: collecting appends, so the data set is not compressed", path.display());
    }
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.with_context(|| format!("could not read `{}`", path.display()))?,
    };
    if bytes.is_empty() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&bytes);
    let columns = text.lines().find(|line| !line.starts_with('#'));
    let readable = Header::parse(text.lines()).is_ok() && text.starts_with('#');
    let known = [measurement::COLUMNS, measurement::COLUMNS_WITHOUT_BYTES];
    if !readable || columns.is_some_and(|columns| !known.contains(&columns)) {
        let refused = Err(anyhow::anyhow!("`{}` is not a data set of ours", path.display()));
        return refused.hint("name a new file, or one that `gemmtree collect` has begun");
    }
    Ok(Some(bytes))
}

/// Fetch what the board has measured, if anything, and count it.
fn fetch(board: &OnBoard, output: &Path) -> anyhow::Result<Option<Summary>> {
    if !hinted(board.reach.exists(MEASUREMENTS))? {
        return Ok(None);
    }
    let bytes = hinted(board.reach.get(MEASUREMENTS))?;
    file::write_atomically(output, &bytes)
        .with_context(|| format!("could not write `{}`", output.display()))?;
    Ok(Some(Summary::of(output, &String::from_utf8_lossy(&bytes))))
}

/// Refuse the name of a device that no model could carry.
fn check_device(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    let bytes = fs::read(path).with_context(|| format!("could not read `{shown}`"))?;
    let header = Header::parse(String::from_utf8_lossy(&bytes).lines()).unwrap_or_default();
    device_name::check(header.device.trim())
        .with_context(|| format!("`{shown}` is written, but cannot be trained on"))
        .hint(format!("correct its line `# device: …`; {}", device::HINT))
}

impl Summary {
    fn of(data: &Path, text: &str) -> Self {
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let rows = lines.filter_map(|line| Row::parse(line.trim_end()).ok());
        // What was throttled may have been measured again.
        let mut last = BTreeMap::new();
        for row in rows {
            let key = (row.shape, row.class, row.configuration);
            let status = last.entry(key).or_insert(row.status);
            if row.status != Status::Throttled {
                *status = row.status;
            }
        }
        let mut by_status = BTreeMap::new();
        for status in last.into_values() {
            *by_status.entry(status.name()).or_insert(0) += 1;
        }
        Self { data: data.to_owned(), rows: by_status.values().sum(), by_status }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} measurements in `{}`", self.rows, self.data.display())?;
        let mut before = ": ";
        for (status, count) in &self.by_status {
            write!(f, "{before}{count} {status}")?;
            before = ", ";
        }
        if self.by_status.contains_key(Status::Throttled.name()) {
            f.write_str(
                "\nthrottled: the device was slower than before, so these count for nothing; run \
                 the same command again to try them once more",
            )?;
        }
        Ok(())
    }
}
