//! This machine as a board: a folder and a child process.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Exit, Line, PROGRAM, Reach, ReachError};
use crate::{Digest, Label};

/// Where the board's program finds names of the OpenCL library, separated by `;`.
const OPENCL_LIBRARY: &str = "GEMMTREE_OPENCL";
/// How long lines of a child that has ended are waited for, after the last that came.
const LAST_LINES: Duration = Duration::from_secs(2);
/// How often a silent child is looked at.
const TICK: Duration = Duration::from_millis(50);
/// After Ctrl-C a terminal signals the child too, so it is left alone for a while first.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between asking a child to end and making it end.
const GRACE: Duration = Duration::from_secs(15);

/// A folder of this machine, and the board's program run as a child.
#[derive(Clone, Debug)]
pub struct Local {
    folder: PathBuf,
    program: Option<PathBuf>,
    opencl_library: String,
}

impl Local {
    /// A board in `folder`, which need not exist. Without `program` the board's program is looked
    /// for beside the running program, then in `PATH`. `opencl_library` is tried in its order.
    #[must_use]
    pub fn new(folder: &Path, program: Option<&Path>, opencl_library: &[Label]) -> Self {
        let names: Vec<String> = opencl_library.iter().map(Label::to_string).collect();
        Self {
            folder: folder.to_owned(),
            program: program.map(Path::to_owned),
            opencl_library: names.join(";"),
        }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Give an error of the file system its place.
    fn failed(&self, what: String) -> impl FnOnce(io::Error) -> ReachError {
        let place = self.place();
        |source| ReachError::Failed { what, place, source }
    }

    fn command(&self, arguments: &[String]) -> Result<Command, ReachError> {
        let mut command = Command::new(find_program(self.program.as_deref())?);
        command.args(arguments).current_dir(&self.folder);
        // Held open while the child runs: that it ends tells the child that we are gone.
        command.stdin(Stdio::piped());
        // What the user has set for this machine wins over the board file.
        if !self.opencl_library.is_empty() && std::env::var_os(OPENCL_LIBRARY).is_none() {
            command.env(OPENCL_LIBRARY, &self.opencl_library);
        }
        Ok(command)
    }
}

impl Reach for Local {
    fn place(&self) -> String {
        format!("`{}`", self.folder.display())
    }

    fn put(&self, file: &str, bytes: &[u8]) -> Result<(), ReachError> {
        let write = || {
            fs::create_dir_all(&self.folder)?;
            let mut written = File::create(self.path(file))?;
            written.write_all(bytes)?;
            written.sync_all()
        };
        write().map_err(self.failed(format!("write `{file}`")))
    }

    fn get(&self, file: &str) -> Result<Vec<u8>, ReachError> {
        fs::read(self.path(file)).map_err(self.failed(format!("read `{file}`")))
    }

    fn digest(&self, file: &str) -> Result<Digest, ReachError> {
        Ok(Digest::of(&self.get(file)?))
    }

    fn copy(&self, from: &str, to: &str) -> Result<(), ReachError> {
        self.put(to, &self.get(from)?)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), ReachError> {
        let rename = || {
            fs::rename(self.path(from), self.path(to))?;
            File::open(&self.folder)?.sync_all()
        };
        rename().map_err(self.failed(format!("rename `{from}` to `{to}`")))
    }

    fn remove(&self, file: &str) -> Result<(), ReachError> {
        match fs::remove_file(self.path(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.failed(format!("remove `{file}`"))(error))
            }
            _ => Ok(()),
        }
    }

    fn exists(&self, file: &str) -> Result<bool, ReachError> {
        self.path(file).try_exists().map_err(self.failed(format!("look for `{file}`")))
    }

    fn run(
        &self,
        arguments: &[String],
        stop: &AtomicBool,
        on_line: &mut dyn FnMut(Line<'_>),
    ) -> Result<Exit, ReachError> {
        let mut command = self.command(arguments)?;
        let mut run = || {
            fs::create_dir_all(&self.folder)?;
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
            let lines = lines_of(&mut child);
            let stopped = follow(&mut child, &lines, stop, on_line);
            Ok(Exit { code: child.wait()?.code(), stopped })
        };
        run().map_err(self.failed(format!("run `{PROGRAM} {}`", arguments.join(" "))))
    }
}

/// A line and whether it is output rather than a message.
type Written = (bool, String);

fn lines_of(child: &mut Child) -> Receiver<Written> {
    let (sender, receiver) = channel();
    if let Some(output) = child.stdout.take() {
        forward(output, true, sender.clone());
    }
    if let Some(messages) = child.stderr.take() {
        forward(messages, false, sender);
    }
    receiver
}

/// Read lines on a thread of their own until the pipe ends.
fn forward(pipe: impl Read + Send + 'static, output: bool, sender: Sender<Written>) {
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
            if sender.send((output, line)).is_err() {
                return;
            }
        }
    });
}

/// Hand on lines until the child has written its last; whether it was asked to end.
fn follow(
    child: &mut Child,
    lines: &Receiver<Written>,
    stop: &AtomicBool,
    on_line: &mut dyn FnMut(Line<'_>),
) -> bool {
    let mut stopping: Option<Stopping> = None;
    let mut ended: Option<Instant> = None;
    loop {
        match lines.recv_timeout(TICK) {
            Ok((true, line)) => on_line(Line::Output(&line)),
            Ok((false, line)) => on_line(Line::Message(&line)),
            Err(RecvTimeoutError::Disconnected) => return stopping.is_some(),
            // Its last lines may still be on their way; but a process that it left behind may hold
            // the pipes open for ever.
            Err(RecvTimeoutError::Timeout) if matches!(child.try_wait(), Ok(Some(_))) => {
                if ended.get_or_insert_with(Instant::now).elapsed() > LAST_LINES {
                    return stopping.is_some();
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stop.load(Ordering::Relaxed) {
            stopping.get_or_insert_with(Stopping::begin).go_on(child);
        }
    }
}

/// A child that is to end.
struct Stopping {
    since: Instant,
    asked: bool,
}

impl Stopping {
    fn begin() -> Self {
        Self { since: Instant::now(), asked: false }
    }

    fn go_on(&mut self, child: &mut Child) {
        let waited = self.since.elapsed();
        // That a signal fails means that the child is gone already.
        if waited > PATIENCE + GRACE {
            let _gone = child.kill();
        } else if waited > PATIENCE && !self.asked {
            self.asked = true;
            let _gone = kill_process(Pid::from_child(child), Signal::TERM);
        }
    }
}

/// The board's program: where it was said to be, or beside the running program, or in `PATH`.
fn find_program(given: Option<&Path>) -> Result<PathBuf, ReachError> {
    let tried = match given {
        Some(path) => vec![path.to_owned()],
        None => usual_places(std::env::current_exe().ok(), std::env::var_os("PATH").as_deref()),
    };
    let found = tried.iter().find(|path| path.is_file()).and_then(|path| path.canonicalize().ok());
    found.ok_or(ReachError::NoProgram { tried })
}

fn usual_places(running: Option<PathBuf>, path: Option<&OsStr>) -> Vec<PathBuf> {
    let beside = running.and_then(|running| running.parent().map(Path::to_owned));
    let in_path = path.into_iter().flat_map(std::env::split_paths);
    let folders = beside.into_iter().chain(in_path);
    folders
        .map(|folder| folder.join(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A board whose program is the shell.
    fn board(opencl_library: &[Label]) -> (tempfile::TempDir, Local) {
        let folder = tempfile::tempdir().unwrap();
        let board = folder.path().join("board");
        (folder, Local::new(&board, Some(Path::new("/bin/sh")), opencl_library))
    }

    /// Run a shell script, `$1` being `argument`.
    fn run(local: &Local, script: &str, argument: &str, stop: bool) -> (Exit, Vec<String>) {
        let arguments = ["-c", script, "sh", argument].map(str::to_owned);
        let mut lines = Vec::new();
        let mut keep = |line: Line<'_>| lines.push(format!("{line:?}"));
        let exit = local.run(&arguments, &AtomicBool::new(stop), &mut keep).unwrap();
        (exit, lines)
    }

    #[test]
    fn files_go_there_and_come_back() {
        let (_folder, local) = board(&[]);
        assert!(!local.exists("a").unwrap());
        local.put("a", b"one").unwrap();
        local.copy("a", "b").unwrap();
        local.put("a", b"two").unwrap();
        local.rename("a", "b").unwrap();
        assert!(!local.exists("a").unwrap());
        assert_eq!(local.get("b").unwrap(), b"two");
        assert_eq!(local.digest("b").unwrap(), Digest::of(b"two"));
        local.remove("b").unwrap();
        local.remove("b").unwrap();
        let message = local.get("b").unwrap_err().to_string();
        assert!(message.starts_with("could not read `b` in `"), "{message}");
    }

    #[test]
    fn lines_and_exit_code_of_the_program_are_handed_on() {
        let (_folder, local) = board(&[]);
        let script = "echo \"$1\"; echo oh >&2; printf cut; pwd > where; exit 3";
        let (exit, mut lines) = run(&local, script, "two words", false);
        assert_eq!(exit, Exit { code: Some(3), stopped: false });
        assert!(!exit.success());
        lines.sort();
        assert_eq!(lines, ["Message(\"oh\")", "Output(\"cut\")", "Output(\"two words\")"]);
        assert!(String::from_utf8(local.get("where").unwrap()).unwrap().ends_with("/board\n"));
    }

    #[test]
    fn a_program_that_is_asked_to_end_can_end_by_itself() {
        let (_folder, local) = board(&[]);
        let script = "trap 'echo kept; exit 0' TERM; while :; do sleep 0.1; done";
        let (exit, lines) = run(&local, script, "", true);
        assert_eq!(exit, Exit { code: Some(0), stopped: true });
        assert_eq!(lines, ["Output(\"kept\")"]);
    }

    #[test]
    fn the_opencl_library_is_named_in_the_environment() {
        let names = ["libmali.so", "libOpenCL.so"];
        let (_folder, local) = board(&names.map(|name| Label::try_from(name.to_owned()).unwrap()));
        let (_, lines) = run(&local, "echo \"$GEMMTREE_OPENCL\"", "", false);
        assert_eq!(lines, ["Output(\"libmali.so;libOpenCL.so\")"]);
    }

    #[test]
    fn a_missing_program_lists_what_was_tried() {
        let running = Some(PathBuf::from("/opt/bin/gemmtree"));
        let places = usual_places(running, Some(OsStr::new("/usr/bin:/bin")));
        let expected = ["/opt/bin", "/usr/bin", "/bin"].map(|at| Path::new(at).join(PROGRAM));
        assert_eq!(places, expected);
        let error = find_program(Some(Path::new("/none/such"))).unwrap_err();
        assert_eq!(error.to_string(), "found no gemmtree-board; tried: `/none/such`");
        assert!(error.hints()[1].contains("--board-program"));
    }

    #[test]
    fn a_file_that_cannot_be_run_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "not executable").unwrap();
        let local = Local::new(folder.path(), Some(&program), &[]);
        let error = local.run(&["devices".to_owned()], &AtomicBool::new(false), &mut |_| {});
        let message = error.unwrap_err().to_string();
        assert!(message.contains("could not run `gemmtree-board devices`"), "{message}");
    }
}
