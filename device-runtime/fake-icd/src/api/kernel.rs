//! `clCreateKernel`, `clSetKernelArg` and what asks about kernels.

use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex};

use super::{bytes_of, code, int, made, references, text};
use crate::faults::{Subject, driver, meet, strike};
use crate::foreign::{self, answer, copy_in, put};
use crate::objects::{Buffer, Kernel, Program, Value};
use crate::programs::{Code, Parameter};
use crate::registry::lock;
use crate::{cl, registry};

pub(crate) extern "C" fn create(program: usize, name: *const c_char, error: *mut i32) -> usize {
    let name = foreign::text(name);
    made(
        executable(program).and_then(|code| {
            let named = code.functions.iter().position(|function| function.name == name);
            new(program, code, named.ok_or(cl::INVALID_KERNEL_NAME)?)
        }),
        error,
    )
}

fn executable(program: usize) -> Result<Arc<Code>, i32> {
    let program = registry::find::<Program>(program)?;
    let state = lock(&program.state);
    let built = state.code.clone().filter(|_| state.status == cl::BUILD_SUCCESS);
    built.ok_or(cl::INVALID_PROGRAM_EXECUTABLE)
}

fn new(program: usize, code: Arc<Code>, function: usize) -> Result<usize, i32> {
    meet("clCreateKernel", Subject { code: Some(&code), launch: None })?;
    let program = registry::hold::<Program>(program)?;
    let count = code.functions.get(function).map_or(0, |one| one.parameters.len());
    let values = Mutex::new(vec![None; count]);
    lock(&program.state).created.insert(function);
    Ok(registry::create(|_| Kernel { program, code, function, values }).0)
}

pub(crate) extern "C" fn create_all(
    program: usize,
    entries: u32,
    kernels: *mut usize,
    count: *mut u32,
) -> i32 {
    code(executable(program).and_then(|code| {
        let all = code.functions.len();
        put(count, all as u32);
        if kernels.is_null() {
            return Ok(());
        }
        if (entries as usize) < all {
            return Err(cl::INVALID_VALUE);
        }
        for at in 0..all {
            put(kernels.wrapping_add(at), new(program, Arc::clone(&code), at)?);
        }
        Ok(())
    }))
}

pub(crate) extern "C" fn retain(kernel: usize) -> i32 {
    code(registry::retain::<Kernel>(kernel))
}

pub(crate) extern "C" fn release(kernel: usize) -> i32 {
    code(
        strike("clReleaseKernel", Subject::default())
            .and_then(|()| registry::release::<Kernel>(kernel)),
    )
}

pub(crate) extern "C" fn set_argument(
    kernel: usize,
    index: u32,
    size: usize,
    value: *const c_void,
) -> i32 {
    code(registry::find::<Kernel>(kernel).and_then(|kernel| {
        meet("clSetKernelArg", Subject { code: Some(&kernel.code), launch: None })?;
        let index = index as usize;
        let wanted = kernel.parameters().get(index).ok_or(cl::INVALID_ARG_INDEX)?;
        let new = argument(*wanted, size, value)?;
        if let Some(slot) = lock(&kernel.values).get_mut(index) {
            *slot = Some(new);
        }
        Ok(())
    }))
}

fn argument(wanted: Parameter, size: usize, value: *const c_void) -> Result<Value, i32> {
    match wanted {
        Parameter::Value(bytes) if size != bytes => Err(cl::INVALID_ARG_SIZE),
        Parameter::Value(_) if value.is_null() => Err(cl::INVALID_ARG_VALUE),
        Parameter::Value(bytes) => Ok(Value::Bytes(copy_in(value as usize, bytes))),
        Parameter::Local if size == 0 => Err(cl::INVALID_ARG_SIZE),
        Parameter::Local if !value.is_null() => Err(cl::INVALID_ARG_VALUE),
        Parameter::Local => Ok(Value::Local),
        Parameter::Buffer if size != size_of::<usize>() => Err(cl::INVALID_ARG_SIZE),
        Parameter::Buffer => match foreign::get(value.cast::<usize>()).unwrap_or(0) {
            0 => Ok(Value::Nothing),
            handle => Ok(Value::Buffer(Arc::downgrade(&registry::find::<Buffer>(handle)?))),
        },
    }
}

pub(crate) extern "C" fn info(
    handle: usize,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    let kernel = match registry::find::<Kernel>(handle) {
        Ok(kernel) => kernel,
        Err(code) => return code,
    };
    let bytes = match name {
        cl::KERNEL_FUNCTION_NAME => text(kernel.name()),
        cl::KERNEL_NUM_ARGS => int(kernel.parameters().len() as u32),
        cl::KERNEL_REFERENCE_COUNT => references(handle),
        cl::KERNEL_CONTEXT => bytes_of(&[kernel.program.context.handle()]),
        cl::KERNEL_PROGRAM => bytes_of(&[kernel.program.handle()]),
        _ => return cl::INVALID_VALUE,
    };
    answer(&bytes, size, value, size_ret)
}

pub(crate) extern "C" fn work_group_info(
    kernel: usize,
    _device: usize,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    if let Err(code) = registry::find::<Kernel>(kernel) {
        return code;
    }
    let bytes = match name {
        cl::KERNEL_WORK_GROUP_SIZE => bytes_of(&[driver().script.work_group as usize]),
        cl::KERNEL_COMPILE_WORK_GROUP_SIZE => bytes_of(&[0; 3]),
        cl::KERNEL_LOCAL_MEM_SIZE | cl::KERNEL_PRIVATE_MEM_SIZE => 0_u64.to_ne_bytes().to_vec(),
        cl::KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => bytes_of(&[1]),
        _ => return cl::INVALID_VALUE,
    };
    answer(&bytes, size, value, size_ret)
}
