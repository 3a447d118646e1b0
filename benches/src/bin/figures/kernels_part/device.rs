//! The devices that have targets. To add one: name it here.

use benches::peers::{CLBLAST, CLBLAST_TUNED, CUBLAS, Class, OPENBLAS, OURS, SPACE_BEST};

/// A device, known by a part of its platform's name.
pub(super) struct Device {
    /// What its figures are called.
    pub(super) name: &'static str,
    pub(super) platform: &'static str,
    pub(super) goals: &'static [Goal],
    /// Least number of shapes of a run.
    pub(super) shapes: f64,
    /// How it is measured on this machine, if it is.
    pub(super) here: Option<Here>,
}

/// How many times as fast as a peer we are to be, geometric mean over a class of shapes.
pub(super) struct Goal {
    pub(super) ours: &'static str,
    pub(super) theirs: &'static str,
    pub(super) class: Class,
    pub(super) least: f64,
}

/// How a device is measured on this machine.
pub(super) struct Here {
    /// What the kernels are chosen on: the first that is there.
    pub(super) data: &'static [&'static str],
    /// CLBlast's parameters, found by `benches/peers/tune-clblast.sh`.
    pub(super) clblast: &'static str,
    /// What sets the variables of a driver that the system does not know of, if it is not the system's.
    pub(super) environment: Option<&'static str>,
}

const fn goal(ours: &'static str, theirs: &'static str, class: Class, least: f64) -> Goal {
    Goal { ours, theirs, class, least }
}

pub(super) const DEVICES: [Device; 3] = [
    Device {
        name: "pocl",
        platform: "Portable Computing Language",
        goals: &[
            goal(OURS, CLBLAST, Class::Layers, 9.0),
            goal(OURS, CLBLAST, Class::DeepK, 2.0),
            goal(OURS, CLBLAST, Class::FullyConnected, 2.0),
            goal(OURS, CLBLAST_TUNED, Class::Layers, 4.0),
            goal(OURS, OPENBLAS, Class::Layers, 0.80),
        ],
        shapes: 60.0,
        here: Some(Here {
            data: &["trainer/data/pocl-families.csv.gz"],
            clblast: "benches/peers/clblast-pocl.txt",
            environment: None,
        }),
    },
    Device {
        name: "intel-cpu",
        platform: "Intel(R) OpenCL",
        goals: &[
            goal(OURS, CLBLAST, Class::Layers, 15.0),
            goal(OURS, CLBLAST, Class::DeepK, 2.0),
            goal(OURS, CLBLAST, Class::FullyConnected, 2.0),
            goal(OURS, OPENBLAS, Class::Layers, 0.80),
        ],
        shapes: 60.0,
        here: Some(Here {
            // A list chosen on another driver of the same processor is better than none.
            data: &["trainer/data/intel-cpu-families.csv.gz", "trainer/data/pocl-families.csv.gz"],
            clblast: "benches/peers/clblast-intel-cpu.txt",
            environment: Some("build/intel-opencl/environment"),
        }),
    },
    Device {
        name: "h200",
        platform: "NVIDIA CUDA",
        goals: &[
            goal(SPACE_BEST, CUBLAS, Class::Layers, 0.78),
            goal(OURS, CUBLAS, Class::Layers, 0.72),
            goal(OURS, CUBLAS, Class::Square, 0.75),
            goal(OURS, CLBLAST, Class::Layers, 2.0),
            goal(OURS, CLBLAST, Class::DeepK, 2.0),
            goal(OURS, CLBLAST, Class::FullyConnected, 2.0),
        ],
        shapes: 299.0,
        here: None,
    },
];
