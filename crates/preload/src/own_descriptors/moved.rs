//! Descriptors that a crate of ours opened and keeps by their number: they are moved out of the program's sight at once, and stay where they are.
//!
//! They lie above the number that the program may open up to, where the system allows that: then they take nothing from it, and it cannot name them.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fd::{AsRawFd, OwnedFd, RawFd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Numbers that can be told.
const NUMBERS: usize = (64 << 10) + ABOVE_LIMIT as usize;
/// How far above the program's limit they go.
const ABOVE_LIMIT: u64 = 32 << 10;
/// Never higher: a table of the kernel's grows with the highest number.
const HIGHEST_START: u64 = 60 << 10;
/// How far below the limit they begin where they cannot be above it.
const BELOW_LIMIT: u64 = 256;

/// Whether a thread has raised the limit for a moment.
static IS_RAISED: AtomicBool = AtomicBool::new(false);

/// A bit for each number that is one of these.
static MOVED: [AtomicU64; NUMBERS / 64] = [const { AtomicU64::new(0) }; NUMBERS / 64];

/// Returns the same file under a number that the program does not get to; the descriptor itself when there is none.
pub fn out_of_sight(fd: OwnedFd) -> OwnedFd {
    let limit = getrlimit(Resource::Nofile);
    let copy = match above_limit(&fd, &limit).or_else(|_| below_limit(&fd, &limit)) {
        Ok(copy) => copy,
        Err(_) => fd,
    };
    if let Some((word, bit)) = place(copy.as_raw_fd()) {
        word.fetch_or(bit, Ordering::Relaxed);
    }
    copy
}

fn above_limit(fd: &OwnedFd, limit: &Rlimit) -> Result<OwnedFd, Errno> {
    let (Some(current), most) = (limit.current, limit.maximum.unwrap_or(u64::MAX)) else {
        return Err(Errno::MFILE);
    };
    let raised = current.saturating_add(ABOVE_LIMIT).min(most);
    if current > HIGHEST_START || raised < current.saturating_add(BELOW_LIMIT) {
        return Err(Errno::MFILE);
    }
    // Nobody waits here: a handler may have interrupted whoever is at it.
    if IS_RAISED.swap(true, Ordering::Acquire) {
        return Err(Errno::MFILE);
    }
    let as_it_was = getrlimit(Resource::Nofile);
    let raise = Rlimit { current: Some(raised), maximum: limit.maximum };
    let copy = match as_it_was == *limit {
        true => setrlimit(Resource::Nofile, raise).and_then(|()| {
            let copy = fcntl_dupfd_cloexec(fd, current as RawFd);
            // As it was: the limit is only asked for when a number is given.
            setrlimit(Resource::Nofile, as_it_was)?;
            copy
        }),
        // Another thread had raised it when it was looked at.
        false => Err(Errno::MFILE),
    };
    IS_RAISED.store(false, Ordering::Release);
    copy
}

fn below_limit(fd: &OwnedFd, limit: &Rlimit) -> Result<OwnedFd, Errno> {
    let current = limit.current.unwrap_or(HIGHEST_START + BELOW_LIMIT);
    let start = current.saturating_sub(BELOW_LIMIT).min(HIGHEST_START);
    fcntl_dupfd_cloexec(fd, start as RawFd)
}

fn place(fd: c_int) -> Option<(&'static AtomicU64, u64)> {
    let number = usize::try_from(fd).ok()?;
    Some((MOVED.get(number / 64)?, 1 << (number % 64)))
}

/// Returns whether a number is one of these.
pub fn is_one(fd: c_int) -> bool {
    place(fd).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
}

/// Returns the first of these numbers within a range.
pub fn first_within(first: u32, last: u32) -> Option<u32> {
    let last = last.min(NUMBERS as u32 - 1);
    let mut next = first;
    while next <= last {
        let bits = MOVED.get(next as usize / 64)?.load(Ordering::Relaxed) >> (next % 64);
        if bits != 0 {
            return Some(next + bits.trailing_zeros()).filter(|number| *number <= last);
        }
        next = (next / 64 + 1) * 64;
    }
    None
}

/// Notes that one of these is closed by whom it belongs to.
pub fn forget(fd: c_int) {
    if let Some((word, bit)) = place(fd) {
        word.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// Closes all of them: they are another process's, of which this one was forked.
pub fn close_inherited() {
    // By a thread that is not here.
    IS_RAISED.store(false, Ordering::Release);
    let mut next = 0;
    while let Some(number) = first_within(next, u32::MAX) {
        forget(number as c_int);
        // SAFETY: ours, and whoever used it in the other process is not here.
        unsafe { rustix::io::close(number as c_int) };
        next = number + 1;
    }
}
