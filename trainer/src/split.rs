//! Which shapes train and which are held out. A shape is wholly on one side, in every class.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selector_core::GemmShape;

use crate::random::Random;

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

/// Why a file is not a list of splits.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
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

/// Splits that [`seeded`] makes.
pub const COUNT: u64 = 5;

/// Five splits that hold out a fifth of `shapes` each; none where there is only one shape.
#[must_use]
pub fn seeded(shapes: &[GemmShape], seed: u64) -> Vec<Split> {
    if shapes.len() < 2 {
        return Vec::new();
    }
    let split = |index: u64| {
        let mut shuffled = shapes.to_vec();
        Random::new(seed.wrapping_mul(COUNT).wrapping_add(index)).shuffle(&mut shuffled);
        let held_out = ((shapes.len() + 2) / 5).max(1);
        let mut train = shuffled.split_off(held_out);
        shuffled.sort_unstable();
        train.sort_unstable();
        Split {
            name: format!("seed{}", seed.wrapping_mul(COUNT).wrapping_add(index)),
            train,
            test: shuffled,
        }
    };
    (0..COUNT).map(split).collect()
}

/// The splits in a file with columns `m,k,n,batch` and one column a split, `train` or `test`.
/// Shapes that are not among `shapes` are left out.
///
/// # Errors
/// [`SplitError`] names the file and the line.
pub fn read(path: &Path, shapes: &[GemmShape]) -> Result<Vec<Split>, SplitError> {
    let fail = |source| SplitError::Read { path: path.to_owned(), source };
    let mut csv = csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(path).map_err(fail)?;
    let names = csv.headers().map_err(fail)?.clone();
    let wrong =
        |line: u64, problem: String| SplitError::Line { path: path.to_owned(), line, problem };
    if names.len() < 5 || names.iter().take(4).ne(["m", "k", "n", "batch"]) {
        return Err(wrong(1, "the columns must be m,k,n,batch and one a split".to_owned()));
    }
    let mut sides: BTreeMap<GemmShape, Vec<bool>> = BTreeMap::new();
    for record in csv.records() {
        let record = record.map_err(fail)?;
        let line = record.position().map_or(0, csv::Position::line);
        let (shape, trains) = row(&record).map_err(|problem| wrong(line, problem))?;
        if sides.insert(shape, trains).is_some() {
            return Err(wrong(line, format!("shape {shape} is there twice")));
        }
    }
    let splits = names.iter().skip(4).enumerate().map(|(column, name)| {
        let side = |trains: bool| -> Vec<GemmShape> {
            let on_side =
                |shape: &&GemmShape| sides.get(*shape).is_some_and(|one| one[column] == trains);
            shapes.iter().filter(on_side).copied().collect()
        };
        let (train, test) = (side(true), side(false));
        if train.is_empty() || test.is_empty() {
            let (train, test) = (train.len(), test.len());
            return Err(SplitError::OneSided {
                path: path.to_owned(),
                name: name.to_owned(),
                train,
                test,
            });
        }
        Ok(Split { name: name.to_owned(), train, test })
    });
    splits.collect()
}

fn row(record: &csv::StringRecord) -> Result<(GemmShape, Vec<bool>), String> {
    let mut sizes = [0; 4];
    for (size, text) in sizes.iter_mut().zip(record) {
        *size = text.parse().map_err(|_| format!("`{text}` is not a whole number below 2^32"))?;
    }
    let [m, k, n, batch] = sizes;
    let side = |text: &str| match text {
        "train" => Ok(true),
        "test" => Ok(false),
        _ => Err(format!("`{text}` is neither `train` nor `test`")),
    };
    let sides = record.iter().skip(4).map(side).collect::<Result<_, _>>()?;
    Ok((GemmShape { m, k, n, batch }, sides))
}
