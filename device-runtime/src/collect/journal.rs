//! The data set while it grows: whole rows only, each synced when it is written.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use kernels::measurement::{COLUMNS, COLUMNS_WITHOUT_BYTES, Header, Row, RowError, Status};
use kernels::plan::PlanRow;
use selector_core::{GemmShape, ProblemClass};

use super::CollectError;

/// Times that a row is begun before the collector gives it up.
const ATTEMPTS: u32 = 2;

/// How long a collector that is just ending is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// An open data set, to which rows are appended.
///
/// Beside it, `<file>.started` names the row that is being measured, so that one that takes the
/// whole machine down is not begun for ever.
pub struct Journal {
    path: PathBuf,
    file: File,
    done: BTreeSet<Key>,
    /// Whether rows say the size of binaries: a file that was begun without goes on without.
    has_bytes: bool,
    marker: PathBuf,
    /// The row that was being measured when the last run ended, and how often it was begun.
    begun: Option<(String, u32)>,
}

type Key = (GemmShape, ProblemClass, String);

impl Journal {
    /// Create the data set, or go on with one measured under the same header.
    ///
    /// # Errors
    /// Another device's, damaged, or not a data set: it is left as it is.
    pub fn open(path: &Path, header: &Header) -> Result<Self, CollectError> {
        let io = |source| CollectError::Io { path: path.to_owned(), source };
        if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            return Err(CollectError::NotADataSet(path.to_owned()));
        }
        let mut file =
            OpenOptions::new().create(true).read(true).append(true).open(path).map_err(io)?;
        // Where a file system knows no locks there is no protection, and no harm.
        let patience = Instant::now() + PATIENCE;
        while let Err(TryLockError::WouldBlock) = file.try_lock() {
            if Instant::now() >= patience {
                return Err(CollectError::Busy(path.to_owned()));
            }
            thread::sleep(PATIENCE / 50);
        }
        let mut text = String::new();
        match file.read_to_string(&mut text) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(CollectError::NotADataSet(path.to_owned()));
            }
            read => read.map_err(io)?,
        };
        let whole = text.rfind('\n').map_or(0, |newline| newline + 1);
        let done = read(path, &text[..whole], header)?;
        if done.is_none() {
            // A file of ours that was cut within its first lines begins like one; any other is not ours
            // to overwrite.
            if !is_beginning(&text, header) {
                return Err(CollectError::NotADataSet(path.to_owned()));
            }
            file.set_len(0).map_err(io)?;
            writeln!(file, "{header}{COLUMNS}").map_err(io)?;
        } else {
            file.set_len(whole as u64).map_err(io)?;
        }
        file.sync_all().map_err(io)?;
        let mut marker = path.as_os_str().to_owned();
        marker.push(".started");
        let marker = PathBuf::from(marker);
        let begun = fs::read_to_string(&marker).ok().and_then(|text| {
            let (attempts, key) = text.trim_end().split_once(' ')?;
            Some((key.to_owned(), attempts.parse().ok()?))
        });
        let (done, has_bytes) = done.unwrap_or_else(|| (BTreeSet::new(), true));
        Ok(Self { path: path.to_owned(), file, done, has_bytes, marker, begun })
    }

    /// Whether the row needs no measuring.
    #[must_use]
    pub fn has(&self, row: &PlanRow) -> bool {
        self.done.contains(&(row.shape, row.class, row.configuration.to_string()))
    }

    /// Note that the row is being measured; false if it was begun too often without an end.
    ///
    /// # Errors
    /// The note cannot be written.
    pub fn start(&mut self, row: &PlanRow) -> Result<bool, CollectError> {
        let key = format!("{} {} {}", row.shape, row.class, row.configuration);
        let before = match &self.begun {
            Some((begun, attempts)) if *begun == key => *attempts,
            _ => 0,
        };
        if before >= ATTEMPTS {
            return Ok(false);
        }
        let io = |source| CollectError::Io { path: self.marker.clone(), source };
        // Synced, since the row may take the whole machine down.
        let mut marker = File::create(&self.marker).map_err(io)?;
        marker.write_all(format!("{} {key}\n", before + 1).as_bytes()).map_err(io)?;
        marker.sync_data().map_err(io)?;
        Ok(true)
    }

    /// Note that nothing is being measured any more.
    pub fn rest(&mut self) {
        // A note that stays behind costs one attempt of one row, no more.
        let _ = fs::remove_file(&self.marker);
        self.begun = None;
    }

    /// Append a row and sync it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, row: &Row) -> Result<(), CollectError> {
        let io = |source| CollectError::Io { path: self.path.clone(), source };
        let line = if self.has_bytes { row.line() } else { row.line_without_bytes() };
        self.file.write_all(line.as_bytes()).map_err(io)?;
        self.file.sync_data().map_err(io)?;
        self.done.insert((row.shape, row.class, row.configuration.clone()));
        Ok(())
    }
}

/// The rows that need no measuring, and whether rows say the size of binaries; `None` if the file
/// has not even its columns.
fn read(
    path: &Path,
    text: &str,
    header: &Header,
) -> Result<Option<(BTreeSet<Key>, bool)>, CollectError> {
    let not_ours = || CollectError::NotADataSet(path.to_owned());
    if text.is_empty() {
        return Ok(None);
    }
    if !text.starts_with("# ") {
        return Err(not_ours());
    }
    let found = Header::parse(text.lines())
        .map_err(|source| CollectError::Header { path: path.to_owned(), source })?;
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| line.starts_with('#'));
    let has_bytes = match lines.next() {
        None => return Ok(None),
        Some((_, COLUMNS)) => true,
        Some((_, COLUMNS_WITHOUT_BYTES)) => false,
        Some(_) => return Err(not_ours()),
    };
    let columns = if has_bytes { COLUMNS } else { COLUMNS_WITHOUT_BYTES };
    let expected = columns.split(',').count();
    same(path, &found, header)?;
    let mut done = BTreeSet::new();
    for (index, line) in lines {
        let wrong = |source| CollectError::Row { path: path.to_owned(), line: index + 1, source };
        let row = Row::parse(line).map_err(wrong)?;
        let found = line.split(',').count();
        if found != expected {
            return Err(wrong(RowError::Columns { found, expected }));
        }
        // What was throttled is worth another try.
        if row.status != Status::Throttled {
            done.insert((row.shape, row.class, row.configuration));
        }
    }
    Ok(Some((done, has_bytes)))
}

/// Whether `text` is what a run under the same header writes first, or begins so; the date and the
/// program may be others.
fn is_beginning(text: &str, header: &Header) -> bool {
    let expected = format!("{header}{COLUMNS}\n");
    let varies = |line: &str| ["# date: ", "# tool: "].iter().any(|key| line.starts_with(key));
    let mut expected = expected.split_inclusive('\n');
    text.split_inclusive('\n').all(|line| {
        expected
            .next()
            .is_some_and(|expected| expected.starts_with(line) || varies(line) && varies(expected))
    })
}

fn same(path: &Path, have: &Header, want: &Header) -> Result<(), CollectError> {
    let space = |header: &Header| {
        header.space.map_or_else(|| "none".to_owned(), |hash| format!("{hash:016x}"))
    };
    let pairs = [
        ("device", have.device.clone(), want.device.clone()),
        ("driver", have.driver.clone(), want.driver.clone()),
        ("platform", have.platform.clone(), want.platform.clone()),
        ("kernel space", space(have), space(want)),
        ("timing", have.timing.to_string(), want.timing.to_string()),
    ];
    // A file of before this was told may be either.
    let halves = have.half_arithmetic.zip(want.half_arithmetic).map(|(have, want)| {
        let word = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
        ("arithmetic in 16 bits", word(have), word(want))
    });
    match pairs.into_iter().chain(halves).find(|(_, have, want)| have != want) {
        Some((what, have, want)) => {
            Err(CollectError::Mixed { path: path.to_owned(), what, have, want })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(text: &str, header: &Header) -> (Result<(), CollectError>, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        fs::write(&path, text).unwrap();
        let opened = Journal::open(&path, header).map(drop);
        (opened, fs::read_to_string(&path).unwrap())
    }

    #[test]
    fn only_what_a_run_writes_first_is_begun_anew() {
        let header =
            Header { device: "d".to_owned(), date: "today".to_owned(), ..Header::default() };
        let whole = format!("{header}{COLUMNS}\n");
        let before = whole.replace("today", "yesterday");
        for cut in 0..before.len() {
            let (opened, after) = opened(&before[..cut], &header);
            assert!(opened.is_ok(), "{:?}", &before[..cut]);
            assert_eq!(after, whole);
        }
        for text in [
            "# date: today\nimportant",
            "# device: other\n",
            &format!("{header}# timing: stream\n"),
            &format!("{header}notes of mine"),
            "# tool: hammer",
        ] {
            let (opened, after) = opened(text, &header);
            assert!(matches!(opened, Err(CollectError::NotADataSet(_))), "{text:?}");
            assert_eq!(after, text);
        }
    }

    #[test]
    fn times_with_and_without_arithmetic_in_16_bits_do_not_mix() {
        let with = Header { half_arithmetic: Some(true), ..Header::default() };
        let without = Header { half_arithmetic: Some(false), ..Header::default() };
        let text = format!("{with}{COLUMNS}\n1,2,3,1,f16h-nn,universal,ok,5,0,5,\n");
        assert!(opened(&text, &with).0.is_ok());
        let (opened, after) = opened(&text, &without);
        assert!(matches!(opened, Err(CollectError::Mixed { .. })));
        assert_eq!(after, text);
    }

    #[test]
    fn a_folder_or_device_is_no_data_set() {
        let opened = Journal::open(Path::new("/dev/null"), &Header::default());
        assert!(matches!(opened.err(), Some(CollectError::NotADataSet(_))));
    }
}
