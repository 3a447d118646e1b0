//! Reading the file that a run has written.

use std::collections::BTreeMap;

use super::report::median;

/// What such a file begins with.
const BEGINNING: &str = "# network: ";
/// Its columns.
pub(super) const COLUMNS: &str = "part,layers,shape,times,peer,kernel,calls,samples_ns";
/// The part that is a peer's whole inference, and that of one multiplication.
pub(super) const INFERENCE: &str = "inference";
pub(super) const MULTIPLICATION: &str = "multiplication";

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    header: BTreeMap<String, String>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    part: String,
    times: f64,
    peer: String,
    nanoseconds: Vec<f64>,
}

/// Why a file is no run of a network.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It begins otherwise.
    #[error("not a run of a network: it does not begin with `{BEGINNING}`")]
    Beginning,
    /// It has no table, or another one.
    #[error("no table with the columns {COLUMNS}")]
    Columns,
    /// A row is damaged.
    #[error("row `{0}` is damaged")]
    Row(String),
}

impl Record {
    /// Whether a text is meant to be one.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        text.starts_with(BEGINNING)
    }

    /// Read a file's text.
    ///
    /// # Errors
    /// [`RecordError`]: it is something else, or damaged.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        if !Self::is_one(text) {
            return Err(RecordError::Beginning);
        }
        let told = text.lines().filter_map(|line| line.strip_prefix("# ")?.split_once(": "));
        let header = told.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        if lines.next() != Some(COLUMNS) {
            return Err(RecordError::Columns);
        }
        let rows = lines.map(|line| row(line).ok_or_else(|| RecordError::Row(line.to_owned())));
        Ok(Self { header, rows: rows.collect::<Result<_, _>>()? })
    }

    /// What the header says of `key`; of several the last.
    #[must_use]
    pub fn told(&self, key: &str) -> Option<&str> {
        self.header.get(key).map(String::as_str)
    }

    /// Median over the rounds of an inference's time by `peer` divided by that of `other`.
    #[must_use]
    pub fn ratio(&self, peer: &str, other: &str) -> Option<f64> {
        let of = |peer: &str| {
            let inference = |row: &&Row| row.part == INFERENCE && row.peer == peer;
            self.rows.iter().find(inference).map(|row| row.nanoseconds.iter())
        };
        let ratios: Vec<f64> = of(peer)?.zip(of(other)?).map(|(one, other)| one / other).collect();
        (!ratios.is_empty()).then(|| median(ratios))
    }

    /// Medians of the multiplications by `peer`, summed as often as they are made, in nanoseconds.
    #[must_use]
    pub fn multiplications(&self, peer: &str) -> Option<f64> {
        let is_one = |row: &&Row| row.part == MULTIPLICATION && row.peer == peer;
        let of_peer = self.rows.iter().filter(is_one);
        let each = of_peer.map(|row| row.times * median(row.nanoseconds.clone()));
        each.reduce(|one, other| one + other)
    }
}

fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    let [part, _, _, times, peer, _, _, samples] = fields.try_into().ok()?;
    let times = times.parse::<u32>().ok()?.into();
    let number = |text: &str| text.parse().ok().filter(|one: &f64| one.is_finite() && *one > 0.0);
    let nanoseconds = samples.split_whitespace().map(number).collect::<Option<Vec<f64>>>()?;
    Some(Row { part: part.to_owned(), times, peer: peer.to_owned(), nanoseconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# network: vgg16\n# peer: ours: one\npart,layers,shape,times,peer,kernel,calls,samples_ns\n\
                        inference,,,1,ours,,1,10.0 30.0 10.0\n\
                        multiplication,conv1_1,1x2x3,1,ours,a:b,1,2.0 4.0 3.0\n\
                        multiplication,conv1_2 conv1_3,1x2x3,2,ours,a:b,1,5.0 5.0 9.0\n\
                        inference,,,1,clblast,,1,40.0 60.0 50.0\n\
                        rest,,,1,,,1,1.0\n";

    #[test]
    fn ratios_are_of_the_same_round_and_multiplications_are_summed() {
        let record = Record::parse(TEXT).unwrap();
        assert_eq!(record.told("network"), Some("vgg16"));
        assert_eq!(record.ratio("clblast", "ours"), Some(4.0));
        assert_eq!(record.ratio("clblast-tuned", "ours"), None);
        assert_eq!(record.multiplications("ours"), Some(13.0));
        assert_eq!(record.multiplications("clblast"), None);
    }

    #[test]
    fn what_is_something_else_or_damaged_is_refused() {
        assert_eq!(Record::parse("m,k,n\n"), Err(RecordError::Beginning));
        assert_eq!(Record::parse("# network: vgg16\nm,k\n"), Err(RecordError::Columns));
        for (right, wrong) in
            [("30.0", "NaN"), ("30.0", "-1.0"), (",1,ours", ",x,ours"), ("a:b", "a,b")]
        {
            let damaged = TEXT.replacen(right, wrong, 1);
            assert!(matches!(Record::parse(&damaged), Err(RecordError::Row(_))), "{wrong}");
        }
    }
}
