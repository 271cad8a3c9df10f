//! What descriptors stand for: the file's number and the position, which descriptors that were
//! duplicated share.
//!
//! Flat tables of atomics: looking up takes one load. What is not in them (inherited, made by
//! calls that we do not intercept, or opened while the recorder was busy) is asked for with
//! /proc/self/fd when it is first used.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

use plimsoll_trace::encode::{NO_FILE, UNKNOWN_OFFSET};
use rustix::fs::{FileType, OFlags, SeekFrom};

use crate::files::EXCLUDED;
use crate::path_room::with_path;
use crate::text::Text;
use crate::thread::Busy;
use crate::{files, process, sys};

/// Descriptors beyond this are recorded without name and position.
const DESCRIPTORS: usize = 1 << 16;

/// How many places are tried for a new description.
const TRIES: usize = 64;

/// The position is not known: a pipe, a socket, a terminal.
const NO_POSITION: u32 = 1;
/// Writes go to the end of the file.
const APPENDS: u32 = 2;

/// The tables. Zeros: nothing is known.
#[repr(C)]
pub struct Descriptors {
    /// The file's number in the upper half, the description's index plus one in the lower;
    /// 0 when nothing is known.
    entries: [AtomicU64; DESCRIPTORS],
    descriptions: [Description; DESCRIPTORS],
}

/// What POSIX calls an open file description.
#[repr(C)]
pub struct Description {
    references: AtomicU32,
    flags: AtomicU32,
    position: AtomicU64,
}

/// What is known of a descriptor.
#[derive(Clone, Copy)]
pub struct Known {
    /// The file's number.
    pub file: u32,
    description: Option<&'static Description>,
    /// It was looked up only now, after the call: its position is already the one after it.
    is_new: bool,
}

impl Known {
    /// Of a stream in memory, of which nothing is recorded.
    pub const NO_FILE_AT_ALL: Known = Known { file: EXCLUDED, description: None, is_new: false };
    const NOTHING: Known = Known { file: NO_FILE, description: None, is_new: false };

    /// Moves the position on after `moved` bytes were read or written; gives the one before.
    #[inline(always)]
    pub fn advance(&self, fd: c_int, moved: u64, writes: bool) -> u64 {
        let Some(description) = self.description else { return UNKNOWN_OFFSET };
        let flags = description.flags.load(Ordering::Relaxed);
        if flags != 0 || self.is_new {
            return self.advance_slowly(description, fd, moved, writes, flags);
        }
        description.position.fetch_add(moved, Ordering::Relaxed)
    }

    #[cold]
    #[inline(never)]
    fn advance_slowly(
        &self,
        description: &Description,
        fd: c_int,
        moved: u64,
        writes: bool,
        flags: u32,
    ) -> u64 {
        if flags & NO_POSITION != 0 {
            return UNKNOWN_OFFSET;
        }
        if flags & APPENDS != 0 && writes && moved != 0 {
            // Others may append too: only the kernel knows where our bytes went.
            let Some(after) = position_of(fd) else { return UNKNOWN_OFFSET };
            description.position.store(after, Ordering::Relaxed);
            return after.wrapping_sub(moved);
        }
        if self.is_new {
            description.position.load(Ordering::Relaxed).wrapping_sub(moved)
        } else {
            description.position.fetch_add(moved, Ordering::Relaxed)
        }
    }

    /// Moves the position on, for streams: they are at their own position, which is as far ahead of the kernel's as `ahead` tells, or behind.
    #[inline]
    pub fn advance_stream(&self, moved: u64, writes: bool, ahead: impl FnOnce() -> i64) -> u64 {
        let Some(description) = self.description else { return UNKNOWN_OFFSET };
        let flags = description.flags.load(Ordering::Relaxed);
        if flags & NO_POSITION != 0 || flags & APPENDS != 0 && writes {
            return UNKNOWN_OFFSET;
        }
        if self.is_new {
            let after = description.position.load(Ordering::Relaxed).wrapping_add_signed(ahead());
            description.position.store(after, Ordering::Relaxed);
            return after.wrapping_sub(moved);
        }
        description.position.fetch_add(moved, Ordering::Relaxed)
    }

    /// Sets the position.
    #[inline]
    pub fn set_position(&self, position: u64) {
        if let Some(description) = self.description {
            description.flags.fetch_and(!NO_POSITION, Ordering::Relaxed);
            description.position.store(position, Ordering::Relaxed);
        }
    }

    /// Sets whether writes go to the end.
    pub fn set_appends(&self, appends: bool) {
        if let Some(description) = self.description {
            if appends {
                description.flags.fetch_or(APPENDS, Ordering::Relaxed)
            } else {
                description.flags.fetch_and(!APPENDS, Ordering::Relaxed)
            };
        }
    }
}

/// Returns what is known of a descriptor; asks the kernel when nothing is.
#[inline(always)]
pub fn known(busy: &Busy, fd: c_int) -> Known {
    match look(fd) {
        Some(known) => known,
        None => ask(busy, fd),
    }
}

/// Returns the number of a descriptor's file.
#[inline(always)]
pub fn file(busy: &Busy, fd: c_int) -> u32 {
    let entry = process::current()
        .and_then(|process| process.descriptors.entries.get(fd as usize))
        .map_or(0, |entry| entry.load(Ordering::Relaxed));
    if entry != 0 { (entry >> 32) as u32 } else { ask_file(busy, fd) }
}

#[cold]
#[inline(never)]
fn ask_file(busy: &Busy, fd: c_int) -> u32 {
    ask(busy, fd).file
}

/// Returns what is known of a descriptor without asking the kernel.
#[inline(always)]
pub fn look(fd: c_int) -> Option<Known> {
    let tables = &process::current()?.descriptors;
    let entry = tables.entries.get(fd as usize)?.load(Ordering::Acquire);
    (entry != 0).then(|| Known {
        file: (entry >> 32) as u32,
        description: tables.descriptions.get((entry as u32 as usize).wrapping_sub(1)),
        is_new: false,
    })
}

/// Notes that a file was opened.
pub fn opened(fd: c_int, file: u32, flags: c_int) {
    let appends = if flags & libc::O_APPEND != 0 { APPENDS } else { 0 };
    set(fd, file, 0, appends);
}

/// A descriptor has been duplicated.
pub fn duplicated(from: c_int, to: c_int) {
    if from == to {
        return;
    }
    forget(to);
    let Some(process) = process::current() else { return };
    let tables = &process.descriptors;
    let (Some(from), Some(to)) =
        (tables.entries.get(from as usize), tables.entries.get(to as usize))
    else {
        return;
    };
    // Unknown ones are asked for when they are used; they will not share their position.
    let entry = from.load(Ordering::Acquire);
    if let Some(description) = tables.descriptions.get((entry as u32 as usize).wrapping_sub(1)) {
        description.references.fetch_add(1, Ordering::Relaxed);
        to.store(entry, Ordering::Release);
    }
}

/// A descriptor is closed, or about to be. Also without recording: the number may be used again.
#[inline]
pub fn forget(fd: c_int) {
    let Some(process) = process::current() else { return };
    let tables = &process.descriptors;
    let Some(entry) = tables.entries.get(fd as usize) else { return };
    if entry.load(Ordering::Relaxed) == 0 {
        return;
    }
    let old = entry.swap(0, Ordering::AcqRel);
    if let Some(description) = tables.descriptions.get((old as u32 as usize).wrapping_sub(1)) {
        description.references.fetch_sub(1, Ordering::Release);
    }
}

/// Forgets all descriptors from `first` to `last`, which are closed.
pub fn forget_range(first: u32, last: u32) {
    let last = last.min(DESCRIPTORS as u32 - 1);
    for fd in first..=last {
        forget(fd as c_int);
    }
}

/// Adds what a descriptor is linked to.
pub fn push_link<const N: usize>(fd: c_int, to: &mut Text<N>) {
    let mut link = Text::<32>::new();
    link.push(b"/proc/self/fd/");
    link.push_number(u64::from(fd as u32), 10);
    to.push_link(link.as_c_str());
}

/// Says what programs call a descriptor's file, out of what the kernel tells.
type Naming = for<'a> fn(c_int, &'a [u8]) -> &'a [u8];

static NAMING: OnceLock<Naming> = OnceLock::new();

/// From now on, files of unknown descriptors are called what this says.
pub fn name_by(naming: Naming) {
    let _ = NAMING.set(naming);
}

fn called(fd: c_int, told: &[u8]) -> &[u8] {
    NAMING.get().map_or(told, |naming| naming(fd, told))
}

#[cold]
#[inline(never)]
fn ask(busy: &Busy, fd: c_int) -> Known {
    let Some(borrowed) = sys::borrow(fd) else { return Known::NOTHING };
    let Ok(status) = rustix::fs::fstat(borrowed) else { return Known::NOTHING };
    let Some(file) = with_path(|name| {
        push_link(fd, name);
        const DELETED: &[u8] = b" (deleted)";
        if name.as_bytes().ends_with(DELETED) {
            name.truncate(name.as_bytes().len() - DELETED.len());
        }
        let is_told = !name.as_bytes().is_empty();
        is_told.then(|| files::number(busy, called(fd, name.as_bytes())))
    }) else {
        return Known::NOTHING;
    };
    let is_regular = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    let position = position_of(fd).filter(|_| is_regular);
    let appends = rustix::fs::fcntl_getfl(borrowed)
        .is_ok_and(|flags| flags.contains(OFlags::APPEND))
        .then_some(APPENDS);
    let flags = match position {
        Some(_) => appends.unwrap_or(0),
        None => NO_POSITION,
    };
    set(fd, file, position.unwrap_or(0), flags);
    match look(fd) {
        Some(known) => Known { is_new: true, ..known },
        None => Known { file, ..Known::NOTHING },
    }
}

fn position_of(fd: c_int) -> Option<u64> {
    rustix::fs::seek(sys::borrow(fd)?, SeekFrom::Current(0)).ok()
}

fn set(fd: c_int, file: u32, position: u64, flags: u32) {
    forget(fd);
    let Some(process) = process::current() else { return };
    let tables = &process.descriptors;
    let Some(entry) = tables.entries.get(fd as usize) else { return };
    // Nearly always the place with the descriptor's own number is free: only duplicates that
    // outlive it keep it.
    for step in 0..TRIES {
        let index = (fd as usize).wrapping_add(step * 97) % DESCRIPTORS;
        let Some(description) = tables.descriptions.get(index) else { return };
        let is_free = description
            .references
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
            .is_ok();
        if is_free {
            description.flags.store(flags, Ordering::Relaxed);
            description.position.store(position, Ordering::Relaxed);
            entry.store(u64::from(file) << 32 | (index as u64 + 1), Ordering::Release);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test: the tables are the process's.
    #[test]
    fn duplicates_share_a_position_and_numbers_are_used_again() {
        assert!(process::init());
        let known = |fd| look(fd).unwrap();
        opened(50_000, 7, 0);
        assert_eq!((known(50_000).file, known(50_000).advance(50_000, 10, true)), (7, 0));
        duplicated(50_000, 50_001);
        assert_eq!(known(50_001).advance(50_001, 5, false), 10);
        known(50_000).set_position(100);
        assert_eq!(known(50_001).advance(50_001, 1, false), 100);
        forget(50_000);
        assert!(look(50_000).is_none() && known(50_001).file == 7);
        // The duplicate keeps the description that has the number of the first.
        opened(50_000, 8, 0);
        assert_eq!(known(50_000).advance(50_000, 1, false), 0);
        assert_eq!(known(50_001).advance(50_001, 1, false), 101);
        // Streams that append do not know where.
        opened(50_002, 9, libc::O_APPEND);
        assert_eq!(known(50_002).advance_stream(4, true, || 0), UNKNOWN_OFFSET);
        assert_eq!(known(50_002).advance_stream(4, false, || 0), 0);
        known(50_002).set_appends(false);
        assert_eq!(known(50_002).advance_stream(4, true, || 0), 4);
        forget_range(50_000, u32::MAX);
        assert!((50_000..50_003).all(|fd| look(fd).is_none()));
        opened(DESCRIPTORS as c_int, 1, 0);
        assert!(look(DESCRIPTORS as c_int).is_none() && look(-1).is_none());
    }
}
