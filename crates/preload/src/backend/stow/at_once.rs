//! Reading a descriptor of which it is known whose it is and that it can be read, while nobody has written.
//!
//! What lies in one place is read by the system call that a plain file takes, and small reads in order by fewer (`fetched`): signals do not wait. So nothing here locks, needs memory or
//! changes what others rely on; a handler may read the same, fork, or never come back. A position is moved by a call of its own, before: whoever leaves
//! the read for good then has read, as with a plain file, but for the bytes in memory. Where the file may end, what is not read is given back; so signals wait there.

use core::slice;
use std::panic::{AssertUnwindSafe, catch_unwind};

use libc::{c_int, iovec, off_t};
use plimsoll_trace::Class;

use super::places::KnownView;
use super::{memory, on_own, reserve, serving, transfer};
use crate::backend::{Answer, Buffers, Request, TransferRequest};
use crate::thread::Serving;

/// Longer reads take so long that it does not matter what comes with them.
const MOST_BYTES: usize = 1 << 20;

/// How far a read came.
enum Step {
    /// All was read.
    Read,
    /// It is from here on, by the way for what is not so simple. If it is at the position, that has been moved.
    From(u64),
    /// It is from here on, and so will be what comes after it.
    InOrderFrom(u64, u32),
    /// It is at the position, and may be at the end of the file.
    AtEnd,
    /// Nothing was done.
    Nothing,
}

/// Reads or writes.
#[inline]
pub fn transfer(fd: c_int, request: &TransferRequest) -> Answer {
    let Some((address, length)) = simple(request) else { return otherwise(fd, request) };
    // SAFETY: memory of the program, which says so.
    let bytes = unsafe { slice::from_raw_parts_mut(address.cast::<u8>(), length) };
    match read(fd, bytes, request.offset) {
        Step::Read => Some(Ok(length)),
        Step::Nothing => otherwise(fd, request),
        Step::From(start) => serving(|serving| from(serving, fd, request, start, length)),
        Step::AtEnd => serving(|serving| match reserve(fd, length) {
            Ok(start) => from(serving, fd, request, start, length),
            Err(_) => served(serving, fd, request),
        }),
        Step::InOrderFrom(start, streak) => {
            serving(|serving| {
                let known = KnownView::serving(serving, fd)?;
                let view = known.view();
                let of = (view.reader(), view.version());
                known.room().fetch(serving, of, (start, length), streak);
                None
            });
            if is_fetched(fd, start, bytes) {
                return Some(Ok(length));
            }
            serving(|serving| from(serving, fd, request, start, length))
        }
    }
}

/// Returns the memory of a read that may be done at once.
#[inline]
fn simple(request: &TransferRequest) -> Option<(*mut libc::c_void, usize)> {
    let Buffers::One { address, length } = request.buffers else { return None };
    let piece = iovec { iov_base: address, iov_len: length };
    let is_simple = request.flags == 0
        && request.op.class() != Class::Write
        && (1..=MOST_BYTES).contains(&length)
        && memory::may_be_there(&piece);
    is_simple.then_some((address, length))
}

/// Reads without keeping signals out.
#[inline]
fn read(fd: c_int, bytes: &mut [u8], offset: Option<off_t>) -> Step {
    let length = bytes.len() as u64;
    let Some(known) = KnownView::at_once(fd) else { return Step::Nothing };
    let view = known.view();
    if !view.is_certain() {
        return Step::Nothing;
    }
    let size = view.reader().size();
    let is_within = |start: u64| start.checked_add(length).is_some_and(|end| end <= size);
    let start = match offset {
        Some(offset) => u64::try_from(offset).ok(),
        None if !is_within(known.order().next()) => return Step::AtEnd,
        None => reserve(fd, bytes.len()).ok(),
    };
    let Some(start) = start else { return Step::Nothing };
    if !is_within(start) || !known.is_so_still() {
        return Step::From(start);
    }
    let streak = known.order().note(start, start + length, view.version());
    if known.room().is_wanted(bytes.len(), streak) {
        return match known.room().copy(view.version(), start, bytes) {
            true => Step::Read,
            false => Step::InOrderFrom(start, streak),
        };
    }
    let read = || view.reader().read_at_once(bytes, start);
    let is_read = catch_unwind(AssertUnwindSafe(read)).unwrap_or(false);
    if is_read && known.is_so_still() { Step::Read } else { Step::From(start) }
}

/// Copies what was fetched, outside of the library's work: memory of the program that is not there ends it as it would any of its own instructions.
fn is_fetched(fd: c_int, start: u64, bytes: &mut [u8]) -> bool {
    KnownView::at_once(fd).is_some_and(|known| {
        let view = known.view();
        view.is_certain() && known.room().copy(view.version(), start, bytes)
    })
}

/// Reads from an offset on. If that is where the position was before it was moved, what is not read is given back.
fn from(
    serving: &Serving,
    fd: c_int,
    request: &TransferRequest,
    start: u64,
    length: usize,
) -> Answer {
    let offset = Some(start as off_t);
    let answer = served(serving, fd, &TransferRequest { offset, ..*request });
    let count = answer.and_then(Result::ok).unwrap_or(0);
    if let Some(known) = KnownView::serving(serving, fd) {
        known.order().note(start, start + count as u64, known.view().version());
    }
    if request.offset.is_none() {
        transfer::move_back(fd, length.saturating_sub(count));
    }
    answer
}

/// Reads or writes while signals wait.
fn otherwise(fd: c_int, request: &TransferRequest) -> Answer {
    serving(|serving| served(serving, fd, request))
}

fn served(serving: &Serving, fd: c_int, request: &TransferRequest) -> Answer {
    read_known(serving, fd, request).or_else(|| on_own(serving, fd, &Request::Move(*request)))
}

/// Reads without the container's lock. `None` where it is not known whose the descriptor is, or what is in it.
fn read_known(serving: &Serving, fd: c_int, request: &TransferRequest) -> Answer {
    if request.op.class() == Class::Write {
        return None;
    }
    let known = KnownView::serving(serving, fd)?;
    let view = known.view();
    view.is_certain().then(|| transfer::read_known(view.reader(), fd, request))
}
