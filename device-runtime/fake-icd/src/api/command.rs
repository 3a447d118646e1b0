//! `clEnqueue…`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::event::{new_progress, wait_all};
use super::{code, made};
use crate::execute::{self, Command, Work};
use crate::faults::{Launched, Subject, driver, meet};
use crate::foreign::{copy_in, copy_out, list, put};
use crate::gemm::Call;
use crate::objects::{Buffer, Context, Event, Kernel, Queue, Value};
use crate::registry::lock;
use crate::{cl, registry};

/// Where a command goes, what it waits for, and who wants to know of it.
struct Place {
    queue: usize,
    count: u32,
    waits: *const usize,
    event: *mut usize,
}

impl Place {
    /// Put a command there.
    fn put(&self, command: u32, is_barrier: bool, work: Work) -> Result<Arc<Event>, i32> {
        let queue = registry::find::<Queue>(self.queue)?;
        let waits = self.waits(&queue)?;
        let context = registry::hold::<Context>(queue.context.handle())?;
        let held = Some(registry::hold::<Queue>(self.queue)?);
        let state = Mutex::new(new_progress(cl::QUEUED));
        let (handle, event) =
            registry::create(|handle| Event { handle, context, queue: held, command, state });
        if self.event.is_null() {
            // Nobody asks for it: it lives as long as the command.
            let _ = registry::release::<Event>(handle);
        } else {
            put(self.event, handle);
        }
        let queued = execute::now();
        let event_of = Arc::clone(&event);
        execute::enqueue(&queue, Command { waits, event: event_of, is_barrier, work, queued });
        Ok(event)
    }

    fn waits(&self, queue: &Queue) -> Result<Vec<Arc<Event>>, i32> {
        if (self.count == 0) != self.waits.is_null() {
            return Err(cl::INVALID_EVENT_WAIT_LIST);
        }
        let handles = list(self.waits, self.count as usize).unwrap_or_default();
        let events = handles.into_iter().map(|handle| {
            let event = registry::find::<Event>(handle);
            let event = event.map_err(|_| cl::INVALID_EVENT_WAIT_LIST)?;
            if event.context.handle() == queue.context.handle() {
                Ok(event)
            } else {
                Err(cl::INVALID_CONTEXT)
            }
        });
        events.collect()
    }

    /// A buffer of the queue's context.
    fn buffer(&self, handle: usize) -> Result<Arc<Buffer>, i32> {
        let queue = registry::find::<Queue>(self.queue)?;
        let buffer = registry::find::<Buffer>(handle)?;
        if buffer.context.handle() == queue.context.handle() {
            Ok(buffer)
        } else {
            Err(cl::INVALID_CONTEXT)
        }
    }
}

fn moving(work: impl FnOnce() -> Result<(), i32> + Send + 'static) -> Work {
    Work::Move(Box::new(work))
}

pub(crate) extern "C" fn read(
    queue: usize,
    buffer: usize,
    blocking: u32,
    offset: usize,
    size: usize,
    to: usize,
    count: u32,
    waits: *const usize,
    event: *mut usize,
) -> i32 {
    let place = Place { queue, count, waits, event };
    code(meet("clEnqueueReadBuffer", Subject::default()).and_then(|()| {
        let buffer = place.buffer(buffer)?;
        buffer.check(offset, size)?;
        if to == 0 {
            return Err(cl::INVALID_VALUE);
        }
        let work = moving(move || {
            copy_out(to, &buffer.read(offset, size)?);
            Ok(())
        });
        let event = place.put(cl::COMMAND_READ_BUFFER, false, work)?;
        if blocking != 0 { wait_all(&[event]) } else { Ok(()) }
    }))
}

pub(crate) extern "C" fn write(
    queue: usize,
    buffer: usize,
    blocking: u32,
    offset: usize,
    size: usize,
    from: usize,
    count: u32,
    waits: *const usize,
    event: *mut usize,
) -> i32 {
    let place = Place { queue, count, waits, event };
    code(meet("clEnqueueWriteBuffer", Subject::default()).and_then(|()| {
        let buffer = place.buffer(buffer)?;
        buffer.check(offset, size)?;
        if from == 0 {
            return Err(cl::INVALID_VALUE);
        }
        let work = moving(move || buffer.write(offset, &copy_in(from, size)));
        let event = place.put(cl::COMMAND_WRITE_BUFFER, false, work)?;
        if blocking != 0 { wait_all(&[event]) } else { Ok(()) }
    }))
}

pub(crate) extern "C" fn copy(
    queue: usize,
    from: usize,
    to: usize,
    from_offset: usize,
    to_offset: usize,
    size: usize,
    count: u32,
    waits: *const usize,
    event: *mut usize,
) -> i32 {
    let place = Place { queue, count, waits, event };
    code(meet("clEnqueueCopyBuffer", Subject::default()).and_then(|()| {
        let (from, to) = (place.buffer(from)?, place.buffer(to)?);
        from.check(from_offset, size)?;
        to.check(to_offset, size)?;
        let work = moving(move || to.write(to_offset, &from.read(from_offset, size)?));
        place.put(cl::COMMAND_COPY_BUFFER, false, work).map(|_| ())
    }))
}

pub(crate) extern "C" fn fill(
    queue: usize,
    buffer: usize,
    pattern: usize,
    pattern_size: usize,
    offset: usize,
    size: usize,
    count: u32,
    waits: *const usize,
    event: *mut usize,
) -> i32 {
    let place = Place { queue, count, waits, event };
    code(meet("clEnqueueFillBuffer", Subject::default()).and_then(|()| {
        let buffer = place.buffer(buffer)?;
        buffer.check(offset, size)?;
        let is_pattern = pattern != 0 && pattern_size.is_power_of_two() && pattern_size <= 128;
        if !is_pattern || !(offset | size).is_multiple_of(pattern_size) {
            return Err(cl::INVALID_VALUE);
        }
        let bytes = copy_in(pattern, pattern_size).repeat(size / pattern_size);
        let work = moving(move || buffer.write(offset, &bytes));
        place.put(cl::COMMAND_FILL_BUFFER, false, work).map(|_| ())
    }))
}

pub(crate) extern "C" fn map(
    queue: usize,
    buffer: usize,
    blocking: u32,
    _flags: u64,
    offset: usize,
    size: usize,
    count: u32,
    waits: *const usize,
    event: *mut usize,
    error: *mut i32,
) -> usize {
    let place = Place { queue, count, waits, event };
    made(
        meet("clEnqueueMapBuffer", Subject::default()).and_then(|()| {
            let buffer = place.buffer(buffer)?;
            buffer.check(offset, size)?;
            let address = buffer.memory.first() + buffer.origin + offset;
            buffer.maps.fetch_add(1, Ordering::Relaxed);
            let event = place.put(cl::COMMAND_MAP_BUFFER, false, moving(|| Ok(())))?;
            if blocking != 0 {
                wait_all(&[event])?;
            }
            Ok(address)
        }),
        error,
    )
}

pub(crate) extern "C" fn unmap(
    queue: usize,
    buffer: usize,
    _address: usize,
    count: u32,
    waits: *const usize,
    event: *mut usize,
) -> i32 {
    let place = Place { queue, count, waits, event };
    code(place.buffer(buffer).and_then(|buffer| {
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let less = buffer.maps.fetch_update(set, fetch, |maps| maps.checked_sub(1));
        less.map_err(|_| cl::INVALID_VALUE)?;
        place.put(cl::COMMAND_UNMAP_MEM_OBJECT, false, moving(|| Ok(()))).map(|_| ())
    }))
}

pub(crate) extern "C" fn marker(
    queue: usize,
    count: u32,
    waits: *const usize,
    event: *mut usize,
) -> i32 {
    after_all("clEnqueueMarkerWithWaitList", cl::COMMAND_MARKER, queue, count, waits, event)
}

pub(crate) extern "C" fn barrier(
    queue: usize,
    count: u32,
    waits: *const usize,
    event: *mut usize,
) -> i32 {
    after_all("clEnqueueBarrierWithWaitList", cl::COMMAND_BARRIER, queue, count, waits, event)
}

/// A command that waits for its list, or for all before it if that is empty.
fn after_all(
    name: &str,
    command: u32,
    queue: usize,
    count: u32,
    waits: *const usize,
    event: *mut usize,
) -> i32 {
    let place = Place { queue, count, waits, event };
    code(meet(name, Subject::default()).and_then(|()| {
        let is_barrier = command == cl::COMMAND_BARRIER || count == 0;
        place.put(command, is_barrier, moving(|| Ok(()))).map(|_| ())
    }))
}

pub(crate) extern "C" fn marker_of_all(queue: usize, event: *mut usize) -> i32 {
    marker(queue, 0, std::ptr::null(), event)
}

pub(crate) extern "C" fn barrier_of_all(queue: usize) -> i32 {
    barrier(queue, 0, std::ptr::null(), std::ptr::null_mut())
}

pub(crate) extern "C" fn wait_for_events(queue: usize, count: u32, waits: *const usize) -> i32 {
    barrier(queue, count, waits, std::ptr::null_mut())
}

pub(crate) extern "C" fn launch(
    queue: usize,
    kernel: usize,
    dimensions: u32,
    offset: *const usize,
    global: *const usize,
    local: *const usize,
    count: u32,
    waits: *const usize,
    event: *mut usize,
) -> i32 {
    let place = Place { queue, count, waits, event };
    let geometry = Geometry::read(dimensions, offset, global, local);
    code(registry::find::<Queue>(queue).and_then(|queue| {
        let kernel = registry::find::<Kernel>(kernel)?;
        if kernel.program.context.handle() != queue.context.handle() {
            return Err(cl::INVALID_CONTEXT);
        }
        let work = work(&kernel, &geometry?)?;
        place.put(cl::COMMAND_NDRANGE_KERNEL, false, work).map(|_| ())
    }))
}

/// Offset, sizes and work-group of a launch, in three dimensions.
struct Geometry {
    offset: [u64; 3],
    global: [u64; 3],
    local: [u64; 3],
}

impl Geometry {
    fn read(
        dimensions: u32,
        offset: *const usize,
        global: *const usize,
        local: *const usize,
    ) -> Result<Self, i32> {
        if !(1..=3).contains(&dimensions) {
            return Err(cl::INVALID_WORK_DIMENSION);
        }
        let three = |first: *const usize, other: u64| {
            let mut sizes = [other; 3];
            let given = list(first, dimensions as usize)?;
            sizes.iter_mut().zip(given).for_each(|(size, given)| *size = given as u64);
            Some(sizes)
        };
        let global = three(global, 1).filter(|sizes| !sizes.contains(&0));
        let geometry = Self {
            offset: three(offset, 0).unwrap_or([0; 3]),
            global: global.ok_or(cl::INVALID_GLOBAL_WORK_SIZE)?,
            local: three(local, 1).unwrap_or([1; 3]),
        };
        geometry.check()?;
        Ok(geometry)
    }

    fn check(&self) -> Result<(), i32> {
        let most = driver().script.work_group;
        if self.local.iter().any(|size| *size > most) {
            return Err(cl::INVALID_WORK_ITEM_SIZE);
        }
        let divides = |(global, local): (&u64, &u64)| *local > 0 && global.is_multiple_of(*local);
        let fits = self.local.iter().product::<u64>() <= most;
        if fits && self.global.iter().zip(&self.local).all(divides) {
            Ok(())
        } else {
            Err(cl::INVALID_WORK_GROUP_SIZE)
        }
    }

    /// Numbers of work-groups: the first and how many.
    fn groups(&self) -> [(u64, u64); 3] {
        let Self { offset, global, local } = self;
        let along = |offset: u64, global: u64, local: u64| (offset / local, global / local);
        let ([a, b, c], [x, y, z], [l, m, n]) = (*offset, *global, *local);
        [along(a, x, l), along(b, y, m), along(c, z, n)]
    }
}

/// A launch with the arguments as they are now.
fn work(kernel: &Kernel, geometry: &Geometry) -> Result<Work, i32> {
    let values: Option<Vec<Value>> = lock(&kernel.values).iter().cloned().collect();
    let values = values.ok_or(cl::INVALID_KERNEL_ARGS)?;
    let is_gone =
        |value: &Value| matches!(value, Value::Buffer(buffer) if buffer.strong_count() == 0);
    if values.iter().any(is_gone) {
        return Err(cl::INVALID_MEM_OBJECT);
    }
    let (code, function) = (Arc::clone(&kernel.code), kernel.name().to_owned());
    let call =
        code.class().and_then(|class| Call::new(&function, class, geometry.groups(), &values));
    let problem = call.as_ref().and_then(|call| call.problem().ok());
    let local = geometry.local;
    let launched = Launched { function: &function, local, problem: problem.as_ref() };
    meet("clEnqueueNDRangeKernel", Subject { code: Some(&code), launch: Some(launched) })?;
    Ok(Work::Launch { code, function, local, call: call.map(Box::new) })
}
