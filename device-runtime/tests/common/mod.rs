//! What the tests on a device share: the program, small models, and whether there is a device.
#![allow(dead_code, reason = "each test file takes what it needs")]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may print, and ends by a panic"
)]

pub(crate) mod faulty;
pub(crate) mod parted;
pub(crate) mod pretend;
pub(crate) mod sample;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use device_runtime::{Arguments, Device, DeviceError, OpenCl, enqueue};
use kernels::{Configuration, Problem};
use selector_core::{KernelId, Leaf, Loss, ModelSource, ProblemClass, Samples, Tree, TreeSource};

/// Two kernels beside the universal one, whose work-groups differ.
pub(crate) const KERNELS: [&str; 2] = ["tile:4x4x8@8x8", "tile:2x1x4@16x8"];

/// The program under test, with a kernel cache of the tests' own.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gemmtree-board"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pocl");
    std::fs::create_dir_all(&cache).unwrap();
    command.env("POCL_CACHE_DIR", cache);
    command
}

/// Run the program; what it wrote and how it ended.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    Ended::of(program().args(arguments).output().unwrap())
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The run succeeded.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// The run failed by the user's mistake, and says all of `words`.
    pub(crate) fn refused(self, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(1), "{self:#?}");
        // Warnings may come before.
        let is_error = |line: &str| line.starts_with("error: ");
        assert!(self.stderr.lines().any(is_error), "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not in {self:#?}");
        }
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }

    /// The JSON objects on stdout.
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The last JSON object, which ends the run.
    pub(crate) fn done(&self) -> serde_json::Value {
        let done = self.json().pop().unwrap();
        assert_eq!(done["event"], "done");
        done
    }
}

/// The only device, or `None` and a line that says that the test is skipped.
pub(crate) fn device() -> Option<OpenCl> {
    match OpenCl::open(None) {
        Ok(device) => Some(device),
        Err(
            error @ (DeviceError::NoPlatform
            | DeviceError::NoLibrary(_)
            | DeviceError::NoDevice { .. }
            | DeviceError::Ambiguous(_)),
        ) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Build the kernel of `configuration`, call it once and wait.
pub(crate) fn call<D: Device>(
    device: &D,
    configuration: &Configuration,
    problem: Problem,
    buffers: [&D::Buffer; 3],
) {
    let mut kernel = device.build(&configuration.program(problem.class)).unwrap();
    let arguments = Arguments::new(device, problem, buffers).unwrap();
    let scratch = configuration.scratch(arguments.problem());
    let scratch = (scratch > 0).then(|| device.allocate(scratch).unwrap());
    let arguments = arguments.with_scratch(device, configuration, scratch.as_ref()).unwrap();
    let launches = configuration.launches(arguments.problem());
    let armed = device.set_arguments(&mut kernel, &arguments).unwrap();
    enqueue(device, &armed, &launches, false).unwrap();
    device.finish().unwrap();
}

/// A model of [`KERNELS`] that sends small m to the first and all else to the second.
pub(crate) fn model(classes: &[ProblemClass]) -> Vec<u8> {
    encoded(classes, Some(kernels::space::hash()))
}

/// A model that was measured with these sources.
pub(crate) fn model_of_space(space: Option<u64>) -> Vec<u8> {
    encoded(&[ProblemClass::F32_NN], space)
}

fn encoded(classes: &[ProblemClass], space: Option<u64>) -> Vec<u8> {
    of_kernels(&KERNELS.map(|name| name.parse().unwrap()), classes, space)
}

/// A model of two kernels that sends small m to the first and all else to the second.
pub(crate) fn of_kernels(
    kernels: &[Configuration; 2],
    classes: &[ProblemClass],
    space: Option<u64>,
) -> Vec<u8> {
    let leaf = |id| Leaf::new(&[KernelId(id)], Loss::UNKNOWN, Loss::UNKNOWN, Samples::new(1));
    let tree = Tree::Split {
        feature: selector_core::Feature::M,
        // m < 16
        threshold: 31,
        left: Box::new(Tree::Leaf(leaf(1))),
        right: Box::new(Tree::Leaf(leaf(2))),
    };
    let source = ModelSource {
        device: "test",
        driver: "1",
        method: "by hand",
        space,
        score: None,
        kernels: kernels.iter().map(Configuration::packed).collect(),
        trees: vec![tree],
        classes: classes
            .iter()
            .map(|class| TreeSource { class: *class, measured_as: *class, tree: 0 })
            .collect(),
    };
    source.encode().unwrap()
}

/// A file in `folder` with these bytes; its path as text.
pub(crate) fn file(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}
