//! Reading directories. Their descriptors are opened and closed inside of libc.

use core::ffi::{c_char, c_int};
use core::ptr;

use libc::{AT_FDCWD, DIR, dirent64};
use plimsoll_trace::Op;

use crate::backend::{self, FromAnswer, HIDDEN, Name, NameRequest, Request};
use crate::hooks::{Anything, descriptor, name};
use crate::thread::Busy;
use crate::{call_real, descriptors, hot, paths, sys, table};

/// Stands in for `opendir`.
///
/// # Safety
/// The path is what a program gave to `opendir`.
#[inline]
pub unsafe fn open(path: *const c_char, real: impl FnOnce() -> *mut DIR) -> *mut DIR {
    // SAFETY: the same path.
    let served = || unsafe { open_served(path) }.unwrap_or_else(|| not_owned(real()));
    // SAFETY: the same path.
    let directory = unsafe { name::on(Op::Opendir, AT_FDCWD, path, 0, served) };
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

/// Opens a directory by a name that a backend owns. `None` where none does.
///
/// # Safety
/// The path is what a program gave to `opendir`.
unsafe fn open_served(path: *const c_char) -> Option<*mut DIR> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let request = || NameRequest::Open { flags, mode: 0 };
    let fd = c_int::from_answer(backend::answer_name(|| Name::new(AT_FDCWD, path), request)?);
    if fd < 0 {
        return Some(ptr::null_mut());
    }
    // SAFETY: a new descriptor.
    let directory = unsafe { call_real!(table::reals::fdopendir, fn(c_int) -> *mut DIR, fd) };
    if directory.is_null() {
        let error = sys::errno();
        // SAFETY: ours; nobody else knows of it.
        backend::close(fd, || unsafe {
            rustix::io::close(fd);
            0
        });
        sys::set_errno(error);
    }
    Some(directory)
}

/// Notes that a directory was opened by the C library.
fn not_owned(directory: *mut DIR) -> *mut DIR {
    if backend::is_active() {
        // SAFETY: an open directory, or null.
        backend::forget(unsafe { descriptor_of(directory) });
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
pub unsafe fn read<T>(directory: *mut DIR, mut real: impl FnMut() -> *mut T) -> *mut T {
    // SAFETY: an open directory.
    let fd = unsafe { descriptor_of(directory) };
    let shown = || loop {
        let entry = real();
        if entry.is_null() || is_shown(fd, entry.cast()) {
            return Anything(entry);
        }
    };
    descriptor::on(Op::Readdir, fd, 0, shown).0
}

/// Stands in for `getdents64`, which puts entries into the buffer and gives their bytes.
///
/// # Safety
/// The buffer is what a program gave to it.
#[inline]
pub unsafe fn read_entries(fd: c_int, buffer: *mut u8, mut real: impl FnMut() -> isize) -> isize {
    let shown = || loop {
        let length = real();
        if length <= 0 || !backend::is_owned(fd) {
            return length;
        }
        // SAFETY: the kernel has just put as many bytes of entries there.
        let left = unsafe { keep_shown(fd, buffer, length as usize) };
        // Nothing at all would mean the end.
        if left > 0 {
            return left as isize;
        }
    };
    descriptor::on(Op::Readdir, fd, 0, shown)
}

/// Takes the entries out that are not to be seen. Returns the bytes that are left.
///
/// # Safety
/// As many bytes of entries are there.
unsafe fn keep_shown(fd: c_int, buffer: *mut u8, length: usize) -> usize {
    let (mut at, mut left) = (0, 0);
    while at < length {
        // SAFETY: an entry begins here, and is as long as it says.
        unsafe {
            let entry = buffer.add(at).cast::<dirent64>();
            let size = usize::from((&raw const (*entry).d_reclen).read_unaligned());
            if size == 0 {
                break;
            }
            if is_shown(fd, entry) {
                ptr::copy(buffer.add(at), buffer.add(left), size);
                left += size;
            }
            at += size;
        }
    }
    left
}

/// Returns whether a program is to see an entry, which a backend may change.
#[inline]
fn is_shown(fd: c_int, entry: *mut dirent64) -> bool {
    !matches!(backend::answer(fd, || Request::Entry(entry)), Some(Ok(HIDDEN)))
}

/// Returns whether a program is to see an entry of a directory.
///
/// # Safety
/// An open directory and its entry.
pub unsafe fn shows(directory: *mut DIR, entry: *mut dirent64) -> bool {
    // SAFETY: as the caller says.
    is_shown(unsafe { descriptor_of(directory) }, entry)
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
    if !hot::is_on() && !backend::is_active() || directory.is_null() {
        return -1;
    }
    let before = sys::errno();
    // SAFETY: an open directory.
    let fd = unsafe { libc::dirfd(directory) };
    sys::set_errno(before);
    fd
}
