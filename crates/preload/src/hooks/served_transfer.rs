//! Asynchronous transfers of files that a backend owns. Those of the C library are done at once, before the call that
//! begins them returns; how they ended is put where glibc's own functions look for it, and it notifies the program.
//! Those of the kernel (libaio) are refused, as the kernel's own files refuse what they cannot do; and so is io_uring
//! as a whole, because what goes through a ring cannot be seen.

use core::ffi::{c_int, c_long};

use libc::{aiocb, off_t, sigevent, ssize_t};
use plimsoll_trace::Op;

use crate::backend::{self, Buffers, FromAnswer, Request, TransferRequest};
use crate::hooks::asynchronous::KernelBlock;
use crate::library_table;

/// The C library's `struct aiocb` with the fields that are glibc's own (aio.h).
#[repr(C)]
struct Block {
    descriptor: c_int,
    operation: c_int,
    priority: c_int,
    buffer: usize,
    length: usize,
    event: sigevent,
    next: usize,
    more: [c_int; 2],
    error: c_int,
    result: ssize_t,
    offset: off_t,
    unused: [u8; 32],
}

const _: () = {
    assert!(size_of::<Block>() == size_of::<aiocb>());
    assert!(core::mem::offset_of!(Block, offset) == core::mem::offset_of!(aiocb, aio_offset));
};

/// Does a transfer at once. Returns false where no backend owns the file, or where it leaves that to the kernel.
///
/// # Safety
/// What describes a transfer to the C library.
#[inline]
pub unsafe fn serve(op: Op, block: *mut aiocb) -> bool {
    if !backend::is_active() {
        return false;
    }
    let block = block.cast::<Block>();
    // SAFETY: as the caller says.
    let Block { descriptor, buffer, length, offset, .. } = unsafe { &*block };
    let request = || {
        if op == Op::AioSync {
            return Request::Sync { op };
        }
        let buffers = Buffers::one(*buffer as *const u8, *length);
        Request::Move(TransferRequest { op, buffers, offset: Some(*offset), flags: 0 })
    };
    let Some(answer) = backend::answer(*descriptor, request) else { return false };
    // SAFETY: as above; the program does not touch it before it is told that the transfer has ended.
    unsafe {
        (*block).result = answer.map_or(-1, |count| count as ssize_t);
        (*block).error = answer.err().unwrap_or(0);
        if (*block).event.sigev_notify != libc::SIGEV_NONE {
            library_table::notify(&raw mut (*block).event);
        }
    }
    true
}

/// Does those of several transfers at once whose files are a backend's, and gives the others to the C library. They fail
/// together with EIO when one of them has failed and the program waits for them.
///
/// # Safety
/// The arguments are what a program gave to `lio_listio`.
pub unsafe fn serve_list(
    mode: c_int,
    list: &[*mut aiocb],
    real: impl FnOnce(*const *mut aiocb) -> c_int,
) -> c_int {
    let is_owned = |block: *mut aiocb| {
        // SAFETY: not null, so it describes a transfer.
        !block.is_null() && backend::is_owned(unsafe { (*block).aio_fildes })
    };
    if !backend::is_active() || !list.iter().any(|block| is_owned(*block)) {
        return real(list.as_ptr());
    }
    let mut others = Vec::new();
    if others.try_reserve_exact(list.len()).is_err() {
        return c_int::from_answer(Err(libc::EAGAIN));
    }
    let mut has_failed = false;
    for &block in list {
        // SAFETY: not null, so it describes a transfer.
        let operation = is_owned(block).then(|| unsafe { (*block).aio_lio_opcode });
        let op = match operation {
            Some(libc::LIO_READ) => Some(Op::AioRead),
            Some(libc::LIO_WRITE) => Some(Op::AioWrite),
            _ => None,
        };
        // SAFETY: as above.
        let is_served = op.is_some_and(|op| unsafe { serve(op, block) });
        // SAFETY: as above.
        has_failed |= is_served && unsafe { (*block.cast::<Block>()).error } != 0;
        others.push(if is_served { core::ptr::null_mut() } else { block });
    }
    let result = real(others.as_ptr());
    if result == 0 && has_failed && mode == libc::LIO_WAIT {
        return c_int::from_answer(Err(libc::EIO));
    }
    result
}

/// Returns how many of the transfers of an `io_submit` are not for a backend's file, before the first that is.
///
/// # Safety
/// What describes transfers to the kernel.
pub unsafe fn count_before_owned(blocks: &[*mut KernelBlock]) -> c_long {
    if !backend::is_active() {
        return blocks.len() as c_long;
    }
    let is_owned = |block: &*mut KernelBlock| {
        // SAFETY: the kernel reads the same next.
        !block.is_null() && backend::is_owned(unsafe { (**block).fd as c_int })
    };
    blocks.iter().position(is_owned).unwrap_or(blocks.len()) as c_long
}

/// Returns what making a ring of io_uring fails with, where a backend may own the files that would be used through it.
#[inline]
pub fn refusal_of_rings() -> Option<c_int> {
    backend::is_active().then_some(libc::ENOSYS)
}
