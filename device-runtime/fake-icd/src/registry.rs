//! Handles: which there are, what they stand for, and how often they are referred to.
//!
//! A handle is the address of a cell that begins with the dispatch table, as the loader wants it. Cells are
//! used again but never freed: a handle used after its release is an error, not a crash.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::objects::{Buffer, Context, Event, Kernel, Program, Queue};
use crate::{cl, table};

/// What a caller calls an object by.
pub(crate) type Handle = usize;

/// Where the loader looks for the driver's functions.
#[repr(C)]
struct Cell {
    dispatch: usize,
}

/// A new cell.
pub(crate) fn cell() -> Handle {
    Box::into_raw(Box::new(Cell { dispatch: table::address() })) as Handle
}

/// What a handle stands for.
#[derive(Clone)]
pub(crate) enum Object {
    Buffer(Arc<Buffer>),
    Context(Arc<Context>),
    Event(Arc<Event>),
    Kernel(Arc<Kernel>),
    Program(Arc<Program>),
    Queue(Arc<Queue>),
}

/// A kind of object.
pub(crate) trait Kind: Sized {
    /// The error for a handle that is none of this kind.
    const INVALID: i32;
    fn into_object(this: Arc<Self>) -> Object;
    fn of(object: &Object) -> Option<&Arc<Self>>;
}

macro_rules! kind {
    ($name:ident, $invalid:ident) => {
        impl Kind for $name {
            const INVALID: i32 = cl::$invalid;

            fn into_object(this: Arc<Self>) -> Object {
                Object::$name(this)
            }

            fn of(object: &Object) -> Option<&Arc<Self>> {
                match object {
                    Object::$name(this) => Some(this),
                    _ => None,
                }
            }
        }
    };
}

kind!(Buffer, INVALID_MEM_OBJECT);
kind!(Context, INVALID_CONTEXT);
kind!(Event, INVALID_EVENT);
kind!(Kernel, INVALID_KERNEL);
kind!(Program, INVALID_PROGRAM);
kind!(Queue, INVALID_COMMAND_QUEUE);

struct Entry {
    object: Object,
    /// References of the caller's.
    references: u32,
    /// Objects of the driver's that need this one.
    holds: u32,
}

#[derive(Default)]
struct Registry {
    live: BTreeMap<Handle, Entry>,
    free: Vec<Handle>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { live: BTreeMap::new(), free: Vec::new() });

/// Lock; a thread that ended in the middle has left nothing half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Register a new object, which is told its handle.
pub(crate) fn create<T: Kind>(make: impl FnOnce(Handle) -> T) -> (Handle, Arc<T>) {
    let free = lock(&REGISTRY).free.pop();
    let handle = free.unwrap_or_else(cell);
    let object = Arc::new(make(handle));
    let entry = Entry { object: T::into_object(Arc::clone(&object)), references: 1, holds: 0 };
    lock(&REGISTRY).live.insert(handle, entry);
    (handle, object)
}

/// The object of a handle.
pub(crate) fn find<T: Kind>(handle: Handle) -> Result<Arc<T>, i32> {
    let registry = lock(&REGISTRY);
    let entry = registry.live.get(&handle);
    entry.and_then(|entry| T::of(&entry.object)).cloned().ok_or(T::INVALID)
}

/// The caller's references to a handle.
pub(crate) fn references(handle: Handle) -> u32 {
    lock(&REGISTRY).live.get(&handle).map_or(0, |entry| entry.references)
}

/// One more reference of the caller's.
pub(crate) fn retain<T: Kind>(handle: Handle) -> Result<(), i32> {
    change(handle, T::INVALID, |entry| T::of(&entry.object).map(|_| entry.references += 1))
}

/// One reference of the caller's less.
pub(crate) fn release<T: Kind>(handle: Handle) -> Result<(), i32> {
    change(handle, T::INVALID, |entry| {
        T::of(&entry.object)?;
        entry.references = entry.references.checked_sub(1)?;
        Some(())
    })
}

fn change(
    handle: Handle,
    invalid: i32,
    change: impl FnOnce(&mut Entry) -> Option<()>,
) -> Result<(), i32> {
    let mut registry = lock(&REGISTRY);
    let Some(entry) = registry.live.get_mut(&handle) else { return Err(invalid) };
    let changed = change(entry).ok_or(invalid);
    let is_over = entry.references == 0 && entry.holds == 0;
    let gone = if is_over { registry.live.remove(&handle) } else { None };
    if gone.is_some() {
        registry.free.push(handle);
    }
    drop(registry);
    // It may hold others, which are given up in turn.
    drop(gone);
    changed
}

/// An object that another one needs: its handle stays good.
pub(crate) struct Held<T> {
    object: Arc<T>,
    handle: Handle,
}

/// Hold the object of a handle.
pub(crate) fn hold<T: Kind>(handle: Handle) -> Result<Held<T>, i32> {
    let object = find::<T>(handle)?;
    change(handle, T::INVALID, |entry| {
        entry.holds += 1;
        Some(())
    })?;
    Ok(Held { object, handle })
}

impl<T> Held<T> {
    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }
}

impl<T> Deref for Held<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.object
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        // It is there as long as it is held.
        let _ = change(self.handle, cl::SUCCESS, |entry| {
            entry.holds = entry.holds.checked_sub(1)?;
            Some(())
        });
    }
}
