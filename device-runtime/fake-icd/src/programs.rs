//! Which of the project's programs a source or a binary is.

use std::collections::BTreeSet;

use kernels::families::{self, Family};
use kernels::{Configuration, Program};
use selector_core::{Precision, ProblemClass, Transposes};
use serde::{Deserialize, Serialize};

use crate::cl;
use crate::faults::Launched;

/// Begins every binary.
const MAGIC: &[u8] = b"gemmtree pretend binary\n";

/// A built program.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Code {
    /// As [`Program::name`]; a program that is none of the project's has its functions' names.
    pub(crate) name: String,
    /// As text; empty of a program that is none of the project's.
    class: String,
    pub(crate) functions: Vec<Function>,
    /// The driver version that built it.
    driver: String,
    #[serde(skip)]
    pub(crate) from_binary: bool,
    /// Whether another driver built it, so that it computes something else.
    #[serde(skip)]
    pub(crate) is_stale: bool,
}

/// A kernel function.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
}

/// What a kernel function takes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Parameter {
    Buffer,
    Local,
    /// So many bytes.
    Value(usize),
}

impl Code {
    /// What a compiler makes of a source.
    pub(crate) fn build(source: &str, options: &str, driver: &str) -> Self {
        let class = class_of(options);
        let known = class.and_then(|class| program_of(source, options, class));
        let (name, class, functions) = match known {
            Some(program) => {
                let parameters = parameters_of(program.scratch);
                let function = |name: &&str| Function {
                    name: (*name).to_owned(),
                    parameters: parameters.clone(),
                };
                let functions = program.functions.iter().map(function).collect();
                (program.name, program.class.to_string(), functions)
            }
            None => {
                let functions = functions_in(source);
                let names: Vec<_> = functions.iter().map(|one| one.name.as_str()).collect();
                (names.join("+"), String::new(), functions)
            }
        };
        let driver = driver.to_owned();
        Self { name, class, functions, driver, from_binary: false, is_stale: false }
    }

    /// With these of its functions alone, by their positions.
    pub(crate) fn only(&self, positions: &BTreeSet<usize>) -> Self {
        let all = self.functions.iter().enumerate();
        let kept = all.filter(|(at, _)| positions.contains(at));
        Self { functions: kept.map(|(_, one)| one.clone()).collect(), ..self.clone() }
    }

    /// The binary, which only this driver reads.
    pub(crate) fn binary(&self) -> Vec<u8> {
        // A plain struct of texts and numbers is always written.
        let text = serde_json::to_vec(self).unwrap_or_default();
        [MAGIC, &text].concat()
    }

    /// Read a binary; whether it is stale is told by [`Self::is_stale`].
    pub(crate) fn load(binary: &[u8], driver: &str) -> Result<Self, i32> {
        let text = binary.strip_prefix(MAGIC).ok_or(cl::INVALID_BINARY)?;
        let code: Self = serde_json::from_slice(text).map_err(|_| cl::INVALID_BINARY)?;
        let is_stale = code.driver != driver;
        Ok(Self { from_binary: true, is_stale, ..code })
    }

    /// The class that it computes.
    pub(crate) fn class(&self) -> Option<ProblemClass> {
        self.class.parse().ok()
    }

    /// Whether it is the program of the configuration called `name`, and `launch` one of its launches.
    pub(crate) fn runs(&self, name: &str, launch: Option<Launched<'_>>) -> bool {
        let Ok(configuration) = name.parse::<Configuration>() else { return false };
        let Some(class) = self.class() else { return false };
        if configuration.program(class).name != self.name {
            return false;
        }
        let Some(Launched { function, local, problem: Some(problem) }) = launch else {
            return true;
        };
        let named = |at: usize| self.functions.get(at).map_or("", |function| &function.name);
        let launches = configuration.launches(problem);
        launches.iter().any(|one| named(one.function) == function && one.local == local)
    }
}

/// The class that options fix.
fn class_of(options: &str) -> Option<ProblemClass> {
    let flag = |name: &str| {
        let word = |value| format!("-D{name}={value}");
        let has = |word: String| options.split_whitespace().any(|one| one == word);
        (has(word(0)) || has(word(1))).then(|| has(word(1)))
    };
    let transposes = Transposes::of(flag("TRANSPOSE_A")?, flag("TRANSPOSE_B")?);
    let precision = match (flag("HALF")?, flag("NATIVE")) {
        (false, _) => Precision::F32,
        (true, Some(true)) => Precision::F16Half,
        (true, _) => Precision::F16,
    };
    Some(ProblemClass::new(precision, transposes))
}

/// The project's program with this source and these options.
fn program_of(source: &str, options: &str, class: ProblemClass) -> Option<Program> {
    let family = families::ALL.iter().find(|family| family.source() == source)?;
    let of_space = |family: &'static dyn Family| {
        let lists = family.space().into_iter();
        lists.filter_map(move |parameters| Configuration::new(family, parameters).ok())
    };
    let configurations = std::iter::once(Configuration::universal()).chain(of_space(*family));
    let mut programs = configurations.map(|one| one.program(class));
    programs.find(|program| program.source == source && program.options.trim() == options.trim())
}

/// What every function of the project's programs takes (`kernels::launch`).
fn parameters_of(scratch: bool) -> Vec<Parameter> {
    use Parameter::{Buffer, Value};
    let matrix = [Buffer, Value(8), Value(4), Value(8)];
    let mut parameters = vec![Value(4); 5];
    parameters.extend([matrix; 3].concat());
    if scratch {
        parameters.extend([Value(4), Buffer]);
    }
    parameters
}

/// The kernel functions that stand in a source.
fn functions_in(source: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find("kernel void ") {
        rest = rest.split_at(at + "kernel void ".len()).1;
        let Some((name, after)) = rest.split_once('(') else { break };
        let Some((list, _)) = after.split_once(')') else { break };
        let parameters = list.split(',').map(str::trim).filter(|one| !one.is_empty());
        functions.push(Function {
            name: name.trim().to_owned(),
            parameters: parameters.map(parameter).collect(),
        });
    }
    functions
}

fn parameter(text: &str) -> Parameter {
    let has = |word: &str| text.split_whitespace().any(|one| one.trim_start_matches('_') == word);
    if has("global") || has("constant") {
        Parameter::Buffer
    } else if has("local") {
        Parameter::Local
    } else if has("ulong") || has("long") || has("double") {
        Parameter::Value(8)
    } else {
        Parameter::Value(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_known_by_its_source_and_options_and_by_its_binary() {
        for configuration in kernels::space::starter() {
            for class in ProblemClass::all() {
                let program = configuration.program(class);
                let code = Code::build(program.source, &program.options, "1");
                assert_eq!((&code.name, code.class()), (&program.name, Some(class)));
                let names: Vec<_> = code.functions.iter().map(|one| &one.name[..]).collect();
                assert_eq!(names, program.functions);
                let loaded = Code::load(&code.binary(), "1").unwrap();
                assert_eq!(loaded, Code { from_binary: true, ..code.clone() });
                assert!(Code::load(&code.binary(), "2").unwrap().is_stale);
                assert!(code.runs(&configuration.to_string(), None));
            }
        }
        assert_eq!(Code::load(b"\x7fELF", "1"), Err(cl::INVALID_BINARY));
    }

    #[test]
    fn any_other_program_has_the_functions_that_stand_in_it() {
        let code = Code::build("__kernel void one(__global int *a, ulong b, float c) {}", "", "1");
        let one = code.functions.first().unwrap();
        assert_eq!((&code.name[..], &one.name[..]), ("one", "one"));
        assert_eq!(one.parameters, [Parameter::Buffer, Parameter::Value(8), Parameter::Value(4)]);
    }
}
