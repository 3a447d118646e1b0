//! Events: asked about, waited for, and a user's own.

use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use super::{bytes_of, code, int, made, references};
use crate::faults::{Subject, driver, meet, strike};
use crate::foreign::{self, answer, list, put};
use crate::objects::{Context, Event, Progress};
use crate::registry::lock;
use crate::script::Oddity;
use crate::{cl, execute, registry};

pub(crate) extern "C" fn create_user(context: usize, error: *mut i32) -> usize {
    let event = registry::hold::<Context>(context).map(|context| {
        let state = Mutex::new(new_progress(cl::SUBMITTED));
        let command = cl::COMMAND_USER;
        registry::create(|handle| Event { handle, context, queue: None, command, state }).0
    });
    made(event, error)
}

/// Nothing is known of the command but how far it is.
pub(crate) fn new_progress(status: i32) -> Progress {
    Progress { status, times: None, oddity: None, callbacks: Vec::new() }
}

pub(crate) extern "C" fn set_user_status(event: usize, status: i32) -> i32 {
    code(registry::find::<Event>(event).and_then(|event| {
        if event.command != cl::COMMAND_USER {
            return Err(cl::INVALID_EVENT);
        }
        if status > cl::COMPLETE {
            return Err(cl::INVALID_VALUE);
        }
        if lock(&event.state).status <= cl::COMPLETE {
            return Err(cl::INVALID_OPERATION);
        }
        for (function, event, status, user) in execute::settle(&event, status) {
            foreign::call_back(function, event, status, user);
        }
        execute::advance();
        Ok(())
    }))
}

pub(crate) extern "C" fn set_callback(
    event: usize,
    status: i32,
    function: usize,
    user: usize,
) -> i32 {
    code(registry::find::<Event>(event).and_then(|event| {
        if function == 0 || !(cl::COMPLETE..=cl::SUBMITTED).contains(&status) {
            return Err(cl::INVALID_VALUE);
        }
        let reached = {
            let mut state = lock(&event.state);
            let reached = Some(state.status).filter(|now| *now <= cl::COMPLETE);
            if reached.is_none() {
                state.callbacks.push((status, function, user));
            }
            reached
        };
        if let Some(now) = reached {
            foreign::call_back(function, event.handle, now, user);
        }
        Ok(())
    }))
}

pub(crate) extern "C" fn retain(event: usize) -> i32 {
    code(registry::retain::<Event>(event))
}

pub(crate) extern "C" fn release(event: usize) -> i32 {
    code(
        strike("clReleaseEvent", Subject::default())
            .and_then(|()| registry::release::<Event>(event)),
    )
}

pub(crate) extern "C" fn wait(count: u32, events: *const usize) -> i32 {
    code(waited_for(count, events))
}

fn waited_for(count: u32, events: *const usize) -> Result<(), i32> {
    meet("clWaitForEvents", Subject::default())?;
    let handles = list(events, count as usize).filter(|list| !list.is_empty());
    let handles = handles.ok_or(cl::INVALID_VALUE)?;
    let events = handles.into_iter().map(registry::find::<Event>);
    let events = events.collect::<Result<Vec<_>, _>>()?;
    let [first, ..] = &events[..] else { return Err(cl::INVALID_VALUE) };
    if events.iter().any(|event| event.context.handle() != first.context.handle()) {
        return Err(cl::INVALID_CONTEXT);
    }
    wait_all(&events)
}

/// Wait for events of a context.
pub(crate) fn wait_all(events: &[Arc<Event>]) -> Result<(), i32> {
    let status = |event: &Arc<Event>| lock(&event.state).status;
    execute::wait(|| events.iter().all(|event| status(event) <= cl::COMPLETE));
    if events.iter().any(|event| status(event) < cl::COMPLETE) {
        return Err(cl::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    }
    Ok(())
}

pub(crate) extern "C" fn info(
    handle: usize,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    let event = match registry::find::<Event>(handle) {
        Ok(event) => event,
        Err(code) => return code,
    };
    let bytes = match name {
        cl::EVENT_COMMAND_QUEUE => {
            bytes_of(&[event.queue.as_ref().map_or(0, registry::Held::handle)])
        }
        cl::EVENT_COMMAND_TYPE => int(event.command),
        cl::EVENT_REFERENCE_COUNT => references(handle),
        cl::EVENT_COMMAND_EXECUTION_STATUS => {
            // Whoever asks again and again gets on.
            execute::advance();
            lock(&event.state).status.to_ne_bytes().to_vec()
        }
        cl::EVENT_CONTEXT => bytes_of(&[event.context.handle()]),
        _ => return cl::INVALID_VALUE,
    };
    answer(&bytes, size, value, size_ret)
}

pub(crate) extern "C" fn profiling_info(
    event: usize,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    match registry::find::<Event>(event).and_then(|event| time(&event, name)) {
        Ok(Some(time)) => answer(&time.to_ne_bytes(), size, value, size_ret),
        Ok(None) => {
            put(size_ret, size_of::<u64>());
            cl::SUCCESS
        }
        Err(code) => code,
    }
}

/// One of an event's times; `None` if none is written.
fn time(event: &Event, name: u32) -> Result<Option<u64>, i32> {
    strike("clGetEventProfilingInfo", Subject::default())?;
    let records = event.queue.as_ref().is_some_and(|queue| queue.records());
    let state = lock(&event.state);
    let times = state.times.filter(|_| records && state.status == cl::COMPLETE);
    let [queued, submitted, start, end] = times.ok_or(cl::PROFILING_INFO_NOT_AVAILABLE)?;
    let (start, end) = match state.oddity {
        None => (start, end),
        Some(Oddity::EndBeforeStart) => (end, start),
        Some(Oddity::Zero) => return Ok(Some(0)),
        Some(Oddity::Unwritten) => return Ok(None),
        Some(Oddity::Unavailable) => return Err(cl::PROFILING_INFO_NOT_AVAILABLE),
    };
    let time = match name {
        cl::PROFILING_COMMAND_QUEUED => queued,
        cl::PROFILING_COMMAND_SUBMIT => submitted,
        cl::PROFILING_COMMAND_START => start,
        cl::PROFILING_COMMAND_END | cl::PROFILING_COMMAND_COMPLETE => end,
        _ => return Err(cl::INVALID_VALUE),
    };
    let step = driver().script.clock.step_ns.max(1);
    Ok(Some(time / step * step))
}
