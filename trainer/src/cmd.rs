//! The commands. To add one: write `cmd/<verb>.rs`, then name it here.

mod bench;
mod boards;
mod check;
mod collect;
mod compile;
mod demo;
mod device;
mod emit;
mod explain;
mod flash;
mod import;
mod inputs;
mod report;
mod run;
mod shapes;
mod splits;
mod study;
mod train;

use crate::output::Output;

/// What to do.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Bench(bench::Args),
    Boards(boards::Args),
    Check(check::Args),
    Collect(collect::Args),
    Compile(compile::Args),
    Demo(demo::Args),
    Emit(emit::Args),
    Explain(explain::Args),
    Flash(flash::Args),
    Import(import::Args),
    Report(report::Args),
    Run(run::Args),
    Shapes(shapes::Args),
    Study(study::Args),
    Train(train::Args),
}

/// Do it.
pub(crate) fn run(command: &Command, out: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Bench(args) => bench::run(args, out),
        Command::Boards(args) => boards::run(args, out),
        Command::Check(args) => check::run(args, out),
        Command::Collect(args) => collect::run(args, out),
        Command::Compile(args) => compile::run(args, out),
        Command::Demo(args) => demo::run(args, out),
        Command::Emit(args) => emit::run(args, out),
        Command::Explain(args) => explain::run(args, out),
        Command::Flash(args) => flash::run(args, out),
        Command::Import(args) => import::run(args, out),
        Command::Report(args) => report::run(args, out),
        Command::Run(args) => run::run(args, out),
        Command::Shapes(args) => shapes::run(args, out),
        Command::Study(args) => study::run(args, out),
        Command::Train(args) => train::run(args, out),
    }
}
