//! The whole kernel space, built from source, against the reference.
//!
//! A unit is one program of one class: its kernel on every size, or on a sample of them where time is
//! short, then each configuration of the program on seeded problems.

use std::collections::BTreeMap;

use bytemuck::Pod;
use half::f16;
use kernels::reference::{Element, Sequence};
use kernels::{Configuration, Family, Misfit, Problem, families, space};
use selector_core::{ElementType, Precision, ProblemClass, Transposes};

use super::Wrong;
use super::cases::{Pool, every_size, few, seeded};
use crate::{Device, DeviceError};

/// Seeded problems for each configuration.
const PROBLEMS: usize = 40;
/// Largest size of a seeded problem.
const LARGEST: u32 = 96;

/// Configurations of each family of [`SourceUnit::few`]; each is checked in a class of its own.
const FEW: usize = ProblemClass::COUNT;

/// In a sample, one of so many problems of [`every_size`] is computed.
const SAMPLED: usize = 5;

/// One program and the configurations that share it.
#[derive(Clone, Debug)]
pub struct SourceUnit {
    /// The class.
    pub class: ProblemClass,
    /// The configurations, at least one.
    pub configurations: Vec<Configuration>,
    /// Which problems.
    pub problems: Problems,
}

/// What a unit computes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Problems {
    /// Every size, and seeded problems for each configuration.
    All,
    /// A few around a configuration's own sizes, for devices that are slow: simulators and emulators.
    Few,
    /// A sample of the sizes, drawn by a seed, and seeded problems for each configuration.
    Sample(u64),
}

/// What a unit did.
#[derive(Clone, Debug)]
pub struct SourceReport {
    /// The program.
    pub program: String,
    /// Configurations checked.
    pub configurations: usize,
    /// Why each configuration that is not checked does not fit the device.
    pub ruled_out: Vec<Misfit>,
    /// Problems computed.
    pub problems: usize,
    /// The largest error as a share of its bound.
    pub worst: f64,
    /// What was wrong.
    pub wrong: Vec<Wrong>,
}

impl SourceUnit {
    /// Every program of the kernel space and the universal kernel, in every class. With a seed they are
    /// shuffled and then dealt out, so that each family and class soon has its turn, and each computes a
    /// sample of the sizes.
    #[must_use]
    pub fn all(seed: Option<u64>) -> Vec<Self> {
        let units = universal_units().chain(Self::by_program(space::all())).collect();
        Self::in_order(units, seed)
    }

    /// Every program of one family in every class; shuffled, dealt out and sampled if there is a seed.
    #[must_use]
    pub fn of_family(family: &'static dyn Family, seed: Option<u64>) -> Vec<Self> {
        let all = space::all().into_iter();
        let configurations: Vec<_> =
            all.filter(|configuration| configuration.family().name() == family.name()).collect();
        if configurations.is_empty() {
            return universal_units().collect();
        }
        Self::in_order(Self::by_program(configurations), seed)
    }

    /// A few configurations of every family on a few problems: spread over the family's part of the
    /// starter set, and over the classes, so that each family meets every class.
    #[must_use]
    pub fn few() -> Vec<Self> {
        families::ALL.iter().flat_map(|family| Self::few_of_family(*family)).collect()
    }

    /// [`Self::few`] of one family.
    #[must_use]
    pub fn few_of_family(family: &'static dyn Family) -> Vec<Self> {
        let mut starter = space::starter();
        starter.retain(|configuration| configuration.family().name() == family.name());
        if starter.is_empty() {
            let unit = |unit| Self { problems: Problems::Few, ..unit };
            return universal_units().map(unit).collect();
        }
        let unit = |(number, class): (usize, ProblemClass)| {
            let configuration = starter.get(number * starter.len() / FEW)?.clone();
            Some(Self { class, configurations: vec![configuration], problems: Problems::Few })
        };
        (0..FEW).zip(ProblemClass::all()).filter_map(unit).collect()
    }

    fn by_program(configurations: Vec<Configuration>) -> Vec<Self> {
        let mut by_program: BTreeMap<String, Self> = BTreeMap::new();
        for configuration in configurations {
            for class in ProblemClass::all() {
                let unit =
                    by_program.entry(configuration.program(class).name).or_insert_with(|| Self {
                        class,
                        configurations: Vec::new(),
                        problems: Problems::All,
                    });
                unit.configurations.push(configuration.clone());
            }
        }
        by_program.into_values().collect()
    }

    fn in_order(units: Vec<Self>, seed: Option<u64>) -> Vec<Self> {
        match seed {
            Some(seed) => {
                let mut units = deal(shuffled(units, seed), seed);
                for (number, unit) in (0..).zip(&mut units) {
                    unit.problems = Problems::Sample(seed.wrapping_add(number));
                }
                units
            }
            None => units,
        }
    }

    fn family(&self) -> &'static str {
        self.configurations.first().map_or("", |configuration| configuration.family().name())
    }
}

fn shuffled<T>(mut items: Vec<T>, seed: u64) -> Vec<T> {
    let mut sequence = Sequence::new(seed);
    for last in (1..items.len()).rev() {
        items.swap(last, sequence.below(last as u64 + 1) as usize);
    }
    items
}

/// One unit of each family and class, then the next of each, and so on. Within a round all families come
/// in one class before another, and the precisions take turns.
fn deal(units: Vec<SourceUnit>, seed: u64) -> Vec<SourceUnit> {
    let of = |precision, seed| {
        shuffled(Transposes::ALL.map(|one| ProblemClass::new(precision, one)).to_vec(), seed)
    };
    let numbered = (0..).zip(Precision::ALL);
    let each: Vec<_> = numbered.map(|(number, one)| of(one, seed.wrapping_add(number))).collect();
    let turns = 0..Transposes::ALL.len();
    let classes =
        turns.flat_map(|turn| each.iter().filter_map(move |classes| classes.get(turn).copied()));
    let mut hands: Vec<Vec<SourceUnit>> = Vec::new();
    for class in classes {
        for family in families::ALL {
            let hand =
                units.iter().filter(|unit| (unit.class, unit.family()) == (class, family.name()));
            hands.push(hand.cloned().collect());
        }
    }
    let rounds = hands.iter().map(Vec::len).max().unwrap_or(0);
    let round = |number: usize| hands.iter().filter_map(move |hand| hand.get(number).cloned());
    (0..rounds).flat_map(round).collect()
}

fn universal_units() -> impl Iterator<Item = SourceUnit> {
    ProblemClass::all().map(|class| SourceUnit {
        class,
        configurations: vec![Configuration::universal()],
        problems: Problems::All,
    })
}

/// Check one unit.
///
/// # Errors
/// The driver does not build or launch something; a wrong result is in the report.
pub fn check_sources<D: Device>(
    device: &D,
    unit: &SourceUnit,
) -> Result<SourceReport, DeviceError> {
    match unit.class.element() {
        ElementType::F32 => check::<D, f32>(device, unit),
        ElementType::F16 => check::<D, f16>(device, unit),
    }
}

fn check<D: Device, T: Element + Pod>(
    device: &D,
    unit: &SourceUnit,
) -> Result<SourceReport, DeviceError> {
    let class = unit.class;
    let mut report = SourceReport {
        program: String::new(),
        configurations: 0,
        ruled_out: Vec::new(),
        problems: 0,
        worst: 0.0,
        wrong: Vec::new(),
    };
    let mut kernel = None;
    for (number, configuration) in unit.configurations.iter().enumerate() {
        let program = configuration.program(class);
        report.program.clone_from(&program.name);
        // What cannot run need not build.
        if let Err(misfit) = configuration.fits(&device.info().limits) {
            report.ruled_out.push(misfit);
            continue;
        }
        if kernel.is_none() {
            kernel = Some(device.build(&program)?);
        }
        let Some(kernel) = &mut kernel else { continue };
        let have = device.work_group_limit(kernel)?;
        let need = configuration.work_group();
        if need > have {
            report.ruled_out.push(Misfit::WorkGroup { need, have });
            continue;
        }
        let is_first = report.configurations == 0;
        let problems = problems(unit, configuration, number as u64, is_first);
        report.configurations += 1;
        report.problems += problems.len();
        match compare::<D, T>(device, kernel, configuration, &problems)? {
            Ok(worst) => report.worst = report.worst.max(worst),
            Err(wrong) => report.wrong.push(*wrong),
        }
    }
    Ok(report)
}

/// The problems of one configuration of a unit; the first of a program computes the sizes too.
fn problems(
    unit: &SourceUnit,
    configuration: &Configuration,
    seed: u64,
    is_first: bool,
) -> Vec<Problem> {
    let class = unit.class;
    let mut problems = match unit.problems {
        Problems::All | Problems::Sample(_) => seeded(class, PROBLEMS, LARGEST, seed),
        Problems::Few => {
            let [columns, rows, _] = configuration.family().work_group(configuration.parameters());
            let [wide, high, steps] = configuration.item();
            few(class, [columns * wide, rows * high], steps, &mut Sequence::new(seed))
        }
    };
    match unit.problems {
        Problems::All if is_first => problems.extend(every_size(class)),
        Problems::Sample(seed) if is_first => {
            let all = every_size(class);
            let count = all.len() / SAMPLED;
            problems.extend(shuffled(all, seed).into_iter().take(count));
        }
        _ => {}
    }
    problems
}

fn compare<D: Device, T: Element + Pod>(
    device: &D,
    kernel: &mut D::Kernel,
    configuration: &Configuration,
    problems: &[Problem],
) -> Result<Result<f64, Box<Wrong>>, DeviceError> {
    let pool = Pool::<T, D::Buffer>::new(device, problems, 7)?;
    Ok(pool.run(device, kernel, configuration)?.map_err(|wrong| {
        let (problem, mismatch) = *wrong;
        Box::new(Wrong { kernel: configuration.to_string(), problem, mismatch })
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::mock::{Enqueued, Mock};
    use crate::parted::parted;

    #[test]
    fn the_units_are_the_whole_space_whatever_the_seed() {
        for seed in [None, Some(1)] {
            let units = SourceUnit::all(seed);
            let count: usize = units.iter().map(|unit| unit.configurations.len()).sum();
            assert_eq!(count, (1 + space::all().len()) * ProblemClass::COUNT);
            let tile = units.iter().filter(|unit| unit.configurations[0].family().name() == "tile");
            assert_eq!(tile.count(), 64 * ProblemClass::COUNT);
        }
    }

    #[test]
    fn every_family_in_every_class_has_its_turn_before_any_has_a_second() {
        let of = |units: &[SourceUnit]| -> BTreeSet<_> {
            units.iter().map(|unit| (unit.family(), unit.class.to_string())).collect()
        };
        let kinds = families::ALL.len();
        for seed in [1, 2] {
            let units = SourceUnit::all(Some(seed));
            assert_eq!(
                of(&units[..kinds * ProblemClass::COUNT]).len(),
                kinds * ProblemClass::COUNT
            );
            for (precision, first) in Precision::ALL.into_iter().zip((0..).step_by(kinds)) {
                let turn = &units[first..first + kinds];
                assert!(turn.iter().all(|unit| unit.class.precision == precision));
                assert_eq!(
                    turn.iter().map(SourceUnit::family).collect::<BTreeSet<_>>().len(),
                    kinds
                );
            }
        }
        let names =
            |seed| SourceUnit::all(Some(seed)).iter().map(SourceUnit::family).collect::<Vec<_>>();
        assert_eq!(names(1), names(1));
        let programs = |seed| -> Vec<_> {
            SourceUnit::all(Some(seed)).into_iter().map(|unit| unit.configurations).collect()
        };
        assert_ne!(programs(1), programs(2));
        assert_eq!(programs(u64::MAX).len(), programs(1).len());
    }

    #[test]
    fn the_units_of_a_family_are_its_programs_in_every_class() {
        let of = |name: &str| SourceUnit::of_family(families::by_name(name).unwrap(), Some(1));
        let tile = of("tile");
        assert_eq!(tile.len(), 64 * ProblemClass::COUNT);
        assert!(tile.iter().all(|unit| unit.configurations[0].family().name() == "tile"));
        assert_eq!(of("universal").len(), ProblemClass::COUNT);
    }

    #[test]
    fn a_few_of_every_family_meet_every_class() {
        let units = SourceUnit::few();
        for family in families::ALL {
            let of_family = units.iter().filter(|unit| unit.family() == family.name());
            let classes: BTreeSet<_> = of_family.map(|unit| unit.class.to_string()).collect();
            assert_eq!(classes.len(), ProblemClass::COUNT, "{}", family.name());
        }
        let tile = |unit: &&SourceUnit| unit.family() == "tile";
        let report = check_sources(&Mock::default(), units.iter().find(tile).unwrap()).unwrap();
        assert!(report.wrong.is_empty());
        assert_eq!((report.configurations, report.problems), (1, 5));
    }

    #[test]
    fn a_right_kernel_passes_and_a_wrong_one_is_named() {
        let units = SourceUnit::all(None);
        let unit = units.iter().find(|unit| unit.configurations.len() == 10).unwrap();
        let report = check_sources(&Mock::default(), unit).unwrap();
        assert!(report.wrong.is_empty() && report.worst <= 1.0);
        assert_eq!((report.configurations, report.problems), (10, 10 * PROBLEMS + 1000));
        let sampled = SourceUnit { problems: Problems::Sample(1), ..unit.clone() };
        let report = check_sources(&Mock::default(), &sampled).unwrap();
        assert_eq!((report.configurations, report.problems), (10, 10 * PROBLEMS + 200));
        let wrong = Mock { wrong_results: vec!["tile:".to_owned()], ..Mock::default() };
        let report = check_sources(&wrong, unit).unwrap();
        assert_eq!(report.wrong.len(), 10);
        assert!(report.wrong[0].to_string().contains("tile:"), "{}", report.wrong[0]);
    }

    #[test]
    fn a_kernel_of_two_steps_is_checked_with_one_buffer_of_scratch() {
        let unit = SourceUnit {
            class: ProblemClass::F32_NN,
            configurations: vec![parted(3)],
            problems: Problems::All,
        };
        let device = Mock::default();
        let report = check_sources(&device, &unit).unwrap();
        assert!(report.wrong.is_empty() && report.configurations == 1);
        assert_eq!(device.allocated.get(), 4);
        let enqueued = device.enqueued.borrow();
        let count = |wanted| enqueued.iter().filter(|one| **one == wanted).count();
        let launches = |of| count(Enqueued::Launch { of, waits: 0 });
        assert!(launches(0) > 0 && launches(1) == launches(0));
    }
}
