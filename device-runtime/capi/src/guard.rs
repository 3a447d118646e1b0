//! The only way from C into this library: nothing that goes wrong inside gets out but as a status.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::last_error;
use crate::status::{Failure, Status};

/// Do what an exported function is for; a failure or a panic becomes a status, and words for
/// [`last_error`].
pub(crate) fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> i32 {
    guarded_as(work, |failure| failure.status() as i32)
}

/// The same with another library's statuses, all of which have 0 for success.
pub(crate) fn guarded_as(
    work: impl FnOnce() -> Result<(), Failure>,
    status: impl Fn(&Failure) -> i32,
) -> i32 {
    match caught(work) {
        Ok(()) => Status::Success as i32,
        Err(failure) => {
            // Making words may fail as anything may.
            let told = caught(|| {
                last_error::set(&failure);
                Ok(())
            });
            status(&told.err().unwrap_or(failure))
        }
    }
}

/// What a function that gives no status is for; `otherwise` after a panic.
pub(crate) fn guarded_or<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    let done = catch_unwind(AssertUnwindSafe(|| {
        #[cfg(test)]
        provoke::panic_if_wanted(provoke::Place::Entry);
        work()
    }));
    done.unwrap_or(otherwise)
}

fn caught(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    // What a panic leaves behind is not used again: a handle refuses calls after one.
    let result = catch_unwind(AssertUnwindSafe(|| {
        #[cfg(test)]
        provoke::panic_if_wanted(provoke::Place::Entry);
        work()
    }));
    result.unwrap_or_else(|payload| Err(Failure::Panicked(words(payload.as_ref()))))
}

fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

/// Panics on purpose; in no build but that of the unit tests.
#[cfg(test)]
pub(crate) mod provoke {
    use std::cell::Cell;

    /// Where a panic can be provoked.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    pub(crate) enum Place {
        /// First of all in a guarded function.
        Entry,
        /// While it works with the engine of a handle.
        Inside,
    }

    thread_local! {
        static WANTED: Cell<Option<Place>> = const { Cell::new(None) };
    }

    /// Let the next work of this thread at this place panic.
    pub(crate) fn panic_next(place: Place) {
        WANTED.set(Some(place));
    }

    /// Whether there was no such work yet.
    pub(crate) fn is_wanted() -> bool {
        WANTED.get().is_some()
    }

    pub(crate) fn panic_if_wanted(place: Place) {
        if WANTED.get() == Some(place) {
            WANTED.set(None);
            panic!("provoked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status_with_its_words() {
        let status = guarded(|| panic!("number {}", 7));
        assert_eq!(status, Status::Panicked as i32);
        // SAFETY: the text lives until the next failure of this thread.
        #[expect(unsafe_code, reason = "the text is C's")]
        let text = unsafe { std::ffi::CStr::from_ptr(last_error::text()) };
        assert!(text.to_str().unwrap().contains("number 7"));
        assert_eq!(guarded_as(|| std::panic::panic_any(1), |_| -2039), -2039);
        assert_eq!(guarded_or(3, || panic!("no status")), 3);
    }

    #[test]
    fn what_works_is_no_failure() {
        assert_eq!(guarded(|| Ok(())), 0);
        assert_eq!(guarded(|| Err(Failure::Busy)), Status::Busy as i32);
    }
}
