//! Asynchronous transfers: those of the C library (`aio_read`) and those of the kernel (libaio).
//! A transfer is recorded when the program asks how it ended, with the time from its beginning to
//! when it was first seen to be complete. The calls that begin transfers and wait for them are
//! recorded too: only in these does the program spend time.

use core::ffi::{c_int, c_long};

use libc::{aiocb, iovec, ssize_t};
use plimsoll_trace::encode::{Call, Outcome, UNKNOWN_OFFSET};
use plimsoll_trace::layout::Loss;
use plimsoll_trace::{Op, Unseen};

use crate::files::EXCLUDED;
use crate::hooks::served_transfer::{count_before_owned, refusal_of_rings, serve, serve_list};
use crate::hooks::{Code, Returned, data, descriptor};
use crate::recorder::{self, begin_in};
use crate::thread::{Busy, inside_hook};
use crate::transfers::Transfer;
use crate::{clock, descriptors, hot, library_table, process, sys};

/// Records that a transfer begins: `aio_read`, `aio_write`, `aio_fsync`.
///
/// # Safety
/// The address is what a program gave to such a call.
pub unsafe fn begin(op: Op, block: *mut aiocb, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as the caller says.
    let real = || if !block.is_null() && unsafe { serve(op, block) } { 0 } else { real() };
    if !hot::is_on() || block.is_null() {
        return real();
    }
    // SAFETY: as the caller says, and the C library reads the same next.
    unsafe { add_block(op, block) };
    let start = begin_in(Op::AioSubmit.layer());
    let result = inside_hook(real);
    descriptor::end_on(start, Op::AioSubmit, None, result, 1);
    if result < 0 {
        forget(block as usize);
    }
    result
}

/// Records that several transfers begin, and are waited for or not: `lio_listio`.
///
/// # Safety
/// The arguments are what a program gave to `lio_listio`.
pub unsafe fn begin_list(
    mode: c_int,
    list: *const *mut aiocb,
    count: c_int,
    real: impl FnOnce(*const *mut aiocb) -> c_int,
) -> c_int {
    if list.is_null() || count <= 0 {
        return real(list);
    }
    // SAFETY: as the caller says.
    let blocks = unsafe { core::slice::from_raw_parts(list, count as usize) };
    // SAFETY: the same list.
    let real = || unsafe { serve_list(mode, blocks, real) };
    if !hot::is_on() {
        return real();
    }
    let blocks = || blocks.iter().copied().filter(|block| !block.is_null());
    for block in blocks() {
        // SAFETY: not null, and the C library reads the same next.
        unsafe {
            match (*block).aio_lio_opcode {
                libc::LIO_READ => add_block(Op::AioRead, block),
                libc::LIO_WRITE => add_block(Op::AioWrite, block),
                _ => {}
            }
        }
    }
    let op = if mode == libc::LIO_WAIT { Op::AioWait } else { Op::AioSubmit };
    let start = begin_in(op.layer());
    let result = inside_hook(real);
    descriptor::end_on(start, op, None, result, count as u64);
    if mode == libc::LIO_WAIT {
        let before = sys::errno();
        for block in blocks() {
            // SAFETY: all of them are complete, so that both functions only look.
            unsafe {
                if library_table::real_aio_error(block) != libc::EINPROGRESS {
                    finish(block as usize, library_table::real_aio_return(block));
                }
            }
        }
        sys::set_errno(before);
    }
    result
}

/// # Safety
/// What describes a transfer to the C library.
unsafe fn add_block(op: Op, block: *mut aiocb) {
    // SAFETY: as the caller says.
    let (fd, offset, length) =
        unsafe { ((*block).aio_fildes, (*block).aio_offset, (*block).aio_nbytes) };
    let (offset, length) =
        if op.class().is_data() { (offset as u64, length as u64) } else { (UNKNOWN_OFFSET, 0) };
    add(block as usize, op, fd, offset, length);
}

fn add(key: usize, op: Op, fd: c_int, offset: u64, length: u64) {
    let Some(busy) = Busy::begin() else { return process::lose(Loss::Reentered) };
    let Some(process) = process::current() else { return };
    let file = descriptors::file(&busy, fd);
    let transfer = Transfer { op, file, offset, length, start: clock::ticks(), end: 0 };
    if file != EXCLUDED && !process.transfers.add(key, &transfer) {
        process.lose(Loss::Untracked);
    }
}

fn forget(key: usize) {
    if let Some(process) = process::current() {
        process.transfers.take(key);
    }
}

/// Records that a program asks whether a transfer is complete: `aio_error`.
#[inline]
pub fn look(block: *const aiocb, real: impl FnOnce() -> c_int) -> c_int {
    let result = real();
    if result != libc::EINPROGRESS
        && let Some(process) = process::current()
    {
        process.transfers.complete(block as usize, clock::ticks());
    }
    result
}

/// Records that a program asks how a transfer ended: `aio_return`.
#[inline]
pub fn end(block: *mut aiocb, real: impl FnOnce() -> ssize_t) -> ssize_t {
    let result = real();
    let before = sys::errno();
    finish(block as usize, result);
    sys::set_errno(before);
    result
}

/// Records a transfer that has ended with so many bytes, or in failure.
fn finish(key: usize, result: ssize_t) {
    let outcome = if result < 0 {
        Outcome::Error(sys::errno() as u32)
    } else {
        Outcome::Value(result as u64)
    };
    finish_as(key, outcome);
}

fn finish_as(key: usize, outcome: Outcome) {
    let Some(process) = process::current() else { return };
    let Some(transfer) = process.transfers.take(key) else { return };
    let Some(busy) = Busy::begin() else { return process.lose(Loss::Reentered) };
    let Transfer { op, file, offset, length, start, end } = transfer;
    let end = if end == 0 { clock::ticks() } else { end };
    let call = Call { op, file, offset, length, outcome, argument: 0, start, end };
    if hot::mode() & hot::bit(op.layer()) != 0 {
        recorder::write(&busy, &call);
    }
}

/// Records that a program waits for transfers: `aio_suspend`.
#[inline]
pub fn wait<R: Returned>(count: u64, real: impl FnOnce() -> R) -> R {
    descriptor::on_none(Op::AioWait, count, real)
}

/// What describes a transfer to the kernel (linux/aio_abi.h).
#[repr(C)]
pub struct KernelBlock {
    data: u64,
    key: u32,
    flags: u32,
    operation: u16,
    priority: i16,
    /// The file's descriptor.
    pub fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
}

/// How a transfer of the kernel ended (linux/aio_abi.h).
#[repr(C)]
pub struct KernelEvent {
    data: u64,
    block: u64,
    result: i64,
    more: i64,
}

/// More are not looked at; the kernel takes no more than a context has room for.
const MOST_BLOCKS: c_long = 0x1_0000;

/// Transfers of the kernel begin: `io_submit`. It gives how many; negative after a failure.
///
/// # Safety
/// The arguments are what a program gave to `io_submit`.
pub unsafe fn submit(
    count: c_long,
    list: *const *mut KernelBlock,
    real: impl FnOnce(c_long) -> isize,
) -> isize {
    if list.is_null() || !(1..=MOST_BLOCKS).contains(&count) {
        return real(count);
    }
    // SAFETY: as the caller says.
    let blocks = unsafe { core::slice::from_raw_parts(list, count as usize) };
    // SAFETY: as the caller says.
    let real = || match unsafe { count_before_owned(blocks) } {
        // As for a file that cannot do it.
        0 => -(libc::EINVAL as isize),
        others => real(others),
    };
    if !hot::is_on() {
        return real();
    }
    for block in blocks.iter().filter(|block| !block.is_null()) {
        // SAFETY: the kernel reads the same next.
        unsafe { add_kernel_block(*block) };
    }
    let start = begin_in(Op::AioSubmit.layer());
    let result = inside_hook(real);
    let outcome = Code((-result).max(0) as c_int);
    descriptor::end_on(start, Op::AioSubmit, None, outcome, count as u64);
    for block in blocks.iter().skip(result.max(0) as usize) {
        forget(*block as usize);
    }
    result
}

/// # Safety
/// What describes a transfer to the kernel.
unsafe fn add_kernel_block(block: *mut KernelBlock) {
    // SAFETY: as the caller says.
    let KernelBlock { operation, fd, buffer, bytes, offset, .. } = unsafe { &*block };
    const IOCB_CMD_PREAD: u16 = 0;
    const IOCB_CMD_PWRITE: u16 = 1;
    const IOCB_CMD_FSYNC: u16 = 2;
    const IOCB_CMD_FDSYNC: u16 = 3;
    const IOCB_CMD_PREADV: u16 = 7;
    const IOCB_CMD_PWRITEV: u16 = 8;
    let (op, is_vector) = match *operation {
        IOCB_CMD_PREAD => (Op::AioRead, false),
        IOCB_CMD_PWRITE => (Op::AioWrite, false),
        IOCB_CMD_PREADV => (Op::AioRead, true),
        IOCB_CMD_PWRITEV => (Op::AioWrite, true),
        IOCB_CMD_FSYNC | IOCB_CMD_FDSYNC => {
            return add(block as usize, Op::AioSync, *fd as c_int, UNKNOWN_OFFSET, 0);
        }
        _ => return,
    };
    let length = if is_vector && *buffer != 0 && *bytes <= 1024 {
        // SAFETY: the kernel reads the same list next.
        unsafe { data::sum_of(*buffer as *const iovec, *bytes as usize) }
    } else {
        *bytes
    };
    add(block as usize, op, *fd as c_int, *offset as u64, length);
}

/// Records that a program waits for transfers of the kernel: `io_getevents`. It gives how many have ended;
/// negative after a failure.
///
/// # Safety
/// The arguments are what a program gave to `io_getevents`.
pub unsafe fn get_events(events: *const KernelEvent, real: impl FnOnce() -> isize) -> isize {
    let start = begin_in(Op::AioWait.layer());
    let result = inside_hook(real);
    if start.is_on() {
        let outcome = Code((-result).max(0) as c_int);
        descriptor::end_on(start, Op::AioWait, None, outcome, result.max(0) as u64);
        if result > 0 && !events.is_null() {
            // SAFETY: the kernel has just written as many.
            let events = unsafe { core::slice::from_raw_parts(events, result as usize) };
            for event in events {
                let outcome = if event.result < 0 {
                    Outcome::Error(-event.result as u32)
                } else {
                    Outcome::Value(event.result as u64)
                };
                finish_as(event.block as usize, outcome);
            }
        }
    }
    result
}

/// Records that a ring of io_uring was made, or not: what goes through it is not seen. Gives a negative number after a failure.
#[inline]
pub fn make_ring(real: impl FnOnce() -> c_int) -> c_int {
    let result = match refusal_of_rings() {
        Some(error) => -error,
        None => real(),
    };
    if result >= 0 {
        recorder::gap(Unseen::IoUring, b"");
    }
    result
}
