//! The commands. To add one: write `cmd/<verb>.rs`, then name it here.

mod explain;

use crate::output::Output;

/// What to do.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Explain(explain::Args),
}

/// Do it.
pub(crate) fn run(command: &Command, out: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Explain(args) => explain::run(args, out),
    }
}
