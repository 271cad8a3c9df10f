//! Files that come to the program under a number of which something else may be known: by a message, or because the C library closed what was there before by itself.

use core::ffi::c_int;

use libc::{FILE, mmsghdr, msghdr};

use crate::hooks::inlined;
use crate::hooks::stream_position::descriptor_of;
use crate::{backend, hot};

/// Stands in for a function that gives a new descriptor.
pub fn descriptor(real: impl FnOnce() -> c_int) -> c_int {
    let fd = real();
    if fd >= 0 {
        backend::forget(fd);
    }
    fd
}

/// Stands in for `recvmsg`.
///
/// # Safety
/// The message is what a program gave to it.
pub unsafe fn message(message: *const msghdr, real: impl FnOnce() -> isize) -> isize {
    let length = real();
    if length >= 0 && backend::is_active() {
        // SAFETY: the kernel has filled it.
        unsafe { forget_received(message) };
    }
    length
}

/// Stands in for `recvmmsg`.
///
/// # Safety
/// The messages are what a program gave to it.
pub unsafe fn messages(messages: *const mmsghdr, real: impl FnOnce() -> c_int) -> c_int {
    let count = real();
    if backend::is_active() {
        for place in 0..count.max(0) as usize {
            // SAFETY: the kernel has filled as many.
            unsafe { forget_received(&raw const (*messages.add(place)).msg_hdr) };
        }
    }
    count
}

/// Forgets whose the descriptors are that came with a message (unix(7), SCM_RIGHTS).
///
/// # Safety
/// A message that the kernel has filled.
unsafe fn forget_received(message: *const msghdr) {
    // SAFETY: as the caller says: headers follow each other within what was received.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let bytes = (*header).cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
                let first = libc::CMSG_DATA(header).cast::<c_int>();
                for place in 0..bytes / size_of::<c_int>() {
                    backend::forget(first.add(place).read_unaligned());
                }
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}

/// Stands in for `pclose` and `endmntent`, which close a stream.
///
/// # Safety
/// A stream that `popen` or `setmntent` gave, or null.
pub unsafe fn end_stream(stream: *mut FILE, real: impl FnOnce() -> c_int) -> c_int {
    let fd = if backend::is_active() { descriptor_of(stream) } else { -1 };
    if hot::is_on() {
        inlined::settle(stream);
    }
    let status = real();
    backend::forget(fd);
    status
}
