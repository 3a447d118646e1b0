//! Shapes that a user asks for: of a named network, of a named grid, or from a CSV file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kernels::networks::{self, Grid};
use selector_core::GemmShape;
use serde::Deserialize;

use crate::file;

/// Largest list that is read.
const LARGEST: u64 = 1 << 26;

/// Why shapes cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeListError {
    /// The file may have been cut.
    #[error("`{}` does not end with a newline: it may be cut; add one if it is whole", .0.display())]
    Cut(PathBuf),
    /// Not CSV, a column is missing, or a value is not a number.
    #[error("`{}` is no list of shapes (columns m,k,n and perhaps batch)", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Where and what.
        source: csv::Error,
    },
    /// The file has no rows.
    #[error("`{}` has no shapes", .0.display())]
    Empty(PathBuf),
    /// The file cannot be read.
    #[error("could not read shapes `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the file system says.
        source: std::io::Error,
    },
    /// Neither a name nor a file.
    #[error("`{name}` is no network, grid or file; networks: {networks}; grids: {grids}")]
    Unknown {
        /// What was given.
        name: String,
        /// Every network.
        networks: String,
        /// Every grid.
        grids: String,
    },
    /// A size is zero.
    #[error("`{}`, line {line}: a size is 0", path.display())]
    Zero {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
    },
}

/// The shapes that all `sources` name, each once, smallest first; networks with `images` images at
/// once. A source is the name of a network or grid, or the path of a CSV file.
///
/// # Errors
/// [`ShapeListError`] names the source.
pub fn of(sources: &[String], images: u16) -> Result<Vec<GemmShape>, ShapeListError> {
    let mut shapes = BTreeSet::new();
    for source in sources {
        shapes.extend(one(source, images)?);
    }
    Ok(shapes.into_iter().collect())
}

fn one(source: &str, images: u16) -> Result<Vec<GemmShape>, ShapeListError> {
    if let Ok(network) = networks::by_name(source) {
        return Ok(network.shapes(images));
    }
    if let Ok(grid) = Grid::by_name(source) {
        return Ok(grid.shapes());
    }
    let path = Path::new(source);
    let looks_like_a_file = path.components().count() > 1 || path.extension().is_some();
    if looks_like_a_file || path.exists() { read(path) } else { Err(unknown(source)) }
}

fn unknown(name: &str) -> ShapeListError {
    let join = |names: Vec<&str>| names.join(", ");
    ShapeListError::Unknown {
        name: name.to_owned(),
        networks: join(networks::ALL.iter().map(|network| network.name).collect()),
        grids: join(networks::GRIDS.iter().map(|grid| grid.name).collect()),
    }
}

#[derive(Deserialize)]
struct Record {
    m: u32,
    k: u32,
    n: u32,
    #[serde(default = "one_product")]
    batch: u32,
}

fn one_product() -> u32 {
    1
}

/// Read a CSV table with the columns m, k, n, perhaps batch, and any others.
fn read(path: &Path) -> Result<Vec<GemmShape>, ShapeListError> {
    let bytes = file::read(path, LARGEST)
        .map_err(|source| ShapeListError::Read { path: path.to_owned(), source })?;
    if bytes.last().is_some_and(|last| *last != b'\n') {
        return Err(ShapeListError::Cut(path.to_owned()));
    }
    let failed = |source| ShapeListError::Csv { path: path.to_owned(), source };
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(bytes.as_slice());
    let headers = reader.headers().map_err(failed)?.clone();
    let mut shapes = Vec::new();
    for record in reader.records() {
        let record = record.map_err(failed)?;
        let line = record.position().map_or(0, csv::Position::line);
        let Record { m, k, n, batch } = record.deserialize(Some(&headers)).map_err(failed)?;
        if [m, k, n, batch].contains(&0) {
            return Err(ShapeListError::Zero { path: path.to_owned(), line });
        }
        shapes.push(GemmShape { m, k, n, batch });
    }
    if shapes.is_empty() { Err(ShapeListError::Empty(path.to_owned())) } else { Ok(shapes) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(text: &str) -> Result<Vec<GemmShape>, ShapeListError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shapes.csv");
        fs::write(&path, text).unwrap();
        of(&[path.to_str().unwrap().to_owned()], 1)
    }

    #[test]
    fn sources_are_united() {
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let vgg = of(&names(&["vgg16"]), 1).unwrap();
        let both = of(&names(&["vgg16", "po2", "vgg16"]), 1).unwrap();
        assert_eq!(both.len(), vgg.len() + 216);
        assert!(both.is_sorted());
    }

    #[test]
    fn spreadsheets_and_extra_columns_are_read() {
        let expected = [GemmShape::new(1, 2, 3, 1), GemmShape::new(64, 27, 50176, 1)];
        for text in [
            "m,k,n\n64,27,50176\n1,2,3\n",
            "\u{feff}m,k,n\r\n64,27,50176\r\n1,2,3\r\n",
            "# note\nm, k, n, batch, network\n64, 27, 50176, 1, vgg\n1, 2, 3, 1, none\n64,27,50176,1,x\n",
        ] {
            assert_eq!(file(text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn bad_files_say_where() {
        let message = |text: &str| {
            let error = file(text).unwrap_err();
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            format!("{error} {}", cause.unwrap_or_default())
        };
        assert!(message("m,k,n\n1,2,3\n1,0,3\n").contains("line 3: a size is 0"));
        for bad in ["1,2,-3", "1,2,3.0", "1,2", "1,2,x", "1,2,4294967296", "1;2;3"] {
            let message = message(&format!("m,k,n\n{bad}\n"));
            assert!(message.contains("line: 2"), "{bad}: {message}");
        }
        assert!(message("m,n\n1,2\n").contains("missing field `k`"));
        assert!(message("m,k,n\n").contains("has no shapes"));
        assert!(message("").contains("has no shapes"));
        assert!(message("m,k,n\n1,2,30").contains("may be cut"));
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        let error = of(&["vgg".to_owned()], 1).unwrap_err().to_string();
        assert!(error.contains("alexnet") && error.contains("po2"), "{error}");
        let error = of(&["no/such.csv".to_owned()], 1).unwrap_err();
        assert!(matches!(error, ShapeListError::Read { .. }));
    }
}
