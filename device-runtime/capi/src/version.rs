//! What needs no handle: the last error, words for a status, the version.

use std::ffi::{CStr, c_char};

use crate::guard::guarded_or;
use crate::last_error;
use crate::status::Status;

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_last_error() -> *const c_char {
    guarded_or(c"".as_ptr(), last_error::text)
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_last_opencl_error() -> i32 {
    guarded_or(0, last_error::code)
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_status_text(status: i32) -> *const c_char {
    let text = || Status::of_code(status).map_or(c"no such status", Status::text);
    guarded_or(c"", text).as_ptr()
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_version() -> *const c_char {
    guarded_or(VERSION, || VERSION).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_packages_and_words_are_there_for_any_code() {
        assert_eq!(VERSION.to_str(), Ok(env!("CARGO_PKG_VERSION")));
        for code in [0, 18, 19, -1, i32::MIN] {
            // SAFETY: a text that is never released.
            let text = unsafe { CStr::from_ptr(gemmtree_status_text(code)) };
            assert_eq!(text == c"no such status", !(0..=18).contains(&code));
        }
    }
}
