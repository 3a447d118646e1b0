//! Splits that a file says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use selector_core::GemmShape;

use super::{Split, SplitError, Splits};
use crate::file;

/// Largest list that is read.
const LARGEST: u64 = 1 << 26;

/// The splits in the file at `path`, with a warning where some of `shapes` are in none of them.
pub(super) fn splits(path: &Path, shapes: &[GemmShape]) -> Result<Splits, SplitError> {
    let splits = read(path, shapes)?;
    let unused = splits.iter().map(|one| shapes.len() - one.train.len() - one.test.len()).max();
    let warning = |unused| {
        format!("{unused} shapes of the data set are not in `{}`: not scored on", path.display())
    };
    let warnings = unused.filter(|unused| *unused > 0).map(warning).into_iter().collect();
    Ok(Splits { splits, warnings })
}

/// The splits in a file with columns `m,k,n,batch` and one column a split, `train` or `test`.
/// Shapes that are not among `shapes` are left out.
///
/// # Errors
/// [`SplitError`] names the file and the line.
pub fn read(path: &Path, shapes: &[GemmShape]) -> Result<Vec<Split>, SplitError> {
    let fail = |source| SplitError::Read { path: path.to_owned(), source };
    let text = file::read(path, LARGEST).map_err(|error| fail(error.into()))?;
    let mut csv = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(&text[..]);
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

    #[test]
    fn shapes_that_the_file_does_not_name_are_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "m,k,n,batch,a\n1,1,1,1,train\n2,1,1,1,test\n").unwrap();
        let warnings = |count| splits(file.path(), &shapes(count)).unwrap().warnings;
        assert!(warnings(5)[0].starts_with("3 shapes of the data set are not in"));
        assert!(warnings(2).is_empty());
    }
}
