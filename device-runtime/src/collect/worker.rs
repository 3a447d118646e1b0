//! The child process that measures, and the lines it is spoken to in.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use kernels::measurement::Row;
use kernels::plan::PlanRow;
use selector_core::GemmShape;
use serde::{Deserialize, Serialize};

use super::look::{About, OPENING};
use super::{Worker, WorkerFailure};
use crate::measure::{Clock, Phase};
use crate::process::Process;

/// How often the wish to stop is looked at.
pub(super) const SLICE: Duration = Duration::from_millis(100);

/// A line to the child: measure this.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Request {
    shape: GemmShape,
    class: String,
    configuration: String,
    repetitions: u32,
}

impl Request {
    /// Ask for a row.
    #[must_use]
    pub fn new(row: &PlanRow) -> Self {
        Self {
            shape: row.shape,
            class: row.class.to_string(),
            configuration: row.configuration.to_string(),
            repetitions: row.repetitions,
        }
    }

    /// The row asked for; `None` if this build does not know it.
    #[must_use]
    pub fn row(&self) -> Option<PlanRow> {
        Some(PlanRow {
            shape: self.shape,
            class: self.class.parse().ok()?,
            configuration: self.configuration.parse().ok()?,
            repetitions: self.repetitions,
        })
    }
}

/// A line from the child.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The device is open, and this is it.
    About(About),
    /// The device is open; rows can be asked for.
    Ready,
    /// The driver is about to build.
    Build,
    /// By which clock the device can be timed.
    Clock(Clock),
    /// The kernel is about to run.
    Launch,
    /// The device runs nothing in this process any more, which ends.
    Lost(String),
    /// The machine cannot measure now; the process ends.
    Machine(String),
    /// Results are wrong in this process, whatever the kernel; it ends.
    Wrong(String),
    /// Something to tell the user.
    Note(String),
    /// The answer: a line of the data set.
    Row(String),
}

/// A worker in a child process, started when it is needed and killed when it hangs.
pub struct Child<'a> {
    program: PathBuf,
    arguments: Vec<OsString>,
    timeout: Duration,
    stop: &'a AtomicBool,
    note: Box<dyn FnMut(String) + 'a>,
    running: Option<Running>,
}

type Running = Process<Event>;

impl<'a> Child<'a> {
    /// Measure with `program arguments`, and give a row up after `timeout`. What the child has to
    /// say is given to `note`; once `stop` is true it is killed.
    pub fn new(
        program: PathBuf,
        arguments: Vec<OsString>,
        timeout: Duration,
        stop: &'a AtomicBool,
        note: impl FnMut(String) + 'a,
    ) -> Self {
        Self { program, arguments, timeout, stop, note: Box::new(note), running: None }
    }

    /// Start the child and wait until it has opened the device: that it cannot is no row's fault.
    fn start(&mut self) -> Result<Running, WorkerFailure> {
        let running = Running::start(&self.program, &self.arguments)
            .map_err(|error| WorkerFailure::CannotStart(error.to_string()))?;
        let end = Instant::now() + OPENING;
        let cannot = |why: &str| Err(WorkerFailure::CannotStart(why.to_owned()));
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(WorkerFailure::Interrupted);
            }
            match running.events.recv_timeout(SLICE) {
                Ok(Event::Ready) => return Ok(running),
                Ok(Event::Note(note)) => (self.note)(note),
                Ok(_) => return cannot("it answers before it is asked"),
                Err(RecvTimeoutError::Timeout) if Instant::now() >= end => {
                    return cannot("it does not open the device");
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let ended = WorkerFailure::CannotStart("it ended at once".to_owned());
                    return Err(self.stopped_or(ended));
                }
            }
        }
    }

    fn ask(&mut self, running: &mut Running, row: &PlanRow) -> Result<Row, WorkerFailure> {
        let mut phase = Phase::Build;
        if running.tell(&Request::new(row)).is_err() {
            return Err(self.stopped_or(WorkerFailure::Died(phase)));
        }
        let end = Instant::now() + self.timeout;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(WorkerFailure::Interrupted);
            }
            match running.events.recv_timeout(SLICE) {
                Ok(Event::Build) => phase = Phase::Build,
                Ok(Event::Launch) => phase = Phase::Launch,
                Ok(Event::Note(note)) => (self.note)(note),
                Ok(Event::Lost(why)) => return Err(WorkerFailure::Lost(why)),
                Ok(Event::Machine(why)) => return Err(WorkerFailure::Machine(why)),
                Ok(Event::Wrong(why)) => return Err(WorkerFailure::Wrong(why)),
                Ok(Event::About(_) | Event::Clock(_) | Event::Ready) => {}
                Ok(Event::Row(line)) => {
                    return Row::parse(&line).map_err(|_| WorkerFailure::Died(phase));
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= end => {
                    return Err(WorkerFailure::TimedOut(self.timeout));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.stopped_or(WorkerFailure::Died(phase)));
                }
            }
        }
    }

    /// A signal reaches the child too, and may reach it first.
    fn stopped_or(&self, failure: WorkerFailure) -> WorkerFailure {
        thread::sleep(SLICE);
        if self.stop.load(Ordering::Relaxed) { WorkerFailure::Interrupted } else { failure }
    }
}

impl Worker for Child<'_> {
    fn measure(&mut self, row: &PlanRow) -> Result<Row, WorkerFailure> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        let answer = self.ask(&mut running, row);
        if answer.is_ok() {
            self.running = Some(running);
        }
        // On any failure `running` is dropped here, and its process killed.
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> PlanRow {
        PlanRow {
            shape: GemmShape::new(1, 2, 3, 1),
            class: selector_core::ProblemClass::F32_NN,
            configuration: "universal".parse().unwrap(),
            repetitions: 1,
        }
    }

    fn measure(script: &str, stop: &AtomicBool) -> Result<Row, WorkerFailure> {
        let timeout = Duration::from_millis(300);
        let script = format!("echo '\"ready\"'; {script}");
        let arguments = ["-c", &script].map(OsString::from).to_vec();
        Child::new("/bin/sh".into(), arguments, timeout, stop, |_| {}).measure(&row())
    }

    #[test]
    fn an_answer_a_hang_and_a_crash_are_told_apart() {
        let go = AtomicBool::new(false);
        let answer = r#"read line; echo noise; echo '{"row":"1,2,3,1,f32-nn,universal,ok,5,0,5"}'"#;
        let answer = measure(answer, &go);
        assert_eq!(answer.map(|row| row.samples), Ok(vec![5]));
        let hang = measure("echo '\"launch\"'; exec sleep 60", &go);
        assert_eq!(hang, Err(WorkerFailure::TimedOut(Duration::from_millis(300))));
        let crash = measure("read line; echo '\"build\"'; kill -9 $$", &go);
        assert_eq!(crash, Err(WorkerFailure::Died(Phase::Build)));
        let crash = measure("read line; echo '\"launch\"'; kill -9 $$", &go);
        assert_eq!(crash, Err(WorkerFailure::Died(Phase::Launch)));
        let lost = measure("read line; echo '{\"lost\":\"why\"}'; exec sleep 60", &go);
        assert_eq!(lost, Err(WorkerFailure::Lost("why".to_owned())));
        let full = measure("read line; echo '{\"machine\":\"why\"}'", &go);
        assert_eq!(full, Err(WorkerFailure::Machine("why".to_owned())));
        let wrong = measure("read line; echo '{\"wrong\":\"why\"}'", &go);
        assert_eq!(wrong, Err(WorkerFailure::Wrong("why".to_owned())));
        assert_eq!(
            measure("exec sleep 60", &AtomicBool::new(true)),
            Err(WorkerFailure::Interrupted)
        );
    }

    #[test]
    fn a_program_that_is_not_there_is_no_fault_of_the_row() {
        let stop = AtomicBool::new(false);
        let mut child = Child::new(
            "/no/such/program".into(),
            Vec::new(),
            Duration::from_secs(1),
            &stop,
            |_| {},
        );
        assert!(matches!(child.measure(&row()), Err(WorkerFailure::CannotStart(_))));
        // Nor that the device cannot be opened any more.
        let arguments = ["-c", "exit 1"].map(OsString::from).to_vec();
        let mut child =
            Child::new("/bin/sh".into(), arguments, Duration::from_secs(1), &stop, |_| {});
        assert!(matches!(child.measure(&row()), Err(WorkerFailure::CannotStart(_))));
    }

    #[test]
    fn a_request_is_the_row_it_asks_for() {
        let text = serde_json::to_string(&Request::new(&row())).unwrap();
        let request: Request = serde_json::from_str(&text).unwrap();
        assert_eq!(request.row(), Some(row()));
    }
}
