//! A family with all its parameters: what is measured, chosen and shipped.

use std::fmt;
use std::str::FromStr;

use selector_core::{PackedConfig, ProblemClass};

use crate::families::{self, Family};
use crate::{CheckedProblem, Launches, Limits, Misfit, Program};

/// One kernel, fully specified. As text: `family:parameters`, e.g. `tile:4x8x4@16x16`.
#[derive(Clone)]
pub struct Configuration {
    family: &'static dyn Family,
    parameters: Vec<u16>,
}

/// Why a text or packed form is not a configuration.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// No family has this name.
    #[error("no kernel family is called `{name}`; families: {known}")]
    UnknownFamily {
        /// The name given.
        name: String,
        /// Every family, separated by commas.
        known: String,
    },
    /// No family has this number: the model comes from a newer build.
    #[error("no kernel family has number {0}; this build is older than the model")]
    UnknownFamilyNumber(u8),
    /// The parameters are not the family's.
    #[error("`{parameters}` are not parameters of family `{family}`: expected {expected}")]
    Parameters {
        /// The family.
        family: &'static str,
        /// What was given.
        parameters: String,
        /// The form and the values that are allowed.
        expected: &'static str,
    },
}

impl Configuration {
    /// A configuration of `family`.
    ///
    /// # Errors
    /// [`ConfigurationError::Parameters`] if the family does not have these.
    pub fn new(
        family: &'static dyn Family,
        parameters: Vec<u16>,
    ) -> Result<Self, ConfigurationError> {
        if family.allows(&parameters) {
            Ok(Self { family, parameters })
        } else {
            Err(ConfigurationError::Parameters {
                family: family.name(),
                parameters: format!("{parameters:?}"),
                expected: family.expected(),
            })
        }
    }

    /// The universal kernel: any class, any shape, any device.
    #[must_use]
    pub fn universal() -> Self {
        Self { family: families::UNIVERSAL, parameters: Vec::new() }
    }

    /// The configuration that a model carries.
    ///
    /// # Errors
    /// The family is unknown to this build, or the parameters are not its.
    pub fn from_packed(packed: &PackedConfig) -> Result<Self, ConfigurationError> {
        let family = families::by_number(packed.family)
            .ok_or(ConfigurationError::UnknownFamilyNumber(packed.family))?;
        Self::new(family, packed.parameters.to_vec())
    }

    /// The form that a model carries.
    #[must_use]
    pub fn packed(&self) -> PackedConfig {
        PackedConfig {
            family: families::number_of(self.family),
            parameters: self
                .parameters
                .iter()
                .copied()
                .take(selector_core::MAX_PARAMETERS)
                .collect(),
        }
    }

    /// The family.
    #[must_use]
    pub fn family(&self) -> &'static dyn Family {
        self.family
    }

    /// Parameter values, in the family's order.
    #[must_use]
    pub fn parameters(&self) -> &[u16] {
        &self.parameters
    }

    /// The OpenCL program that has this kernel for `class`. Configurations that differ only in
    /// what is decided at launch share one.
    #[must_use]
    pub fn program(&self, class: ProblemClass) -> Program {
        self.family.program(&self.parameters, class)
    }

    /// How to launch the kernel for a problem that [has work](CheckedProblem::has_work): one or
    /// more launches that together compute all of C.
    #[must_use]
    pub fn launches(&self, problem: &CheckedProblem) -> Launches {
        self.family.launches(&self.parameters, problem)
    }

    /// Bytes of scratch memory that the launches need; 0 for the universal kernel.
    #[must_use]
    pub fn scratch(&self, problem: &CheckedProblem) -> u64 {
        self.family.scratch(&self.parameters, problem)
    }

    /// Parts that k is split into.
    #[must_use]
    pub fn parts(&self, problem: &CheckedProblem) -> u32 {
        self.family.parts(&self.parameters, problem)
    }

    /// Work-items of the largest work-group that is launched.
    #[must_use]
    pub fn work_group(&self) -> u64 {
        self.family.largest_group(&self.parameters)
    }

    /// Columns and rows of C that a work-item computes, and steps along k that it takes at once.
    #[must_use]
    pub fn item(&self) -> [u64; 3] {
        self.family.item(&self.parameters)
    }

    /// Whether a device with these limits can run the kernel.
    ///
    /// # Errors
    /// [`Misfit`] names the limit.
    pub fn fits(&self, limits: &Limits) -> Result<(), Misfit> {
        self.family.fits(&self.parameters, limits)
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family.name())?;
        let parameters = self.family.write(&self.parameters);
        if parameters.is_empty() { Ok(()) } else { write!(f, ":{parameters}") }
    }
}

impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Configuration {
    fn eq(&self, other: &Self) -> bool {
        self.family.name() == other.family.name() && self.parameters == other.parameters
    }
}

impl Eq for Configuration {}

impl FromStr for Configuration {
    type Err = ConfigurationError;

    fn from_str(text: &str) -> Result<Self, ConfigurationError> {
        let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
        let family = families::by_name(name).ok_or_else(|| ConfigurationError::UnknownFamily {
            name: name.to_owned(),
            known: families::names(),
        })?;
        family
            .parse(parameters)
            .filter(|values| family.allows(values))
            .map(|parameters| Self { family, parameters })
            // One name for each configuration: no `+4`, no `04`, no `universal:`.
            .filter(|configuration| configuration.to_string() == text)
            .ok_or_else(|| ConfigurationError::Parameters {
                family: family.name(),
                parameters: parameters.to_owned(),
                expected: family.expected(),
            })
    }
}

#[cfg(test)]
mod tests {
    use selector_core::GemmShape;

    use super::*;
    use crate::{Launch, Problem, SubGroups, space};

    fn limits(work_group: u64, work_items: [u64; 3]) -> Limits {
        let sub_groups = SubGroups::NONE;
        Limits { work_group, work_items, local_memory: 32_768, sub_groups }
    }

    fn checked(shape: GemmShape) -> CheckedProblem {
        let problem = Problem::packed(ProblemClass::F32_NN, shape);
        let [a, b, c] = problem.buffer_lengths().unwrap();
        problem.check(a, b, c).unwrap()
    }

    #[test]
    fn every_configuration_round_trips_as_text_and_packed() {
        for configuration in space::all().into_iter().chain([Configuration::universal()]) {
            let text = configuration.to_string();
            assert_eq!(text.parse::<Configuration>().as_ref(), Ok(&configuration));
            assert_eq!(Configuration::from_packed(&configuration.packed()), Ok(configuration));
        }
        assert_eq!(Configuration::universal().to_string(), "universal");
        assert_eq!(Configuration::universal().packed().family, 0);
    }

    #[test]
    fn a_text_that_is_no_configuration_says_what_would_be_one() {
        let error = |text: &str| text.parse::<Configuration>().unwrap_err().to_string();
        let message = error("tiles:4x8x4@16x16");
        assert!(message.contains("`tiles`") && message.contains("universal, tile"), "{message}");
        for parameters in [
            "",
            "4x8x4",
            "4x8x4@",
            "4x8@16x16",
            "4x8x4x1@16x16",
            "4x8x4@16x16x1",
            "4x8x4@16",
            "3x8x4@16x16",
            "16x8x4@16x16",
            "4x8x4@16x32",
            "0x8x4@16x16",
            "+4x8x4@16x16",
            "04x8x4@16x16",
            "4x8x4@16x16 ",
            "65537x8x4@16x16",
            "4x8x4@16x16@8x8",
        ] {
            let message = error(&format!("tile:{parameters}"));
            assert!(message.contains(&format!("`{parameters}`")), "{message}");
            assert!(message.contains("RxAxC@ROWxCOL"), "{message}");
        }
        assert!(error("universal:4").contains("`universal`"));
        assert!(error("universal:").contains("`universal`"));
        assert!(error("").contains("no kernel family"));
    }

    #[test]
    fn a_packed_form_of_another_build_is_refused() {
        let mut packed = Configuration::universal().packed();
        packed.family = 200;
        let error = Configuration::from_packed(&packed).unwrap_err();
        assert_eq!(error, ConfigurationError::UnknownFamilyNumber(200));
        let mut packed = "tile:4x8x4@16x16".parse::<Configuration>().unwrap().packed();
        packed.parameters[0] = 3;
        let error = Configuration::from_packed(&packed).unwrap_err();
        assert!(matches!(error, ConfigurationError::Parameters { family: "tile", .. }));
    }

    #[test]
    fn limits_are_named() {
        let square: Configuration = "tile:4x8x4@16x16".parse().unwrap();
        let row: Configuration = "tile:4x8x4@1x64".parse().unwrap();
        let column: Configuration = "tile:4x8x4@64x1".parse().unwrap();
        let small = square.fits(&limits(64, [64; 3]));
        assert_eq!(small, Err(Misfit::WorkGroup { need: 256, have: 64 }));
        let flat = limits(256, [256, 1, 1]);
        let misfit = |need| Err(Misfit::WorkItems { dimension: 1, need, have: 1 });
        assert_eq!(square.fits(&flat), misfit(16));
        assert_eq!(column.fits(&flat), misfit(64));
        assert_eq!(row.fits(&flat), Ok(()));
        let one = limits(1, [1; 3]);
        let mut tiles = space::all();
        tiles.retain(|configuration| configuration.family().name() == "tile");
        assert!(tiles.iter().all(|configuration| configuration.fits(&one).is_err()));
        assert_eq!(Configuration::universal().fits(&one), Ok(()));
    }

    #[test]
    fn work_items_cover_c_in_whole_work_groups() {
        let launch = |text: &str, shape| {
            let launches = text.parse::<Configuration>().unwrap().launches(&checked(shape));
            assert_eq!(launches.len(), 1, "{text}");
            (launches[0].global, launches[0].local)
        };
        let shape = GemmShape::new(500 * 4, 3, 17, 2);
        assert_eq!(launch("tile:4x8x4@8x16", shape), ([16, 504, 2], [16, 8, 1]));
        assert_eq!(launch("tile:1x1x1@1x128", shape), ([128, 2000, 2], [128, 1, 1]));
        assert_eq!(launch("universal", shape), ([5, 500, 2], [1, 1, 1]));
        assert_eq!(launch("tile:8x8x8@8x8", GemmShape::new(1, 0, 1, 1)), ([8, 8, 1], [8, 8, 1]));
    }

    #[test]
    fn a_tall_c_or_a_long_batch_takes_several_launches() {
        let pieces = |text: &str, shape| {
            text.parse::<Configuration>().unwrap().launches(&checked(shape)).len()
        };
        assert_eq!(pieces("tile:1x1x1@1x64", GemmShape::new(200_704, 1, 64, 1)), 7);
        assert_eq!(pieces("tile:8x1x1@64x1", GemmShape::new(200_704, 1, 64, 1)), 1);
        assert_eq!(pieces("tile:8x8x8@8x8", GemmShape::new(8, 1, 8, 100_000)), 4);
        assert_eq!(pieces("universal", GemmShape::new(1, 1, 200_704, 1)), 2);
        assert_eq!(pieces("universal", GemmShape::new(0, 1, 5, 1)), 0);
    }

    #[test]
    fn launches_are_of_the_programs_functions_and_scratch_is_for_those_that_take_it() {
        let shapes = [GemmShape::new(1, 1, 1, 1), GemmShape::new(40, 300, 7, 2)];
        for configuration in space::all().into_iter().chain([Configuration::universal()]) {
            let program = configuration.program(ProblemClass::F32_NN);
            for problem in shapes.map(checked) {
                let launches = configuration.launches(&problem);
                let known = |launch: &Launch| launch.function < program.functions.len();
                assert!(!launches.is_empty() && launches.iter().all(known), "{configuration}");
                assert!(configuration.parts(&problem) >= 1, "{configuration}");
                assert!(configuration.scratch(&problem) == 0 || program.scratch, "{configuration}");
                let items: Vec<u64> =
                    launches.iter().map(|launch| launch.local.iter().product()).collect();
                assert!(items.iter().all(|items| *items <= configuration.work_group()));
                assert!(items.contains(
                    &configuration.family().work_group(configuration.parameters()).iter().product()
                ));
            }
        }
        // A problem that no device holds is asked about too.
        let huge = checked(GemmShape::new(65_535, 65_535, 65_535, 1 << 30));
        for configuration in space::all() {
            assert!(configuration.parts(&huge) >= 1, "{configuration}");
            let bytes = configuration.scratch(&huge);
            let takes_scratch = configuration.program(ProblemClass::F32_NN).scratch;
            assert!(bytes == 0 || takes_scratch, "{configuration}");
        }
        assert_eq!(Configuration::universal().scratch(&huge), 0);
    }
}
