//! `clGetPlatform…`, `clGetDevice…`.

use std::ffi::c_void;
use std::thread;
use std::time::Duration;

use super::{bytes_of, code, text};
use crate::cl;
use crate::faults::{Subject, driver, strike};
use crate::foreign::{answer, put};

/// What the loader returns where there is no platform.
const PLATFORM_NOT_FOUND: i32 = -1001;

pub(crate) fn ids(entries: u32, platforms: *mut usize, count: *mut u32) -> i32 {
    let script = &driver().script;
    thread::sleep(Duration::from_millis(script.platform_delay_ms));
    if let Err(code) = strike("clGetPlatformIDs", Subject::default()) {
        return code;
    }
    if script.no_platform {
        put(count, 0);
        return PLATFORM_NOT_FOUND;
    }
    if entries > 0 {
        put(platforms, driver().platform);
    }
    put(count, 1);
    cl::SUCCESS
}

pub(crate) extern "C" fn info(
    platform: usize,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    if platform != driver().platform {
        return cl::INVALID_PLATFORM;
    }
    let script = &driver().script;
    let bytes = match name {
        cl::PLATFORM_PROFILE => text("FULL_PROFILE"),
        cl::PLATFORM_VERSION => text(&script.version),
        cl::PLATFORM_NAME => text(&script.platform),
        cl::PLATFORM_VENDOR => text(&script.vendor),
        cl::PLATFORM_EXTENSIONS => text("cl_khr_icd"),
        cl::PLATFORM_ICD_SUFFIX_KHR => text("PRETEND"),
        _ => return cl::INVALID_VALUE,
    };
    answer(&bytes, size, value, size_ret)
}

pub(crate) extern "C" fn device_ids(
    platform: usize,
    kind: u64,
    entries: u32,
    devices: *mut usize,
    count: *mut u32,
) -> i32 {
    if platform != driver().platform {
        return cl::INVALID_PLATFORM;
    }
    if let Err(code) = strike("clGetDeviceIDs", Subject::default()) {
        return code;
    }
    let wanted = kind & (cl::DEVICE_TYPE_GPU | cl::DEVICE_TYPE_DEFAULT) != 0;
    let all = &driver().devices;
    if !wanted || all.is_empty() {
        put(count, 0);
        return cl::DEVICE_NOT_FOUND;
    }
    if !devices.is_null() {
        for (at, device) in all.iter().take(entries as usize).enumerate() {
            put(devices.wrapping_add(at), *device);
        }
    }
    put(count, all.len() as u32);
    cl::SUCCESS
}

pub(crate) extern "C" fn device_info(
    device: usize,
    name: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    let asked = strike("clGetDeviceInfo", Subject::default());
    match asked.and_then(|()| driver().device(device)).and_then(|number| about(number, name)) {
        Ok(bytes) => answer(&bytes, size, value, size_ret),
        Err(code) => code,
    }
}

fn about(number: usize, name: u32) -> Result<Vec<u8>, i32> {
    let script = &driver().script;
    let int = |value: u32| value.to_ne_bytes().to_vec();
    let long = |value: u64| value.to_ne_bytes().to_vec();
    let size = |value: u64| (value as usize).to_ne_bytes().to_vec();
    Ok(match name {
        cl::DEVICE_TYPE => long(cl::DEVICE_TYPE_GPU),
        cl::DEVICE_VENDOR_ID => int(0x1234),
        cl::DEVICE_MAX_COMPUTE_UNITS => int(script.compute_units.get(number).copied().unwrap_or(4)),
        cl::DEVICE_MAX_WORK_ITEM_DIMENSIONS => int(3),
        cl::DEVICE_MAX_WORK_GROUP_SIZE => size(script.work_group),
        cl::DEVICE_MAX_WORK_ITEM_SIZES => bytes_of(&[script.work_group as usize; 3]),
        cl::DEVICE_MAX_CLOCK_FREQUENCY => int(1000),
        cl::DEVICE_ADDRESS_BITS => int(usize::BITS),
        cl::DEVICE_MAX_MEM_ALLOC_SIZE => long(script.largest_buffer),
        cl::DEVICE_IMAGE_SUPPORT => int(0),
        cl::DEVICE_MEM_BASE_ADDR_ALIGN => int(super::memory::ALIGNMENT as u32 * 8),
        cl::DEVICE_GLOBAL_MEM_SIZE => long(script.memory),
        cl::DEVICE_MAX_CONSTANT_BUFFER_SIZE => long(64 << 10),
        // Local memory of its own.
        cl::DEVICE_LOCAL_MEM_TYPE => int(1),
        cl::DEVICE_LOCAL_MEM_SIZE => long(script.local_memory),
        cl::DEVICE_PROFILING_TIMER_RESOLUTION => size(script.clock.told_ns),
        cl::DEVICE_ENDIAN_LITTLE => int(u32::from(cfg!(target_endian = "little"))),
        cl::DEVICE_AVAILABLE | cl::DEVICE_COMPILER_AVAILABLE | cl::DEVICE_LINKER_AVAILABLE => {
            int(1)
        }
        cl::DEVICE_HOST_UNIFIED_MEMORY => int(0),
        cl::DEVICE_QUEUE_PROPERTIES => long(super::queue::known_properties()),
        cl::DEVICE_NAME => text(script.devices.get(number).map_or("", String::as_str)),
        cl::DEVICE_VENDOR => text(&script.vendor),
        cl::DRIVER_VERSION => text(&script.driver),
        cl::DEVICE_PROFILE => text("FULL_PROFILE"),
        cl::DEVICE_VERSION => text(&script.version),
        cl::DEVICE_OPENCL_C_VERSION => text("OpenCL C 1.2 pretend"),
        cl::DEVICE_EXTENSIONS => text(&script.extensions),
        cl::DEVICE_PLATFORM => bytes_of(&[driver().platform]),
        cl::DEVICE_PARENT_DEVICE => bytes_of(&[0]),
        cl::DEVICE_REFERENCE_COUNT => int(1),
        cl::DEVICE_SUB_GROUP_SIZES_INTEL => Vec::new(),
        _ => return Err(cl::INVALID_VALUE),
    })
}

/// Devices are there for ever.
pub(crate) extern "C" fn keep_device(device: usize) -> i32 {
    code(driver().device(device).map(|_| ()))
}

pub(crate) extern "C" fn unload_compiler(_platform: usize) -> i32 {
    cl::SUCCESS
}
