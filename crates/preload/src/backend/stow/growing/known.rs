//! Of which descriptors it is known that their files grow.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU8, Ordering};

use plimsoll_guarded::acting_user;
use plimsoll_stow::Stage;
use rustix::fs::{FileType, OFlags, Stat, fcntl_getfl, fstat};

use super::super::{hold, serving, still};
use super::IS_BUILT;
use crate::sys;

/// Descriptors beyond this are asked about at each call.
const DESCRIPTORS: usize = 1 << 16;

/// What is known of a descriptor: nothing, that its file grows, or that it does not.
const NOTHING: u8 = 0;
const GROWS: u8 = 1;
const PLAIN: u8 = 2;

/// Not wiped in forked children, which inherit descriptors.
static KNOWN: [AtomicU8; DESCRIPTORS] = [const { AtomicU8::new(NOTHING) }; DESCRIPTORS];

/// The same of those that were opened just now, whose number was another file's.
static OPENED: [AtomicU8; DESCRIPTORS] = [const { AtomicU8::new(NOTHING) }; DESCRIPTORS];

/// Returns whether a descriptor is known to be of a file that grows.
#[inline]
pub fn is_one(fd: c_int) -> bool {
    KNOWN.get(fd as usize).is_some_and(|it| it.load(Ordering::Relaxed) == GROWS)
}

pub fn set_known(fd: c_int, is_one: bool) {
    if let Some(known) = KNOWN.get(fd as usize) {
        known.store(if is_one { GROWS } else { NOTHING }, Ordering::Relaxed);
    }
}

/// Notes that a descriptor was opened just now of a file that grows, or of a plain one.
pub fn note_opened(fd: c_int, grows: bool) {
    if let Some(opened) = OPENED.get(fd as usize) {
        opened.store(if grows { GROWS } else { PLAIN }, Ordering::Relaxed);
    }
}

/// Takes over what was noted, once all is forgotten of the file whose number it was; returns false of a plain file.
pub fn take_opened(fd: c_int) -> bool {
    let opened = OPENED.get(fd as usize).map(|it| it.swap(NOTHING, Ordering::Relaxed));
    set_known(fd, opened == Some(GROWS));
    opened != Some(PLAIN)
}

/// Forgets what is known of descriptors.
pub fn forget_range(first: u32, last: u32) {
    let end = (last as usize).saturating_add(1).min(DESCRIPTORS);
    for known in KNOWN.get(first as usize..end).unwrap_or_default() {
        if known.load(Ordering::Relaxed) != NOTHING {
            known.store(NOTHING, Ordering::Relaxed);
        }
    }
}

/// Notes that a descriptor was duplicated.
pub fn duplicated(from: c_int, to: c_int) {
    set_known(to, is_one(from));
}

/// Returns whether a descriptor, of which nothing was known, is of a file that grows.
pub fn is_adopted(fd: c_int, facts: &Stat) -> bool {
    // Most are of other files, and nothing is opened for these.
    let has_mark = || sys::borrow(fd).is_some_and(|it| matches!(Stage::of(it), Ok(Some(_))));
    IS_BUILT
        && has_mark()
        && serving(|_| Some(Ok(usize::from(adopt(fd, facts, false))))) == Some(Ok(1))
}

/// Returns whether a descriptor is of a file that grows, and has others know that it is open.
pub fn adopt(fd: c_int, facts: &Stat, is_new: bool) -> bool {
    let Some(file) = sys::borrow(fd).filter(|_| IS_BUILT) else { return false };
    if facts.st_uid != acting_user() || !matches!(Stage::of(file), Ok(Some(_))) {
        return false;
    }
    let flags = fcntl_getfl(file).unwrap_or(OFlags::PATH);
    if flags.contains(OFlags::PATH) {
        return false;
    }
    let is_held = || !is_new && hold::is_held_by(fd) == Some(true);
    let is_known =
        still::is_possible() && (is_held() || hold::take(fd, flags & OFlags::ACCMODE).is_ok());
    if !is_known {
        // Nobody must make a container of what is written here without asking.
        let _ = Stage::forget(file);
    }
    // It may have become a container before it was held, which is seen as of any descriptor.
    let is_known = is_known && matches!(Stage::of(file), Ok(Some(_)));
    set_known(fd, is_known);
    is_known
}

/// Returns whether a descriptor is of a file that grows of which that was not known.
pub fn is_found(fd: c_int) -> bool {
    let Some(facts) = sys::borrow(fd).and_then(|it| fstat(it).ok()) else { return false };
    FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && adopt(fd, &facts, false)
}
