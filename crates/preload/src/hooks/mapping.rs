//! Mappings of files. Those of memory are not I/O. Where another library has patched the C library's
//! functions in memory, as UCX does, that library calls the kernel by number (`raw`), from within our
//! stand-in, or instead of it.

use core::ffi::{c_int, c_void};

use plimsoll_trace::encode::{NO_FILE, Outcome};
use plimsoll_trace::{Layer, Op};

use crate::backend::{self, MapRequest, Request};
use crate::files::EXCLUDED;
use crate::hooks::{Returned, descriptor, failure};
use crate::recorder::{begin_in, ended};
use crate::{descriptors, mapped_files, process, sys, thread};

#[derive(Clone, Copy)]
struct Address(*mut c_void);

impl Returned for Address {
    fn outcome(self) -> Outcome {
        if self.0 == libc::MAP_FAILED { failure() } else { Outcome::Value(0) }
    }
}

/// Stands in for `mmap`.
#[inline]
pub fn map(fd: c_int, mapping: MapRequest, real: impl FnOnce() -> *mut c_void) -> *mut c_void {
    let MapRequest { flags, length, .. } = mapping;
    if flags & libc::MAP_ANONYMOUS != 0 || fd < 0 {
        return real();
    }
    mapped_files::note();
    let start = begin_in(Layer::Posix);
    let served = || backend::serve(fd, || Request::Map(mapping), real);
    let address = thread::inside_hook(served);
    ended(start, |busy, span| {
        let file = descriptors::file(busy, fd);
        if address != libc::MAP_FAILED
            && file != EXCLUDED
            && let Some(process) = process::current()
        {
            process.mappings.add(address as usize, length, file);
        }
        descriptor::write(busy, span, Op::Mmap, file, Address(address), length as u64);
    });
    address
}

/// Stands in for `munmap`.
#[inline]
pub fn unmap(address: *mut c_void, length: usize, real: impl FnOnce() -> c_int) -> c_int {
    let Some(file) = find(address) else { return real() };
    if let Some(process) = process::current() {
        // Before the call: after it, another thread may get the same address.
        process.mappings.remove(address as usize);
    }
    end(Op::Munmap, file, length, real)
}

/// Stands in for `mremap`: what a backend has mapped cannot become larger.
#[inline]
pub fn resize(
    address: *mut c_void,
    length: usize,
    new_length: usize,
    real: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    if new_length > length && backend::has_mapped(address as usize) {
        sys::set_errno(libc::ENOMEM);
        return libc::MAP_FAILED;
    }
    real()
}

/// Stands in for `msync`.
#[inline]
pub fn sync(address: *mut c_void, length: usize, real: impl FnOnce() -> c_int) -> c_int {
    end(Op::Msync, find(address).unwrap_or(NO_FILE), length, real)
}

fn find(address: *mut c_void) -> Option<u32> {
    process::current()?.mappings.find(address as usize)
}

fn end(op: Op, file: u32, length: usize, real: impl FnOnce() -> c_int) -> c_int {
    let start = begin_in(Layer::Posix);
    let result = thread::inside_hook(real);
    ended(start, |busy, span| descriptor::write(busy, span, op, file, result, length as u64));
    result
}
