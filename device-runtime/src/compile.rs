//! Model → bundle: build every kernel on this driver and keep its binary.

use kernels::bundle::{self, BundleError};
use kernels::{Configuration, Program, space};
use selector_core::{Model, ModelError, ProblemClass};

use crate::Device;
use crate::ladder::{Attempt, Fault, InProcess, Patient, Task};

/// Why no bundle was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// What would be written is not a bundle, or the model names a kernel this build lacks.
    #[error("the bundle")]
    Bundle(#[from] BundleError),
    /// The model was not measured with this build's sources.
    #[error(
        "the model was not measured with these sources: its kernel space is {}, this build's {:016x}; \
         train on data collected with this build, or pass --allow-foreign-space",
        .0.map_or_else(|| "none".to_owned(), |hash| format!("{hash:016x}")), space::hash()
    )]
    ForeignSpace(Option<u64>),
    /// The bytes are not a model.
    #[error("the model")]
    Model(#[from] ModelError),
    /// The model has no tree, or the class asked for has none.
    #[error("the model has no tree for {0}")]
    NoTree(String),
    /// The universal kernel does not build, or is wrong.
    #[error("the universal kernel cannot be used")]
    Universal(#[source] Fault),
}

/// What happened to one program.
pub struct Compiled<'a> {
    /// Programs done, this one included.
    pub done: usize,
    /// Programs to do.
    pub total: usize,
    /// The program.
    pub program: &'a str,
    /// Why it is left out, if it is.
    pub error: Option<&'a Fault>,
}

/// The classes that have a tree in a model.
#[must_use]
pub fn classes_of(model: &Model<'_>) -> Vec<ProblemClass> {
    ProblemClass::all().filter(|class| model.root(*class).is_some()).collect()
}

/// Whether the model was measured with this build's sources.
///
/// # Errors
/// [`CompileError::ForeignSpace`] if not, [`CompileError::Model`] if it is none.
pub fn check_space(model: &[u8]) -> Result<(), CompileError> {
    match Model::parse(model)?.space() {
        Some(hash) if hash == space::hash() => Ok(()),
        other => Err(CompileError::ForeignSpace(other)),
    }
}

/// Build the kernels of `model` for `classes` (all that have a tree, if empty) and write a bundle.
///
/// Each kernel that fits the device runs once before its binary is taken: it must be right, and some
/// drivers finish compiling only then. A program that does not build or is wrong is left out and
/// reported; its kernel then gives way to the next in each leaf.
///
/// # Errors
/// [`CompileError`]; nothing is written anywhere.
pub fn compile<D: Device>(
    device: &D,
    model: &[u8],
    classes: &[ProblemClass],
    progress: impl FnMut(Compiled<'_>),
) -> Result<Vec<u8>, CompileError> {
    compile_in(device, model, classes, &mut InProcess(device), progress)
}

/// [`compile`] where `attempts` says; in a [child](crate::ladder::InChild) a program that crashes the
/// driver is left out like one that does not build.
///
/// # Errors
/// As [`compile`].
pub fn compile_in<D: Device>(
    device: &D,
    model: &[u8],
    classes: &[ProblemClass],
    attempts: &mut dyn Attempt,
    mut progress: impl FnMut(Compiled<'_>),
) -> Result<Vec<u8>, CompileError> {
    let mut attempts = Patient::new(attempts);
    let parsed = Model::parse(model)?;
    let with_tree = classes_of(&parsed);
    if let Some(class) = classes.iter().find(|class| !with_tree.contains(class)) {
        return Err(CompileError::NoTree(format!("class {class}")));
    }
    let classes = if classes.is_empty() { &with_tree } else { classes };
    if classes.is_empty() {
        return Err(CompileError::NoTree("any class".to_owned()));
    }
    let wanted = sharing(&bundle::kernels_of(&parsed)?, classes);
    let mut programs = Vec::new();
    for (at, (program, configurations)) in wanted.iter().enumerate() {
        let is_universal = configurations.contains(&Configuration::universal());
        let binary = attempts.attempt(&Task { program, configurations, binary: None });
        let error = binary.as_ref().err();
        let (done, total, name) = (at + 1, wanted.len(), &program.name);
        progress(Compiled { done, total, program: name, error });
        match binary {
            Ok(binary) => programs.push((program.name.clone(), binary)),
            Err(error) if is_universal => return Err(CompileError::Universal(error)),
            Err(_) => {}
        }
    }
    Ok(bundle::write(&device.info().driver_key(), model, &programs)?)
}

/// The programs of `kernels` for `classes`, each once, with the configurations that share it.
pub(crate) fn sharing(
    kernels: &[Configuration],
    classes: &[ProblemClass],
) -> Vec<(Program, Vec<Configuration>)> {
    let mut programs: Vec<(Program, Vec<Configuration>)> = Vec::new();
    for configuration in kernels {
        for program in classes.iter().map(|class| configuration.program(*class)) {
            match programs.iter_mut().find(|(one, _)| *one == program) {
                Some((_, sharing)) => sharing.push(configuration.clone()),
                None => programs.push((program, vec![configuration.clone()])),
            }
        }
    }
    programs
}

#[cfg(test)]
mod tests {
    use kernels::bundle::Bundle;
    use selector_core::{KernelId, Leaf, Loss, ModelSource, Samples, Tree, TreeSource};

    use super::*;
    use crate::mock::Mock;

    fn model() -> Vec<u8> {
        let kernels = ["tile:1x1x1@8x8", "tile:1x1x1@16x16", "tile:2x2x2@8x8"];
        let packed = kernels.map(|name| name.parse::<Configuration>().unwrap().packed());
        let class = ProblemClass::F32_NN;
        let source = ModelSource {
            device: "mock",
            driver: "1",
            method: "test",
            space: None,
            score: None,
            kernels: packed.to_vec(),
            trees: vec![Tree::Leaf(Leaf::new(
                &[KernelId(1)],
                Loss::UNKNOWN,
                Loss::UNKNOWN,
                Samples::new(1),
            ))],
            classes: vec![TreeSource { class, measured_as: class, tree: 0 }],
        };
        source.encode().unwrap()
    }

    fn names(device: &Mock) -> (Vec<String>, Vec<String>) {
        let mut left_out = Vec::new();
        let bytes = compile(device, &model(), &[], |step| {
            assert!(step.done <= step.total && step.total == 3);
            left_out.extend(step.error.map(ToString::to_string));
        });
        let bytes = bytes.unwrap();
        let bundle = Bundle::parse(&bytes).unwrap();
        (bundle.programs.iter().map(|one| one.name.to_owned()).collect(), left_out)
    }

    #[test]
    fn configurations_that_share_a_program_are_compiled_once() {
        let (names, left_out) = names(&Mock::default());
        assert_eq!(names, ["universal/f32-nn", "tile:1x1x1/f32-nn", "tile:2x2x2/f32-nn"]);
        assert!(left_out.is_empty());
    }

    #[test]
    fn what_does_not_build_run_or_compute_right_is_left_out() {
        let list = || vec!["tile:1x".to_owned()];
        for (device, why) in [
            (Mock { broken_builds: list(), ..Mock::default() }, "does not build"),
            (Mock { broken_launches: list(), ..Mock::default() }, "clEnqueueNDRangeKernel"),
            (Mock { wrong_results: list(), ..Mock::default() }, "something else"),
        ] {
            let (names, left_out) = names(&device);
            assert_eq!(names, ["universal/f32-nn", "tile:2x2x2/f32-nn"], "{why}");
            assert!(left_out.len() == 1 && left_out[0].contains(why), "{left_out:?}");
        }
        // One that the device cannot run is shipped all the same: the runtime knows the limits.
        let small = Mock { kernel_work_group: 64, ..Mock::default() };
        assert_eq!(names(&small).0.len(), 3);
    }

    #[test]
    fn without_a_universal_kernel_there_is_no_bundle() {
        let device = Mock { wrong_results: vec!["universal".to_owned()], ..Mock::default() };
        let error = compile(&device, &model(), &[], |_| {}).unwrap_err();
        assert!(matches!(error, CompileError::Universal(Fault::Wrong(_))), "{error}");
    }
}
