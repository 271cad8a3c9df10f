//! Locks, and the other uses of `fcntl`.

use core::ffi::c_int;

use libc::{flock, off_t};
use plimsoll_trace::{Layer, Op};

use crate::backend::{self, LockRequest, Request};
use crate::hooks::descriptor;
use crate::recorder::begin_in;
use crate::thread::Busy;
use crate::{descriptors, hot};

/// Stands in for `fcntl`: locks, duplicates, flags. Other commands are not I/O.
///
/// # Safety
/// The arguments are what a program gave to `fcntl`.
#[inline]
pub unsafe fn control(
    fd: c_int,
    command: c_int,
    argument: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    match command {
        libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            let start = begin_in(Layer::Posix);
            let request = || Request::Lock(LockRequest::Range { command, lock: argument });
            let result = backend::serve(fd, request, real);
            if start.is_on() {
                // SAFETY: the kernel has read the same lock, unless it could not.
                let (kind, length) = unsafe { read_lock(argument, result) };
                let op = if kind == libc::F_UNLCK { Op::Unlock } else { Op::Lock };
                descriptor::end_on(start, op, Some(fd), result, length as u64);
            }
            result
        }
        libc::F_GETLK | libc::F_OFD_GETLK => backend::serve(
            fd,
            || Request::Lock(LockRequest::Range { command, lock: argument }),
            real,
        ),
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => descriptor::duplicate(fd, None, real),
        libc::F_SETFL => {
            let result = real();
            if result >= 0
                && hot::is_on()
                && Busy::begin().is_some()
                && let Some(known) = descriptors::look(fd)
            {
                known.set_appends(argument as c_int & libc::O_APPEND != 0);
            }
            result
        }
        _ => real(),
    }
}

/// Kind and length of a lock.
///
/// # Safety
/// `address` is what a program gave to a call with this result.
unsafe fn read_lock(address: usize, result: c_int) -> (c_int, off_t) {
    if address == 0 || result < 0 && crate::sys::errno() == libc::EFAULT {
        return (libc::F_WRLCK, 0);
    }
    // SAFETY: the kernel has read the same lock.
    let lock = unsafe { (address as *const flock).read_unaligned() };
    (c_int::from(lock.l_type), lock.l_len)
}

/// Stands in for `flock`.
#[inline]
pub fn whole_file(fd: c_int, operation: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let op = if operation & libc::LOCK_UN != 0 { Op::Funlock } else { Op::Flock };
    let request = || Request::Lock(LockRequest::Whole { operation });
    descriptor::ask(op, fd, operation as u32 as u64, request, real)
}

/// Stands in for `lockf`.
#[inline]
pub fn section(fd: c_int, command: c_int, length: off_t, real: impl FnOnce() -> c_int) -> c_int {
    let request = || Request::Lock(LockRequest::Section { command, length });
    match command {
        libc::F_ULOCK => descriptor::ask(Op::Unlock, fd, length as u64, request, real),
        libc::F_LOCK | libc::F_TLOCK => descriptor::ask(Op::Lock, fd, length as u64, request, real),
        _ => backend::serve(fd, request, real),
    }
}
