//! Descriptors of the library's own, for backends and for files that cannot be opened again. A program does not know of them: they have
//! high numbers, are closed when it executes another, and calls that close everything leave them out. Where a
//! program wants one of their numbers for itself, the descriptor moves to another.

pub mod moved;

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::open_file::OwnFile;

/// As many as there can be.
const DESCRIPTORS: usize = 64;

/// How far below the limit they begin.
const BELOW_LIMIT: u64 = 128;
/// Never higher: a table of the kernel's grows with the highest number.
const HIGHEST_START: u64 = 64 << 10;

/// A place holds no descriptor.
const NONE: RawFd = -1;

static OWN: [AtomicI32; DESCRIPTORS] = [const { AtomicI32::new(NONE) }; DESCRIPTORS];

/// A descriptor of the library's own, by its place in the table: its number may change.
#[derive(Debug)]
pub struct OwnDescriptor {
    /// The place plus one; 0 while there is none.
    place: AtomicUsize,
}

impl OwnDescriptor {
    /// Makes one without a descriptor.
    pub const fn none() -> Self {
        OwnDescriptor { place: AtomicUsize::new(0) }
    }

    /// Takes a descriptor out of the program's sight, unless there is one already: then that stays.
    ///
    /// # Errors
    /// When no number or no place is free.
    pub fn keep(&self, fd: OwnFile) -> Result<(), Errno> {
        let high = OwnFile::from(high_copy(&fd)?);
        let number = high.as_raw_fd();
        let is_taken = |entry: &AtomicI32| {
            entry.compare_exchange(NONE, number, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let place = OWN.iter().position(is_taken).ok_or(Errno::MFILE)?;
        let _ = high.into_number();
        if self.place.compare_exchange(0, place + 1, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            give_up(place);
        }
        Ok(())
    }

    /// Returns the descriptor; `None` when there is none.
    pub fn get(&self) -> Option<BorrowedFd<'static>> {
        let place = self.place.load(Ordering::Acquire).checked_sub(1)?;
        let number = OWN.get(place)?.load(Ordering::Acquire);
        // SAFETY: it is in the table, so it is open: only `give_up` takes it out.
        (number != NONE).then(|| unsafe { BorrowedFd::borrow_raw(number) })
    }

    /// Gives it up. Nobody may use it at the same time.
    pub fn close(&self) {
        if let Some(place) = self.place.swap(0, Ordering::AcqRel).checked_sub(1) {
            give_up(place);
        }
    }
}

fn give_up(place: usize) {
    let number = OWN.get(place).map_or(NONE, |entry| entry.swap(NONE, Ordering::AcqRel));
    if number != NONE {
        // SAFETY: ours, and not in the table any more.
        drop(unsafe { OwnFile::from_number(number) });
    }
}

/// Returns a copy with a number that programs do not get to.
///
/// # Errors
/// When no number is free.
pub fn high_copy(fd: impl AsFd) -> Result<OwnedFd, Errno> {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(HIGHEST_START + BELOW_LIMIT);
    let start = limit.saturating_sub(BELOW_LIMIT).min(HIGHEST_START);
    let fd = fd.as_fd();
    rustix::io::fcntl_dupfd_cloexec(fd, start as RawFd)
        .or_else(|_| rustix::io::fcntl_dupfd_cloexec(fd, 3))
}

/// Returns true when a number is one of these.
pub fn is_own(fd: c_int) -> bool {
    fd >= 0 && (OWN.iter().any(|entry| entry.load(Ordering::Relaxed) == fd) || moved::is_one(fd))
}

/// Calls `close` for all numbers from `first` to `last` that are not the library's own, range by range. Returns what
/// the last call did.
pub fn around(first: u32, last: u32, mut close: impl FnMut(u32, u32) -> c_int) -> c_int {
    let mut next = first;
    loop {
        let own = OWN.iter().filter_map(|entry| u32::try_from(entry.load(Ordering::Relaxed)).ok());
        let nearest = own.filter(|number| (next..=last).contains(number)).min();
        let Some(nearest) = nearest.into_iter().chain(moved::first_within(next, last)).min() else {
            // Nothing is left when one of ours was the last.
            return if next <= last { close(next, last) } else { 0 };
        };
        if nearest > next && close(next, nearest - 1) < 0 {
            return -1;
        }
        next = match nearest.checked_add(1) {
            Some(next) => next,
            None => return 0,
        };
    }
}

/// Makes way for a program that is about to use this number for itself: what we have there moves on.
pub fn make_way(number: c_int) {
    for entry in OWN.iter().filter(|entry| entry.load(Ordering::Relaxed) == number && number >= 0) {
        // SAFETY: in the table, so it is open; the number is the program's from now on.
        let old = unsafe { OwnFile::from_number(number) };
        match high_copy(&old) {
            Ok(copy) => entry.store(OwnFile::from(copy).into_number(), Ordering::Release),
            Err(_) => entry.store(NONE, Ordering::Release),
        }
        // Closed here: the program's call finds it free, as it expects.
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open_file::openat;
    use rustix::fs::{CWD, Mode, OFlags};

    fn kept() -> OwnDescriptor {
        let own = OwnDescriptor::none();
        assert!(own.get().is_none());
        own.keep(openat(CWD, c"/dev/null", OFlags::RDONLY, Mode::empty()).unwrap()).unwrap();
        own
    }

    fn number(own: &OwnDescriptor) -> c_int {
        own.get().unwrap().as_raw_fd()
    }

    /// One test: the table is the process's.
    #[test]
    fn they_are_left_out_of_ranges_and_move_when_their_number_is_wanted() {
        let (one, two) = (kept(), kept());
        let (low, high) = (number(&one).min(number(&two)), number(&one).max(number(&two)));
        assert!(low > 200 && is_own(low) && is_own(high) && !is_own(2) && !is_own(-1));
        let ranges = |first, last| {
            let mut called = Vec::new();
            assert_eq!(
                around(first, last, |from, to| {
                    called.push((from, to));
                    0
                }),
                0
            );
            called
        };
        let (low, high) = (low as u32, high as u32);
        assert_eq!(high, low + 1, "numbers are given from the lowest on");
        assert_eq!(ranges(3, u32::MAX), [(3, low - 1), (high + 1, u32::MAX)]);
        assert_eq!(ranges(3, 10), [(3, 10)]);
        assert_eq!(ranges(low, high), []);
        assert_eq!(ranges(3, low), [(3, low - 1)]);
        let before = number(&one);
        make_way(before);
        assert!(!is_own(before) && number(&one) != before);
        assert!(rustix::io::fcntl_getfd(one.get().unwrap()).is_ok());
        one.close();
        two.close();
        assert!(one.get().is_none() && !is_own(high as c_int));
        one.close();
    }
}
