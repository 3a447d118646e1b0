//! What a score was measured on: only scores on the same measurements and splits compare.

use selector_core::Score;
use sha2::{Digest as _, Sha256};

use crate::dataset::Dataset;
use crate::split::Split;

/// A score, and what it was measured on.
#[derive(Clone, Copy, Debug)]
pub struct Scored {
    /// The score.
    pub score: Score,
    /// The [`digest`] of what it was measured on.
    pub on: u64,
}

/// A number for the shapes, configurations and times of `dataset` and for what `splits` hold out.
#[must_use]
pub fn digest(dataset: &Dataset, splits: &[Split]) -> u64 {
    let mut texts = dataset.configurations().to_vec();
    for (row, task) in dataset.tasks().iter().enumerate() {
        texts.push(format!("{} {}", task.class, task.shape));
        let times = (0..dataset.configurations().len()).map(|column| dataset.time(row, column));
        texts.extend(times.map(|time| format!("{:016x}", time.to_bits())));
    }
    for split in splits {
        for side in [&split.train, &split.test] {
            texts.push(side.len().to_string());
            texts.extend(side.iter().map(ToString::to_string));
        }
    }
    let mut digest = Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    }
    digest.finalize().iter().take(8).fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

/// Stands before a digest in the line that a model carries about its method.
const LABEL: &str = "; scored on ";

/// How a model says what its score was measured on, behind its method.
pub(crate) fn label(on: u64) -> String {
    format!("{LABEL}{on:016x}")
}

/// What the score of a model was measured on, by the line that it carries about its method; `None`
/// if it does not say.
#[must_use]
pub fn read(method: &str) -> Option<u64> {
    let (_, digest) = method.rsplit_once(LABEL)?;
    u64::from_str_radix(digest, 16).ok().filter(|_| digest.len() == 16)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::dataset::Rows;
    use crate::split;

    fn dataset(rows: &[&str]) -> Dataset {
        let text = format!("m,k,n,batch,configuration,time_ns\n{}\n", rows.join("\n"));
        let path = Path::new("x.csv");
        let Rows { header, counts, measurements } = Rows::read(path, text.as_bytes()).unwrap();
        Dataset::from_measurements(path, header, counts, measurements).unwrap()
    }

    #[test]
    fn only_the_same_measurements_and_splits_have_the_same_digest() {
        let rows = ["1,1,1,1,a,5", "2,1,1,1,a,7", "3,1,1,1,a,6", "3,1,1,1,b,6"];
        let data = dataset(&rows);
        let splits = |seed| split::seeded(&data.shapes(), seed);
        let expected = digest(&data, &splits(0));
        let mut backwards = rows;
        backwards.reverse();
        assert_eq!(digest(&dataset(&backwards), &splits(0)), expected);
        assert_ne!(digest(&data, &splits(0)[..4]), expected);
        assert_ne!(digest(&data, &splits(1)), expected);
        for (from, to) in [(",7", ",8"), (",b,", ",c,"), ("1,1,1,1,", "1,1,2,1,")] {
            let other: Vec<_> = rows.iter().map(|row| row.replacen(from, to, 1)).collect();
            let other: Vec<_> = other.iter().map(String::as_str).collect();
            assert_ne!(digest(&dataset(&other), &splits(0)), expected, "{to}");
        }
    }

    #[test]
    fn a_method_says_what_was_scored_on_or_does_not() {
        let line = format!("smoothed 8, distilled, seed 0{}", label(0xab));
        assert_eq!(read(&line), Some(0xab));
        for none in ["smoothed 8, distilled, seed 0", "x; scored on ", "x; scored on +b"] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
