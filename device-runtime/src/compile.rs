//! Model → bundle: build every kernel on this driver and keep its binary.

use kernels::bundle::{self, BundleError};
use kernels::{Configuration, space};
use selector_core::{Model, ModelError, ProblemClass};

use crate::{Device, DeviceError};

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
    /// The universal kernel does not build.
    #[error("the universal kernel does not build")]
    Universal(#[source] DeviceError),
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
    pub error: Option<&'a DeviceError>,
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
/// A program that does not build is left out and reported; its kernel then gives way to the next
/// in each leaf.
///
/// # Errors
/// [`CompileError`]; nothing is written anywhere.
pub fn compile<D: Device>(
    device: &D,
    model: &[u8],
    classes: &[ProblemClass],
    mut progress: impl FnMut(Compiled<'_>),
) -> Result<Vec<u8>, CompileError> {
    let parsed = Model::parse(model)?;
    let with_tree = classes_of(&parsed);
    if let Some(class) = classes.iter().find(|class| !with_tree.contains(class)) {
        return Err(CompileError::NoTree(format!("class {class}")));
    }
    let classes = if classes.is_empty() { &with_tree } else { classes };
    if classes.is_empty() {
        return Err(CompileError::NoTree("any class".to_owned()));
    }
    let mut wanted = Vec::new();
    for configuration in &bundle::kernels_of(&parsed)? {
        for program in classes.iter().map(|class| configuration.program(*class)) {
            if !wanted.iter().any(|(one, _)| *one == program) {
                wanted.push((program, *configuration == Configuration::universal()));
            }
        }
    }
    let mut programs = Vec::new();
    for (at, (program, is_universal)) in wanted.iter().enumerate() {
        let binary = device.build(program).and_then(|kernel| device.binary(&kernel));
        let error = binary.as_ref().err();
        let (done, total, name) = (at + 1, wanted.len(), &program.name);
        progress(Compiled { done, total, program: name, error });
        match binary {
            Ok(binary) => programs.push((program.name.clone(), binary)),
            Err(error) if *is_universal => return Err(CompileError::Universal(error)),
            Err(_) => {}
        }
    }
    Ok(bundle::write(&device.info().driver_key(), model, &programs)?)
}
