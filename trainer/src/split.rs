//! Which shapes train and which are held out. A shape is wholly on one side, in every class.

use std::collections::{BTreeMap, BTreeSet};
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
    let mut seen = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
        return Err(wrong(1, format!("column `{twice}` is there twice")));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(count: u32) -> Vec<GemmShape> {
        (1..=count).map(|m| GemmShape::new(m, 1, 1, 1)).collect()
    }

    fn read_text(text: &str, count: u32) -> Result<Vec<Split>, SplitError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path(), &shapes(count))
    }

    #[test]
    fn five_seeded_splits_hold_out_a_fifth_and_repeat() {
        let shapes = shapes(50);
        let splits = seeded(&shapes, 3);
        assert_eq!(splits.len(), 5);
        for split in &splits {
            assert_eq!((split.train.len(), split.test.len()), (40, 10));
            let mut both = [&split.train[..], &split.test[..]].concat();
            both.sort_unstable();
            assert_eq!(both, shapes);
        }
        assert_eq!(splits, seeded(&shapes, 3));
        assert_ne!(splits[0].test, splits[1].test);
        assert_ne!(splits[0].test, seeded(&shapes, 4)[0].test);
    }

    #[test]
    fn two_shapes_split_and_one_does_not() {
        assert!(seeded(&shapes(1), 0).is_empty());
        let split = &seeded(&shapes(2), 0)[0];
        assert_eq!((split.train.len(), split.test.len()), (1, 1));
    }

    #[test]
    fn a_file_says_which_side_and_what_is_not_in_the_data_is_left_out() {
        let text = "m,k,n,batch,a,b\n1,1,1,1,train,test\n2,1,1,1,test,train\n9,1,1,1,test,test\n";
        let splits = read_text(text, 3).unwrap();
        let [one, two] = [1, 2].map(|m| vec![GemmShape::new(m, 1, 1, 1)]);
        let split = |name: &str, train: &Vec<_>, test: &Vec<_>| Split {
            name: name.to_owned(),
            train: train.clone(),
            test: test.clone(),
        };
        assert_eq!(splits, [split("a", &one, &two), split("b", &two, &one)]);
    }

    #[test]
    fn bad_files_are_refused_by_line() {
        let head = "m,k,n,batch,a\n";
        for (text, expected) in [
            ("m,k,n,a\n1,1,1,train\n".to_owned(), "line 1: the columns must be"),
            (format!("{head}1,1,1,1,train\n2,1,1,1,maybe\n"), "line 3: `maybe` is neither"),
            (format!("{head}1,1,1.0,1,train\n"), "line 2: `1.0` is not a whole number"),
            (format!("{head}1,1,1,1,train\n1,1,1,1,test\n"), "line 3: shape 1x1x1 is there twice"),
            (format!("{head}1,1,1,1,train\n"), "leaves 1 shapes of the data set to train and 0"),
        ] {
            let message = read_text(&text, 3).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        assert!(matches!(read_text("m,k,n,batch,a\n1,1\n", 3), Err(SplitError::Read { .. })));
    }
}
