//! `gemmtree boards`: the boards that have a file.

use std::fmt;

use boards::Board;
use serde::Serialize;

use crate::output::Output;

/// List the boards that ship
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree boards --json\n\n\
    Commands that take a board also take the path of a board file of your own.")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, out: &mut Output) -> anyhow::Result<()> {
    let boards = boards::ALL.iter().map(|(name, _)| Ok(Row::of(&boards::find(name)?)));
    out.result(&Table(boards.collect::<anyhow::Result<_>>()?))
}

#[derive(Serialize)]
struct Row {
    board: String,
    name: String,
    gpu: String,
    tier: u8,
    target: Option<String>,
    over: &'static str,
    folder: String,
}

#[derive(Serialize)]
struct Table(Vec<Row>);

impl Row {
    fn of(board: &Board) -> Self {
        Self {
            board: board.id.clone(),
            name: board.name.to_string(),
            gpu: board.gpu.to_string(),
            tier: board.tier.number(),
            target: board.target.as_ref().map(ToString::to_string),
            over: board.over(),
            folder: board.folder().to_string(),
        }
    }

    fn cells(&self) -> [String; 5] {
        let Self { board, name, gpu, tier, over, .. } = self;
        [board.clone(), name.clone(), gpu.clone(), tier.to_string(), (*over).to_owned()]
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["board", "name", "gpu", "tier", "over"].map(str::to_owned);
        let rows: Vec<_> = [head].into_iter().chain(self.0.iter().map(Row::cells)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        for row in &rows {
            let cells = row.iter().enumerate();
            let cells =
                cells.map(|(column, cell)| format!("{cell:0$}", width(column).unwrap_or(0)));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}
