//! Queues at work: what runs when, and how long it takes.
//!
//! Commands run when someone waits, flushes, or too many are waiting. A queue that need not keep the order
//! runs the last that may run first: whoever forgot an event or a barrier finds out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crate::faults::{self, Subject, driver};
use crate::gemm::Call;
use crate::objects::{Event, Queue};
use crate::programs::Code;
use crate::registry::lock;
use crate::script::Time;
use crate::{cl, foreign};

/// Commands that a queue keeps before it runs some.
const KEPT: usize = 64;
/// Nanoseconds of a command that multiplies nothing.
const MINOR: u64 = 10;

/// A command in a queue.
pub(crate) struct Command {
    pub(crate) waits: Vec<Arc<Event>>,
    pub(crate) event: Arc<Event>,
    /// Whether what comes later waits for it, and it for all before.
    pub(crate) is_barrier: bool,
    pub(crate) work: Work,
    pub(crate) queued: u64,
}

/// What a command does.
pub(crate) enum Work {
    /// Move bytes, or nothing.
    Move(Box<dyn FnOnce() -> Result<(), i32> + Send>),
    /// Run a kernel; `None` for one that is no multiplication.
    Launch { code: Arc<Code>, function: String, local: [u64; 3], call: Option<Box<Call>> },
}

/// One command runs at a time.
static DEVICE: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();
static QUEUES: Mutex<Vec<Weak<Queue>>> = Mutex::new(Vec::new());
/// The device's clock: it stands still while nothing runs.
static CLOCK: AtomicU64 = AtomicU64::new(1_000_000_000);

/// The device's clock in nanoseconds.
pub(crate) fn now() -> u64 {
    CLOCK.load(Ordering::Relaxed)
}

/// Let a new queue's commands run.
pub(crate) fn add_queue(queue: &Arc<Queue>) {
    let mut queues = lock(&QUEUES);
    queues.retain(|queue| queue.strong_count() > 0);
    queues.push(Arc::downgrade(queue));
}

/// Put a command into a queue.
pub(crate) fn enqueue(queue: &Queue, command: Command) {
    let waiting = {
        let mut pending = lock(&queue.pending);
        pending.push_back(command);
        pending.len()
    };
    if waiting >= KEPT {
        advance();
    }
}

/// Run all that can run.
pub(crate) fn advance() {
    let mut callbacks = Vec::new();
    {
        let _alone = lock(&DEVICE);
        let queues: Vec<_> = lock(&QUEUES).iter().filter_map(Weak::upgrade).collect();
        let mut moves = true;
        while moves {
            moves = false;
            for queue in &queues {
                while let Some(command) = next(queue) {
                    moves = true;
                    callbacks.extend(run(queue, command));
                }
            }
        }
    }
    CHANGED.notify_all();
    for (function, event, status, user) in callbacks {
        foreign::call_back(function, event, status, user);
    }
}

/// Wait until `is_done`.
pub(crate) fn wait(mut is_done: impl FnMut() -> bool) {
    loop {
        advance();
        let alone = lock(&DEVICE);
        if is_done() {
            return;
        }
        // A user's event may be set without this being told.
        let slice = Duration::from_millis(2);
        drop(CHANGED.wait_timeout(alone, slice).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Take out the command of a queue that runs next, if any can.
fn next(queue: &Queue) -> Option<Command> {
    let mut pending = lock(&queue.pending);
    let is_free = |command: &Command| {
        command.waits.iter().all(|event| lock(&event.state).status <= cl::COMPLETE)
    };
    if queue.keeps_order() {
        return pending.front().is_some_and(is_free).then(|| pending.pop_front()).flatten();
    }
    let barrier = pending.iter().position(|command| command.is_barrier);
    let before = barrier.unwrap_or(pending.len());
    if before == 0 {
        return pending.front().is_some_and(is_free).then(|| pending.pop_front()).flatten();
    }
    let last = pending.iter().take(before).rposition(is_free)?;
    pending.remove(last)
}

type Callback = (usize, usize, i32, usize);

/// Run a command; the callbacks that are due.
fn run(queue: &Queue, command: Command) -> Vec<Callback> {
    let Command { waits, event, work, queued, .. } = command;
    let failed = waits.iter().any(|event| lock(&event.state).status < cl::COMPLETE);
    let clock = &driver().script.clock;
    let (mut lasted, mut oddity) = (0, None);
    let result = match work {
        _ if failed => Err(cl::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        Work::Move(work) => {
            lasted = MINOR;
            work()
        }
        Work::Launch { code, function, local, call } => {
            let problem = call.as_ref().and_then(|call| call.problem().ok());
            let launch = faults::Launched { function: &function, local, problem: problem.as_ref() };
            let subject = Subject { code: Some(&code), launch: Some(launch) };
            lasted = time_of(subject);
            oddity = clock.oddity.filter(|_| subject.matches(&clock.of));
            let wrong = faults::is_wrong(subject) || code.is_stale;
            call.map_or(Ok(()), |call| call.run(wrong))
        }
    };
    if driver().script.paced {
        thread::sleep(Duration::from_nanos(lasted));
    }
    let start = now();
    let end = start + lasted;
    CLOCK.store(end + clock.gap_ns, Ordering::Relaxed);
    if let Err(code) = result {
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        // The first failure is told.
        let _ = queue.failure.compare_exchange(cl::SUCCESS, code, set, fetch);
    }
    let mut state = lock(&event.state);
    state.times = Some([queued, start, start, end]);
    state.oddity = oddity;
    drop(state);
    settle(&event, result.err().unwrap_or(cl::COMPLETE))
}

/// An event is complete, or failed; the callbacks that are due.
pub(crate) fn settle(event: &Event, status: i32) -> Vec<Callback> {
    let mut state = lock(&event.state);
    state.status = status;
    let due = state.callbacks.drain(..);
    due.map(|(_, function, user)| (function, event.handle, status, user)).collect()
}

/// How long a launch lasts.
fn time_of(subject: Subject<'_>) -> u64 {
    let Some(problem) = subject.launch.and_then(|launch| launch.problem) else { return MINOR };
    let shape = problem.problem().shape;
    let text = format!("{}x{}x{}x{}", shape.m, shape.k, shape.n, shape.batch);
    let is_meant =
        |time: &&Time| (time.shape.is_empty() || time.shape == text) && subject.matches(&time.of);
    let listed = driver().script.times.iter().find(is_meant);
    // As on a device of one GFLOP/s that takes a microsecond to begin.
    listed.map_or_else(|| 1000 + shape.flop() as u64, |time| time.ns)
}
