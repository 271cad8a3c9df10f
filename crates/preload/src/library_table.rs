//! The table of intercepted calls that are not in every program's C library: asynchronous I/O and
//! io_uring. They are looked up when they are first called, because the library may be loaded late.
//! Rows lead to `asynchronous` and `served_transfer`, which call some of the real functions: the three files use each other.
#![allow(unused_unsafe)] // a row need not know which helpers are safe

use core::ffi::{c_int, c_long, c_void};

use libc::{aiocb, sigevent, ssize_t, timespec};
use plimsoll_trace::Op;

use crate::call_real;
use crate::hooks::asynchronous::{self, KernelBlock, KernelEvent};

crate::intercept! {
    asynchronous {
        aio_read [aio_read64] (block: *mut aiocb) -> c_int
            => |real| asynchronous::begin(Op::AioRead, block, || real(block));
        aio_write [aio_write64] (block: *mut aiocb) -> c_int
            => |real| asynchronous::begin(Op::AioWrite, block, || real(block));
        aio_fsync [aio_fsync64] (operation: c_int, block: *mut aiocb) -> c_int
            => |real| asynchronous::begin(Op::AioSync, block, || real(operation, block));
        lio_listio [lio_listio64] (mode: c_int, list: *const *mut aiocb, count: c_int, event: *mut c_void) -> c_int
            => |real| asynchronous::begin_list(mode, list, count, |list| real(mode, list, count, event));
        aio_error [aio_error64] (block: *const aiocb) -> c_int
            => |real| asynchronous::look(block, || real(block));
        aio_return [aio_return64] (block: *mut aiocb) -> ssize_t
            => |real| asynchronous::end(block, || real(block));
        aio_suspend [aio_suspend64] (list: *const *const aiocb, count: c_int, timeout: *const timespec) -> c_int
            => |real| asynchronous::wait(count.max(0) as u64, || real(list, count, timeout));
        io_submit [] (context: usize, count: c_long, list: *const *mut KernelBlock) -> c_int
            => |real| asynchronous::submit(count, list, |count| real(context, count, list) as isize) as c_int;
        io_getevents [] (context: usize, least: c_long, most: c_long, events: *mut KernelEvent, timeout: *mut timespec) -> c_int
            => |real| asynchronous::get_events(events, || real(context, least, most, events, timeout) as isize) as c_int;
        io_pgetevents [] (context: usize, least: c_long, most: c_long, events: *mut KernelEvent, timeout: *mut timespec, signals: *mut c_void) -> c_int
            => |real| asynchronous::get_events(events, || real(context, least, most, events, timeout, signals) as isize) as c_int;
        io_uring_setup [] (entries: u32, parameters: *mut c_void) -> c_int
            => |real| asynchronous::make_ring(|| real(entries, parameters));
        io_uring_queue_init [] (entries: u32, ring: *mut c_void, flags: u32) -> c_int
            => |real| asynchronous::make_ring(|| real(entries, ring, flags));
        io_uring_queue_init_params [] (entries: u32, ring: *mut c_void, parameters: *mut c_void) -> c_int
            => |real| asynchronous::make_ring(|| real(entries, ring, parameters));
        io_uring_queue_init_mem [] (entries: u32, ring: *mut c_void, parameters: *mut c_void, buffer: *mut c_void, size: usize) -> c_int
            => |real| asynchronous::make_ring(|| real(entries, ring, parameters, buffer, size));
    }
}

/// Calls the C library's own `aio_error`, for a transfer that we ask about ourselves.
///
/// # Safety
/// As that function.
pub unsafe fn real_aio_error(block: *const aiocb) -> c_int {
    // SAFETY: as the caller says.
    unsafe { call_real!(reals::aio_error, fn(*const aiocb) -> c_int, block) }
}

/// Calls the C library's own `aio_return`, which may be called again as long as nothing has changed.
///
/// # Safety
/// As that function.
pub unsafe fn real_aio_return(block: *mut aiocb) -> ssize_t {
    // SAFETY: as the caller says.
    unsafe { call_real!(reals::aio_return, fn(*mut aiocb) -> ssize_t, block) }
}

/// Lets the C library notify the program as after a transfer: `lio_listio` of nothing does.
///
/// # Safety
/// What a program gave to a transfer to be notified by.
pub unsafe fn notify(event: *mut sigevent) {
    let list: [*mut aiocb; 1] = [core::ptr::null_mut()];
    // SAFETY: as the caller says.
    unsafe {
        call_real!(
            reals::lio_listio,
            fn(c_int, *const *mut aiocb, c_int, *mut sigevent) -> c_int,
            libc::LIO_NOWAIT,
            list.as_ptr(),
            0,
            event
        )
    };
}
