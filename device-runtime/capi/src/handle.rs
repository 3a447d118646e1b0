//! A handle: an engine that one thread uses at a time.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::path::Path;
use std::sync::{Mutex, TryLockError};
use std::{ptr, slice};

use opencl3::types::{cl_context, cl_device_id};

use crate::engine::{Engine, Home};
#[cfg(test)]
use crate::guard::provoke;
use crate::guard::{guarded, guarded_or};
use crate::status::Failure;

/// `gemmtree_handle`.
pub struct Handle(Mutex<Engine>);

/// Do something with the engine of a handle that no other thread is using.
///
/// # Safety
/// `handle` is null or a live handle.
///
/// # Errors
/// A null handle, one in use or one that a panic has left; or those of `work`.
pub(crate) unsafe fn with<T>(
    handle: *mut Handle,
    work: impl FnOnce(&mut Engine) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // SAFETY: a live handle, of which nobody has a unique reference.
    let handle = unsafe { handle.as_ref() }.ok_or_else(|| null("handle"))?;
    match handle.0.try_lock() {
        Ok(mut engine) => {
            #[cfg(test)]
            provoke::panic_if_wanted(provoke::Place::Inside);
            work(&mut engine)
        }
        Err(TryLockError::WouldBlock) => Err(Failure::Busy),
        Err(TryLockError::Poisoned(_)) => {
            Err(Failure::Panicked("one of its earlier calls ended in a panic".to_owned()))
        }
    }
}

/// A null pointer where there must be none.
pub(crate) fn null(name: &str) -> Failure {
    Failure::Argument(format!("{name} is NULL"))
}

/// See the header.
///
/// # Safety
/// The OpenCL objects are live ones or null, `path` is null or ends with a zero byte, and `handle` is null or
/// has room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_create_from_file(
    context: cl_context,
    device: cl_device_id,
    path: *const c_char,
    handle: *mut *mut Handle,
) -> i32 {
    // SAFETY: as promised by the caller.
    let read = || unsafe { file(path) };
    // SAFETY: as promised by the caller.
    guarded(|| unsafe { create((context, device), read, false, handle) })
}

/// See the header.
///
/// # Safety
/// The OpenCL objects are live ones or null, `bundle` is null or has `length` bytes, and `handle` is null or has
/// room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_create_from_memory(
    context: cl_context,
    device: cl_device_id,
    bundle: *const c_void,
    length: usize,
    handle: *mut *mut Handle,
) -> i32 {
    // SAFETY: as promised by the caller.
    let read = || unsafe { copied(bundle, length) };
    // SAFETY: as promised by the caller.
    guarded(|| unsafe { create((context, device), read, false, handle) })
}

/// See the header.
///
/// # Safety
/// As [`gemmtree_create_from_file`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_create_strict_from_file(
    context: cl_context,
    device: cl_device_id,
    path: *const c_char,
    handle: *mut *mut Handle,
) -> i32 {
    // SAFETY: as promised by the caller.
    let read = || unsafe { file(path) };
    // SAFETY: as promised by the caller.
    guarded(|| unsafe { create((context, device), read, true, handle) })
}

/// See the header.
///
/// # Safety
/// As [`gemmtree_create_from_memory`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_create_strict_from_memory(
    context: cl_context,
    device: cl_device_id,
    bundle: *const c_void,
    length: usize,
    handle: *mut *mut Handle,
) -> i32 {
    // SAFETY: as promised by the caller.
    let read = || unsafe { copied(bundle, length) };
    // SAFETY: as promised by the caller.
    guarded(|| unsafe { create((context, device), read, true, handle) })
}

/// See the header.
///
/// # Safety
/// `handle` is a live one or null, and `path` is null or ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_save(handle: *mut Handle, path: *const c_char) -> i32 {
    guarded(|| {
        // SAFETY: as promised by the caller.
        let name = unsafe { named(path) }?;
        // SAFETY: as promised by the caller.
        unsafe {
            with(handle, |engine| {
                let done = device_runtime::file::replace(file_name(name), &engine.stands().bytes);
                let path = || name.to_string_lossy().into_owned();
                done.map_err(|source| Failure::Write { path: path(), source })
            })
        }
    })
}

/// See the header.
///
/// # Safety
/// `handle` is null or a live handle that no thread uses or will use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_destroy(handle: *mut Handle) {
    guarded_or((), || {
        if !handle.is_null() {
            // SAFETY: `create` made it by `into_raw`, and nobody uses it any more.
            drop(unsafe { Box::from_raw(handle) });
        }
    });
}

/// Make a handle of the bundle that `read` gives; if that is `strict`, of its own binaries.
///
/// # Safety
/// `handle` is null or has room for a pointer; the OpenCL objects are live ones or null.
unsafe fn create(
    (context, device): Home,
    read: impl FnOnce() -> Result<Vec<u8>, Failure>,
    strict: bool,
    handle: *mut *mut Handle,
) -> Result<(), Failure> {
    if handle.is_null() {
        return Err(null("handle"));
    }
    // SAFETY: not null, and has room.
    unsafe { handle.write(ptr::null_mut()) };
    for (name, is_null) in [("context", context.is_null()), ("device", device.is_null())] {
        if is_null {
            return Err(null(name));
        }
    }
    let engine = Engine::load((context, device), read()?, strict)?;
    // SAFETY: not null, and has room.
    unsafe { handle.write(Box::into_raw(Box::new(Handle(Mutex::new(engine))))) };
    Ok(())
}

/// A copy of a bundle in memory.
///
/// # Safety
/// `bundle` is null or has `length` bytes.
unsafe fn copied(bundle: *const c_void, length: usize) -> Result<Vec<u8>, Failure> {
    if bundle.is_null() {
        return Err(null("bundle"));
    }
    if isize::try_from(length).is_err() {
        return Err(Failure::TooLarge { name: "length", value: length });
    }
    // SAFETY: as promised by the caller, and no longer than memory can be.
    Ok(unsafe { slice::from_raw_parts(bundle.cast::<u8>(), length) }.to_vec())
}

/// Read the file with this name.
///
/// # Safety
/// `path` is null or ends with a zero byte.
unsafe fn file(path: *const c_char) -> Result<Vec<u8>, Failure> {
    // SAFETY: as promised by the caller.
    let name = unsafe { named(path) }?;
    let path = name.to_string_lossy().into_owned();
    device_runtime::file::read(Path::new(file_name(name)))
        .map_err(|source| Failure::File { path, source })
}

/// The name of a file.
///
/// # Safety
/// `path` is null, or ends with a zero byte and lives for `'a`.
unsafe fn named<'a>(path: *const c_char) -> Result<&'a CStr, Failure> {
    if path.is_null() {
        return Err(null("path"));
    }
    // SAFETY: not null, and ends with a zero byte.
    Ok(unsafe { CStr::from_ptr(path) })
}

#[cfg(unix)]
fn file_name(name: &CStr) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(OsStr::from_bytes(name.to_bytes()))
}

/// Where names are text; one that is none names no file.
#[cfg(not(unix))]
fn file_name(name: &CStr) -> &Path {
    Path::new(OsStr::new(name.to_str().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use cl3::context::{create_context, release_context};
    use cl3::device::{CL_DEVICE_TYPE_ALL, get_device_ids};
    use cl3::platform::get_platform_ids;
    use device_runtime::ladder::{InProcess, Options, Source, climb};
    use device_runtime::{DeviceError, OpenCl};
    use selector_core::ProblemClass;

    use super::*;
    use crate::guard::provoke::{Place, is_wanted, panic_next};
    use crate::status::Status;
    use crate::{gemmtree_set_timing, gemmtree_status_text};

    #[test]
    fn a_handle_that_a_panic_has_left_refuses_calls_and_can_be_destroyed() {
        let opened = match OpenCl::open(None) {
            Ok(opened) => opened,
            Err(error @ (DeviceError::NoPlatform | DeviceError::NoLibrary(_))) => {
                println!("skipped: {error}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let source = Source::Universal(&[ProblemClass::F32_NN]);
        let bundle = climb(&opened, source, Options::default(), &mut InProcess(&opened)).unwrap();
        let bundle = bundle.bytes();
        let device = get_device_ids(get_platform_ids().unwrap()[0], CL_DEVICE_TYPE_ALL).unwrap()[0];
        let context = create_context(&[device], ptr::null(), None, ptr::null_mut()).unwrap();
        let mut handle = ptr::null_mut();
        // SAFETY: all of this is live; the handle goes to the other thread and comes back.
        unsafe {
            let (start, length) = (bundle.as_ptr().cast(), bundle.len());
            let status =
                gemmtree_create_from_memory(context, device, start, length, &raw mut handle);
            assert_eq!(status, 0);
            assert_eq!(gemmtree_set_timing(handle, 1), 0);
            let busy = with(handle, |_| {
                let handle = handle as usize;
                let other = move || gemmtree_set_timing(handle as *mut Handle, 1);
                Ok(thread::spawn(other).join().unwrap())
            });
            assert_eq!(busy.unwrap(), Status::Busy as i32);
            panic_next(Place::Inside);
            assert_eq!(gemmtree_set_timing(handle, 1), Status::Panicked as i32);
            assert!(!is_wanted());
            assert_eq!(gemmtree_set_timing(handle, 1), Status::Panicked as i32);
            let words = CStr::from_ptr(gemmtree_status_text(Status::Panicked as i32));
            assert_eq!(words, Status::Panicked.text());
            gemmtree_destroy(handle);
            release_context(context).unwrap();
        }
    }
}
