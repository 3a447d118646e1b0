//! Which configurations to measure: all, a seeded sample, or those that a user lists.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use kernels::{Configuration, ConfigurationError, space};

use crate::random::Random;

/// What a user asks for, as text: `all`, `starter`, a number, configurations separated by commas, or the path
/// of a file with one configuration a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Choice {
    /// The whole kernel space.
    All,
    /// The starter set.
    Starter,
    /// So many, drawn at random.
    Count(usize),
    /// The configurations that a file lists.
    File(PathBuf),
    /// These.
    Named(Vec<Configuration>),
}

/// Why a choice cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// A line of the file is not a configuration.
    #[error("`{}`, line {line}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        source: ConfigurationError,
    },
    /// The board file, or an empty list, leaves nothing.
    #[error("no configuration is left: {asked} asked for, {ruled_out} ruled out by the board file")]
    Nothing {
        /// Configurations asked for.
        asked: usize,
        /// Of these, ruled out by the board file.
        ruled_out: usize,
    },
    /// The file cannot be read.
    #[error("could not read configurations `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the file system says.
        source: std::io::Error,
    },
    /// More than there are.
    #[error("asked for {asked} configurations, but the board file leaves only {there}")]
    TooMany {
        /// Configurations asked for.
        asked: usize,
        /// Configurations that are left.
        there: usize,
    },
}

/// Configurations to measure, in the order of the kernel space, and what was left out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Chosen {
    /// To measure.
    pub configurations: Vec<Configuration>,
    /// Left out since the board is not offered them.
    pub ruled_out: usize,
}

impl Choice {
    /// The configurations that are `offered`, each once; `seed` decides which where only a number is
    /// given.
    ///
    /// # Errors
    /// [`ChoiceError`] says why there are none.
    pub fn make(
        &self,
        offered: impl Fn(&Configuration) -> bool,
        seed: u64,
    ) -> Result<Chosen, ChoiceError> {
        let asked = match self {
            Self::All | Self::Count(_) => space::all(),
            Self::Starter => space::starter(),
            Self::File(path) => read(path)?,
            Self::Named(configurations) => configurations.clone(),
        };
        let asked = distinct(asked);
        let count = asked.len();
        let fitting: Vec<_> = asked.into_iter().filter(offered).collect();
        let ruled_out = count - fitting.len();
        let configurations = match *self {
            Self::Count(asked) => sample(fitting, asked, seed)?,
            _ => fitting,
        };
        if configurations.is_empty() {
            return Err(ChoiceError::Nothing { asked: count, ruled_out });
        }
        Ok(Chosen { configurations, ruled_out })
    }
}

impl FromStr for Choice {
    type Err = ConfigurationError;

    fn from_str(text: &str) -> Result<Self, ConfigurationError> {
        if text == "all" {
            return Ok(Self::All);
        }
        if text == "starter" {
            return Ok(Self::Starter);
        }
        if let Ok(count) = text.parse() {
            return Ok(Self::Count(count));
        }
        if Path::new(text).is_file() {
            return Ok(Self::File(text.into()));
        }
        text.split(',').map(|one| one.trim().parse()).collect::<Result<_, _>>().map(Self::Named)
    }
}

fn read(path: &Path) -> Result<Vec<Configuration>, ChoiceError> {
    let text = fs::read_to_string(path)
        .map_err(|source| ChoiceError::Read { path: path.to_owned(), source })?;
    let lines = text.lines().zip(1..).filter_map(|(text, line)| {
        let text = text.trim_start_matches('\u{feff}').trim();
        (!text.is_empty() && !text.starts_with('#')).then_some((text, line))
    });
    let parse = |(text, line): (&str, usize)| {
        text.parse().map_err(|source| ChoiceError::Line { path: path.to_owned(), line, source })
    };
    lines.map(parse).collect()
}

fn distinct(configurations: Vec<Configuration>) -> Vec<Configuration> {
    let mut seen = std::collections::BTreeSet::new();
    configurations.into_iter().filter(|one| seen.insert(one.to_string())).collect()
}

/// `count` of `from` at random, in their order.
fn sample(
    from: Vec<Configuration>,
    count: usize,
    seed: u64,
) -> Result<Vec<Configuration>, ChoiceError> {
    if count > from.len() {
        return Err(ChoiceError::TooMany { asked: count, there: from.len() });
    }
    let mut positions: Vec<usize> = (0..from.len()).collect();
    Random::new(seed).shuffle(&mut positions);
    positions.truncate(count);
    positions.sort_unstable();
    Ok(positions.into_iter().filter_map(|position| from.get(position).cloned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(_: &Configuration) -> bool {
        true
    }

    fn choice(text: &str) -> Choice {
        text.parse().unwrap()
    }

    #[test]
    fn a_sample_has_its_size_and_order_and_follows_its_seed() {
        let all = choice("all").make(every, 0).unwrap().configurations;
        let sample = |seed| choice("96").make(every, seed).unwrap().configurations;
        let positions = sample(7).into_iter().map(|one| all.iter().position(|other| *other == one));
        let positions: Vec<_> = positions.map(Option::unwrap).collect();
        assert!(positions.len() == 96 && positions.is_sorted());
        assert_eq!(sample(7), sample(7));
        assert_ne!(sample(7), sample(8));
        assert!(matches!(choice("100000").make(every, 0), Err(ChoiceError::TooMany { .. })));
        assert!(matches!(choice("0").make(every, 0), Err(ChoiceError::Nothing { .. })));
    }

    #[test]
    fn the_starter_set_is_cut_by_the_board_file_too() {
        let all = choice("starter").make(every, 0).unwrap();
        assert_eq!((all.configurations, all.ruled_out), (space::starter(), 0));
        let pocl = boards::find("pocl-cpu").unwrap();
        let offer = boards::Offer::of(&pocl);
        let cut = choice("starter").make(|one| offer.check(one).is_ok(), 0).unwrap();
        assert!(cut.ruled_out > 0 && !cut.configurations.is_empty());
        assert!(cut.configurations.iter().all(|one| one.family().name() != "local"));
    }

    #[test]
    fn what_is_not_offered_is_ruled_out() {
        let small = |one: &Configuration| one.work_group() <= 64;
        let chosen = choice("tile:1x1x1@8x8,tile:1x1x1@16x16,tile:1x1x1@8x8").make(small, 0);
        let chosen = chosen.unwrap();
        assert_eq!(chosen.configurations.len(), 1);
        assert_eq!(chosen.ruled_out, 1);
        let nothing = choice("tile:1x1x1@16x16").make(small, 0).unwrap_err().to_string();
        assert!(nothing.contains("1 asked for, 1 ruled out"), "{nothing}");
    }

    #[test]
    fn a_file_lists_one_a_line_and_a_bad_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        fs::write(&path, "# two\ntile:2x2x2@8x8\n\nuniversal\n").unwrap();
        let chosen = choice(path.to_str().unwrap()).make(every, 0).unwrap();
        assert_eq!(chosen.configurations.len(), 2);
        fs::write(&path, "tile:2x2x2@8x8\ntile:3x2x2@8x8\n").unwrap();
        let error = choice(path.to_str().unwrap()).make(every, 0).unwrap_err();
        assert!(matches!(error, ChoiceError::Line { line: 2, .. }));
        assert!("tile:2x2x2@8x8,tiles".parse::<Choice>().is_err());
        assert!("no/such/file".parse::<Choice>().is_err());
    }
}
