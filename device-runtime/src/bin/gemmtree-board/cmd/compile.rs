//! `gemmtree-board compile`: a model's kernels, built by this machine's driver, into a bundle.

use std::fmt;
use std::path::PathBuf;

use anyhow::Context;
use device_runtime::Device;
use device_runtime::compile::{CompileError, check_space, classes_of, compile_in};
use selector_core::{Model, ProblemClass};
use serde::Serialize;

use super::standing::Watched;
use super::{DeviceArgs, file, half};
use crate::output::Output;

/// Build a model's kernels with this machine's driver and write a bundle
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree-board compile --model m.gtm --output m.gtb")]
pub(crate) struct Args {
    /// The model
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The bundle to write
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Build for this class only (f32-nn, f32-nt, …); may be given more than once
    #[arg(long, value_name = "CLASS")]
    class: Vec<ProblemClass>,
    /// Go on although the model was not measured with these sources
    #[arg(long)]
    allow_foreign_space: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> anyhow::Result<()> {
    let path = args.model.display();
    let unusable = || format!("`{path}` cannot be used");
    file::check_bundle_target(&args.output)?;
    let model = file::read(&args.model)?;
    match check_space(&model) {
        Err(error @ CompileError::ForeignSpace(_)) if args.allow_foreign_space => {
            out.note(format_args!("warning: {error}"));
        }
        other => other.with_context(unusable)?,
    }
    let device = args.device.open()?;
    let classes = match &args.class[..] {
        [] => classes_of(&Model::parse(&model).with_context(unusable)?),
        some => some.to_vec(),
    };
    if let Some(warning) = half::warning(&device.info().into(), classes) {
        out.note(warning);
    }
    let mut left_out = 0;
    let mut attempts = Watched::new(&args.device, device.info().driver_key())?;
    let bytes = compile_in(&device, &model, &args.class, &mut attempts, |step| {
        if let Some(error) = step.error {
            left_out += 1;
            out.note(format_args!("warning: `{}` is left out: {error}", step.program));
        }
        out.progress(step.done, step.total, "compiling");
    });
    let bytes = bytes.with_context(unusable)?;
    file::replace(&args.output, &bytes)?;
    let output = &args.output;
    out.result(&Done { event: "done", bundle: output, bytes: bytes.len(), left_out })
}

#[derive(Serialize)]
struct Done<'a> {
    event: &'static str,
    bundle: &'a PathBuf,
    bytes: usize,
    left_out: usize,
}

impl fmt::Display for Done<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wrote {} bytes to `{}`", self.bytes, self.bundle.display())
    }
}
