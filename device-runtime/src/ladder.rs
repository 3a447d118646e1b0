//! The ladder: kernels that run here and compute right, whatever became of the driver.
//!
//! Every program of a bundle stands on the first [`Rung`] that holds it: its own binary, if this driver made
//! it; a binary of another driver of this device; one that is built from source, anew. On each rung the
//! program must load and compute two small problems right ([`attempt`]), which is tried in a
//! [child process](InChild) where there is a program to start: a driver that crashes or hangs there takes
//! nobody with it. [In this process](InProcess) a binary of another driver is not tried at all. A program
//! that no rung holds is left out, and its kernel gives way to the next of each leaf, in the end to the
//! universal one. The choices are the model's, which outlives the driver.
//!
//! Bytes are checked in full by [`Bundle::parse`] before a driver sees any.
//!
//! ```
//! use device_runtime::ladder::{InProcess, Options, Source, climb};
//! use device_runtime::mock::Mock;
//! use selector_core::ProblemClass;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Mock::default(); // as any device, such as `OpenCl::open(None)?`
//! let source = Source::Universal(&[ProblemClass::F32_NN]); // or the bytes of a bundle or a model
//! let standing = climb(&device, source, Options::default(), &mut InProcess(&device))?;
//! for warning in standing.report().warnings() {
//!     eprintln!("{warning}");
//! }
//! let runtime = standing.load(device)?;
//! # Ok(())
//! # }
//! ```

mod attempt;
mod child;
mod report;

use std::borrow::Cow;

use kernels::bundle::{self, Bundle, BundleError, DriverKey};
use kernels::{Configuration, Program, space};
use selector_core::{Model, ModelError, ProblemClass};

use crate::compile::{classes_of, sharing};
use crate::{Device, Runtime, RuntimeError};

pub(crate) use attempt::Patient;
pub use attempt::{Attempt, Fault, InProcess, Task, attempt};
pub use child::{Answer, InChild, Request};
pub use report::{Report, Rung, Stood, Warning};

/// A model without kernels of its own: what runs where there is no model at all.
const UNIVERSAL: &[u8] = include_bytes!("ladder/universal.gtm");

/// What to run.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// The bytes of a bundle.
    Bundle(&'a [u8]),
    /// The bytes of a model: every class that has a tree is built from source.
    Model(&'a [u8]),
    /// The universal kernel alone, for these classes.
    Universal(&'a [ProblemClass]),
}

/// Which programs there are, and which rungs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options<'a> {
    /// Of the classes that `source` has, only these; all if `None`. What stands has no others.
    pub classes: Option<&'a [ProblemClass]>,
    /// Build from source what no binary serves.
    pub build: bool,
    /// Build anew what is not this driver's own, be it another driver's or left out before; another
    /// driver's binaries then serve where nothing can be built.
    pub prefer_source: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { classes: None, build: true, prefer_source: false }
    }
}

/// A bundle whose every binary this driver has loaded and run, and how it came to be.
#[derive(Clone, Debug)]
pub struct Standing {
    bytes: Vec<u8>,
    report: Report,
}

/// Why nothing stands.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LadderError {
    /// The bytes are not a bundle, or name a kernel this build lacks.
    #[error("the bundle")]
    Bundle(#[from] BundleError),
    /// The bytes are not a model.
    #[error("the model")]
    Model(#[from] ModelError),
    /// The model has no tree, so that nothing of it can be built.
    #[error("the model has no tree for any class")]
    NoTree,
    /// Not even the universal kernel can be used.
    #[error("no kernel can be used on `{}`; tried:{}", .0.here.device, .0.tried())]
    NothingStands(Box<Report>),
    /// What stands cannot be kept as this driver's own.
    #[error(
        "the universal kernel of a class is a binary of another driver, and cannot be built here, so that there \
         is no bundle of this driver's to keep"
    )]
    NothingOwn,
    /// What stands cannot be loaded in this process.
    #[error("what was tried cannot be loaded")]
    Runtime(#[from] RuntimeError),
}

impl Standing {
    /// Load it on the device that it was tried on.
    ///
    /// # Errors
    /// The driver refuses what it took when it was tried.
    pub fn load<D: Device>(&self, device: D) -> Result<Runtime<'_, D>, LadderError> {
        Ok(Runtime::load(device, &Bundle::parse(&self.bytes)?)?)
    }

    /// What this process loads: a bundle under this driver's key, whoever made its binaries.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A bundle of what this driver made alone, to put in the place of the one that was given: its key is true.
    /// Its model is the same.
    ///
    /// # Errors
    /// [`LadderError::NothingOwn`] if the universal kernel of a class stands on another driver's binary.
    pub fn to_keep(&self) -> Result<Cow<'_, [u8]>, LadderError> {
        let foreign = || {
            let programs = self.report.programs.iter();
            programs.filter(|one| one.rung == Some(Rung::ForeignBinary))
        };
        if foreign().next().is_none() {
            return Ok(Cow::Borrowed(&self.bytes));
        }
        if foreign().any(|one| one.universal) {
            return Err(LadderError::NothingOwn);
        }
        let bundle = Bundle::parse(&self.bytes)?;
        let own =
            bundle.programs.iter().filter(|own| !foreign().any(|one| one.program == own.name));
        let own: Vec<_> = own.map(|one| (one.name.to_owned(), one.binary.to_vec())).collect();
        Ok(Cow::Owned(bundle::write(&bundle.key, bundle.model_bytes, &own)?))
    }

    /// On what each program stands, and why not higher.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// [`Self::bytes`] and [`Self::report`], for whoever keeps the bytes beside what borrows them.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u8>, Report) {
        (self.bytes, self.report)
    }
}

/// Find the highest rung for every program of `source` on `device`.
///
/// # Errors
/// The bytes are no bundle or model, or have none of the classes; or [`LadderError::NothingStands`], which
/// lists all that was tried.
pub fn climb<D: Device>(
    device: &D,
    source: Source<'_>,
    options: Options<'_>,
    attempts: &mut dyn Attempt,
) -> Result<Standing, LadderError> {
    let here = device.info().driver_key();
    let given = Given::new(source, options.classes)?;
    let attempts = Patient::new(attempts);
    let mut climber = Climber { given: &given, here: &here, options, attempts };
    let (mut stood, mut binaries) = (Vec::new(), Vec::new());
    let mut lost: Vec<ProblemClass> = Vec::new();
    for (program, configurations) in &given.programs {
        let outcome = if lost.contains(&program.class) {
            Outcome { stands: None, tried: vec![(Rung::Universal, Fault::NoUniversal)] }
        } else {
            climber.stand(program, configurations)
        };
        let Outcome { stands, tried } = outcome;
        let universal = is_universal(configurations);
        if stands.is_none() && universal {
            lost.push(program.class);
        }
        let rung = stands.as_ref().map(|(rung, _)| *rung);
        stood.push(Stood { program: program.name.clone(), universal, rung, tried });
        binaries.extend(stands.map(|(_, binary)| (program.name.clone(), binary)));
    }
    let model = Model::parse(given.model)?;
    let report = Report::new(&model, given.key, here.clone(), stood);
    if binaries.is_empty() {
        return Err(LadderError::NothingStands(Box::new(report)));
    }
    let bytes = bundle::write(&here, given.model, &binaries)?;
    Ok(Standing { bytes, report })
}

/// Whether a program of these configurations is that of the universal kernel.
fn is_universal(configurations: &[Configuration]) -> bool {
    configurations.contains(&Configuration::universal())
}

/// What is to stand: the universal kernel of every class first, since without it the class is lost.
struct Given<'a> {
    key: Option<DriverKey>,
    model: &'a [u8],
    programs: Vec<(Program, Vec<Configuration>)>,
    binaries: Option<Bundle<'a>>,
}

impl<'a> Given<'a> {
    fn new(source: Source<'a>, wanted: Option<&[ProblemClass]>) -> Result<Self, LadderError> {
        let (model, binaries, mut classes) = match source {
            Source::Bundle(bytes) => {
                let bundle = Bundle::parse(bytes)?;
                let shipped = |class: &ProblemClass| {
                    bundle.binary(&Configuration::universal().program(*class).name).is_some()
                };
                let classes = ProblemClass::all().filter(shipped).collect();
                (bundle.model_bytes, Some(bundle), classes)
            }
            Source::Model(bytes) => (bytes, None, classes_of(&Model::parse(bytes)?)),
            Source::Universal(classes) => (UNIVERSAL, None, classes.to_vec()),
        };
        if classes.is_empty() {
            return Err(LadderError::NoTree);
        }
        if let Some(wanted) = wanted {
            classes.retain(|class| wanted.contains(class));
            if let (true, Some(class)) = (classes.is_empty(), wanted.first()) {
                return Err(RuntimeError::ClassNotShipped(*class).into());
            }
        }
        let mut programs = sharing(&bundle::kernels_of(&Model::parse(model)?)?, &classes);
        programs.sort_by_key(|(_, configurations)| !is_universal(configurations));
        let key = binaries.as_ref().map(|bundle: &Bundle<'_>| bundle.key.clone());
        Ok(Self { key, model, programs, binaries })
    }
}

struct Climber<'a> {
    given: &'a Given<'a>,
    here: &'a DriverKey,
    options: Options<'a>,
    attempts: Patient<'a>,
}

struct Outcome {
    stands: Option<(Rung, Vec<u8>)>,
    tried: Vec<(Rung, Fault)>,
}

impl Climber<'_> {
    fn stand(&mut self, program: &Program, configurations: &[Configuration]) -> Outcome {
        let mut tried = Vec::new();
        for rung in self.rungs(program) {
            match self.attempt(*rung, program, configurations) {
                Ok(binary) => return Outcome { stands: Some((*rung, binary)), tried },
                Err(fault) => tried.push((*rung, fault)),
            }
        }
        Outcome { stands: None, tried }
    }

    /// The rungs in the order in which they are tried.
    fn rungs(&self, program: &Program) -> &'static [Rung] {
        let anew = self.options.prefer_source;
        match &self.given.key {
            None => &[Rung::Source],
            // What this driver left out before it does not build now, unless that is asked for.
            Some(key) if key == self.here && !anew && !self.given.has(program) => &[Rung::Binary],
            Some(key) if key == self.here => &[Rung::Binary, Rung::Source],
            Some(_) if anew => &[Rung::Source, Rung::ForeignBinary],
            Some(_) => &[Rung::ForeignBinary, Rung::Source],
        }
    }

    fn attempt(
        &mut self,
        rung: Rung,
        program: &Program,
        configurations: &[Configuration],
    ) -> Result<Vec<u8>, Fault> {
        let given = self.given;
        let binary = match rung {
            Rung::Source if !self.options.build => return Err(Fault::NotAsked),
            Rung::Source | Rung::Universal => None,
            Rung::Binary | Rung::ForeignBinary => Some(given.binary(program, self.here)?),
        };
        if rung == Rung::ForeignBinary && !self.attempts.outlives_driver() {
            return Err(Fault::NoChild);
        }
        self.attempts.attempt(&Task { program, configurations, binary })
    }
}

impl Given<'_> {
    /// Whether there is a binary of a program.
    fn has(&self, program: &Program) -> bool {
        self.binaries.as_ref().is_some_and(|bundle| bundle.binary(&program.name).is_some())
    }

    /// The binary of a program, if this driver may see it.
    fn binary(&self, program: &Program, here: &DriverKey) -> Result<&[u8], Fault> {
        let key = self.key.as_ref().ok_or(Fault::Missing)?;
        if key.space != space::hash() {
            return Err(Fault::OtherSources(key.space));
        }
        if !key.is_device(here) {
            return Err(Fault::OtherDevice(key.device.clone()));
        }
        let bundle = self.binaries.as_ref();
        bundle.and_then(|bundle| bundle.binary(&program.name)).ok_or(Fault::Missing)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kernels::Problem;
    use selector_core::{GemmShape, KernelId, Leaf, Loss, ModelSource, Samples, Tree, TreeSource};

    use super::*;
    use crate::DeviceError;
    use crate::compile::compile;
    use crate::mock::Mock;

    const CLASS: ProblemClass = ProblemClass::F32_NN;
    const NAMES: [&str; 3] = ["universal/f32-nn", "tile:1x1x1/f32-nn", "tile:2x2x2/f32-nn"];

    fn source<'a>(kernels: &[&str], trees: Vec<Tree>) -> ModelSource<'a> {
        let class = TreeSource { class: CLASS, measured_as: CLASS, tree: 0 };
        ModelSource {
            device: "mock",
            driver: "1",
            method: "none",
            space: Some(space::hash()),
            score: None,
            kernels: kernels
                .iter()
                .map(|name| name.parse::<Configuration>().unwrap().packed())
                .collect(),
            classes: trees.iter().map(|_| class).collect(),
            trees,
        }
    }

    fn model() -> Vec<u8> {
        let ids = [KernelId(1), KernelId(2)];
        let leaf = Leaf::new(&ids, Loss::UNKNOWN, Loss::UNKNOWN, Samples::new(1));
        source(&["tile:1x1x1@8x8", "tile:2x2x2@8x8"], vec![Tree::Leaf(leaf)]).encode().unwrap()
    }

    /// What driver 1 makes of the model.
    fn given() -> Vec<u8> {
        compile(&Mock::default(), &model(), &[], |_| {}).unwrap()
    }

    /// A process that the driver does not take down.
    struct Safe<'a>(InProcess<'a, Mock>);

    impl Attempt for Safe<'_> {
        fn attempt(&mut self, task: &Task<'_>) -> Result<Vec<u8>, Fault> {
            self.0.attempt(task)
        }

        fn outlives_driver(&self) -> bool {
            true
        }
    }

    fn climbed(device: &Mock, options: Options<'_>) -> Result<Standing, LadderError> {
        climb(device, Source::Bundle(&given()), options, &mut Safe(InProcess(device)))
    }

    fn rungs(report: &Report) -> Vec<Option<Rung>> {
        assert!(report.programs.iter().map(|one| &*one.program).eq(NAMES));
        report.programs.iter().map(|one| one.rung).collect()
    }

    /// The kernel that a small problem is launched with.
    fn launched(standing: &Standing, device: Mock) -> Option<KernelId> {
        let mut runtime = standing.load(device).unwrap();
        let buffer = || runtime.device().allocate(64).unwrap();
        let [a, b, c] = [buffer(), buffer(), buffer()];
        let problem = Problem::packed(CLASS, GemmShape::new(4, 4, 4, 1));
        runtime.gemm(problem, [&a, &b, &c]).unwrap().kernel
    }

    fn list(start: &str) -> Vec<String> {
        vec![start.to_owned()]
    }

    #[test]
    fn the_model_of_the_universal_kernel_has_no_kernel_and_no_tree() {
        let source = ModelSource { device: "", driver: "", space: None, ..source(&[], Vec::new()) };
        assert_eq!(source.encode().unwrap(), UNIVERSAL);
    }

    #[test]
    fn the_drivers_own_binaries_stand_without_a_build() {
        let device = Mock::default();
        let standing = climbed(&device, Options::default()).unwrap();
        assert_eq!(rungs(standing.report()), [Some(Rung::Binary); 3]);
        assert_eq!((standing.report().rung, device.built.get()), (Rung::Binary, 0));
        assert!(standing.report().is_as_given() && standing.report().is_trained_here());
        assert_eq!(standing.report().warnings(), []);
        assert_eq!(launched(&standing, device), Some(KernelId(1)));
    }

    #[test]
    fn another_drivers_binaries_are_tried_first_and_the_model_is_marked() {
        let device = Mock::default().with_driver("2");
        let standing = climbed(&device, Options::default()).unwrap();
        assert_eq!(rungs(standing.report()), [Some(Rung::ForeignBinary); 3]);
        assert_eq!(device.built.get(), 0);
        assert!(!standing.report().is_as_given() && !standing.report().is_trained_here());
        let warnings: Vec<_> =
            standing.report().warnings().iter().map(ToString::to_string).collect();
        assert!(warnings[0].contains("driver 1, but this is `mock`, driver 2"), "{warnings:?}");
        assert!(warnings[1].contains("trained on times of `mock`, driver 1"), "{warnings:?}");
        // Anew, where that is preferred.
        let options = Options { prefer_source: true, ..Options::default() };
        let standing = climbed(&device, options).unwrap();
        assert_eq!(rungs(standing.report()), [Some(Rung::Source); 3]);
        assert_eq!(Bundle::parse(standing.bytes()).unwrap().key, device.info().driver_key());
        assert_eq!(launched(&standing, device), Some(KernelId(1)));
        // What does not build falls back on the binary.
        let device = Mock { broken_builds: list("tile:1"), ..Mock::default() }.with_driver("2");
        let standing = climbed(&device, options).unwrap();
        let expected = [Rung::Source, Rung::ForeignBinary, Rung::Source].map(Some);
        assert_eq!(rungs(standing.report()), expected);
        // Which is used, but not kept as this driver's own.
        let names = |bytes: &[u8]| -> Vec<String> {
            let bundle = Bundle::parse(bytes).unwrap();
            bundle.programs.iter().map(|one| one.name.to_owned()).collect()
        };
        assert_eq!(names(standing.bytes()).len(), 3);
        let kept = standing.to_keep().unwrap();
        assert_eq!(names(&kept), [NAMES[0], NAMES[2]]);
        assert_eq!(Bundle::parse(&kept).unwrap().model_bytes, model());
        assert_eq!(launched(&standing, device), Some(KernelId(1)));
        // Without a universal kernel of this driver's there is nothing to keep.
        let device = Mock { broken_builds: list("universal"), ..Mock::default() }.with_driver("2");
        let standing = climbed(&device, options).unwrap();
        assert!(matches!(standing.to_keep(), Err(LadderError::NothingOwn)));
    }

    #[test]
    fn a_device_that_cannot_run_the_universal_kernel_is_told_so() {
        let device = Mock { kernel_work_group: 0, ..Mock::default() };
        let error = climbed(&device, Options::default()).unwrap_err();
        assert!(matches!(error, LadderError::NothingStands(_)), "{error}");
        assert!(error.to_string().contains("universal needs work-groups of"), "{error}");
    }

    #[test]
    fn in_this_process_another_drivers_binaries_reach_no_driver() {
        let device = Mock::default().with_driver("2");
        let (bytes, attempts) = (given(), &mut InProcess(&device));
        let source = Source::Bundle(&bytes);
        let standing = climb(&device, source, Options::default(), attempts).unwrap();
        assert_eq!(rungs(standing.report()), [Some(Rung::Source); 3]);
        // What was built is loaded again, and nothing else is.
        assert_eq!((device.loaded.get(), device.built.get()), (3, 3));
        let tried = &standing.report().programs[0].tried;
        assert_eq!(tried, &[(Rung::ForeignBinary, Fault::NoChild)]);
    }

    #[test]
    fn what_this_driver_left_out_is_built_only_where_that_is_asked_for() {
        let broken = Mock { broken_builds: list("tile:1"), ..Mock::default() };
        let bytes = compile(&broken, &model(), &[], |_| {}).unwrap();
        let device = Mock::default();
        let climb = |options| {
            climb(&device, Source::Bundle(&bytes), options, &mut InProcess(&device)).unwrap()
        };
        let standing = climb(Options::default());
        assert_eq!(rungs(standing.report()), [Some(Rung::Binary), None, Some(Rung::Binary)]);
        assert_eq!((standing.report().is_as_given(), device.built.get()), (true, 0));
        assert_eq!(standing.report().warnings(), []);
        let standing = climb(Options { prefer_source: true, ..Options::default() });
        let expected = [Rung::Binary, Rung::Source, Rung::Binary].map(Some);
        assert_eq!(rungs(standing.report()), expected);
        assert!(!standing.report().is_as_given());
    }

    #[test]
    fn what_another_driver_refuses_is_built_and_what_is_wrong_gives_way_to_the_next_of_the_leaf() {
        let device = Mock { wrong_results: list("tile:1"), ..Mock::default() };
        let standing = climbed(&device, Options::default()).unwrap();
        assert_eq!(rungs(standing.report()), [Some(Rung::Binary), None, Some(Rung::Binary)]);
        let tried = &standing.report().programs[1].tried;
        let wrong = Fault::Wrong("tile:1x1x1@8x8".to_owned());
        assert_eq!(tried, &[(Rung::Binary, wrong.clone()), (Rung::Source, wrong)]);
        let warning = standing.report().warnings()[0].to_string();
        assert!(
            warning.contains("source of `tile:1x1x1/f32-nn`: tile:1x1x1@8x8 computes something")
        );
        assert_eq!(launched(&standing, device), Some(KernelId(2)));
    }

    #[test]
    fn binaries_of_other_sources_or_devices_reach_no_driver() {
        let key = Mock::default().info().driver_key();
        let text = "other".to_owned();
        for key in [
            DriverKey { space: 7, ..key.clone() },
            DriverKey { device: text.clone(), ..key.clone() },
            DriverKey { vendor: text.clone(), ..key.clone() },
            DriverKey { compute_units: 2, ..key.clone() },
            DriverKey { platform: text, ..key },
        ] {
            let binaries = NAMES.map(|name| (name.to_owned(), format!("mock:{name}").into_bytes()));
            let bytes = bundle::write(&key, &model(), &binaries).unwrap();
            let device = Mock::default();
            let (source, attempts) = (Source::Bundle(&bytes), &mut Safe(InProcess(&device)));
            let strict = Options { build: false, ..Options::default() };
            let error = climb(&device, source, strict, attempts).unwrap_err().to_string();
            assert!(error.contains("not tried, since it was made"), "{error}");
            assert_eq!(device.loaded.get(), 0);
            let standing = climb(&device, source, Options::default(), attempts).unwrap();
            assert_eq!(rungs(standing.report()), [Some(Rung::Source); 3]);
        }
    }

    #[test]
    fn a_model_alone_is_built_and_without_one_the_universal_kernel_runs() {
        let device = Mock::default();
        let (options, attempts) = (Options::default(), &mut InProcess(&device));
        let standing = climb(&device, Source::Model(&model()), options, attempts).unwrap();
        assert_eq!(rungs(standing.report()), [Some(Rung::Source); 3]);
        let all: Vec<ProblemClass> = ProblemClass::all().collect();
        let standing = climb(&device, Source::Universal(&all), options, attempts).unwrap();
        assert_eq!(standing.report().rung, Rung::Universal);
        assert_eq!(standing.report().programs.len(), all.len());
        assert_eq!(launched(&standing, Mock::default()), Some(KernelId::UNIVERSAL));
        let none = source(&[], Vec::new()).encode().unwrap();
        let error = climb(&device, Source::Model(&none), options, attempts).unwrap_err();
        assert!(matches!(error, LadderError::NoTree), "{error}");
    }

    #[test]
    fn only_the_programs_of_the_classes_that_are_wanted_are_tried() {
        let device = Mock::default();
        let all: Vec<ProblemClass> = ProblemClass::all().collect();
        let attempts = &mut InProcess(&device);
        let few = [all[3], CLASS];
        let options = Options { classes: Some(&few), ..Options::default() };
        let standing = climb(&device, Source::Universal(&all), options, attempts).unwrap();
        let names = standing.report().programs.iter().map(|one| one.program.clone());
        let expected =
            ["f32-nn".to_owned(), all[3].to_string()].map(|one| format!("universal/{one}"));
        assert!(names.eq(expected));
        let bytes = given();
        let only = [all[3]];
        let options = Options { classes: Some(&only), ..Options::default() };
        let error = climb(&device, Source::Bundle(&bytes), options, attempts).unwrap_err();
        let expected = RuntimeError::ClassNotShipped(all[3]);
        assert!(matches!(error, LadderError::Runtime(one) if one == expected));
    }

    #[test]
    fn when_only_the_universal_kernel_is_left_the_report_says_so() {
        let device = Mock { broken_launches: list("tile"), ..Mock::default() };
        let standing = climbed(&device, Options::default()).unwrap();
        assert_eq!(standing.report().rung, Rung::Universal);
        assert!(standing.report().warnings().contains(&Warning::Universal));
        assert_eq!(launched(&standing, device), Some(KernelId::UNIVERSAL));
    }

    #[test]
    fn when_nothing_stands_the_error_lists_every_rung_and_the_class_is_not_tried_further() {
        let device = Mock { wrong_results: list(""), ..Mock::default() };
        let error = climbed(&device, Options::default()).unwrap_err();
        let LadderError::NothingStands(report) = &error else { panic!("{error}") };
        assert_eq!(rungs(report), [None; 3]);
        assert_eq!(report.programs[1].tried, [(Rung::Universal, Fault::NoUniversal)]);
        let text = error.to_string();
        for part in ["binary of `universal/f32-nn`: universal", "source of `universal/f32-nn`: "] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!((device.loaded.get(), device.built.get()), (1, 1));
    }

    /// A driver that dies over some binaries, and is well otherwise.
    struct Dying<'a>(InProcess<'a, Mock>, u32);

    impl Attempt for Dying<'_> {
        fn attempt(&mut self, task: &Task<'_>) -> Result<Vec<u8>, Fault> {
            if task.binary.is_some() {
                self.1 += 1;
                return Err(Fault::TimedOut(Duration::from_secs(1)));
            }
            self.0.attempt(task)
        }

        fn outlives_driver(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_driver_that_dies_again_and_again_is_given_no_more_binaries() {
        let names = ["tile:1x1x1@8x8", "tile:2x2x2@8x8", "tile:4x4x4@8x8", "tile:4x4x8@8x8"];
        let leaf = Leaf::new(&[KernelId(4)], Loss::UNKNOWN, Loss::UNKNOWN, Samples::new(1));
        let model = source(&names, vec![Tree::Leaf(leaf)]).encode().unwrap();
        let device = Mock::default();
        let bytes = compile(&device, &model, &[], |_| {}).unwrap();
        let mut dying = Dying(InProcess(&device), 0);
        let standing =
            climb(&device, Source::Bundle(&bytes), Options::default(), &mut dying).unwrap();
        assert_eq!((standing.report().rung, dying.1), (Rung::Source, attempt::PATIENCE));
        let last = standing.report().programs.last().unwrap();
        assert_eq!(last.tried, [(Rung::Binary, Fault::GivenUp(attempt::PATIENCE))]);
    }

    #[test]
    fn a_damaged_bundle_reaches_no_driver() {
        let mut bytes = given();
        *bytes.last_mut().unwrap() ^= 1;
        let device = Mock::default();
        let attempts = &mut InProcess(&device);
        let error = climb(&device, Source::Bundle(&bytes), Options::default(), attempts);
        assert!(matches!(error, Err(LadderError::Bundle(BundleError::Checksum))));
        assert_eq!((device.loaded.get(), device.built.get()), (0, 0));
    }

    #[test]
    fn a_process_that_cannot_be_used_is_told_apart_from_a_driver_that_dies() {
        let device = Mock::default();
        let here = device.info().driver_key();
        let ready = serde_json::to_string(&Answer::Ready(here.clone())).unwrap();
        let attempt = |script: &str, here: &DriverKey| {
            let arguments = ["-c", script].map(Into::into).to_vec();
            let limit = Duration::from_millis(300);
            let mut child = InChild::new("/bin/sh".into(), arguments, limit, here.clone()).unwrap();
            let program = Configuration::universal().program(CLASS);
            let configurations = [Configuration::universal()];
            let task =
                Task { program: &program, configurations: &configurations, binary: Some(b"bytes") };
            child.attempt(&task)
        };
        let told = |script: &str| attempt(&format!("echo '{ready}'; {script}"), &here);
        assert_eq!(told("read line; echo noise; echo '\"right\"'; cat"), Ok(b"bytes".to_vec()));
        let refused = told("read line; echo '{\"refused\":\"why\"}'; cat");
        assert_eq!(refused, Err(Fault::Refused("why".to_owned())));
        let wrong = told("read line; echo '{\"wrong\":\"which\"}'; cat");
        assert_eq!(wrong, Err(Fault::Wrong("which".to_owned())));
        let died = told("read line; kill -SEGV $$").unwrap_err().to_string();
        assert!(died.contains("took the process down") && died.contains("signal: 11"), "{died}");
        assert!(matches!(told("read line; exec sleep 60"), Err(Fault::TimedOut(_))));
        assert!(matches!(attempt("exit 1", &here), Err(Fault::CannotTry(_))));
        let other = DriverKey { driver: "2".to_owned(), ..here.clone() };
        let other = attempt(&format!("echo '{ready}'; cat"), &other).unwrap_err().to_string();
        assert!(other.contains("it finds `mock`, driver 1"), "{other}");
    }

    #[test]
    fn the_child_does_what_it_is_asked() {
        let device = Mock { broken_builds: list("tile"), ..Mock::default() };
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("output");
        let ask = |configuration: &str, class: &str| {
            let request = serde_json::json!({
                "configurations": [configuration], "class": class, "binary": null, "output": output,
            });
            serde_json::from_value::<Request>(request).unwrap().answer(&device)
        };
        assert_eq!(ask("universal", "f32-nn"), Answer::Right);
        assert_eq!(std::fs::read(&output).unwrap(), b"mock:universal/f32-nn");
        for (configuration, class, why) in [
            ("tile:1x1x1@8x8", "f32-nn", "does not build"),
            ("no such", "f32-nn", "no such"),
            ("universal", "f99", "not a problem class"),
        ] {
            let Answer::Refused(said) = ask(configuration, class) else { panic!("{why}") };
            assert!(said.contains(why), "{said}");
        }
        let refused = Fault::from(DeviceError::NoPlatform).to_string();
        assert_eq!(refused, DeviceError::NoPlatform.to_string());
    }
}
