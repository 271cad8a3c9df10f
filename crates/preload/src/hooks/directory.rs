//! Reading directories. Their descriptors are opened and closed inside of libc.

use core::ffi::{c_char, c_int};

use libc::{AT_FDCWD, DIR};
use plimsoll_trace::Op;

use crate::hooks::{Anything, descriptor, name};
use crate::thread::Busy;
use crate::{descriptors, hot, paths, sys};

/// Stands in for `opendir`.
///
/// # Safety
/// The path is what a program gave to `opendir`.
#[inline]
pub unsafe fn open(path: *const c_char, real: impl FnOnce() -> *mut DIR) -> *mut DIR {
    // SAFETY: the same path.
    let directory = unsafe { name::on(Op::Opendir, AT_FDCWD, path, 0, real) };
    if hot::is_on()
        && !directory.is_null()
        && let Some(busy) = Busy::begin()
    {
        // SAFETY: it was opened by this path.
        let (file, fd) =
            unsafe { (paths::number_at(&busy, AT_FDCWD, path), descriptor_of(directory)) };
        descriptors::opened(fd, file, 0);
    }
    directory
}

/// Stands in for `fdopendir`.
#[inline]
pub fn open_descriptor(fd: c_int, real: impl FnOnce() -> *mut DIR) -> *mut DIR {
    descriptor::on(Op::Opendir, fd, 0, real)
}

/// Stands in for `readdir`. Null is the end of the directory, and rarely a failure.
///
/// # Safety
/// An open directory.
#[inline]
pub unsafe fn read<T>(directory: *mut DIR, real: impl FnOnce() -> *mut T) -> *mut T {
    // SAFETY: an open directory.
    let fd = unsafe { descriptor_of(directory) };
    descriptor::on(Op::Readdir, fd, 0, || Anything(real())).0
}

/// Stands in for `closedir`.
///
/// # Safety
/// An open directory.
#[inline]
pub unsafe fn close(directory: *mut DIR, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: an open directory.
    let fd = unsafe { descriptor_of(directory) };
    descriptor::close(Op::Closedir, fd, real)
}

/// # Safety
/// An open directory.
unsafe fn descriptor_of(directory: *mut DIR) -> c_int {
    if !hot::is_on() || directory.is_null() {
        return -1;
    }
    let before = sys::errno();
    // SAFETY: an open directory.
    let fd = unsafe { libc::dirfd(directory) };
    sys::set_errno(before);
    fd
}
