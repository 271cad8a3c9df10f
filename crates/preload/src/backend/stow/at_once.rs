//! Reading a descriptor of which it is known whose it is and that it can be read, while nobody has written.
//!
//! What lies in one place is read by the system call that a plain file takes, and no other: signals do not wait. So nothing here locks, needs memory or
//! changes what others rely on; a handler may read the same, fork, or never come back. Reading at the position takes two steps, in between which no handler may
//! end the call; signals wait, then, as they do for reads of several places.

use core::slice;
use std::panic::{AssertUnwindSafe, catch_unwind};

use libc::{c_int, iovec};
use plimsoll_trace::Class;

use super::places::KnownView;
use super::{memory, transfer};
use crate::backend::{Answer, Buffers, TransferRequest};
use crate::thread::Serving;

/// Longer reads take so long that it does not matter what comes with them.
const MOST_BYTES: usize = 1 << 20;

/// Reads at an offset without keeping signals out. `None` where it is not so simple.
#[inline]
pub fn read(fd: c_int, request: &TransferRequest) -> Option<usize> {
    let Buffers::One { address, length } = request.buffers else { return None };
    let offset = u64::try_from(request.offset?).ok()?;
    let piece = iovec { iov_base: address, iov_len: length };
    if request.flags != 0
        || request.op.class() == Class::Write
        || !(1..=MOST_BYTES).contains(&length)
        || !memory::may_be_there(&piece)
    {
        return None;
    }
    let known = KnownView::at_once(fd)?;
    let view = known.view();
    // SAFETY: memory of the program, which says so.
    let bytes = unsafe { slice::from_raw_parts_mut(address.cast::<u8>(), length) };
    let read = || view.is_certain() && view.reader().read_at_once(bytes, offset);
    let is_read = catch_unwind(AssertUnwindSafe(read)).unwrap_or(false);
    (is_read && known.is_so_still()).then_some(length)
}

/// Reads without the container's lock. `None` where it is not known whose the descriptor is, or what is in it.
pub fn read_serving(serving: &Serving, fd: c_int, request: &TransferRequest) -> Answer {
    if request.op.class() == Class::Write {
        return None;
    }
    let known = KnownView::serving(serving, fd)?;
    let view = known.view();
    view.is_certain().then(|| transfer::read_known(view.reader(), fd, request))
}
