//! The size of a container, and holes in it.

use core::ffi::c_int;

use libc::off_t;
use plimsoll_stow::ANCHOR;
use rustix::fs::{Access, AtFlags, OFlags, accessat, fcntl_getfl};

use super::entry::{Used, told};
use super::names::NamedAt;
use super::{Outcome, number, status};
use crate::backend::Answer;
use crate::sys;
use crate::thread::Serving;

fn require_writable(fd: c_int, refusal: c_int) -> Result<(), c_int> {
    let file = sys::borrow(fd).ok_or(libc::EBADF)?;
    let flags = fcntl_getfl(file).map_err(number)?;
    let is_read = flags & OFlags::ACCMODE == OFlags::RDONLY;
    if is_read || flags.contains(OFlags::PATH) { Err(refusal) } else { Ok(()) }
}

/// Gives the file another size.
pub fn truncate(entry: &mut Used, fd: c_int, length: off_t) -> Outcome {
    require_writable(fd, libc::EINVAL)?;
    set_size(entry, length)
}

/// Gives the file another size, whoever asked.
pub fn set_size(entry: &mut Used, length: off_t) -> Outcome {
    let length = u64::try_from(length).map_err(|_| libc::EINVAL)?;
    entry.truncate(length)?;
    entry.touch();
    Ok(0)
}

/// Gives the file of a name another size.
pub fn truncate_name(serving: &Serving, at: &NamedAt<'_>, length: off_t) -> Answer {
    // Another one may take its place while it is looked at.
    let found = at.container(true).or_else(|| at.container_now())?;
    Some((|| {
        accessat(found.directory(), ANCHOR, Access::WRITE_OK, AtFlags::empty()).map_err(number)?;
        let entry = status::used(serving, &found)?;
        let mut entry = entry.hold(serving);
        let done = set_size(&mut entry, length);
        if !entry.is_open() {
            match entry.close() {
                // For what makes the next opening quicker. What was done is there.
                Err(libc::ENOSPC | libc::EDQUOT) => {}
                closed => drop(closed?),
            }
        }
        done
    })())
}

/// Allocates or frees: what is allocated counts as zeros, and the room itself is taken when it is written to.
pub fn allocate(entry: &mut Used, fd: c_int, mode: c_int, offset: off_t, length: off_t) -> Outcome {
    require_writable(fd, libc::EBADF)?;
    let (Ok(offset), Ok(length)) = (u64::try_from(offset), u64::try_from(length)) else {
        return Err(libc::EINVAL);
    };
    let end = offset.checked_add(length).filter(|end| *end <= i64::MAX as u64);
    let end = end.ok_or(libc::EFBIG)?;
    if length == 0 {
        return Err(libc::EINVAL);
    }
    let keeps_size = mode & libc::FALLOC_FL_KEEP_SIZE != 0;
    // Before anything is changed: it may not be known.
    let grows = !keeps_size && entry.size()? < end;
    match mode & !libc::FALLOC_FL_KEEP_SIZE {
        0 => {}
        libc::FALLOC_FL_PUNCH_HOLE if keeps_size => punch(entry, offset, end)?,
        libc::FALLOC_FL_ZERO_RANGE => punch(entry, offset, end)?,
        _ => return Err(libc::EOPNOTSUPP),
    }
    if grows {
        entry.truncate(end)?;
    }
    entry.touch();
    Ok(0)
}

fn punch(entry: &mut Used, offset: u64, end: u64) -> Result<(), c_int> {
    entry.writer()?.punch(offset, end - offset).map_err(told)
}
