//! Measuring a whole plan, whatever the driver does: each row in a child process, what was
//! measured safe on disk, and a run that was ended goes on where it ended.
//!
//! Clocks change while measuring, and only configurations of one shape are compared. So the first
//! configuration that ran of each shape is its control: measured again after every few rows. If it
//! has become much slower, those rows are measured once more; if it stays slow, they are kept as
//! `throttled`, and tried again when all else is done.
//!
//! A failure is written only where the row is to blame: `blame` says when. Where the machine itself fails,
//! collecting stops without a word on the row.

mod blame;
mod journal;
mod look;
mod worker;

use std::collections::BTreeMap;
use std::mem;
use std::path::PathBuf;
use std::time::Duration;

use kernels::measurement::{HeaderError, Row, RowError, Status};
use kernels::plan::PlanRow;
use selector_core::{GemmShape, ProblemClass};

pub use journal::Journal;
pub use look::{About, Look, LookError, OPENING, look};
pub use worker::{Child, Event, Request};

use crate::measure::Phase;

/// Rows between two looks at the control.
const SEGMENT: usize = 16;
/// The control is slower by this factor: the clock has changed.
const DRIFT: f64 = 1.5;
/// Looks at the control; the fastest counts.
const LOOKS: usize = 3;
/// Further rounds over the rows that were throttled.
const ROUNDS: usize = 2;

/// Measures rows out of harm's way.
pub trait Worker {
    /// Measure a row.
    ///
    /// # Errors
    /// How the worker failed; the next row gets a new one.
    fn measure(&mut self, row: &PlanRow) -> Result<Row, WorkerFailure>;
}

/// How a worker failed on a row.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerFailure {
    /// It cannot be started at all.
    #[error("the worker cannot be started: {0}")]
    CannotStart(String),
    /// It ended without an answer.
    #[error("the worker died")]
    Died(Phase),
    /// The device runs nothing in it any more.
    #[error("the device is lost: {0}")]
    Lost(String),
    /// The machine lacks what measuring takes, such as memory or space on disk.
    #[error("{0}")]
    Machine(String),
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// It did not answer in time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// Results are wrong in it, whatever the kernel.
    #[error("{0}")]
    Wrong(String),
}

/// Why collecting ended early. What was measured is on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// Another collector writes to the data set.
    #[error("`{0}` is being written by another run; wait for it or name another file")]
    Busy(PathBuf),
    /// A line at the top of the data set is wrong.
    #[error("`{path}`")]
    Header {
        /// The file.
        path: PathBuf,
        /// Which line.
        source: HeaderError,
    },
    /// The user stopped it.
    #[error("interrupted; every row that was settled is kept")]
    Interrupted,
    /// A file cannot be read or written.
    #[error("`{path}`")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The machine or the device can measure nothing now, whatever the row.
    #[error("stopped at {row}, though it is not to blame: {reason}")]
    Machine {
        /// The row that was being measured; it is not in the data set.
        row: String,
        /// What happened.
        reason: String,
    },
    /// The data set was measured elsewhere.
    #[error(
        "`{path}` was measured with {what} `{have}`, this is `{want}`: name a new file, since two do not mix"
    )]
    Mixed {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// In the file.
        have: String,
        /// Here.
        want: String,
    },
    /// The file is something else.
    #[error("`{0}` is there, but is not a data set of ours; name a new file")]
    NotADataSet(PathBuf),
    /// A line of the data set is not a row.
    #[error("`{path}` line {line}")]
    Row {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Why.
        source: RowError,
    },
    /// No row can be measured.
    #[error("nothing can be measured")]
    Worker(#[from] WorkerFailure),
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// Rows of the plan that are in the data set.
    pub done: usize,
    /// Rows of the plan.
    pub total: usize,
    /// Rows that were there before.
    pub reused: usize,
    /// Rows that failed.
    pub failed: usize,
    /// Rows kept as throttled.
    pub throttled: usize,
}

/// Measure what the journal lacks of `plan`; `progress` is told after each row.
///
/// # Errors
/// [`CollectError`]; the journal keeps every row that was whole.
pub fn collect(
    plan: &[PlanRow],
    journal: &mut Journal,
    worker: &mut impl Worker,
    progress: impl FnMut(Tally),
) -> Result<Tally, CollectError> {
    let mut run = Run {
        journal,
        worker,
        progress,
        tally: Tally { total: plan.len(), ..Tally::default() },
        controls: BTreeMap::new(),
        segment: Vec::new(),
        throttled: Vec::new(),
    };
    let mut todo = Vec::new();
    for row in plan {
        if run.journal.has(row) {
            run.tally.reused += 1;
        } else {
            todo.push(row.clone());
        }
    }
    run.tally.done = run.tally.reused;
    (run.progress)(run.tally);
    let mut result = run.rows(&todo);
    for _ in 0..ROUNDS {
        let again = mem::take(&mut run.throttled);
        if again.is_empty() || result.is_err() {
            break;
        }
        run.tally.done -= again.len();
        run.tally.throttled -= again.len();
        result = run.rows(&again);
    }
    // After an interruption there is no time to look at the control: what is not settled is
    // measured again next time.
    run.journal.rest();
    result.map(|()| run.tally)
}

struct Run<'a, W, P> {
    journal: &'a mut Journal,
    worker: &'a mut W,
    progress: P,
    tally: Tally,
    controls: BTreeMap<(GemmShape, ProblemClass), Control>,
    /// Rows of one problem, measured since its control was looked at.
    segment: Vec<(PlanRow, Row)>,
    /// Rows kept as throttled.
    throttled: Vec<PlanRow>,
}

struct Control {
    row: PlanRow,
    fastest: u64,
}

impl<W: Worker, P: FnMut(Tally)> Run<'_, W, P> {
    fn rows(&mut self, rows: &[PlanRow]) -> Result<(), CollectError> {
        rows.iter().try_for_each(|row| self.row(row))?;
        self.settle()
    }

    fn row(&mut self, plan: &PlanRow) -> Result<(), CollectError> {
        let problem = (plan.shape, plan.class);
        if self.segment.first().is_some_and(|(one, _)| (one.shape, one.class) != problem) {
            self.settle()?;
        }
        if !self.journal.start(plan)? {
            // The collector itself ended twice on this row.
            return self.failed(plan, Status::LaunchFailed);
        }
        match blame::measured(self.worker, plan)? {
            Ok(row) if row.status == Status::Ok => {
                self.controls
                    .entry(problem)
                    .or_insert_with(|| Control { row: plan.clone(), fastest: fastest(&row) });
                self.segment.push((plan.clone(), row));
                if self.segment.len() >= SEGMENT {
                    self.settle()?;
                }
                Ok(())
            }
            Ok(row) => self.failed(plan, row.status),
            Err(status) => self.failed(plan, status),
        }
    }

    fn failed(&mut self, plan: &PlanRow, status: Status) -> Result<(), CollectError> {
        self.tally.failed += 1;
        self.write(&Row {
            shape: plan.shape,
            class: plan.class,
            configuration: plan.configuration.to_string(),
            status,
            samples: Vec::new(),
            binary_bytes: None,
        })
    }

    fn write(&mut self, row: &Row) -> Result<(), CollectError> {
        self.journal.append(row)?;
        self.tally.done += 1;
        (self.progress)(self.tally);
        Ok(())
    }

    /// Look at the control, and write the rows measured since the last look.
    fn settle(&mut self) -> Result<(), CollectError> {
        let mut segment = mem::take(&mut self.segment);
        if self.has_drifted(&segment)? {
            for (plan, row) in &mut segment {
                if let Ok(again) = self.again(plan)? {
                    *row = again;
                }
            }
            if self.has_drifted(&segment)? {
                for (plan, row) in &mut segment {
                    row.status = Status::Throttled;
                    self.tally.throttled += 1;
                    self.throttled.push(plan.clone());
                }
            }
        }
        segment.iter().try_for_each(|(_, row)| self.write(row))
    }

    /// Whether the control of the segment's problem has become much slower. One that is the
    /// segment itself says nothing.
    fn has_drifted(&mut self, segment: &[(PlanRow, Row)]) -> Result<bool, CollectError> {
        let Some((first, _)) = segment.first() else { return Ok(false) };
        let problem = (first.shape, first.class);
        let Some(control) = self.controls.get(&problem) else { return Ok(false) };
        if segment.len() == 1 && control.row == *first {
            return Ok(false);
        }
        let (plan, before) = (control.row.clone(), control.fastest);
        let mut now = u64::MAX;
        for _ in 0..LOOKS {
            if let Ok(row) = self.again(&plan)? {
                now = now.min(fastest(&row));
            }
            if (now as f64) <= DRIFT * before as f64 {
                self.controls.insert(problem, Control { row: plan, fastest: before.min(now) });
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn again(&mut self, plan: &PlanRow) -> Result<Result<Row, WorkerFailure>, CollectError> {
        match self.worker.measure(plan) {
            Err(WorkerFailure::Interrupted) => Err(CollectError::Interrupted),
            Err(failure @ WorkerFailure::CannotStart(_)) => {
                Err(blame::stopped(plan, failure.to_string()))
            }
            Err(failure @ (WorkerFailure::Machine(_) | WorkerFailure::Wrong(_))) => {
                blame::check_machine(self.worker, plan, &failure)?;
                Ok(Err(failure))
            }
            Ok(row) if row.status != Status::Ok => Ok(Err(WorkerFailure::Died(Phase::Launch))),
            other => Ok(other),
        }
    }
}

fn fastest(row: &Row) -> u64 {
    row.samples.iter().copied().min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use kernels::measurement::{Header, Timing};

    use super::*;

    /// Ten configurations; what becomes of each is told by its number.
    fn plan() -> Vec<PlanRow> {
        let row = |configuration: kernels::Configuration| PlanRow {
            shape: GemmShape::new(8, 8, 8, 1),
            class: ProblemClass::F32_NN,
            configuration,
            repetitions: 2,
        };
        kernels::space::all().into_iter().take(10).map(row).collect()
    }

    /// The number of the look whether the machine is well.
    const UNIVERSAL: usize = 100;

    type Answer = Box<dyn FnMut(usize, usize) -> Result<Vec<u64>, WorkerFailure>>;

    /// Answers by the row's number and the number of calls before.
    struct Fake {
        plan: Vec<PlanRow>,
        calls: usize,
        answer: Answer,
    }

    impl Fake {
        fn new(
            answer: impl FnMut(usize, usize) -> Result<Vec<u64>, WorkerFailure> + 'static,
        ) -> Self {
            Self { plan: plan(), calls: 0, answer: Box::new(answer) }
        }
    }

    impl Worker for Fake {
        fn measure(&mut self, row: &PlanRow) -> Result<Row, WorkerFailure> {
            let universal = row.configuration == kernels::Configuration::universal();
            let number = self.plan.iter().position(|one| one == row);
            let number = if universal { UNIVERSAL } else { number.unwrap() };
            let samples = (self.answer)(number, self.calls)?;
            self.calls += 1;
            Ok(Row {
                shape: row.shape,
                class: row.class,
                configuration: row.configuration.to_string(),
                status: Status::Ok,
                samples,
                binary_bytes: Some(4096),
            })
        }
    }

    fn header() -> Header {
        let text = |text: &str| text.to_owned();
        Header {
            device: text("d"),
            driver: text("1"),
            platform: text("p"),
            space: Some(1),
            clock_resolution_ns: Some(1),
            timing: Timing::Device,
            half_arithmetic: Some(true),
            date: text("2026-01-01T00:00:00Z"),
            tool: text("t"),
        }
    }

    fn run(path: &Path, worker: &mut Fake) -> Result<Tally, CollectError> {
        let mut journal = Journal::open(path, &header())?;
        collect(&plan(), &mut journal, worker, |_| {})
    }

    fn rows(path: &Path) -> Vec<Row> {
        let text = fs::read_to_string(path).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        lines.map(|line| Row::parse(line).unwrap()).collect()
    }

    fn count(path: &Path, status: Status) -> usize {
        rows(path).iter().filter(|row| row.status == status).count()
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_hang_and_a_crash_cost_one_row_each() {
        let folder = folder();
        let path = folder.path().join("data.csv");
        let mut worker = Fake::new(|number, _| match number {
            3 => Err(WorkerFailure::TimedOut(Duration::from_secs(1))),
            5 => Err(WorkerFailure::Died(Phase::Build)),
            6 => Err(WorkerFailure::Died(Phase::Launch)),
            _ => Ok(vec![1000, 1001]),
        });
        let tally = run(&path, &mut worker).unwrap();
        assert_eq!((tally.done, tally.total, tally.failed), (10, 10, 3));
        assert_eq!(count(&path, Status::Ok), 7);
        assert_eq!(count(&path, Status::TimedOut), 1);
        assert_eq!(count(&path, Status::BuildFailed), 1);
        assert_eq!(count(&path, Status::LaunchFailed), 1);
        // Nothing is left to do.
        let calls = worker.calls;
        assert_eq!(run(&path, &mut worker).unwrap().reused, 10);
        assert_eq!(worker.calls, calls);
    }

    /// Collect with answers; the rows that are kept, and how often each was asked for.
    fn collected(
        mut answer: impl FnMut(usize, usize) -> Result<Vec<u64>, WorkerFailure> + 'static,
    ) -> (Result<Tally, CollectError>, Vec<Row>, [usize; 10]) {
        let folder = folder();
        let path = folder.path().join("data.csv");
        let asked = std::rc::Rc::new(std::cell::RefCell::new([0; 10]));
        let count = std::rc::Rc::clone(&asked);
        let result = run(
            &path,
            &mut Fake::new(move |number, _| {
                let times = match count.borrow_mut().get_mut(number) {
                    Some(times) => {
                        *times += 1;
                        *times
                    }
                    None => 0,
                };
                answer(number, times)
            }),
        );
        let asked = *asked.borrow();
        (result, rows(&path), asked)
    }

    fn lost() -> WorkerFailure {
        WorkerFailure::Lost("gone".to_owned())
    }

    #[test]
    fn a_death_or_a_lost_device_that_does_not_come_back_is_no_rows_fault() {
        let (result, rows, asked) = collected(|number, times| match (number, times) {
            (2, 1) => Err(WorkerFailure::Died(Phase::Build)),
            (4, 1) => Err(WorkerFailure::Died(Phase::Launch)),
            (6, 1) => Err(lost()),
            (8, 1) => Err(WorkerFailure::Machine("out of memory".to_owned())),
            _ => Ok(vec![1000]),
        });
        assert_eq!(result.unwrap().failed, 0);
        assert!(rows.len() == 10 && rows.iter().all(|row| row.status == Status::Ok));
        assert_eq!([2, 4, 6, 8].map(|number| asked[number]), [2; 4]);
    }

    #[test]
    fn a_row_that_takes_the_device_down_each_time_is_to_blame_while_others_run() {
        for failure in [lost(), WorkerFailure::Machine("out of host memory".to_owned())] {
            let (result, rows, asked) = collected(move |number, _| match number {
                5 => Err(failure.clone()),
                _ => Ok(vec![1000]),
            });
            assert_eq!((result.unwrap().failed, rows.len(), asked[5]), (1, 10, 2));
            let failed = rows.iter().filter(|row| row.status == Status::LaunchFailed);
            assert_eq!(failed.count(), 1);
        }
    }

    #[test]
    fn where_nothing_runs_any_more_collecting_stops_and_goes_on_later() {
        for failure in [
            lost(),
            WorkerFailure::Wrong("wrong".to_owned()),
            WorkerFailure::Died(Phase::Build),
            WorkerFailure::TimedOut(Duration::from_secs(1)),
            WorkerFailure::Machine("no space left on device".to_owned()),
        ] {
            let folder = folder();
            let path = folder.path().join("data.csv");
            let from_fourth = failure.clone();
            let mut worker =
                Fake::new(
                    move |number, _| {
                        if number < 3 { Ok(vec![1000]) } else { Err(from_fourth.clone()) }
                    },
                );
            let error = run(&path, &mut worker).unwrap_err();
            let CollectError::Machine { row, .. } = &error else { panic!("{error}") };
            assert!(row.contains(&plan()[3].configuration.to_string()), "{row}");
            assert!(rows(&path).iter().all(|row| row.status == Status::Ok), "{failure}");
            let tally = run(&path, &mut Fake::new(|_, _| Ok(vec![1000]))).unwrap();
            assert_eq!((tally.done, tally.failed), (10, 0));
            assert_eq!(count(&path, Status::Ok), 10);
        }
        // The control too.
        let cannot = WorkerFailure::CannotStart("no device".to_owned());
        for failure in [cannot, WorkerFailure::Machine("out of memory".to_owned())] {
            let (result, rows, _) = collected(move |number, times| match (number, times) {
                (0, 2..) | (UNIVERSAL, _) => Err(failure.clone()),
                _ => Ok(vec![1000]),
            });
            assert!(matches!(result, Err(CollectError::Machine { .. })));
            assert!(rows.is_empty(), "{rows:?}");
        }
    }

    #[test]
    fn a_half_written_row_is_dropped_and_measured_again() {
        let folder = folder();
        let path = folder.path().join("data.csv");
        run(&path, &mut Fake::new(|_, _| Ok(vec![1000]))).unwrap();
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 4]).unwrap();
        let mut worker = Fake::new(|_, _| Ok(vec![2000]));
        let tally = run(&path, &mut worker).unwrap();
        assert_eq!((tally.reused, worker.calls), (9, 1));
        assert_eq!(rows(&path).len(), 10);
    }

    #[test]
    fn a_row_on_which_the_collector_itself_ended_is_tried_once_more() {
        let folder = folder();
        let path = folder.path().join("data.csv");
        for _ in 0..2 {
            // As if the process were killed while row 0 runs.
            let mut journal = Journal::open(&path, &header()).unwrap();
            assert!(journal.start(&plan()[0]).unwrap());
        }
        run(
            &path,
            &mut Fake::new(|number, _| {
                assert_ne!(number, 0, "must not run a third time");
                Ok(vec![1000])
            }),
        )
        .unwrap();
        assert_eq!(count(&path, Status::LaunchFailed), 1);
        assert_eq!(count(&path, Status::Ok), 9);
    }

    #[test]
    fn rows_measured_while_the_clock_was_low_are_measured_again() {
        let folder = folder();
        let path = folder.path().join("data.csv");
        // Slow from the sixth call until the control was looked at.
        let slow = |calls: usize| if (5..13).contains(&calls) { 1600 } else { 1000 };
        let tally = run(&path, &mut Fake::new(move |_, calls| Ok(vec![slow(calls)]))).unwrap();
        assert_eq!(tally.throttled, 0);
        assert!(rows(&path).iter().all(|row| row.samples == [1000]));
    }

    #[test]
    fn rows_of_a_clock_that_stays_low_are_kept_as_throttled() {
        let folder = folder();
        let path = folder.path().join("data.csv");
        let slow = |calls: usize| if calls < 5 { 1000 } else { 1600 };
        let tally = run(&path, &mut Fake::new(move |_, calls| Ok(vec![slow(calls)]))).unwrap();
        assert_eq!((tally.throttled, tally.done), (10, 10));
        assert!(rows(&path).iter().all(|row| row.samples == [1600]));
        assert_eq!(count(&path, Status::Throttled), 10 * (1 + ROUNDS));
        // A later run tries them again, and they are no longer throttled.
        let mut worker = Fake::new(|_, _| Ok(vec![1000]));
        assert_eq!(run(&path, &mut worker).unwrap().reused, 0);
        assert_eq!(count(&path, Status::Ok), 10);
    }

    #[test]
    fn throttled_rows_are_tried_again_when_all_else_is_done() {
        let folder = folder();
        let path = folder.path().join("data.csv");
        // Low for the rest of the first round: ten rows, three looks, ten again, three looks.
        let slow = |calls: usize| if (5..26).contains(&calls) { 1600 } else { 1000 };
        let tally = run(&path, &mut Fake::new(move |_, calls| Ok(vec![slow(calls)]))).unwrap();
        assert_eq!((tally.throttled, tally.done), (0, 10));
        assert_eq!((count(&path, Status::Throttled), count(&path, Status::Ok)), (10, 10));
    }

    #[test]
    fn the_true_order_is_kept_though_the_clock_falls_while_candidates_run() {
        let folder = folder();
        let path = folder.path().join("data.csv");
        // Later rows are faster, but the clock is low while the sixth and what follows run.
        let time = |number: usize| 1000 - 10 * number as u64;
        let slow = |calls: usize| if (5..13).contains(&calls) { 16 } else { 10 };
        let (tell, told) = std::sync::mpsc::channel();
        let mut worker = Fake::new(move |number, calls| {
            let sample = time(number) * slow(calls) / 10;
            tell.send((number, sample)).unwrap();
            Ok(vec![sample])
        });
        run(&path, &mut worker).unwrap();
        drop(worker);
        let raw: Vec<_> = told.into_iter().collect();
        let first = |number| raw.iter().find(|(one, _)| *one == number).unwrap().1;
        assert!(first(5) > first(4), "the raw order is the wrong one");
        for (number, planned) in plan().iter().enumerate() {
            let name = planned.configuration.to_string();
            let kept = rows(&path).into_iter().find(|row| row.configuration == name).unwrap();
            assert_eq!((kept.status, kept.samples), (Status::Ok, vec![time(number)]));
        }
    }

    #[test]
    fn a_hang_a_crash_and_a_kill_leave_eight_times_and_two_failures() {
        let folder = folder();
        let path = folder.path().join("data.csv");
        let killed = std::panic::catch_unwind(|| {
            let mut worker = Fake::new(|number, _| match number {
                3 => Err(WorkerFailure::TimedOut(Duration::from_secs(1))),
                5 => Err(WorkerFailure::Died(Phase::Launch)),
                6 => panic!("as if all were killed"),
                _ => Ok(vec![1000]),
            });
            run(&path, &mut worker)
        });
        assert!(killed.is_err());
        // The row that was being written.
        let mut text = fs::read(&path).unwrap();
        let half = plan()[6].configuration.to_string();
        text.extend(format!("8,8,8,1,f32-nn,{}", &half[..half.len() - 2]).bytes());
        fs::write(&path, text).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let mut worker = Fake::new(move |number, _| {
            tell.send(number).unwrap();
            Ok(vec![1000])
        });
        let tally = run(&path, &mut worker).unwrap();
        drop(worker);
        let ran: Vec<usize> = told.into_iter().collect();
        assert!(!ran.contains(&3) && !ran.contains(&5), "{ran:?}");
        assert_eq!(ran.iter().filter(|number| **number == 6).count(), 1, "{ran:?}");
        assert_eq!((tally.done, rows(&path).len()), (10, 10));
        let statuses = [Status::Ok, Status::TimedOut, Status::LaunchFailed];
        assert_eq!(statuses.map(|status| count(&path, status)), [8, 1, 1]);
    }

    #[test]
    fn an_interrupted_run_goes_on() {
        let folder = folder();
        let path = folder.path().join("data.csv");
        let mut worker = Fake::new(|number, _| match number {
            4 => Err(WorkerFailure::TimedOut(Duration::from_secs(1))),
            7 => Err(WorkerFailure::Interrupted),
            _ => Ok(vec![1000]),
        });
        assert!(matches!(run(&path, &mut worker), Err(CollectError::Interrupted)));
        assert_eq!(run(&path, &mut Fake::new(|_, _| Ok(vec![1000]))).unwrap().done, 10);
        assert_eq!(rows(&path).len(), 10);
        assert_eq!(count(&path, Status::TimedOut), 1);
    }

    #[test]
    fn another_device_and_another_file_are_refused_and_left_alone() {
        let folder = folder();
        let path = folder.path().join("data.csv");
        run(&path, &mut Fake::new(|_, _| Ok(vec![1000]))).unwrap();
        let before = fs::read(&path).unwrap();
        let other = Header { device: "e".to_owned(), ..header() };
        let error = Journal::open(&path, &other).err().unwrap();
        assert!(matches!(error, CollectError::Mixed { what: "device", .. }), "{error}");
        let other = Header { space: None, ..header() };
        assert!(matches!(Journal::open(&path, &other), Err(CollectError::Mixed { .. })));
        assert_eq!(fs::read(&path).unwrap(), before);
        let first = Journal::open(&path, &header()).unwrap();
        assert!(matches!(Journal::open(&path, &header()), Err(CollectError::Busy(_))));
        drop(first);
        let notes = folder.path().join("notes.txt");
        for text in ["dear diary\n", "dear diary", "# dear diary"] {
            fs::write(&notes, text).unwrap();
            let error = Journal::open(&notes, &header());
            assert!(matches!(error, Err(CollectError::NotADataSet(_))), "{text}");
            assert_eq!(fs::read_to_string(&notes).unwrap(), text);
        }
    }

    #[test]
    fn a_damaged_row_in_the_middle_is_named_by_its_line() {
        let folder = folder();
        let path = folder.path().join("data.csv");
        run(&path, &mut Fake::new(|_, _| Ok(vec![1000]))).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen(",ok,", ",fine,", 1)).unwrap();
        let error = Journal::open(&path, &header()).err().unwrap();
        assert!(matches!(error, CollectError::Row { line: 10, .. }), "{error:?}");
    }
}
