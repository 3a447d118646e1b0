//! Trying in a child process, which a driver may crash or hang as it likes.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use kernels::Configuration;
use kernels::bundle::DriverKey;
use selector_core::ProblemClass;
use serde::{Deserialize, Serialize};

use super::attempt::{Attempt, Fault, Task, attempt};
use crate::Device;
use crate::process::Process;

/// A child that has not opened the device after this long never will.
const START: Duration = Duration::from_secs(60);

/// Starts that fail, one after the other, after which no other is tried.
const STARTS: u32 = 3;

/// A line to the child: try this program.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Request {
    configurations: Vec<String>,
    class: String,
    /// The file of the binary; none to build.
    binary: Option<PathBuf>,
    /// Where what was built goes.
    output: PathBuf,
}

/// A line from the child.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The device is open, and this is its key.
    Ready(DriverKey),
    /// It runs and is right.
    Right,
    /// It does not load, build or run.
    Refused(String),
    /// This configuration of it is wrong.
    Wrong(String),
}

impl Request {
    /// Do it, in the child.
    #[must_use]
    pub fn answer<D: Device>(&self, device: &D) -> Answer {
        match self.attempt(device) {
            Ok(()) => Answer::Right,
            Err(Fault::Wrong(configuration)) => Answer::Wrong(configuration),
            Err(fault) => Answer::Refused(fault.to_string()),
        }
    }

    fn attempt<D: Device>(&self, device: &D) -> Result<(), Fault> {
        let refused = |why: &dyn ToString| Fault::Refused(why.to_string());
        let class: ProblemClass = self.class.parse().map_err(|error| refused(&error))?;
        let configurations = self.configurations.iter().map(|name| name.parse());
        let configurations: Result<Vec<Configuration>, _> = configurations.collect();
        let configurations = configurations.map_err(|error| refused(&error))?;
        let first = configurations.first().ok_or_else(|| refused(&"nothing is asked for"))?;
        let program = first.program(class);
        let binary = self.binary.as_ref().map(fs::read).transpose();
        let binary = binary.map_err(|error| refused(&error))?;
        let task =
            Task { program: &program, configurations: &configurations, binary: binary.as_deref() };
        let built = attempt(device, &task)?;
        if self.binary.is_none() {
            fs::write(&self.output, built).map_err(|error| refused(&error))?;
        }
        Ok(())
    }
}

/// A child process that is started when it is needed, and anew when a driver has taken it down.
pub struct InChild {
    program: PathBuf,
    arguments: Vec<OsString>,
    limit: Duration,
    start: Duration,
    here: DriverKey,
    folder: tempfile::TempDir,
    running: Option<Process<Answer>>,
    /// Starts that failed since one succeeded.
    failed: u32,
    /// Why no child is started any more.
    given_up: Option<Fault>,
}

impl InChild {
    /// Try in `program arguments`, which opens the device whose key is `here` and answers each [`Request`]
    /// by an [`Answer`]; what takes longer than `limit` hangs. Where the child hangs before it has opened the
    /// device, or fails three times at that, no other is started.
    ///
    /// # Errors
    /// There is no temporary folder for binaries.
    pub fn new(
        program: PathBuf,
        arguments: Vec<OsString>,
        limit: Duration,
        here: DriverKey,
    ) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("gemmtree-").tempdir()?;
        let (start, running, given_up) = (START, None, None);
        Ok(Self { program, arguments, limit, start, here, folder, running, failed: 0, given_up })
    }

    /// A child that has opened the device.
    fn ready(&mut self) -> Result<Process<Answer>, Fault> {
        if let Some(fault) = &self.given_up {
            return Err(fault.clone());
        }
        let begun = Instant::now();
        let started = self.start();
        match &started {
            Ok(_) => self.failed = 0,
            Err(fault) => {
                self.failed += 1;
                // The next would hang just as long.
                let hung = begun.elapsed() >= self.start;
                self.given_up = (hung || self.failed >= STARTS).then(|| fault.clone());
            }
        }
        started
    }

    fn start(&self) -> Result<Process<Answer>, Fault> {
        let cannot = |why: String| Fault::CannotTry(why);
        let mut process = Process::start(&self.program, &self.arguments)
            .map_err(|error| cannot(error.to_string()))?;
        match wait(&mut process, self.start) {
            Ok(Answer::Ready(key)) if key == self.here => Ok(process),
            Ok(Answer::Ready(key)) => {
                Err(cannot(format!("it finds `{}`, driver {}", key.device, key.driver)))
            }
            Ok(_) => Err(cannot("it answers before it is asked".to_owned())),
            Err(fault) => Err(cannot(fault.to_string())),
        }
    }

    /// A child that has heard the request. One that ended while nothing was asked of it is not to the blame of
    /// this program: another is started.
    fn asked(&mut self, request: &Request) -> Result<Process<Answer>, Fault> {
        if let Some(mut process) = self.running.take()
            && process.tell(request).is_ok()
        {
            return Ok(process);
        }
        let mut process = self.ready()?;
        // One that does not hear it has ended, which `wait` tells.
        let _ = process.tell(request);
        Ok(process)
    }

    fn request(&self, task: &Task<'_>) -> io::Result<Request> {
        let (input, output) = (self.folder.path().join("input"), self.folder.path().join("output"));
        match task.binary {
            Some(binary) => fs::write(&input, binary)?,
            // That of the program before must not pass for this one's.
            None => match fs::remove_file(&output) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            },
        }
        Ok(Request {
            configurations: task.configurations.iter().map(ToString::to_string).collect(),
            class: task.program.class.to_string(),
            binary: task.binary.map(|_| input),
            output,
        })
    }
}

impl Attempt for InChild {
    fn attempt(&mut self, task: &Task<'_>) -> Result<Vec<u8>, Fault> {
        let cannot = |error: io::Error| Fault::CannotTry(error.to_string());
        let request = self.request(task).map_err(cannot)?;
        let mut process = self.asked(&request)?;
        let answer = wait(&mut process, self.limit)?;
        // On a crash or a hang the process was dropped, and with it killed; on a refusal it is dropped too,
        // since the device may be lost to it.
        if matches!(answer, Answer::Right | Answer::Wrong(_)) {
            self.running = Some(process);
        }
        match (answer, task.binary) {
            (Answer::Right, Some(binary)) => Ok(binary.to_vec()),
            (Answer::Right, None) => fs::read(request.output).map_err(cannot),
            (Answer::Refused(why), _) => Err(Fault::Refused(why)),
            (Answer::Wrong(configuration), _) => Err(Fault::Wrong(configuration)),
            (Answer::Ready(_), _) => Err(Fault::CannotTry("it began anew".to_owned())),
        }
    }

    fn outlives_driver(&self) -> bool {
        true
    }
}

/// The next answer.
fn wait(process: &mut Process<Answer>, limit: Duration) -> Result<Answer, Fault> {
    let begun = Instant::now();
    match process.events.recv_timeout(limit) {
        Ok(answer) => Ok(answer),
        Err(RecvTimeoutError::Timeout) => Err(Fault::TimedOut(limit)),
        Err(RecvTimeoutError::Disconnected) => {
            let after = begun.elapsed().as_secs_f64();
            Err(Fault::Died(format!("{} after {after:.1} s", process.ended())))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kernels::{Configuration, Program};

    use super::*;
    use crate::mock::Mock;

    const CLASS: ProblemClass = ProblemClass::F32_NN;

    /// A child of shell commands; `READY` stands for what a child says first.
    fn child(script: &str) -> InChild {
        let here = Mock::default().info().driver_key();
        let ready = serde_json::to_string(&Answer::Ready(here.clone())).unwrap();
        let script = script.replace("READY", &format!("echo '{ready}'"));
        let arguments = ["-c", &script].map(Into::into).to_vec();
        InChild::new("/bin/sh".into(), arguments, Duration::from_secs(20), here).unwrap()
    }

    fn tried(child: &mut InChild, binary: Option<&[u8]>) -> Result<Vec<u8>, Fault> {
        let configurations = [Configuration::universal()];
        let program: Program = Configuration::universal().program(CLASS);
        child.attempt(&Task { program: &program, configurations: &configurations, binary })
    }

    /// How often the child was started, if it writes a line to this file each time.
    fn starts(file: &Path) -> usize {
        fs::read_to_string(file).unwrap().lines().count()
    }

    #[test]
    fn a_child_that_hangs_or_dies_at_its_start_is_not_waited_for_by_every_program() {
        let folder = tempfile::tempdir().unwrap();
        for (name, does, expected) in [("hangs", "exec sleep 60", 1), ("dies", "exit 3", 3)] {
            let file = folder.path().join(name);
            let mut child = child(&format!("echo one >> {}; {does}", file.display()));
            if name == "hangs" {
                child.start = Duration::from_millis(500);
            }
            for _ in 0..6 {
                let fault = tried(&mut child, Some(b"bytes")).unwrap_err();
                assert!(matches!(fault, Fault::CannotTry(_)), "{fault}");
            }
            assert_eq!(starts(&file), expected, "{name}");
        }
    }

    #[test]
    fn a_child_that_ended_while_idle_is_replaced_and_blames_no_program() {
        let mut child = child("READY; read line; echo '\"right\"'");
        for _ in 0..3 {
            assert_eq!(tried(&mut child, Some(b"bytes")), Ok(b"bytes".to_vec()));
            assert!(child.running.as_mut().unwrap().status().is_some());
        }
    }

    #[test]
    fn what_was_built_for_one_program_does_not_pass_for_the_next() {
        let mut child = child("READY; while read line; do echo '\"right\"'; done");
        let output = child.folder.path().join("output");
        fs::write(&output, "of another").unwrap();
        let fault = tried(&mut child, None).unwrap_err();
        assert!(matches!(fault, Fault::CannotTry(_)), "{fault}");
    }
}
