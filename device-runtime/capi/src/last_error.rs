//! What went wrong last, thread by thread.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};

use crate::status::Failure;

thread_local! {
    static TEXT: RefCell<CString> = RefCell::default();
    static CODE: Cell<i32> = const { Cell::new(0) };
}

/// Keep a failure for [`text`] and [`code`].
pub(crate) fn set(failure: &Failure) {
    // A thread that is ending may have none of this any more: then there is nobody to ask for it.
    let _ = CODE.try_with(|code| code.set(failure.opencl_code()));
    let _ = TEXT.try_with(|text| {
        let mut bytes = failure.text().into_bytes();
        bytes.retain(|byte| *byte != 0);
        if let (Ok(mut text), Ok(words)) = (text.try_borrow_mut(), CString::new(bytes)) {
            *text = words;
        }
    });
}

/// The words, which stay until the thread's next failure.
pub(crate) fn text() -> *const c_char {
    let text = TEXT.try_with(|text| text.try_borrow().map(|text| text.as_ptr()).ok());
    text.ok().flatten().unwrap_or(c"".as_ptr())
}

/// OpenCL's code, or 0.
pub(crate) fn code() -> i32 {
    CODE.try_with(Cell::get).unwrap_or(0)
}
