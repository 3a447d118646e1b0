//! The bundle that a verb works with: one that is named, or the nearest of a folder, and its kernels on the
//! ladder.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fmt, fs};

use anyhow::{Context, bail};
use device_runtime::ladder::{
    Attempt, Fault, InChild, Options, Report, Rung, Source, Standing, Task, Warning, climb,
};
use device_runtime::nearest::{Quality, file_name, key_of, nearest};
use device_runtime::{Device, OpenCl, Runtime};
use kernels::bundle::{Bundle, BundleError, DriverKey};
use selector_core::{Model, ProblemClass};
use serde::Serialize;

use super::{DeviceArgs, file};
use crate::guard;
use crate::output::Output;

/// Longest that a driver may take to load or build one program and run it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A bundle, and what to do where its binaries do not serve.
#[derive(clap::Args)]
pub(crate) struct BundleArgs {
    /// The bundle
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Take what is nearest to the device of this folder's bundles and models; without any, the universal kernel
    #[arg(long, value_name = "FOLDER", conflicts_with = "bundle")]
    bundles: Option<PathBuf>,
    /// Build nothing from source: fail if no binary serves
    #[arg(long)]
    no_build: bool,
    /// Build what this driver did not make, and replace the bundle; FILE.previous keeps the old one
    #[arg(long, conflicts_with = "no_build")]
    refresh: bool,
}

/// What stands, to be loaded.
pub(super) struct Stands {
    standing: Standing,
    what: String,
}

/// On what kernels stand, as the last line of a verb tells it.
#[derive(Clone, Serialize)]
pub(super) struct Told {
    rung: Rung,
    warnings: Vec<String>,
}

/// A child process to try programs in, which the guard leaves to its own limit.
pub(super) struct Watched(InChild);

/// What was chosen.
struct Chosen {
    bytes: Option<Vec<u8>>,
    /// As an error or a note names it.
    what: String,
    /// Where a refreshed bundle goes; nowhere without a model.
    target: Option<PathBuf>,
}

impl BundleArgs {
    /// Whether there is a bundle to work with.
    pub(super) fn is_given(&self) -> bool {
        self.bundle.is_some() || self.bundles.is_some()
    }

    /// Whether the bundle is replaced by what stands.
    pub(super) fn refreshes(&self) -> bool {
        self.refresh
    }

    /// Open the device, choose the bundle, and try its programs of these classes in a child process. What
    /// replaces the bundle has every class.
    pub(super) fn stand(
        &self,
        device: &DeviceArgs,
        classes: &[ProblemClass],
        out: &Output,
    ) -> anyhow::Result<(OpenCl, Stands)> {
        // What is wrong with a file that is named is told before a device is opened.
        let named = self.bundle.as_deref().map(named).transpose()?;
        if self.refresh {
            let in_folder = self.bundles.as_ref().map(|folder| folder.join("refreshed.gtb"));
            self.bundle.iter().chain(&in_folder).try_for_each(|path| file::check_writable(path))?;
        }
        let opened = device.open()?;
        let here = opened.info().driver_key();
        let Chosen { bytes, what, target } = match (named, &self.bundles) {
            (Some(named), _) => named,
            (None, Some(folder)) => of_folder(folder, &here, out)?,
            (None, None) => bail!("no bundle is named; pass --bundle FILE or --bundles FOLDER"),
        };
        let source = match bytes.as_deref() {
            Some(bytes) if is_model(bytes) => Source::Model(bytes),
            Some(bytes) => Source::Bundle(bytes),
            None => Source::Universal(classes),
        };
        // What is kept is kept whole.
        let of_verb = (!self.refresh).then_some(classes);
        let options =
            Options { classes: of_verb, build: !self.no_build, prefer_source: self.refresh };
        let mut attempts = Watched::new(device, here)?;
        let standing = climb(&opened, source, options, &mut attempts)
            .with_context(|| format!("`{what}` cannot be used"))?;
        for warning in standing.report().warnings() {
            let can_keep =
                matches!(warning, Warning::Built { .. }) && !self.refresh && target.is_some();
            let hint = if can_keep { "; --refresh keeps them" } else { "" };
            out.note(format_args!("warning: {warning}{hint}"));
        }
        match target {
            Some(target) if self.refresh => refresh(&target, &standing, out)?,
            None if self.refresh => out.note(format_args!(
                "warning: nothing was kept: `{what}` has no model to make a bundle of"
            )),
            _ => {}
        }
        Ok((opened, Stands { standing, what }))
    }
}

impl Stands {
    /// Load it on the device that it was tried on.
    pub(super) fn load(&self, device: OpenCl) -> anyhow::Result<Runtime<'_, OpenCl>> {
        self.standing.load(device).with_context(|| format!("could not load `{}`", self.what))
    }

    /// On what each program stands.
    pub(super) fn report(&self) -> &Report {
        self.standing.report()
    }

    /// What to tell of it.
    pub(super) fn told(&self) -> Told {
        let report = self.standing.report();
        let warnings = report.warnings().iter().map(ToString::to_string).collect();
        Told { rung: report.rung, warnings }
    }
}

impl Watched {
    /// On the device that `device` names, whose key is `here`.
    pub(super) fn new(device: &DeviceArgs, here: DriverKey) -> anyhow::Result<Self> {
        let program = env::current_exe().context("could not find this program itself")?;
        let child = InChild::new(program, device.for_child(), guard::limit(PATIENCE), here);
        Ok(Self(child.context("could not make a folder for temporary files")?))
    }
}

impl Attempt for Watched {
    fn attempt(&mut self, task: &Task<'_>) -> Result<Vec<u8>, Fault> {
        guard::paused(|| self.0.attempt(task))
    }

    fn outlives_driver(&self) -> bool {
        self.0.outlives_driver()
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rung: {}", self.rung.name())
    }
}

fn refresh(target: &Path, standing: &Standing, out: &Output) -> anyhow::Result<()> {
    let path = target.display();
    if standing.report().is_as_given() {
        out.note(format_args!("`{path}` is this driver's own already"));
        return Ok(());
    }
    let failed = || format!("could not write `{path}`");
    let bytes = standing.to_keep().with_context(failed)?;
    device_runtime::file::refresh(target, &bytes).with_context(failed)?;
    out.note(format_args!("wrote `{path}`"));
    Ok(())
}

/// The bundle that is named, whole.
fn named(path: &Path) -> anyhow::Result<Chosen> {
    let bytes = file::read(path)?;
    file::parse(path, &bytes)?;
    let what = path.display().to_string();
    Ok(Chosen { bytes: Some(bytes), what, target: Some(path.to_owned()) })
}

/// The bundle or model of a folder that is nearest to the device. What is damaged is passed over with a
/// warning.
fn of_folder(folder: &Path, here: &DriverKey, out: &Output) -> anyhow::Result<Chosen> {
    let failed = || format!("could not read `{}`", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if path.extension().is_some_and(|one| one == "gtb" || one == "gtm") {
            paths.push(path);
        }
    }
    // Of two that are equally near, the first by name.
    paths.sort();
    let (mut known, mut keys) = (Vec::new(), Vec::new());
    for path in paths {
        match read_key(&path) {
            Ok((bytes, key)) => {
                known.push((path, bytes));
                keys.push(key);
            }
            Err(error) => out.note(format_args!("warning: {error:#}; it is passed over")),
        }
    }
    let nearest = nearest(&keys, here);
    let chosen = nearest.and_then(|(at, quality)| {
        known.into_iter().nth(at).map(|(path, bytes)| (path, bytes, quality))
    });
    let Some((path, bytes, quality)) = chosen else {
        out.note(format_args!(
            "warning: `{}` has no bundle or model for `{}` or its family",
            folder.display(),
            here.device
        ));
        return Ok(Chosen { bytes: None, what: folder.display().to_string(), target: None });
    };
    let what = path.display().to_string();
    let warning = if quality > Quality::Exact { "warning: " } else { "" };
    out.note(format_args!("{warning}the nearest is `{what}`, {quality}"));
    // A bundle of another device stays its own.
    let own = folder.join(file_name(here));
    let is_bundle = !is_model(&bytes);
    let target = if is_bundle && quality <= Quality::OtherDriver { path } else { own };
    Ok(Chosen { bytes: Some(bytes), what, target: Some(target) })
}

fn read_key(path: &Path) -> anyhow::Result<(Vec<u8>, DriverKey)> {
    let bytes = file::read(path)?;
    let unusable = || format!("`{}` cannot be used", path.display());
    let key = if is_model(&bytes) {
        key_of(&Model::parse(&bytes).with_context(unusable)?)
    } else {
        Bundle::parse(&bytes).with_context(unusable)?.key
    };
    Ok((bytes, key))
}

fn is_model(bytes: &[u8]) -> bool {
    matches!(Bundle::parse(bytes), Err(BundleError::ModelNotBundle))
}
