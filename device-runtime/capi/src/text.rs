//! Text into a caller's memory.

use std::ffi::c_char;

/// Memory for text that a caller gave.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) text: *mut c_char,
    pub(crate) capacity: usize,
    pub(crate) length: *mut usize,
}

impl Room {
    /// Write as much of `text` as fits and a zero byte; say how long all of it is.
    ///
    /// # Safety
    /// `self.text` is null or has room for `self.capacity` bytes; `self.length` is null or has room for a number.
    pub(crate) unsafe fn put(self, text: &str) {
        // SAFETY: null, or has room.
        if let Some(length) = unsafe { self.length.as_mut() } {
            *length = text.len();
        }
        if self.text.is_null() || self.capacity == 0 {
            return;
        }
        // A character that does not fit whole is left out.
        let fits = text.floor_char_boundary(self.capacity - 1);
        // SAFETY: `fits` bytes and the zero byte are no more than `capacity`.
        unsafe {
            self.text.copy_from_nonoverlapping(text.as_ptr().cast(), fits);
            self.text.add(fits).write(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::ptr;

    use super::*;

    fn written(text: &str, capacity: usize) -> (String, usize) {
        let mut memory = [b'#' as c_char; 8];
        let mut length = 0;
        let room = Room { text: memory.as_mut_ptr(), capacity, length: &raw mut length };
        // SAFETY: no more than the memory has.
        unsafe { room.put(text) };
        assert!(memory[capacity..].iter().all(|byte| *byte == b'#' as c_char));
        if capacity == 0 {
            return (String::new(), length);
        }
        // SAFETY: ended by a zero byte.
        (unsafe { CStr::from_ptr(memory.as_ptr()) }.to_str().unwrap().to_owned(), length)
    }

    #[test]
    fn what_does_not_fit_is_cut_and_its_length_is_told() {
        assert_eq!(written("abc", 8), ("abc".to_owned(), 3));
        assert_eq!(written("abc", 4), ("abc".to_owned(), 3));
        assert_eq!(written("abc", 3), ("ab".to_owned(), 3));
        assert_eq!(written("abc", 1), (String::new(), 3));
        assert_eq!(written("abc", 0), (String::new(), 3));
        assert_eq!(written("a\u{d7}b", 3), ("a".to_owned(), 4));
        let nowhere = Room { text: ptr::null_mut(), capacity: 5, length: ptr::null_mut() };
        // SAFETY: null pointers are allowed.
        unsafe { nowhere.put("abc") };
    }
}
