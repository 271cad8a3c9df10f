//! Text of a format that is written to a descriptor: `dprintf`. The C library would write it by itself, unseen.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use crate::{sys, table};

// SAFETY: the C library defines them so.
unsafe extern "C" {
    /// Makes text of a format, in memory of `malloc`.
    pub fn vasprintf(text: *mut *mut c_char, format: *const c_char, list: *mut c_void) -> c_int;
    /// The same, and looks for formats that a program should not have.
    pub fn __vasprintf_chk(
        text: *mut *mut c_char,
        flag: c_int,
        format: *const c_char,
        list: *mut c_void,
    ) -> c_int;
}

/// Writes the text that `make` makes. Returns its length, or -1 if not all of it could be written.
///
/// # Safety
/// `make` gives text of `malloc` and its length, or a negative number.
pub unsafe fn print(fd: c_int, make: impl FnOnce(*mut *mut c_char) -> c_int) -> c_int {
    let mut text = ptr::null_mut();
    let length = make(&raw mut text);
    if length < 0 {
        return -1;
    }
    // SAFETY: as the caller says.
    let bytes = unsafe { core::slice::from_raw_parts(text.cast::<u8>(), length as usize) };
    let all_written = write_all(fd, bytes);
    let error = sys::errno();
    // SAFETY: as the caller says; it is not used any more.
    unsafe { libc::free(text.cast()) };
    sys::set_errno(error);
    if all_written { length } else { -1 }
}

fn write_all(fd: c_int, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        // SAFETY: bytes that are there.
        let count = unsafe { table::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        if count <= 0 {
            return false;
        }
        bytes = bytes.get(count as usize..).unwrap_or(&[]);
    }
    true
}
