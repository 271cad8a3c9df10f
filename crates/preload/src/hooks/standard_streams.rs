//! Standard input, output and error whose descriptor is a backend's, as after `program > file`: the variables that name
//! those streams get streams of ours (`own_stream`). Whoever has kept the old ones could only go past the backend, and
//! fails with EBADF: so does `std::cout` where libstdc++ was initialised before this library.

use core::ffi::{c_int, c_void};
use core::ptr;

use libc::FILE;

use crate::hooks::own_stream::{self, StreamHead};
use crate::{backend, call_real, sys, table};

/// Returns the program's standard input.
pub fn input() -> *mut FILE {
    // SAFETY: a plain read of the C library's variable.
    unsafe { stdin }
}

/// Returns the program's standard output.
pub fn output() -> *mut FILE {
    // SAFETY: a plain read of the C library's variable.
    unsafe { stdout }
}

/// Looks at all three, for those that are a backend's.
pub fn check() {
    for fd in 0..=2 {
        after_change(fd);
    }
}

/// Looks at one of them whose descriptor may have got another file.
#[inline]
pub fn after_change(fd: c_int) {
    if backend::is_active() && (0..=2).contains(&fd) && backend::is_owned(fd) {
        replace(fd);
    }
}

#[cold]
fn replace(fd: c_int) {
    let before = sys::errno();
    let (variable, mode) = match fd {
        0 => (&raw mut stdin, c"r"),
        1 => (&raw mut stdout, c"w"),
        _ => (&raw mut stderr, c"w"),
    };
    // SAFETY: the C library's variable of an open stream, or null.
    unsafe {
        let old = *variable;
        // One of ours goes on by itself, and so does a stream of another file.
        if !old.is_null() && libc::fileno(old) == fd && !own_stream::is_one(old) {
            let new = own_stream::wrap(fd, mode);
            if !new.is_null() {
                if fd == 2 {
                    libc::setvbuf(new, ptr::null_mut(), libc::_IONBF, 0);
                }
                hand_over(old, new);
                *variable = new;
            }
            (*old.cast::<StreamHead>()).descriptor = CLOSED;
        }
    }
    sys::set_errno(before);
}

/// A number that no file has.
const CLOSED: c_int = c_int::MAX;

/// Hands over what was read ahead, and what was not written yet.
///
/// # Safety
/// Open streams of glibc.
unsafe fn hand_over(old: *mut FILE, new: *mut FILE) {
    // SAFETY: as the caller says.
    unsafe {
        let StreamHead { read_base, read_end, write_base, write_end, .. } = *old.cast();
        let unread = (read_end as usize).saturating_sub(read_base as usize);
        for at in (0..unread).rev() {
            libc::ungetc(c_int::from(*read_base.add(at).cast::<u8>()), new);
        }
        let length = (write_end as usize).saturating_sub(write_base as usize);
        if length > 0 {
            call_real!(
                table::reals::fwrite,
                fn(*const c_void, usize, usize, *mut FILE) -> usize,
                write_base.cast(),
                1,
                length,
                new
            );
        }
        if length + unread > 0 {
            own_stream::__fpurge(old);
        }
    }
}

// SAFETY: the C library defines them so.
unsafe extern "C" {
    static mut stdin: *mut FILE;
    static mut stdout: *mut FILE;
    static mut stderr: *mut FILE;
}
