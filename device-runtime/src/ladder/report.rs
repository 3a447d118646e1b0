//! On what each program stands, and what a user should know of it.

use std::fmt::{self, Write};

use kernels::bundle::DriverKey;
use kernels::space;
use selector_core::Model;
use serde::Serialize;

use super::attempt::Fault;

/// Characters of a text that a warning shows.
const LONGEST: usize = 100;

/// Where a program comes from; a later one is a lower rung.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// A binary that this driver made.
    Binary,
    /// A binary that another driver of this device made.
    ForeignBinary,
    /// Built from source now.
    Source,
    /// Of all kernels the universal one alone.
    Universal,
}

/// What became of one program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stood {
    /// [`Program::name`](kernels::Program::name).
    pub program: String,
    /// Whether it is that of the universal kernel.
    pub universal: bool,
    /// On what it stands; `None` if it is left out.
    pub rung: Option<Rung>,
    /// The rungs before, and why they do not hold it.
    pub tried: Vec<(Rung, Fault)>,
}

/// What became of a bundle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    /// The lowest rung that a program stands on; [`Rung::Universal`] if no other kernel can be used,
    /// although there are some.
    pub rung: Rung,
    /// Each program.
    pub programs: Vec<Stood>,
    /// What made the binaries that were given, if there were any.
    pub made_for: Option<DriverKey>,
    /// What is here.
    pub here: DriverKey,
    /// Name of the device whose times the model was trained on, and its driver; empty if it does not say.
    pub trained_on: (String, String),
    /// Hash of the kernel space that the model was trained on.
    pub space: Option<u64>,
}

/// What a user should know.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// The binaries are not this driver's.
    MadeElsewhere {
        /// What made them.
        made_for: Box<DriverKey>,
        /// What is here.
        here: Box<DriverKey>,
    },
    /// Programs were built from source.
    Built {
        /// How many.
        count: usize,
        /// Why their binaries did not serve, each reason once; none where there were no binaries.
        why: Vec<String>,
    },
    /// A program is left out.
    LeftOut {
        /// The program.
        program: String,
        /// Why.
        tried: String,
    },
    /// The model's times are those of another device, or of another driver of it.
    TrainedElsewhere {
        /// The device.
        device: String,
        /// Its driver.
        driver: String,
    },
    /// The model's times are those of other kernels.
    TrainedOnOtherSources,
    /// No kernel of the model can be used.
    Universal,
}

impl Report {
    pub(super) fn new(
        model: &Model<'_>,
        made_for: Option<DriverKey>,
        here: DriverKey,
        programs: Vec<Stood>,
    ) -> Self {
        let lowest = programs.iter().filter_map(|one| one.rung).max();
        let only = !programs.iter().any(|one| one.rung.is_some() && !one.universal);
        let rung = if only { Rung::Universal } else { lowest.unwrap_or(Rung::Universal) };
        let trained_on = (model.device().to_owned(), model.driver().to_owned());
        Self { rung, programs, made_for, here, trained_on, space: model.space() }
    }

    /// Whether every program is as it was given by this driver: there is nothing new to keep.
    #[must_use]
    pub fn is_as_given(&self) -> bool {
        let is_binary = |one: &Stood| one.rung == Some(Rung::Binary);
        self.programs.iter().all(|one| is_binary(one) || one.was_left_out())
    }

    /// Whether the model was trained on this device and driver.
    #[must_use]
    pub fn is_trained_here(&self) -> bool {
        let (device, driver) = &self.trained_on;
        (device, driver) == (&self.here.device, &self.here.driver)
    }

    /// The programs whose binary this driver made and runs, but computes something else with.
    #[must_use]
    pub fn wrong_binaries(&self) -> Vec<&str> {
        let is_wrong = |one: &&Stood| {
            one.tried.iter().any(|tried| matches!(tried, (Rung::Binary, Fault::Wrong(_))))
        };
        self.programs.iter().filter(is_wrong).map(|one| one.program.as_str()).collect()
    }

    /// Whether the driver crashed or hung over a program, or there was no process to try one in.
    #[must_use]
    pub fn is_machines_fault(&self) -> bool {
        let mut tried = self.programs.iter().flat_map(|one| &one.tried);
        tried.any(|(_, fault)| fault.is_machines())
    }

    /// What a user should know, the most important first.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some(made_for) = self.made_for.clone().filter(|key| *key != self.here) {
            let here = Box::new(self.here.clone());
            warnings.push(Warning::MadeElsewhere { made_for: Box::new(made_for), here });
        }
        let built = self.programs.iter().filter(|one| one.rung == Some(Rung::Source));
        let mut why: Vec<String> = Vec::new();
        for (_, fault) in built.clone().flat_map(|one| &one.tried) {
            let reason = shown(&fault.to_string());
            if !why.contains(&reason) {
                why.push(reason);
            }
        }
        let count = built.count();
        if count > 0 {
            warnings.push(Warning::Built { count, why });
        }
        for one in self.programs.iter().filter(|one| one.rung.is_none() && !one.was_left_out()) {
            let (program, mut tried) = (one.program.clone(), String::new());
            one.write_tried(&mut tried);
            warnings.push(Warning::LeftOut { program, tried });
        }
        if self.rung == Rung::Universal {
            warnings.push(Warning::Universal);
        } else {
            if !self.is_trained_here() {
                let (device, driver) = self.trained_on.clone();
                warnings.push(Warning::TrainedElsewhere { device, driver });
            }
            if self.space != Some(space::hash()) {
                warnings.push(Warning::TrainedOnOtherSources);
            }
        }
        warnings
    }

    /// Every rung that failed, a line each.
    pub(super) fn tried(&self) -> String {
        let mut text = String::new();
        for one in &self.programs {
            one.write_tried(&mut text);
        }
        text
    }
}

impl Stood {
    /// Whether this driver left it out when the bundle was made, which was told then.
    fn was_left_out(&self) -> bool {
        self.rung.is_none() && self.tried == [(Rung::Binary, Fault::Missing)]
    }

    fn write_tried(&self, text: &mut String) {
        for (rung, fault) in &self.tried {
            // Writing to a string does not fail.
            let _ = write!(text, "\n    {} of `{}`: {fault}", rung.name(), self.program);
        }
    }
}

impl Rung {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::ForeignBinary => "binary of another driver",
            Self::Source => "source",
            Self::Universal => "universal kernel",
        }
    }
}

/// What differs between two keys, by its name.
fn made_elsewhere(
    made_for: &DriverKey,
    here: &DriverKey,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.write_str("the binaries were made for ")?;
    write!(f, "`{}`, driver {}", shown(&made_for.device), shown(&made_for.driver))?;
    if (&made_for.device, &made_for.driver) != (&here.device, &here.driver) {
        write!(f, ", but this is `{}`, driver {}", shown(&here.device), shown(&here.driver))?;
    }
    let text = |text: &str| format!("`{}`", shown(text));
    let fields = |key: &DriverKey| {
        [
            ("platform", text(&key.platform)),
            ("vendor", text(&key.vendor)),
            ("compute units", key.compute_units.to_string()),
            ("kernel space", format!("{:016x}", key.space)),
        ]
    };
    for ((name, theirs), (_, ours)) in fields(made_for).iter().zip(&fields(here)) {
        if theirs != ours {
            write!(f, "; {name}: {theirs}, here {ours}")?;
        }
    }
    Ok(())
}

/// A text of a file or a driver on a line: what is no character to print is escaped, what is long is cut.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (at, one) in text.chars().enumerate() {
        if at == LONGEST {
            shown.push('…');
            break;
        }
        match one {
            one if one.is_control() => shown.extend(one.escape_default()),
            one => shown.push(one),
        }
    }
    shown
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MadeElsewhere { made_for, here } => made_elsewhere(made_for, here, f),
            Self::Built { count, why } => {
                match count {
                    1 => f.write_str("1 program was built from source")?,
                    count => write!(f, "{count} programs were built from source")?,
                }
                match &why[..] {
                    [] => Ok(()),
                    [first] => write!(f, " ({first})"),
                    [first, others @ ..] => write!(f, " ({first}; {} more reasons)", others.len()),
                }
            }
            Self::LeftOut { program, tried } => {
                write!(f, "`{program}` is left out; tried:{tried}")
            }
            Self::TrainedElsewhere { device, driver } => write!(
                f,
                "the model was trained on times of `{}`, driver {}; its choices are right \
                 here, but may not be the quickest: collect and train anew when there is time",
                shown(device),
                shown(driver)
            ),
            Self::TrainedOnOtherSources => write!(
                f,
                "the model was trained on times of other kernel sources; its choices may not be the \
                 quickest"
            ),
            Self::Universal => {
                write!(f, "only the universal kernel can be used, which is right, but slow")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_names_what_differs_and_no_text_of_a_key_breaks_its_line() {
        let here = DriverKey {
            platform: "P".to_owned(),
            vendor: "V".to_owned(),
            device: "D".to_owned(),
            compute_units: 4,
            driver: "1".to_owned(),
            space: 7,
        };
        let said = |made_for: DriverKey| {
            let (made_for, here) = (Box::new(made_for), Box::new(here.clone()));
            Warning::MadeElsewhere { made_for, here }.to_string()
        };
        let units = said(DriverKey { compute_units: 8, ..here.clone() });
        assert_eq!(units, "the binaries were made for `D`, driver 1; compute units: 8, here 4");
        let platform = said(DriverKey { platform: "Q".to_owned(), space: 9, ..here.clone() });
        assert!(platform.contains("; platform: `Q`, here `P`"), "{platform}");
        assert!(platform.contains("; kernel space: 0000000000000009, here 0"), "{platform}");
        assert!(!platform.contains("vendor"), "{platform}");
        let driver = said(DriverKey { driver: "\u{1b}[2J\n2".repeat(99), ..here.clone() });
        assert!(driver.contains("driver \\u{1b}[2J\\n2") && driver.contains("…, but"), "{driver}");
        assert!(!driver.contains(char::is_control) && driver.len() < 999, "{driver}");
    }
}
