//! The script as it was loaded, and what it makes of each call.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;
use std::{env, fs, process, thread};

use kernels::CheckedProblem;

use crate::cl;
use crate::foreign;
use crate::programs::Code;
use crate::registry::{self, Handle};
use crate::script::{Fault, RESULT, Rule, Script, VARIABLE};

/// The driver of this process.
pub(crate) struct Driver {
    pub(crate) script: Script,
    pub(crate) platform: Handle,
    pub(crate) devices: Vec<Handle>,
    path: PathBuf,
    met: Vec<Met>,
    lost: AtomicI32,
    allocated: AtomicU64,
}

/// What came of a rule so far.
#[derive(Default)]
struct Met {
    calls: AtomicU64,
    /// For rules that strike in one process: whether it is this one.
    is_ours: AtomicBool,
}

/// What a call is about.
#[derive(Clone, Copy, Default)]
pub(crate) struct Subject<'a> {
    pub(crate) code: Option<&'a Code>,
    pub(crate) launch: Option<Launched<'a>>,
}

/// A launch, as rules see it.
#[derive(Clone, Copy)]
pub(crate) struct Launched<'a> {
    pub(crate) function: &'a str,
    pub(crate) local: [u64; 3],
    /// None of a kernel that is no multiplication.
    pub(crate) problem: Option<&'a CheckedProblem>,
}

/// The driver.
pub(crate) fn driver() -> &'static Driver {
    static DRIVER: LazyLock<Driver> = LazyLock::new(Driver::load);
    &DRIVER
}

impl Driver {
    fn load() -> Self {
        let path = env::var_os(VARIABLE).map(PathBuf::from).unwrap_or_default();
        let script = read(&path);
        let devices = script.devices.iter().map(|_| registry::cell()).collect();
        let met = script.rules.iter().map(|_| Met::default()).collect();
        let platform = registry::cell();
        let (lost, allocated) = (AtomicI32::new(cl::SUCCESS), AtomicU64::new(0));
        Self { script, platform, devices, path, met, lost, allocated }
    }

    /// The number of a device.
    pub(crate) fn device(&self, handle: Handle) -> Result<usize, i32> {
        let at = self.devices.iter().position(|device| *device == handle);
        at.ok_or(cl::INVALID_DEVICE)
    }

    /// Whether a rule strikes now, and is counted as met.
    fn strikes(&self, number: usize, rule: &Rule) -> bool {
        let Some(met) = self.met.get(number) else { return false };
        let call = met.calls.fetch_add(1, Ordering::Relaxed);
        let is_due = call >= rule.after && rule.times.is_none_or(|times| call - rule.after < times);
        is_due && (!rule.once || self.is_ours(number, met))
    }

    /// Whether this process is the first that comes to a rule.
    fn is_ours(&self, number: usize, met: &Met) -> bool {
        let mark = self.path.with_extension(format!("{number}.once"));
        if fs::File::create_new(mark).is_ok() {
            met.is_ours.store(true, Ordering::Relaxed);
        }
        met.is_ours.load(Ordering::Relaxed)
    }
}

fn read(path: &PathBuf) -> Script {
    if path.as_os_str().is_empty() {
        return Script::default();
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let script =
        text.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
    script.unwrap_or_else(|error| {
        #[expect(clippy::print_stderr, reason = "a test reads it")]
        {
            eprintln!("fake-icd: `{}` is no script: {error}", path.display());
        }
        process::abort()
    })
}

/// Do to a call that works on the device what the script says.
pub(crate) fn meet(at: &str, subject: Subject<'_>) -> Result<(), i32> {
    match driver().lost.load(Ordering::Relaxed) {
        cl::SUCCESS => strike(at, subject),
        code => Err(code),
    }
}

/// Do to a call that only asks what the script says; a lost device still answers.
pub(crate) fn strike(at: &str, subject: Subject<'_>) -> Result<(), i32> {
    let driver = driver();
    for (number, rule) in driver.script.rules.iter().enumerate() {
        if rule.at != at || !subject.is_of(rule) || !driver.strikes(number, rule) {
            continue;
        }
        match rule.does {
            Fault::Abort => process::abort(),
            Fault::Crash => foreign::crash(),
            Fault::DelayMs(milliseconds) => thread::sleep(Duration::from_millis(milliseconds)),
            Fault::Fail(code) => return Err(code),
            Fault::Hang => hang(),
            Fault::Lose(code) => {
                driver.lost.store(code, Ordering::Relaxed);
                return Err(code);
            }
            Fault::Wrong => {}
        }
    }
    Ok(())
}

/// Whether a kernel is to compute something else.
pub(crate) fn is_wrong(subject: Subject<'_>) -> bool {
    let driver = driver();
    let is_rule = |rule: &Rule| rule.at == RESULT && rule.does == Fault::Wrong;
    let rules = driver.script.rules.iter().enumerate();
    // Each rule counts the call, so no rule hides another.
    let mut due = rules.filter(|(_, rule)| is_rule(rule) && subject.is_of(rule));
    due.any(|(number, rule)| driver.strikes(number, rule))
}

/// Wait for ever.
fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

/// Take memory, if there is as much.
pub(crate) fn take(bytes: u64) -> Result<(), i32> {
    let driver = driver();
    let grown = |now: u64| now.checked_add(bytes).filter(|sum| *sum <= driver.script.memory);
    let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
    let taken = driver.allocated.fetch_update(set, fetch, grown);
    taken.map(|_| ()).map_err(|_| cl::MEM_OBJECT_ALLOCATION_FAILURE)
}

/// Give memory back.
pub(crate) fn give_back(bytes: u64) {
    driver().allocated.fetch_sub(bytes, Ordering::Relaxed);
}

impl Subject<'_> {
    fn is_of(&self, rule: &Rule) -> bool {
        let from = self.code.is_some_and(|code| code.from_binary);
        rule.from_binary.is_none_or(|wanted| wanted == from) && self.matches(&rule.of)
    }

    /// Whether a pattern of [`Rule::of`] means it.
    pub(crate) fn matches(&self, pattern: &str) -> bool {
        if pattern.is_empty() {
            return true;
        }
        let Some(code) = self.code else { return false };
        code.name.starts_with(pattern) || code.runs(pattern, self.launch)
    }
}
