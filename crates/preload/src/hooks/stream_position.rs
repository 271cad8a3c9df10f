//! Where a stream is, and what is known of its descriptor.

use core::ffi::c_int;

use libc::FILE;

use crate::descriptors::{self, Known};
use crate::files::EXCLUDED;
use crate::hooks::own_stream;
use crate::sys;
use crate::thread::Busy;

/// Returns where a stream is; `None` when it cannot be anywhere, or when nobody wants to know.
pub fn position_of(stream: *mut FILE) -> Option<u64> {
    let fd = descriptor_of(stream);
    if descriptors::look(fd).is_some_and(|known| known.file == EXCLUDED) {
        return None;
    }
    let before = sys::errno();
    // SAFETY: the program's open stream.
    let position = unsafe { libc::ftello(stream) };
    sys::set_errno(before);
    u64::try_from(position).ok()
}

/// Returns what is known of a stream's descriptor.
pub fn known(busy: &Busy, stream: *mut FILE) -> Known {
    match descriptor_of(stream) {
        fd if fd < 0 => Known::NO_FILE_AT_ALL,
        fd => descriptors::known(busy, fd),
    }
}

/// Moves a stream's position on after so many bytes; gives the one before.
#[inline]
pub fn advance(known: &Known, stream: *mut FILE, moved: u64, writes: bool) -> u64 {
    // SAFETY: the program's open stream.
    known.advance_stream(moved, writes, || unsafe { own_stream::ahead(stream) })
}

/// Returns the stream's descriptor; -1 for streams in memory.
pub fn descriptor_of(stream: *mut FILE) -> c_int {
    if stream.is_null() {
        return -1;
    }
    let before = sys::errno();
    // SAFETY: the program's open stream.
    let fd = unsafe { libc::fileno(stream) };
    if fd < 0 {
        sys::set_errno(before);
    }
    fd
}
