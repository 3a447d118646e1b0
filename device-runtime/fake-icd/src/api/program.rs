//! `clCreateProgramWith…`, `clBuildProgram` and what asks about programs.

use std::collections::BTreeSet;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex};

use super::{bytes_of, code, int, made, references, text};
use crate::faults::{Subject, driver, meet, strike};
use crate::foreign::{self, answer, copy_in, copy_out, list, put};
use crate::objects::{Built, Context, Program};
use crate::programs::Code;
use crate::registry::lock;
use crate::script::StaleBinaries;
use crate::{cl, registry};

pub(crate) extern "C" fn create_with_source(
    context: usize,
    count: u32,
    texts: *const usize,
    lengths: *const usize,
    error: *mut i32,
) -> usize {
    made(from_source(context, count as usize, texts, lengths), error)
}

fn from_source(
    context: usize,
    count: usize,
    texts: *const usize,
    lengths: *const usize,
) -> Result<usize, i32> {
    meet("clCreateProgramWithSource", Subject::default())?;
    let context = registry::hold::<Context>(context)?;
    let texts = list(texts, count).filter(|list| !list.is_empty()).ok_or(cl::INVALID_VALUE)?;
    let lengths = list(lengths, count).unwrap_or_else(|| vec![0; count]);
    let mut source = String::new();
    for (first, length) in texts.into_iter().zip(lengths) {
        if first == 0 {
            return Err(cl::INVALID_VALUE);
        }
        source += &match length {
            0 => foreign::text(first as *const c_char),
            length => String::from_utf8_lossy(&copy_in(first, length)).into_owned(),
        };
    }
    Ok(new(context, source, None))
}

fn new(context: registry::Held<Context>, source: String, code: Option<Code>) -> usize {
    let state = Mutex::new(Built {
        status: cl::BUILD_NONE,
        options: String::new(),
        log: String::new(),
        code: code.map(Arc::new),
        created: BTreeSet::new(),
    });
    registry::create(|_| Program { context, source, state }).0
}

pub(crate) extern "C" fn create_with_binary(
    context: usize,
    count: u32,
    devices: *const usize,
    lengths: *const usize,
    binaries: *const usize,
    status: *mut i32,
    error: *mut i32,
) -> usize {
    let made_of = from_binary(context, count as usize, devices, lengths, binaries);
    put(status, made_of.err().unwrap_or(cl::SUCCESS));
    made(made_of, error)
}

fn from_binary(
    context: usize,
    count: usize,
    devices: *const usize,
    lengths: *const usize,
    binaries: *const usize,
) -> Result<usize, i32> {
    let context = registry::hold::<Context>(context)?;
    let devices = list(devices, count).filter(|list| !list.is_empty()).ok_or(cl::INVALID_VALUE)?;
    for device in devices {
        if !context.devices.contains(&driver().device(device)?) {
            return Err(cl::INVALID_DEVICE);
        }
    }
    let (lengths, firsts) = (list(lengths, count), list(binaries, count));
    let (Some(lengths), Some(firsts)) = (lengths, firsts) else { return Err(cl::INVALID_VALUE) };
    let (Some(length), Some(first)) = (lengths.first(), firsts.first()) else {
        return Err(cl::INVALID_VALUE);
    };
    if *length == 0 || *first == 0 {
        return Err(cl::INVALID_VALUE);
    }
    let loaded = Code::load(&copy_in(*first, *length), &driver().script.driver);
    // A rule may strike before a bad binary is seen to be bad.
    meet("clCreateProgramWithBinary", Subject { code: loaded.as_ref().ok(), launch: None })?;
    let loaded = loaded?;
    if loaded.is_stale {
        match driver().script.stale_binaries {
            StaleBinaries::Refused => return Err(cl::INVALID_BINARY),
            StaleBinaries::Wrong => {}
            StaleBinaries::Crash => foreign::crash(),
        }
    }
    Ok(new(context, String::new(), Some(loaded)))
}

pub(crate) extern "C" fn retain(program: usize) -> i32 {
    code(registry::retain::<Program>(program))
}

pub(crate) extern "C" fn release(program: usize) -> i32 {
    code(
        strike("clReleaseProgram", Subject::default())
            .and_then(|()| registry::release::<Program>(program)),
    )
}

pub(crate) extern "C" fn build(
    program: usize,
    count: u32,
    devices: *const usize,
    options: *const c_char,
    notify: usize,
    user: usize,
) -> i32 {
    let options = foreign::text(options);
    let built = registry::find::<Program>(program).and_then(|program| {
        check_devices(&program, count as usize, devices)?;
        let done = built(&program, &options);
        let mut state = lock(&program.state);
        state.options = options;
        state.status = match &done {
            Ok(_) => cl::BUILD_SUCCESS,
            Err(_) => cl::BUILD_ERROR,
        };
        match done {
            Ok(code) => {
                (state.log, state.code) = (String::new(), Some(code));
                Ok(())
            }
            Err(code) => {
                state.log = format!("error: the script lets this build fail by {code}");
                Err(code)
            }
        }
    });
    if notify != 0 {
        foreign::call_back_program(notify, program, user);
    }
    code(built)
}

/// That a program is built for devices of its context, or for all of them.
fn check_devices(program: &Program, count: usize, devices: *const usize) -> Result<(), i32> {
    if (count == 0) != devices.is_null() {
        return Err(cl::INVALID_VALUE);
    }
    for device in list(devices, count).unwrap_or_default() {
        if !program.context.devices.contains(&driver().device(device)?) {
            return Err(cl::INVALID_DEVICE);
        }
    }
    Ok(())
}

fn built(program: &Program, options: &str) -> Result<Arc<Code>, i32> {
    let loaded = lock(&program.state).code.clone();
    let code = match loaded {
        Some(code) => code,
        None => Arc::new(Code::build(&program.source, options, &driver().script.driver)),
    };
    meet("clBuildProgram", Subject { code: Some(&code), launch: None })?;
    Ok(code)
}

pub(crate) extern "C" fn build_info(
    program: usize,
    _device: usize,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    let program = match registry::find::<Program>(program) {
        Ok(program) => program,
        Err(code) => return code,
    };
    let state = lock(&program.state);
    let bytes = match name {
        cl::PROGRAM_BUILD_STATUS => state.status.to_ne_bytes().to_vec(),
        cl::PROGRAM_BUILD_OPTIONS => text(&state.options),
        cl::PROGRAM_BUILD_LOG => text(&state.log),
        // An executable, once it is built.
        cl::PROGRAM_BINARY_TYPE => int(if state.status == cl::BUILD_SUCCESS { 4 } else { 0 }),
        _ => return cl::INVALID_VALUE,
    };
    answer(&bytes, size, value, size_ret)
}

pub(crate) extern "C" fn info(
    handle: usize,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    match registry::find::<Program>(handle).and_then(|program| {
        let (code, binary) = {
            let state = lock(&program.state);
            (state.code.clone(), binary(&state))
        };
        let names: Vec<_> =
            code.iter().flat_map(|code| &code.functions).map(|one| &one.name[..]).collect();
        let devices = program.context.devices.iter().map(|at| driver().devices.get(*at).copied());
        Ok(match name {
            cl::PROGRAM_REFERENCE_COUNT => references(handle),
            cl::PROGRAM_CONTEXT => bytes_of(&[program.context.handle()]),
            cl::PROGRAM_NUM_DEVICES => int(program.context.devices.len() as u32),
            cl::PROGRAM_DEVICES => bytes_of(&devices.flatten().collect::<Vec<_>>()),
            cl::PROGRAM_SOURCE => text(&program.source),
            cl::PROGRAM_BINARY_SIZES => {
                bytes_of(&vec![binary.len(); program.context.devices.len()])
            }
            cl::PROGRAM_BINARIES => {
                return Ok(give(&binary, program.context.devices.len(), size, value, size_ret));
            }
            cl::PROGRAM_NUM_KERNELS if code.is_some() => bytes_of(&[names.len()]),
            cl::PROGRAM_KERNEL_NAMES if code.is_some() => text(&names.join(";")),
            cl::PROGRAM_NUM_KERNELS | cl::PROGRAM_KERNEL_NAMES => {
                return Err(cl::INVALID_PROGRAM_EXECUTABLE);
            }
            _ => return Err(cl::INVALID_VALUE),
        })
        .map(|bytes| answer(&bytes, size, value, size_ret))
    }) {
        Ok(code) | Err(code) => code,
    }
}

/// What a program's binary is by now.
fn binary(state: &Built) -> Vec<u8> {
    match &state.code {
        None => Vec::new(),
        Some(code) if driver().script.lazy_kernels && !code.from_binary => {
            code.only(&state.created).binary()
        }
        Some(code) => code.binary(),
    }
}

/// Copy the binary to where each pointer of the caller's list points.
fn give(binary: &[u8], count: usize, size: usize, value: *mut c_void, size_ret: *mut usize) -> i32 {
    let bytes = count * size_of::<usize>();
    if !value.is_null() {
        if size < bytes {
            return cl::INVALID_VALUE;
        }
        let places = list(value as *const usize, count).unwrap_or_default();
        places.into_iter().filter(|place| *place != 0).for_each(|place| copy_out(place, binary));
    }
    put(size_ret, bytes);
    cl::SUCCESS
}
