//! The file of a run: `# key: value` lines that say what was measured on, then a row a shape and
//! peer. It is replaced whole each time that a shape is done, so a run can be cut at any time.

use std::io;
use std::path::{Path, PathBuf};

use selector_core::GemmShape;

use super::OTHERS;

const COLUMNS: &str = "m,k,n,batch,peer,configuration,status,calls,device_ns,samples_ns";
/// What of a header may differ when a run goes on; `load` was told by records of old.
const MAY_DIFFER: [&str; 3] = ["date", "load", OTHERS];
/// The status of a row with times.
const OK: &str = "ok";
/// Largest file that is read.
const LARGEST: u64 = 1 << 28;

/// What a run was measured on: keys and values in order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Header(pub Vec<(String, String)>);

/// Times of one peer for one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The shape.
    pub shape: GemmShape,
    /// The peer.
    pub peer: String,
    /// What of its own it multiplied with; empty if it does not tell.
    pub configuration: String,
    /// `ok`, or what went wrong.
    pub status: String,
    /// Calls of a sample.
    pub calls: u32,
    /// Nanoseconds of a call on the device, where known.
    pub device_ns: Option<u64>,
    /// Nanoseconds a call, a sample each by round; none if it went wrong.
    pub samples_ns: Vec<f64>,
}

/// A run as far as it has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// What it was measured on.
    pub header: Header,
    /// Rows in the order measured; those of a shape lie together.
    pub rows: Vec<Row>,
}

/// Why a record cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It was made of something else.
    #[error("`{}` was measured with {key} `{theirs}`, but this is `{ours}`; name another file", path.display())]
    Differs {
        /// The file.
        path: PathBuf,
        /// What differs.
        key: String,
        /// In the file.
        theirs: String,
        /// Now.
        ours: String,
    },
    /// It cannot be read or written.
    #[error("could not use `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system says.
        source: io::Error,
    },
    /// It is none.
    #[error("`{}`, line {line}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

impl RecordError {
    /// Whether another file in its place would do: it was read, but is damaged or of something else.
    #[must_use]
    pub fn is_of_content(&self) -> bool {
        matches!(self, Self::Differs { .. } | Self::Malformed { .. })
    }
}

impl Header {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(one, _)| one == key).map(|(_, value)| &value[..])
    }

    /// Tell also what another header, of a run that goes on, has of `key`.
    pub(super) fn append(&mut self, key: &str, other: &Self) {
        let Some(more) = other.get(key) else { return };
        match self.0.iter_mut().find(|(one, _)| one == key) {
            Some((_, value)) => *value = format!("{value}; {more}"),
            None => self.push(key, more),
        }
    }

    /// Add a line; line breaks in it become spaces.
    pub fn push(&mut self, key: &str, value: &str) {
        self.0.push((key.to_owned(), one_line(value)));
    }
}

impl Row {
    /// The times in rising order; nothing if it went wrong.
    #[must_use]
    pub fn sorted(&self) -> Vec<f64> {
        let mut samples = self.samples_ns.clone();
        samples.sort_by(f64::total_cmp);
        samples
    }

    /// The middle time.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        super::summary::quantile(&self.sorted(), 0.5)
    }

    /// How many times as long another row's calls take as this one's, both of one run: the median of
    /// the ratios in each round that both have a sample of. What disturbs a whole round cancels out.
    #[must_use]
    pub fn ratio_of(&self, other: &Self) -> Option<f64> {
        let rounds = self.samples_ns.iter().zip(&other.samples_ns);
        let mut ratios: Vec<f64> = rounds.map(|(this, other)| other / this).collect();
        ratios.sort_by(f64::total_cmp);
        super::summary::quantile(&ratios, 0.5)
    }

    /// Why it has no times.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        (self.status != OK).then_some(&self.status)
    }

    /// A row with times.
    pub(super) fn timed(shape: GemmShape, peer: &str, configuration: String) -> Self {
        let (peer, status) = (peer.to_owned(), OK.to_owned());
        let samples_ns = Vec::new();
        Self { shape, peer, configuration, status, calls: 0, device_ns: None, samples_ns }
    }

    fn written(&self) -> [String; 10] {
        let GemmShape { m, k, n, batch } = self.shape;
        let [m, k, n, batch] = [m, k, n, batch].map(|size| size.to_string());
        let samples: Vec<String> = self.samples_ns.iter().map(|one| format!("{one:.0}")).collect();
        [
            m,
            k,
            n,
            batch,
            self.peer.clone(),
            self.configuration.clone(),
            one_line(&self.status),
            self.calls.to_string(),
            self.device_ns.map(|time| time.to_string()).unwrap_or_default(),
            samples.join(" "),
        ]
    }

    fn read(cells: &csv::StringRecord) -> Result<Self, String> {
        fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
            text.parse().map_err(|_| format!("`{text}` is no number"))
        }
        let cell = |place: usize| cells.get(place).unwrap_or_default();
        let size = |place| number(cell(place));
        let shape = GemmShape::new(size(0)?, size(1)?, size(2)?, size(3)?);
        let device = cell(8);
        let samples: Result<Vec<f64>, String> = cell(9).split_whitespace().map(number).collect();
        let row = Self {
            shape,
            peer: cell(4).to_owned(),
            configuration: cell(5).to_owned(),
            status: cell(6).to_owned(),
            calls: number(cell(7))?,
            device_ns: if device.is_empty() { None } else { Some(number(device)?) },
            samples_ns: samples?,
        };
        let are_times = row.samples_ns.iter().all(|time| time.is_finite() && *time > 0.0);
        match (row.status == OK, row.samples_ns.is_empty()) {
            _ if !are_times => Err("a time is not above zero".to_owned()),
            (true, true) => Err("a row that is ok has no times".to_owned()),
            (false, false) => Err("a row that is not ok has times".to_owned()),
            _ => Ok(row),
        }
    }
}

impl Record {
    /// The record at `path`, or a new one with `header` if there is no file.
    ///
    /// # Errors
    /// The file was measured on or with something else, or is damaged.
    pub fn go_on(path: &Path, header: Header) -> Result<Self, RecordError> {
        let io = |source| RecordError::Io { path: path.to_owned(), source };
        let Some(bytes) = trainer::file::existing(path).map_err(io)? else {
            return Ok(Self { header, rows: Vec::new() });
        };
        let record = Self::parse(path, &bytes)?;
        let keys = record.header.0.iter().chain(&header.0).map(|(key, _)| key);
        for key in keys.filter(|key| !MAY_DIFFER.contains(&&key[..])) {
            let [theirs, ours] =
                [&record.header, &header].map(|one| one.get(key).unwrap_or("nothing").to_owned());
            if theirs != ours {
                let (path, key) = (path.to_owned(), key.clone());
                return Err(RecordError::Differs { path, key, theirs, ours });
            }
        }
        Ok(record)
    }

    /// Move the file at `path` to its name with `.old` behind it, or `.old-2` and so on if there is one.
    ///
    /// # Errors
    /// What the file system says.
    pub fn set_aside(path: &Path) -> Result<(), RecordError> {
        let names = (1..).map(|number: u32| {
            let mut name = path.as_os_str().to_owned();
            name.push(".old");
            if number > 1 {
                name.push(format!("-{number}"));
            }
            PathBuf::from(name)
        });
        let io = |source| RecordError::Io { path: path.to_owned(), source };
        let free = |name: &PathBuf| std::fs::symlink_metadata(name).is_err();
        let Some(name) = names.into_iter().find(free) else { return Ok(()) };
        std::fs::rename(path, name).map_err(io)
    }

    /// Read a record, packed or not.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let bytes = trainer::file::read_unpacked(path, LARGEST)
            .map_err(|source| RecordError::Io { path: path.to_owned(), source })?;
        Self::parse(path, &bytes)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, RecordError> {
        let malformed = |line: usize, problem: &str| {
            let (path, problem) = (path.to_owned(), problem.to_owned());
            RecordError::Malformed { path, line, problem }
        };
        let text = std::str::from_utf8(bytes).map_err(|_| malformed(1, "not text"))?;
        let mut record = Self::default();
        let mut begins = 0;
        for line in text.lines().take_while(|line| line.starts_with('#')) {
            begins += 1;
            let pair = line.strip_prefix("# ").and_then(|line| line.split_once(": "));
            let (key, value) = pair.ok_or_else(|| malformed(begins, "no `# key: value`"))?;
            record.header.push(key, value);
        }
        if text.lines().nth(begins) != Some(COLUMNS) {
            return Err(malformed(begins + 1, &format!("the columns are not `{COLUMNS}`")));
        }
        let table: String = text.split_inclusive('\n').skip(begins + 1).collect();
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(table.as_bytes());
        for (place, cells) in reader.records().enumerate() {
            let line = begins + 2 + place;
            let cells = cells.map_err(|error| malformed(line, &error.to_string()))?;
            if cells.len() != COLUMNS.split(',').count() {
                return Err(malformed(line, "not as many cells as columns"));
            }
            record.rows.push(Row::read(&cells).map_err(|problem| malformed(line, &problem))?);
        }
        Ok(record)
    }

    /// Whether a shape was measured.
    #[must_use]
    pub fn has(&self, shape: GemmShape) -> bool {
        self.rows.iter().any(|row| row.shape == shape)
    }

    /// Replace the file at `path` by this record.
    ///
    /// # Errors
    /// What the file system says; the old file is untouched then.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        let io = |source| RecordError::Io { path: path.to_owned(), source };
        let mut text = String::new();
        for (key, value) in &self.header.0 {
            text += &format!("# {key}: {value}\n");
        }
        text += COLUMNS;
        text.push('\n');
        let mut writer = csv::Writer::from_writer(text.into_bytes());
        for row in &self.rows {
            writer.write_record(row.written()).map_err(|error| io(error.into()))?;
        }
        let bytes = writer.into_inner().map_err(|error| io(error.into_error()))?;
        trainer::file::write_atomically(path, &bytes).map_err(io)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(device: &str, date: &str) -> Header {
        let mut header = Header::default();
        header.push("device", device);
        header.push("date", date);
        header
    }

    fn row(m: u32, status: &str, samples_ns: &[f64]) -> Row {
        Row {
            shape: GemmShape::new(m, 2, 3, 1),
            peer: "clblast".to_owned(),
            configuration: "one, \"two\"".to_owned(),
            status: status.to_owned(),
            calls: 7,
            device_ns: Some(12),
            samples_ns: samples_ns.to_vec(),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_a_run_goes_on_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.csv");
        let mut record = Record::go_on(&path, header("a: device", "today")).unwrap();
        assert!(record.rows.is_empty());
        record.rows = vec![row(1, "ok", &[10.0, 12.0, 11.0]), row(4, "wrong, by 1", &[])];
        record.rows[1].device_ns = None;
        record.write(&path).unwrap();
        let again = Record::go_on(&path, header("a: device", "tomorrow")).unwrap();
        assert_eq!(again, record);
        assert_eq!(again.header.get("date"), Some("today"));
        let mut later = header("a: device", "tomorrow");
        later.push(OTHERS, "0.7 at two");
        let mut grown = Record::go_on(&path, later.clone()).unwrap().header;
        for told in ["0.7 at two", "0.7 at two; 0.7 at two"] {
            grown.append(OTHERS, &later);
            assert_eq!(grown.get(OTHERS), Some(told));
        }
        assert_eq!(again.rows[0].median(), Some(11.0));
        assert_eq!((again.rows[0].failure(), again.rows[1].failure()), (None, Some("wrong, by 1")));
        let [there, not_there] = [4, 5].map(|m| again.has(GemmShape::new(m, 2, 3, 1)));
        assert!(there && !not_there);
        assert_eq!(Record::read(&path).unwrap(), record);
    }

    #[test]
    fn ratios_are_taken_within_rounds_so_that_a_slow_round_does_not_count_for_one_side() {
        let (one, other) = (row(1, "ok", &[10.0, 30.0, 10.0]), row(2, "ok", &[20.0, 60.0, 90.0]));
        assert_eq!(one.ratio_of(&other), Some(2.0));
        assert_eq!(other.ratio_of(&one), Some(0.5));
        // Only the first round is both's.
        assert_eq!(one.ratio_of(&row(3, "ok", &[5.0])), Some(0.5));
        assert_eq!(one.ratio_of(&row(3, "failed", &[])), None);
    }

    #[test]
    fn what_was_measured_on_something_else_is_not_mixed_in() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.csv");
        Record { header: header("one", "today"), rows: vec![] }.write(&path).unwrap();
        let error = Record::go_on(&path, header("another", "today")).unwrap_err().to_string();
        assert!(error.contains("device `one`") && error.contains("`another`"), "{error}");
        let mut more = header("one", "today");
        more.push("cublas", "12");
        let error = Record::go_on(&path, more).unwrap_err().to_string();
        assert!(error.contains("cublas `nothing`"), "{error}");
    }

    #[test]
    fn damaged_records_are_refused_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.csv");
        let whole = format!("# device: one\n{COLUMNS}\n1,2,3,1,ours,,ok,4,,10 11\n");
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(Record::read(&path).unwrap().rows.len(), 1);
        for (old, new, line) in [
            ("# device: one", "# device", 1),
            ("samples_ns", "samples", 2),
            (",4,,", ",four,,", 3),
            ("10 11", "10 0", 3),
            ("10 11", "NaN", 3),
            ("10 11", "", 3),
            (",ok,", ",failed,", 3),
            (",,10 11", "", 3),
        ] {
            std::fs::write(&path, whole.replacen(old, new, 1)).unwrap();
            let error = Record::read(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}: ")), "{old} {new}: {error}");
        }
    }
}
