//! What handles stand for.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicI32, AtomicU32};
use std::sync::{Arc, Mutex, Weak};

use crate::cl;
use crate::execute::Command;
use crate::foreign::Memory;
use crate::programs::{Code, Parameter};
use crate::registry::{Handle, Held};
use crate::script::Oddity;

pub(crate) struct Context {
    /// Numbers of its devices.
    pub(crate) devices: Vec<usize>,
    pub(crate) properties: Vec<isize>,
}

pub(crate) struct Queue {
    pub(crate) context: Held<Context>,
    /// Number of its device.
    pub(crate) device: usize,
    pub(crate) properties: u64,
    pub(crate) pending: Mutex<VecDeque<Command>>,
    /// The first failure since the queue was last waited for.
    pub(crate) failure: AtomicI32,
}

impl Queue {
    pub(crate) fn keeps_order(&self) -> bool {
        self.properties & cl::QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0
    }

    pub(crate) fn records(&self) -> bool {
        self.properties & cl::QUEUE_PROFILING_ENABLE != 0
    }
}

pub(crate) struct Buffer {
    pub(crate) context: Held<Context>,
    pub(crate) flags: u64,
    /// The caller's pointer, if it said to use that.
    pub(crate) host: usize,
    pub(crate) size: usize,
    pub(crate) memory: Arc<Memory>,
    /// Where in the memory it begins.
    pub(crate) origin: usize,
    pub(crate) parent: Option<Held<Self>>,
    pub(crate) maps: AtomicU32,
}

impl Buffer {
    pub(crate) fn read(&self, from: usize, count: usize) -> Result<Vec<u8>, i32> {
        self.check(from, count)?;
        self.memory.read(self.origin + from, count).ok_or(cl::INVALID_VALUE)
    }

    pub(crate) fn write(&self, to: usize, bytes: &[u8]) -> Result<(), i32> {
        self.check(to, bytes.len())?;
        self.memory.write(self.origin + to, bytes).ok_or(cl::INVALID_VALUE)
    }

    /// That `count` bytes from `from` on are in the buffer.
    pub(crate) fn check(&self, from: usize, count: usize) -> Result<(), i32> {
        let fits = from.checked_add(count).is_some_and(|end| end <= self.size);
        if fits { Ok(()) } else { Err(cl::INVALID_VALUE) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.memory.is_own() && self.parent.is_none() {
            crate::faults::give_back(self.size as u64);
        }
    }
}

pub(crate) struct Program {
    pub(crate) context: Held<Context>,
    /// Empty if it came from a binary.
    pub(crate) source: String,
    pub(crate) state: Mutex<Built>,
}

/// How far a program is.
pub(crate) struct Built {
    pub(crate) status: i32,
    pub(crate) options: String,
    pub(crate) log: String,
    /// Known from a binary's load or a source's build on.
    pub(crate) code: Option<Arc<Code>>,
    /// Positions of the functions that kernels were created of.
    pub(crate) created: BTreeSet<usize>,
}

pub(crate) struct Kernel {
    pub(crate) program: Held<Program>,
    pub(crate) code: Arc<Code>,
    /// Position of its function in the program.
    pub(crate) function: usize,
    pub(crate) values: Mutex<Vec<Option<Value>>>,
}

impl Kernel {
    pub(crate) fn name(&self) -> &str {
        self.code.functions.get(self.function).map_or("", |function| &function.name)
    }

    pub(crate) fn parameters(&self) -> &[Parameter] {
        self.code.functions.get(self.function).map_or(&[], |function| &function.parameters)
    }
}

/// An argument that was set.
#[derive(Clone)]
pub(crate) enum Value {
    /// A null pointer.
    Nothing,
    Bytes(Vec<u8>),
    /// Local memory.
    Local,
    /// A buffer: OpenCL does not keep it alive for the argument's sake.
    Buffer(Weak<Buffer>),
}

pub(crate) struct Event {
    pub(crate) handle: Handle,
    pub(crate) context: Held<Context>,
    /// None of a user's own.
    pub(crate) queue: Option<Held<Queue>>,
    pub(crate) command: u32,
    pub(crate) state: Mutex<Progress>,
}

/// How far a command is.
pub(crate) struct Progress {
    /// 0 is complete, below 0 failed.
    pub(crate) status: i32,
    /// Queued, submitted, begun, ended; `None` until then.
    pub(crate) times: Option<[u64; 4]>,
    pub(crate) oddity: Option<Oddity>,
    /// From which status on, the function, and what it is given.
    pub(crate) callbacks: Vec<(i32, usize, usize)>,
}
