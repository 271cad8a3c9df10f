//! What a caller in C gets to know when a call fails: errno, and a line of text for its thread.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use plimsoll_report::visible;
use plimsoll_stow::StowError;
use rustix::io::Errno;

use crate::Handle;

/// Why a call failed.
#[derive(Debug)]
pub struct Failure {
    /// What errno becomes.
    pub errno: Errno,
    text: String,
}

impl Failure {
    /// An argument is impossible.
    pub fn invalid(text: &str) -> Self {
        Failure { errno: Errno::INVAL, text: text.into() }
    }

    /// The handle cannot be used for this.
    pub fn handle(text: &str) -> Self {
        Failure { errno: Errno::BADF, text: text.into() }
    }
}

impl From<StowError> for Failure {
    fn from(error: StowError) -> Self {
        Failure { errno: error.errno(), text: error.to_string() }
    }
}

thread_local! {
    static TEXT: RefCell<CString> = RefCell::default();
}

/// Returns the text of the last failure.
pub fn text() -> *const c_char {
    // A thread that is ending has none any more.
    TEXT.try_with(|it| it.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Numbers that a failed call returns.
pub trait Negative {
    /// -1.
    const MINUS_ONE: Self;
}

impl Negative for i32 {
    const MINUS_ONE: Self = -1;
}

impl Negative for i64 {
    const MINUS_ONE: Self = -1;
}

impl Negative for isize {
    const MINUS_ONE: Self = -1;
}

/// Does what a call asks for; notes why, and returns -1, if that fails.
pub fn answer<T: Negative>(call: impl FnOnce() -> Result<T, Failure>) -> T {
    done(call).unwrap_or(T::MINUS_ONE)
}

/// Does the same, and returns NULL if that fails.
pub fn answer_pointer(call: impl FnOnce() -> Result<Box<Handle>, Failure>) -> *mut Handle {
    done(call).map_or(std::ptr::null_mut(), Box::into_raw)
}

fn done<T>(call: impl FnOnce() -> Result<T, Failure>) -> Option<T> {
    let panicked = |_| Failure { errno: Errno::IO, text: "the library itself failed".into() };
    // What a panic leaves behind is behind a lock that says so.
    let result = catch_unwind(AssertUnwindSafe(call)).map_err(panicked).and_then(|it| it);
    result.map_err(note).ok()
}

fn note(failure: Failure) {
    // It is meant to be printed, and what is in it may be anybody's.
    let text = CString::new(visible(&failure.text)).unwrap_or_default();
    let _ = TEXT.try_with(|it| *it.borrow_mut() = text);
    errno::set_errno(errno::Errno(failure.errno.raw_os_error()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failure_says_steers_no_terminal() {
        note(Failure { errno: Errno::INVAL, text: "format \u{1b}]0;x\u{7} \0".into() });
        // SAFETY: it is a C string until the next failure of this thread.
        let text = unsafe { std::ffi::CStr::from_ptr(text()) }.to_str().unwrap();
        assert_eq!(text, "format \\u{1b}]0;x\\u{7} \\u{0}");
    }

    #[test]
    fn a_panic_is_a_failed_call() {
        errno::set_errno(errno::Errno(0));
        let returned: i32 = answer(|| panic!("on purpose"));
        assert_eq!((returned, errno::errno().0), (-1, Errno::IO.raw_os_error()));
        // SAFETY: it is a C string until the next failure of this thread.
        let text = unsafe { std::ffi::CStr::from_ptr(text()) };
        assert_eq!(text, c"the library itself failed");
    }
}
