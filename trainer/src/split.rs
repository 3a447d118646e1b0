//! Which shapes train and which are held out. A shape is wholly on one side, in every class. To
//! add a protocol: write its file, then a variant of [`Protocol`].

mod file;
mod networks;
mod seeded;

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use selector_core::GemmShape;

pub use file::read;
pub use seeded::seeded;

/// One way to hold shapes out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Split {
    /// What it is called.
    pub name: String,
    /// Shapes to learn from, sorted; at least one.
    pub train: Vec<GemmShape>,
    /// Shapes to score on, sorted; at least one.
    pub test: Vec<GemmShape>,
}

/// The splits of a protocol.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Splits {
    /// The splits; none where there is only one shape.
    pub splits: Vec<Split>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// How shapes are held out. As text: `seeded`, `seeded:20`, `networks`, or the path of a file,
/// which must have a folder (`./networks`) if it is called like another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// As a file says.
    File(PathBuf),
    /// Each network's shapes in turn.
    Networks,
    /// A fifth, drawn by seed: five times, or this often and other than those five.
    Seeded(Option<u16>),
}

/// Not a protocol.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not how many splits to draw: expected `seeded:` and a number from 1 to 65535")]
pub struct ProtocolError(String);

/// Why shapes cannot be held out so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// No shape belongs to a network.
    #[error(
        "no shape of the data set belongs to a network, so none can be left out \
         (for 1 or 4 images at once, by im2col or Winograd)"
    )]
    NoNetwork,
    /// Nothing is left to learn from.
    #[error("every shape of the data set belongs to {networks}: none is left to learn from")]
    OneNetwork {
        /// The networks that have them all.
        networks: String,
    },
    /// The file cannot be read, or is no CSV.
    #[error("could not read splits `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: csv::Error,
    },
    /// A line is wrong.
    #[error("`{path}` line {line}: {problem}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// A split has nothing to learn from or nothing to score on.
    #[error(
        "split `{name}` of `{path}` leaves {train} shapes of the data set to train and {test} to test"
    )]
    OneSided {
        /// The file.
        path: PathBuf,
        /// The split.
        name: String,
        /// Shapes to train that are in the data set.
        train: usize,
        /// Shapes to test that are in the data set.
        test: usize,
    },
}

impl Protocol {
    /// Reads a protocol, or the path of a file, which need not be UTF-8.
    ///
    /// # Errors
    /// [`ProtocolError`], if it is `seeded:` without a number.
    pub fn parse(text: &OsStr) -> Result<Self, ProtocolError> {
        let name = text.to_string_lossy();
        match name.split_once(':') {
            None if name == "networks" => Ok(Self::Networks),
            None if name == "seeded" => Ok(Self::Seeded(None)),
            Some(("seeded", count)) => match count.parse() {
                Ok(count @ 1..) => Ok(Self::Seeded(Some(count))),
                _ => Err(ProtocolError(name.into_owned())),
            },
            _ => Ok(Self::File(text.into())),
        }
    }

    /// The splits of `shapes`, which are sorted and none twice.
    ///
    /// # Errors
    /// [`SplitError`], if the file or the data set does not allow it.
    pub fn splits(&self, shapes: &[GemmShape], seed: u64) -> Result<Splits, SplitError> {
        match self {
            Self::File(path) => file::splits(path, shapes),
            Self::Networks => networks::splits(shapes),
            Self::Seeded(further) => Ok(seeded::splits(*further, shapes, seed)),
        }
    }
}

impl Default for Protocol {
    fn default() -> Self {
        Self::Seeded(None)
    }
}

impl FromStr for Protocol {
    type Err = ProtocolError;

    fn from_str(text: &str) -> Result<Self, ProtocolError> {
        Self::parse(text.as_ref())
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Networks => f.write_str("networks"),
            Self::Seeded(None) => f.write_str("seeded"),
            Self::Seeded(Some(further)) => write!(f, "seeded:{further}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_protocols_and_anything_else_is_a_file() {
        let file = |path: &str| Protocol::File(path.into());
        for (text, expected) in [
            ("seeded", Protocol::default()),
            ("seeded:20", Protocol::Seeded(Some(20))),
            ("networks", Protocol::Networks),
            ("./networks", file("./networks")),
            ("splits.csv", file("splits.csv")),
            ("C:/splits.csv", file("C:/splits.csv")),
        ] {
            let protocol: Protocol = text.parse().unwrap();
            assert_eq!((&protocol, protocol.to_string()), (&expected, text.to_owned()));
        }
        for bad in ["seeded:", "seeded:0", "seeded:x", "seeded:65536", "seeded:-1"] {
            assert!(bad.parse::<Protocol>().unwrap_err().to_string().contains(bad));
        }
    }
}
