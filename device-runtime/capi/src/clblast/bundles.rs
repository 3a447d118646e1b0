//! Which bundle serves a device, where nobody names one in the call.
//!
//! It is looked for once by device, and stands for all threads until the caches are cleared.

mod folder;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use device_runtime::ladder::{Report, Rung, Source};
use device_runtime::{Device, OpenCl, file, nearest};
use kernels::bundle::DriverKey;
use selector_core::{Precision, ProblemClass};

use crate::engine::{Engine, Home};
use crate::stands::{self, Stands};
use crate::status::Failure;
use folder::Near;

/// What stands on each device that was asked for.
static STANDING: Mutex<Vec<(DriverKey, Arc<Stands>)>> = Mutex::new(Vec::new());

/// An engine for a device.
///
/// # Errors
/// The bundle that is named cannot be used; or not even the universal kernel can.
pub(super) fn engine(home: Home) -> Result<Engine, Failure> {
    let device = Engine::open(home)?;
    let stands = standing(&device)?;
    Engine::of(home, device, stands)
}

/// Look for bundles anew.
pub(super) fn forget() {
    all().clear();
}

fn all() -> MutexGuard<'static, Vec<(DriverKey, Arc<Stands>)>> {
    // A panic leaves no half of an entry.
    STANDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What stands on a device. One thread looks, and the others wait: building takes its time.
fn standing(device: &OpenCl) -> Result<Arc<Stands>, Failure> {
    let here = device.info().driver_key();
    let mut all = all();
    if let Some((_, stands)) = all.iter().find(|(key, _)| *key == here) {
        return Ok(Arc::clone(stands));
    }
    let stands = Arc::new(look(device, &here)?);
    all.push((here, Arc::clone(&stands)));
    Ok(stands)
}

/// The bundle that is named, the nearest of the folder, or the universal kernel.
fn look(device: &OpenCl, here: &DriverKey) -> Result<Stands, Failure> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = named("GEMMTREE_BUNDLE").map(PathBuf::from) {
        let found = file::read(&path).map_err(|source| unreadable(&path, source));
        let found = found.and_then(|bytes| stands::climbed(device, stands::source(&bytes)));
        // CLBlast's functions have no words for it. One line, however often they are called.
        let (stands, report) = found.inspect_err(|error| {
            static TOLD: Once = Once::new();
            TOLD.call_once(|| warn(&format!("GEMMTREE_BUNDLE cannot be used: {}", error.text())));
        })?;
        if !report.is_as_given() {
            warn(&format!("`{}`: {}", path.display(), on_one_line(&stands)));
        }
        return Ok(stands);
    }
    let folder = folder_of(named);
    let mut passed_over = Vec::new();
    if let Some(folder) = &folder
        && let Some(near) = Near::find(folder, here, &mut passed_over)
    {
        match stands::climbed(device, stands::source(&near.bytes)) {
            Ok((stands, report)) => {
                let kept = keep(folder, here, &stands, &report);
                if near.is_of_another_device() || !report.is_as_given() {
                    let Near { path, quality, .. } = &near;
                    let path = path.display();
                    passed_over
                        .push(format!("`{path}`, {quality}: {}{kept}", on_one_line(&stands)));
                }
                tell(&passed_over);
                return Ok(stands);
            }
            Err(error) => passed_over.push(format!("`{}`: {}", near.path.display(), error.text())),
        }
    }
    let classes = ProblemClass::all()
        .filter(|class| matches!(class.precision, Precision::F32 | Precision::F16));
    let classes: Vec<ProblemClass> = classes.collect();
    let (stands, _) = stands::climbed(device, Source::Universal(&classes))?;
    let place = folder.map_or_else(
        || "GEMMTREE_BUNDLE and GEMMTREE_BUNDLES are not set".to_owned(),
        |folder| format!("none in `{}`", folder.display()),
    );
    let (name, device) = (nearest::file_name(here), &here.device);
    passed_over.push(format!(
        "no bundle for `{device}` ({place}): the universal kernel runs, which is right, but slow; put one there as \
         `{name}` (gemmtree-board compile)"
    ));
    tell(&passed_over);
    Ok(stands)
}

fn unreadable(path: &Path, source: io::Error) -> Failure {
    Failure::File { path: path.display().to_string(), source }
}

/// Keep what was built as the device's own bundle, so that it is built once; what to tell of that.
fn keep(folder: &Path, here: &DriverKey, stands: &Stands, report: &Report) -> String {
    if report.is_as_given() || stands.rung == Rung::Universal {
        return String::new();
    }
    let path = folder.join(nearest::file_name(here));
    match file::refresh(&path, &stands.bytes) {
        Ok(()) => format!("; kept as `{}`", path.display()),
        Err(error) => format!("; could not be kept as `{}`: {error}", path.display()),
    }
}

/// The folder of bundles, by the environment.
fn folder_of(named: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(folder) = named("GEMMTREE_BUNDLES") {
        return Some(folder.into());
    }
    if cfg!(target_os = "android") {
        // An application has no home.
        return None;
    }
    let absolute = |name| named(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    Some(data?.join("gemmtree"))
}

fn on_one_line(stands: &Stands) -> String {
    stands.warnings.replace('\n', "; ")
}

fn tell(what: &[String]) {
    if !what.is_empty() {
        warn(&what.join("; "));
    }
}

/// One line to whoever runs the program, unless that is not wanted.
fn warn(what: &str) {
    if env::var_os("GEMMTREE_QUIET").is_none_or(|quiet| quiet.is_empty()) {
        // A line of several, such as a build log, would be taken for several warnings.
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        // There may be no standard error.
        let _ = writeln!(io::stderr(), "gemmtree: warning: {what}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_one_that_is_named_or_lies_with_the_users_data() {
        let folder = |variables: &[(&str, &str)]| {
            folder_of(|name| {
                let found = variables.iter().find(|(one, _)| *one == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let home = ("HOME", "/u/one");
        let data = ("XDG_DATA_HOME", "/data");
        let own = ("GEMMTREE_BUNDLES", "bundles");
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(folder(&[]), None);
        assert_eq!(folder(&[own, data, home]), path("bundles"));
        assert_eq!(folder(&[data, home]), path("/data/gemmtree"));
        assert_eq!(folder(&[home]), path("/u/one/.local/share/gemmtree"));
        assert_eq!(
            folder(&[("XDG_DATA_HOME", "data"), home]),
            path("/u/one/.local/share/gemmtree")
        );
        assert_eq!(folder(&[("HOME", "here")]), None);
    }
}
