//! What a compiler for a board's device makes of programs, without the device: tables that ship beside
//! the board files. To add one: write `devices/<name>.tsv`, then list it in [`ALL`].
//!
//! A table's first line names the compiler, the second the columns; then one program a line, by name.
//! Of a program with several functions it has the narrowest SIMD width and the largest of the rest.

use std::collections::BTreeMap;

use kernels::{Configuration, Program};
use selector_core::ProblemClass;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Every table that ships: its name and its text, by name.
pub static ALL: &[(&str, &str)] = &[("gen9", include_str!("../devices/gen9.tsv"))];

const COMPILER: &str = "# compiler: ";
const COLUMNS: &str = "program\thash\tsimd\tspilled\tscratch\tlocal\tcode";

/// Bytes of a register, and the least scratch memory that a thread gets where it needs some.
const REGISTER: u64 = 32;
const LEAST_SCRATCH: u64 = 1024;

/// What the compiler made of a program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Compiled {
    /// [`hash_of`] the program.
    pub hash: u64,
    /// Work-items that a thread computes side by side.
    pub simd: u64,
    /// Registers that did not fit, about.
    pub spilled: u64,
    /// Bytes of memory that stand in for registers and hold private arrays, for each thread.
    pub scratch: u64,
    /// Bytes of local memory of a work-group.
    pub local: u64,
    /// Bytes of instructions.
    pub code: u64,
}

impl Compiled {
    /// Whether it has private arrays in memory, for example since they are indexed at run time: it
    /// takes more scratch memory than what is spilled needs.
    #[must_use]
    pub const fn has_private_arrays(&self) -> bool {
        let spilled = (self.spilled * REGISTER).next_power_of_two();
        // How much is spilled is told approximately.
        let need = if self.spilled == 0 {
            0
        } else if spilled < LEAST_SCRATCH {
            LEAST_SCRATCH
        } else {
            spilled
        };
        self.scratch > 2 * need
    }
}

/// What a compiler made of many programs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Table {
    /// The compiler and its version.
    pub compiler: String,
    /// What it made of each program, by [`Program::name`].
    pub programs: BTreeMap<String, Compiled>,
}

/// Why a text is not a table.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {line}: {message}; write it again: make gen9-table")]
pub struct TableError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: &'static str,
}

impl Table {
    /// Read a table's text.
    ///
    /// # Errors
    /// [`TableError`] names the line.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let failed = |line, message| TableError { line, message };
        let mut lines = text.lines().zip(1..);
        let first = lines.next().and_then(|(line, _)| line.strip_prefix(COMPILER));
        let compiler = first.ok_or(failed(1, "names no compiler"))?.to_owned();
        if lines.next().is_none_or(|(line, _)| line != COLUMNS) {
            return Err(failed(2, "has other columns"));
        }
        let mut programs = BTreeMap::new();
        for (text, line) in lines {
            let (name, compiled) =
                row(text).ok_or(failed(line, "is not a name, a hash and five numbers"))?;
            if programs.insert(name.to_owned(), compiled).is_some() {
                return Err(failed(line, "has a program that is there already"));
            }
        }
        Ok(Self { compiler, programs })
    }

    /// The text that [`Self::parse`] reads.
    #[must_use]
    pub fn write(&self) -> String {
        let mut text = format!("{COMPILER}{}\n{COLUMNS}\n", self.compiler);
        for (name, compiled) in &self.programs {
            let Compiled { hash, simd, spilled, scratch, local, code } = compiled;
            text +=
                &format!("{name}\t{hash:016x}\t{simd}\t{spilled}\t{scratch}\t{local}\t{code}\n");
        }
        text
    }

    /// What is known of a program; `None` if nothing is, or if its source has changed since.
    #[must_use]
    pub fn of(&self, program: &Program) -> Option<&Compiled> {
        self.programs.get(&program.name).filter(|compiled| compiled.hash == hash_of(program))
    }
}

fn row(text: &str) -> Option<(&str, Compiled)> {
    let mut cells = text.split('\t');
    let (name, hash) = (cells.next()?, cells.next()?);
    let mut number = || cells.next()?.parse().ok();
    let compiled = Compiled {
        hash: u64::from_str_radix(hash, 16).ok()?,
        simd: number()?,
        spilled: number()?,
        scratch: number()?,
        local: number()?,
        code: number()?,
    };
    cells.next().is_none().then_some((name, compiled))
}

/// The hash of what a compiler sees of a program: its source without comments and empty lines, and its
/// options.
#[must_use]
pub fn hash_of(program: &Program) -> u64 {
    let mut digest = Sha256::new();
    let without_comment = |line: &'static str| line.split("//").next().unwrap_or(line).trim();
    for line in program.source.lines().map(without_comment).filter(|line| !line.is_empty()) {
        digest.update(line);
        digest.update("\n");
    }
    digest.update(&program.options);
    digest.finalize().iter().take(8).fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

/// Which table tells of a board's device, and what is too much.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CompiledRule {
    /// The table.
    #[serde(rename = "for")]
    pub table: TableName,
    /// Most registers that a configuration's programs may spill.
    pub spilled: u64,
}

/// The name of a table of [`ALL`].
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
pub struct TableName(String);

impl TryFrom<String> for TableName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if ALL.iter().any(|(known, _)| *known == name) {
            return Ok(Self(name));
        }
        let known: Vec<_> = ALL.iter().map(|(known, _)| *known).collect();
        Err(format!("no table is called `{name}`; tables: {}", known.join(", ")))
    }
}

impl TableName {
    /// The table; an empty one if its text does not parse, which the tests preclude.
    #[must_use]
    pub fn read(&self) -> Table {
        let text = ALL.iter().find(|(name, _)| *name == self.0).map_or("", |(_, text)| *text);
        Table::parse(text).unwrap_or_default()
    }
}

/// What a compiler does that makes a configuration too slow to be worth offering.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Spoilt {
    /// A program keeps private arrays in memory.
    #[error("the device's compiler keeps private arrays of its program in memory")]
    PrivateArrays,
    /// A program spills registers.
    #[error("its program spills {spilled} registers, more than {most}")]
    Spills {
        /// Registers, about.
        spilled: u64,
        /// Most that the board file allows.
        most: u64,
    },
}

impl CompiledRule {
    /// Whether the programs of a configuration, in all classes that the table has, are worth offering.
    ///
    /// # Errors
    /// [`Spoilt`] says why not.
    pub fn check(&self, table: &Table, configuration: &Configuration) -> Result<(), Spoilt> {
        let most = self.spilled;
        for class in ProblemClass::all() {
            let Some(compiled) = table.of(&configuration.program(class)) else { continue };
            if compiled.spilled > most {
                return Err(Spoilt::Spills { spilled: compiled.spilled, most });
            }
            if compiled.has_private_arrays() {
                return Err(Spoilt::PrivateArrays);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kernels::space;

    use super::*;

    fn gen9() -> Table {
        Table::parse(ALL[0].1).unwrap()
    }

    fn some() -> Compiled {
        Compiled { hash: 7, simd: 8, spilled: 140, scratch: 8192, local: 0, code: 21_048 }
    }

    #[test]
    fn a_table_round_trips_and_a_bad_line_is_named() {
        let programs = [("a".to_owned(), some()), ("b".to_owned(), some())].into();
        let table = Table { compiler: "c 1".to_owned(), programs };
        let text = table.write();
        assert_eq!(Table::parse(&text), Ok(table));
        let line = |text: &str| Table::parse(text).unwrap_err().line;
        assert_eq!(line(""), 1);
        assert_eq!(line(&text.replace("spilled", "spilt")), 2);
        assert_eq!(line(&text.replace("b\t", "a\t")), 4);
        assert_eq!(line(&text.replace("\t8\t", "\t-8\t")), 3);
        assert_eq!(line(&format!("{text}c\t7\t1\t1\t1\t1\t1\t1\n")), 5);
    }

    #[test]
    fn private_arrays_are_told_from_what_is_spilled() {
        assert!(!some().has_private_arrays());
        assert!(!Compiled { spilled: 3, scratch: 1024, ..some() }.has_private_arrays());
        assert!(!Compiled { spilled: 0, scratch: 0, ..some() }.has_private_arrays());
        assert!(Compiled { spilled: 0, scratch: 65_536, ..some() }.has_private_arrays());
        assert!(Compiled { scratch: 65_536, ..some() }.has_private_arrays());
    }

    #[test]
    fn the_hash_sees_code_and_options_but_no_comments() {
        let program = Configuration::universal().program(ProblemClass::F32_NN);
        let with = |source| hash_of(&Program { source, ..program.clone() });
        assert_eq!(with("a\nb"), with("// what\na // why\n\n  b\n"));
        assert_ne!(with("a\nb"), with("ab"));
        let other = Program { options: "-DX".to_owned(), ..program.clone() };
        assert_ne!(hash_of(&other), hash_of(&program));
    }

    #[test]
    fn the_starter_set_is_in_the_table_as_its_sources_are_now() {
        let table = gen9();
        assert!(table.compiler.starts_with("ocloc "), "{}", table.compiler);
        let board = crate::find("nuc-gen9").unwrap();
        let stale: Vec<String> = ["f32-nn", "f16-nn"]
            .into_iter()
            .flat_map(|class| {
                let class: ProblemClass = class.parse().unwrap();
                space::starter().into_iter().map(move |one| (one, class))
            })
            .filter(|(one, _)| board.allows(one).is_ok())
            .map(|(one, class)| one.program(class))
            .filter(|program| table.of(program).is_none())
            .map(|program| program.name)
            .collect();
        assert!(stale.is_empty(), "run `make gen9-table`: {stale:?}");
    }

    #[test]
    fn no_program_of_the_table_takes_more_local_memory_than_there_is() {
        let most = crate::find("nuc-gen9").unwrap().limits.local_memory.unwrap();
        for (name, compiled) in gen9().programs {
            assert!(compiled.local <= most, "{name}: {compiled:?}");
            assert!([8, 16, 32].contains(&compiled.simd), "{name}: {compiled:?}");
        }
    }

    #[test]
    fn what_spills_too_much_in_any_class_or_keeps_arrays_in_memory_is_spoilt() {
        let one: Configuration = "tile:8x8x8@8x8".parse().unwrap();
        let row = |class: &str, spilled| {
            let program = one.program(class.parse().unwrap());
            let hash = hash_of(&program);
            (program.name, Compiled { hash, spilled, scratch: 1024, ..some() })
        };
        let programs = [row("f32-nn", 10), row("f16-nn", 30)].into();
        let table = Table { compiler: String::new(), programs };
        let rule = |spilled| CompiledRule { table: TableName("gen9".to_owned()), spilled };
        assert_eq!(rule(29).check(&table, &one), Err(Spoilt::Spills { spilled: 30, most: 29 }));
        assert_eq!(rule(30).check(&table, &one), Ok(()));
        // Nothing is known of this one.
        assert_eq!(rule(0).check(&table, &"tile:1x1x1@8x8".parse().unwrap()), Ok(()));
        let change = |change: fn(&mut Compiled)| {
            let mut changed = table.clone();
            changed.programs.values_mut().for_each(change);
            changed
        };
        let large = change(|compiled| compiled.scratch = 65_536);
        assert_eq!(rule(30).check(&large, &one), Err(Spoilt::PrivateArrays));
        let stale = change(|compiled| compiled.hash += 1);
        assert_eq!(rule(0).check(&stale, &one), Ok(()));
    }
}
