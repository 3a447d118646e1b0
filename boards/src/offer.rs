//! What a board is offered to measure: configurations within its limits, of families that do not only
//! lose there, and that its device's compiler does not spoil.

use kernels::{Configuration, Limits, Misfit, families};
use serde::Deserialize;

use crate::Board;
use crate::compiled::{CompiledRule, Spoilt, Table};

/// The name of a kernel family.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
pub struct FamilyName(String);

impl TryFrom<String> for FamilyName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if families::by_name(&name).is_some() {
            return Ok(Self(name));
        }
        let known: Vec<_> = families::ALL.iter().map(|family| family.name()).collect();
        Err(format!("no kernel family is called `{name}`; families: {}", known.join(", ")))
    }
}

/// Why a board is not offered a configuration.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unoffered {
    /// The board file excludes its family.
    #[error("family `{0}` is excluded")]
    Excluded(&'static str),
    /// The device's limits rule it out.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// The device's compiler spoils it.
    #[error(transparent)]
    Spoilt(#[from] Spoilt),
}

/// Decides what a board is offered.
#[derive(Debug)]
pub struct Offer<'a> {
    board: &'a Board,
    compiled: Option<(&'a CompiledRule, Table)>,
}

impl<'a> Offer<'a> {
    /// The offer of `board`.
    #[must_use]
    pub fn of(board: &'a Board) -> Self {
        Self { board, compiled: board.compiled.as_ref().map(|rule| (rule, rule.table.read())) }
    }

    /// Whether the board is offered this configuration.
    ///
    /// # Errors
    /// [`Unoffered`] says why not.
    pub fn check(&self, configuration: &Configuration) -> Result<(), Unoffered> {
        self.board.allows(configuration)?;
        let Some((rule, table)) = &self.compiled else { return Ok(()) };
        Ok(rule.check(table, configuration)?)
    }
}

impl Board {
    /// Whether families and limits, all but what compilers say, allow this configuration.
    ///
    /// # Errors
    /// [`Unoffered`] says why not.
    pub fn allows(&self, configuration: &Configuration) -> Result<(), Unoffered> {
        let name = configuration.family().name();
        if self.exclude.iter().any(|excluded| excluded.0 == name) {
            return Err(Unoffered::Excluded(name));
        }
        Ok(configuration.fits(&Limits::from(self.limits))?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kernels::space;
    use selector_core::ProblemClass;

    use super::*;

    fn offered(board: &str) -> Vec<Configuration> {
        let board = crate::find(board).unwrap();
        let offer = Offer::of(&board);
        let starter = space::starter().into_iter();
        starter.filter(|configuration| offer.check(configuration).is_ok()).collect()
    }

    #[test]
    fn boards_whose_local_memory_is_ordinary_are_offered_all_families_but_those_with_tiles_in_it() {
        for board in ["hikey960", "intel-cpu", "pocl-cpu", "rk3399"] {
            let families: BTreeSet<_> =
                offered(board).iter().map(|one| one.family().name()).collect();
            assert_eq!(families, BTreeSet::from(["packed", "skinny", "tile"]), "{board}");
        }
        let block: Configuration = "packed:block-8x16x64@1x1".parse().unwrap();
        assert!(offered("pocl-cpu").contains(&block));
        let board = crate::find("rk3399").unwrap();
        let refused = Offer::of(&board).check(&"local:64x64x16@8x8".parse().unwrap());
        assert_eq!(refused.unwrap_err().to_string(), "family `local` is excluded");
    }

    #[test]
    fn what_is_offered_stays_within_the_work_groups_and_local_memory_of_its_board_in_every_class() {
        for (name, _) in crate::ALL {
            let board = crate::find(name).unwrap();
            let limits = Limits::from(board.limits);
            let offered = offered(name);
            assert!(offered.len() >= 20, "{name}: {}", offered.len());
            for (one, class) in
                offered.iter().flat_map(|one| ProblemClass::all().map(move |class| (one, class)))
            {
                assert!(one.work_group() <= limits.work_group, "{name}: {one}");
                // The launches of a class may turn a work-group.
                let shape = selector_core::GemmShape::new(300, 700, 300, 2);
                let problem = kernels::Problem::packed(class, shape);
                let [a, b, c] = problem.buffer_lengths().unwrap();
                let checked = problem.check(a, b, c).unwrap();
                for launch in one.launches(&checked).iter() {
                    let fits = limits.check_work_group(launch.local);
                    assert_eq!(fits, Ok(()), "{name}: {one}/{class}");
                }
            }
        }
    }

    #[test]
    fn the_gen9_board_is_not_offered_what_its_compiler_spoils() {
        let board = crate::find("nuc-gen9").unwrap();
        let offer = Offer::of(&board);
        let (rule, table) = offer.compiled.as_ref().unwrap();
        let mut spoilt = 0;
        for one in space::starter() {
            let known = ProblemClass::all().filter_map(|class| table.of(&one.program(class)));
            let bad = known.filter(|compiled| {
                compiled.spilled > rule.spilled || compiled.has_private_arrays()
            });
            let bad = bad.count() > 0;
            let refused = matches!(offer.check(&one), Err(Unoffered::Spoilt(_)));
            assert_eq!(refused, bad, "{one}");
            spoilt += usize::from(refused);
        }
        assert!(spoilt > 0, "the table has nothing that spills: is it empty?");
    }
}
