//! A family with all its parameters: what is measured, chosen and shipped.

use std::fmt;
use std::str::FromStr;

use selector_core::{PackedConfig, ProblemClass};

use crate::families::{self, Family};
use crate::{CheckedProblem, Launch, Limits, Misfit, Program};

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
    /// more launches that together cover C.
    #[must_use]
    pub fn launches(&self, problem: &CheckedProblem) -> Vec<Launch> {
        self.family.launches(&self.parameters, problem)
    }

    /// Work-items of a work-group.
    #[must_use]
    pub fn work_group(&self) -> u64 {
        self.family.work_group(&self.parameters).iter().product()
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
            .ok_or_else(|| ConfigurationError::Parameters {
                family: family.name(),
                parameters: parameters.to_owned(),
                expected: family.expected(),
            })
    }
}
