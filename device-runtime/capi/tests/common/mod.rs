//! An installation of the library as it was built for this test, and a bundle for the device there is.
#![allow(
    dead_code,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "each test takes what it needs, and ends by a panic"
)]

pub(crate) mod caller;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use device_runtime::compile::compile;
use device_runtime::{DeviceError, OpenCl};
use kernels::Configuration;
use selector_core::{
    Feature, KernelId, Leaf, Loss, ModelSource, Precision, ProblemClass, Samples, Tree, TreeSource,
};

/// Where the library was installed, and what there is to run.
pub(crate) struct Installed {
    pub(crate) prefix: PathBuf,
    /// Of every class of single precision, and of half precision added up in single.
    pub(crate) bundle: PathBuf,
    /// Of single precision but f32-tt.
    pub(crate) small: PathBuf,
}

/// Install once for all tests of a file; `None`, and a line that says why, without a device.
pub(crate) fn installed() -> Option<&'static Installed> {
    static ONCE: OnceLock<Option<Installed>> = OnceLock::new();
    ONCE.get_or_init(install).as_ref()
}

/// The device there is; else `None`, and a line that says why.
pub(crate) fn device() -> Option<OpenCl> {
    match OpenCl::open(None) {
        Ok(device) => Some(device),
        Err(error @ (DeviceError::NoPlatform | DeviceError::NoLibrary(_))) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn install() -> Option<Installed> {
    let device = device()?;
    let name = env::current_exe().unwrap().file_stem().unwrap().to_owned();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed").join(name);
    fs::create_dir_all(&folder).unwrap();
    let prefix = folder.join("prefix");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh");
    output(Command::new("bash").arg(script).arg(built()).arg(&prefix));
    let bundle = folder.join("model.gtb");
    fs::write(&bundle, compile(&device, &model(TILES), &[], |_| {}).unwrap()).unwrap();
    let small = folder.join("small.gtb");
    let classes = ["f32-nn", "f32-nt", "f32-tn"].map(|name| name.parse().unwrap());
    fs::write(&small, compile(&device, &model(TILES), &classes, |_| {}).unwrap()).unwrap();
    Some(Installed { prefix, bundle, small })
}

/// The folder in which Cargo has put the libraries.
pub(crate) fn built() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// A program to compile.
pub(crate) struct Source {
    pub(crate) compiler: &'static str,
    pub(crate) standard: &'static str,
    pub(crate) file: &'static str,
    /// What it is called.
    pub(crate) program: &'static str,
    /// An option more.
    pub(crate) define: &'static str,
    pub(crate) is_static: bool,
}

impl Source {
    pub(crate) fn c(file: &'static str) -> Self {
        let program = file.rsplit('/').next().unwrap();
        let (compiler, standard, define) = ("cc", "-std=gnu99", "-DNOTHING");
        Self { compiler, standard, file, program, define, is_static: false }
    }

    pub(crate) fn cpp(file: &'static str) -> Self {
        Self { compiler: "c++", standard: "-std=c++17", ..Self::c(file) }
    }
}

impl Installed {
    /// What pkg-config answers.
    pub(crate) fn flags(&self, ask: &[&str]) -> Vec<String> {
        let mut command = Command::new("pkg-config");
        command.args(ask).arg("gemmtree");
        command.env("PKG_CONFIG_PATH", self.prefix.join("lib/pkgconfig"));
        output(&mut command).split_whitespace().map(str::to_owned).collect()
    }

    /// Compile a file of this package, with all warnings as errors; where the program is.
    pub(crate) fn compile(&self, source: &Source) -> PathBuf {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(source.file);
        let kind = if source.is_static { "static" } else { "shared" };
        let program = self.prefix.join(format!("{}-{kind}", source.program));
        let mut command = Command::new(source.compiler);
        command.args([source.standard, "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]);
        command.arg(source.define).arg(file).args(self.flags(&["--cflags"]));
        if source.is_static {
            command.arg(self.prefix.join("lib/libgemmtree.a"));
            let private = self.flags(&["--libs", "--static"]);
            command.args(private.iter().filter(|one| *one != "-lgemmtree"));
        } else {
            command.args(self.flags(&["--libs"]));
        }
        output(command.arg("-lOpenCL").arg("-lm").arg("-o").arg(&program));
        program
    }

    /// A program that finds the installed library.
    pub(crate) fn run(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.prefix.join("lib"));
        command
    }
}

/// Run a command that succeeds; what it wrote.
pub(crate) fn output(command: &mut Command) -> String {
    command.env("POCL_CACHE_DIR", cache());
    let out = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (text, told) =
        (String::from_utf8(out.stdout).unwrap(), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{command:?}: {}\n{text}{told}", out.status);
    text
}

/// Where PoCL keeps what it has built for these tests.
pub(crate) fn cache() -> PathBuf {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pocl");
    fs::create_dir_all(&cache).unwrap();
    cache
}

/// Two kernels that most devices can run.
pub(crate) const TILES: [&str; 2] = ["tile:4x4x8@8x8", "tile:2x1x4@16x8"];

/// A model of two kernels, the second from 32 rows on, for every class.
pub(crate) fn model(kernels: [&str; 2]) -> Vec<u8> {
    let kernels = kernels.map(|name| name.parse::<Configuration>().unwrap().packed());
    let leaf = |id| Leaf::new(&[KernelId(id)], Loss::UNKNOWN, Loss::UNKNOWN, Samples::new(1));
    let tree = Tree::Split {
        feature: Feature::M,
        threshold: 31,
        left: Box::new(Tree::Leaf(leaf(1))),
        right: Box::new(Tree::Leaf(leaf(2))),
    };
    let classes = ProblemClass::all()
        .filter(|class| matches!(class.precision, Precision::F32 | Precision::F16));
    let source = ModelSource {
        device: "test",
        driver: "1",
        method: "by hand",
        space: Some(kernels::space::hash()),
        score: None,
        kernels: kernels.to_vec(),
        trees: vec![tree],
        classes: classes.map(|class| TreeSource { class, measured_as: class, tree: 0 }).collect(),
    };
    source.encode().unwrap()
}
