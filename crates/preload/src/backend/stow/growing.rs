//! Plain files that the program made below the mount, and that become containers once they need more room than a small file.
//!
//! Until then the kernel serves them. Who changes one keeps it still meanwhile (`still`) and looks at its mark; who reads looks at the mark afterwards, if what came back could be that of a
//! file which has just become a container: less than was asked for, an end, a size. What a mapping or a further name leads to stays a plain file for good.
//!
//! Not in what is shipped (feature `growing`): whoever opens a file while another process makes a container of it may still take it for a plain one, and lose what he writes.

mod by_kernel;
mod known;
mod make;
mod outgrow;

use core::ffi::c_int;

use plimsoll_stow::Stage;
use plimsoll_trace::{Class, Op};
use rustix::fs::{FallocateFlags, fallocate, fdatasync, fstat, fsync, ftruncate};

use self::by_kernel::{length, moved, sought, tell};
use self::known::set_known;
pub use self::known::{
    adopt, duplicated, forget_range, is_adopted, is_found, is_one, note_opened, take_opened,
};
pub use self::make::{keep_names, make, wait_for_mark};
pub use self::outgrow::settle_named;
use self::outgrow::{outgrow, settled};
use super::entry::Key;
use super::still::{self, Number, Way};
use super::{counting, number, settings};
use crate::backend::{Answer, Request, TransferRequest};
use crate::sys;
use crate::thread::Serving;

/// Whether files grow in this library at all.
pub const IS_BUILT: bool = cfg!(feature = "growing");

/// Has a number become another file's while no other thread writes to the one that it was; returns false if that does not grow any more, and nothing was done.
pub fn replace(serving: &Serving, fd: c_int, kernel: &mut dyn FnMut() -> bool) -> bool {
    if !IS_BUILT {
        return false;
    }
    // Not by what is known of the number: threads that use it may just have forgotten that. One of them may be making a container of the file, by this very number.
    let stage = || sys::borrow(fd).and_then(|it| Stage::of(it).ok()).flatten();
    let facts = sys::borrow(fd).filter(|_| stage().is_some()).and_then(|it| fstat(it).ok());
    let still = facts.and_then(|it| still::keep(serving, Number::of(&it), Way::Shared).ok());
    if still.is_none() || !matches!(stage(), Some(Stage::Plain { .. })) {
        return false;
    }
    kernel();
    true
}

/// Reads without keeping signals out. `None` if the file may be a container by now, and something is missing.
#[inline]
pub fn read(fd: c_int, request: &TransferRequest) -> Answer {
    let outcome = moved(fd, request);
    let wanted = length(&request.buffers);
    match outcome {
        Ok(count) if Some(count) == wanted => Some(outcome),
        Err(_) => Some(outcome),
        Ok(count) => match sys::borrow(fd).map(Stage::of) {
            Some(Ok(Some(Stage::Plain { .. }))) => Some(outcome),
            // What has come is right; there may be more.
            _ if count > 0 => Some(outcome),
            _ => None,
        },
    }
}

/// Serves a call on a descriptor of a file that grows. `None` if it does not any more: it is a container's, or that of a plain file. `Some(None)` leaves it to the kernel.
pub fn serve(serving: &Serving, fd: c_int, request: &Request) -> Option<Answer> {
    let file = sys::borrow(fd)?;
    let is_still_one = || matches!(Stage::of(file), Ok(Some(Stage::Plain { .. })));
    match *request {
        Request::Close => return Some(None),
        Request::Move(ref request) if request.op.class() != Class::Write => {
            if let Some(answer) = read(fd, request) {
                return Some(Some(answer));
            }
        }
        Request::Seek { offset, whence } => {
            let position = sought(fd, offset, whence);
            if is_still_one() {
                return Some(Some(position));
            }
        }
        Request::Status(ref status) => {
            let told = tell(fd, status);
            if is_still_one() {
                return Some(Some(told));
            }
        }
        _ => return change(serving, fd, request),
    }
    // Somebody has made a container of it, is doing so, or was killed then.
    let facts = fstat(file).ok()?;
    settled(serving, fd, &facts);
    match Stage::of(file) {
        Ok(Some(Stage::Plain { .. })) => serve(serving, fd, request),
        _ => {
            set_known(fd, false);
            None
        }
    }
}

/// Changes a file, or has the kernel do something by which it stays a plain one.
fn change(serving: &Serving, fd: c_int, request: &Request) -> Option<Answer> {
    let file = sys::borrow(fd)?;
    let mut stays = false;
    loop {
        let seen = fstat(file).ok()?;
        let still = match still::keep(serving, Number::of(&seen), way(request)) {
            Ok(still) => still,
            Err(error) => return Some(Some(Err(error))),
        };
        let facts = fstat(file).ok()?;
        if Key::of(&facts) != Key::of(&seen) {
            // Another thread has given the number to another file, which nobody keeps still.
            continue;
        }
        let is_synced = match Stage::of(file) {
            Ok(Some(Stage::Plain { is_synced })) => is_synced,
            Ok(Some(Stage::Moving { .. })) => {
                drop(still);
                settled(serving, fd, &facts);
                if matches!(Stage::of(file), Ok(Some(Stage::Moving { .. }))) {
                    return Some(Some(Err(libc::EIO)));
                }
                continue;
            }
            Ok(None) => {
                set_known(fd, false);
                return None;
            }
            Err(errno) => return Some(Some(Err(number(errno)))),
        };
        match *request {
            Request::Map(_) | Request::Link => {
                let _ = Stage::forget(file);
                set_known(fd, false);
                return Some(None);
            }
            Request::Sync { op } => return Some(synced(fd, op, is_synced)),
            _ => {}
        }
        if stays || fits(request, u64::try_from(facts.st_size).unwrap_or(0)) {
            return Some(changed(fd, request));
        }
        drop(still);
        match outgrow(serving, fd) {
            Ok(true) => {
                set_known(fd, false);
                return None;
            }
            Ok(false) => stays = true,
            Err(error) => return Some(Some(Err(error))),
        }
    }
}

fn way(request: &Request) -> Way {
    if matches!(request, Request::Map(_) | Request::Link) { Way::Alone } else { Way::Shared }
}

/// Returns whether a file that has this size is small afterwards.
fn fits(request: &Request, size: u64) -> bool {
    let most = settings::get().map_or(0, |it| it.small_bytes);
    let end = match *request {
        Request::Move(ref request) => {
            let length = length(&request.buffers).unwrap_or(usize::MAX) as u64;
            let from = request.offset.and_then(|it| u64::try_from(it).ok()).unwrap_or(size);
            from.saturating_add(length)
        }
        Request::Truncate { length } => u64::try_from(length).unwrap_or(0),
        Request::Allocate { offset, length, .. } => {
            u64::try_from(offset.saturating_add(length)).unwrap_or(0)
        }
        _ => size,
    };
    end <= most
}

/// Has the kernel change the file.
fn changed(fd: c_int, request: &Request) -> Answer {
    let file = sys::borrow(fd)?;
    match *request {
        Request::Move(ref request) => {
            let moved = moved(fd, request);
            if let Ok(count) = moved {
                counting::add_small(count as u64);
            }
            Some(moved)
        }
        Request::Truncate { length } => {
            let Ok(length) = u64::try_from(length) else { return Some(Err(libc::EINVAL)) };
            Some(ftruncate(file, length).map(|()| 0).map_err(number))
        }
        Request::Allocate { mode, offset, length } => {
            let (Ok(offset), Ok(length)) = (u64::try_from(offset), u64::try_from(length)) else {
                return Some(Err(libc::EINVAL));
            };
            let mode = FallocateFlags::from_bits_retain(mode as u32);
            Some(fallocate(file, mode, offset, length).map(|()| 0).map_err(number))
        }
        _ => None,
    }
}

/// Makes durable what was written; a container that is made of it later is durable from the beginning, then. What concerns other files as well is left to the kernel.
fn synced(fd: c_int, op: Op, was_synced: bool) -> Answer {
    let file = sys::borrow(fd)?;
    if !was_synced
        && op != Op::SyncFileRange
        && (Stage::Plain { is_synced: true }).set(file).is_err()
    {
        // What is durable must not be lost in a container that is not.
        let _ = Stage::forget(file);
    }
    let done = match op {
        Op::Fsync => fsync(file),
        Op::Fdatasync => fdatasync(file),
        _ => return None,
    };
    Some(done.map(|()| 0).map_err(number))
}
