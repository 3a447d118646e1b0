//! The test's side: a folder that names the driver and holds its script.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use crate::script::{Script, VARIABLE};

/// A folder with the driver's name for the OpenCL loader and a script for the driver; gone when dropped.
pub struct Fake {
    folder: tempfile::TempDir,
}

impl Fake {
    /// Write both.
    ///
    /// # Errors
    /// The driver's library is not where cargo puts it, or a file cannot be written.
    pub fn new(script: &Script) -> io::Result<Self> {
        let fake = Self { folder: tempfile::tempdir()? };
        let library = library()?;
        fs::write(fake.folder.path().join("fake.icd"), format!("{}\n", library.display()))?;
        fake.follow(script)?;
        Ok(fake)
    }

    /// Another script, for processes that begin from now on; what happens [once](crate::Rule::once) may
    /// happen once more.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn follow(&self, script: &Script) -> io::Result<()> {
        for entry in fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "once") {
                fs::remove_file(path)?;
            }
        }
        let text = serde_json::to_string_pretty(script).map_err(io::Error::other)?;
        fs::write(self.script(), text)
    }

    /// The environment variables that lead a process to the driver, and to no other.
    #[must_use]
    pub fn variables(&self) -> [(&'static str, OsString); 2] {
        let folder = self.folder.path().as_os_str().to_owned();
        [("OCL_ICD_VENDORS", folder), (VARIABLE, self.script().into_os_string())]
    }

    /// Lead `command` to the driver.
    pub fn lead<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        // A user's own choices of a library or a platform must not come in between.
        for name in ["GEMMTREE_OPENCL", "OPENCL_DYLIB_PATH", "OCL_ICD_FILENAMES"] {
            command.env_remove(name);
        }
        command.envs(self.variables())
    }

    fn script(&self) -> PathBuf {
        self.folder.path().join("script.json")
    }
}

/// The driver's library, beside the test that asks, where cargo builds it along with this crate.
///
/// # Errors
/// It is not there.
pub fn library() -> io::Result<PathBuf> {
    let name = format!("{}fake_icd{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let test = env::current_exe()?;
    let folders = test.ancestors().skip(1).take(3);
    let places = folders.flat_map(|folder| [folder.join("deps").join(&name), folder.join(&name)]);
    let found = places.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| missing(&name, &test))
}

fn missing(name: &str, test: &Path) -> io::Error {
    let message = format!("{name} is not near {}; cargo build -p fake-icd", test.display());
    io::Error::new(io::ErrorKind::NotFound, message)
}
