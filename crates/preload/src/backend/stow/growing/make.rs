//! Makes files that grow, and keeps those of names still while they are used by these.

use core::ffi::c_int;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use plimsoll_guarded::{Directory, acting_user};
use plimsoll_stow::{Stage, is_of_one_node};
use rustix::fd::{AsRawFd, IntoRawFd};
use rustix::fs::{FileType, Mode, OFlags, Stat, fchmod, fstat, openat};

use super::super::entry::Key;
use super::super::settings::Settings;
use super::super::still::{self, Number, Still, Way};
use super::super::{hold, number};
use super::IS_BUILT;
use super::known::note_opened;
use crate::sys;
use crate::thread::Serving;

/// Makes a new file that grows, and opens it. `None` where there can be none.
///
/// # Errors
/// As of a call that the kernel serves.
pub fn make(
    serving: &Serving,
    settings: &Settings,
    parent: &Directory,
    (name, flags, mode): (&OsStr, OFlags, u32),
) -> Result<Option<c_int>, c_int> {
    if !IS_BUILT || settings.small_bytes == 0 || !is_of_one_node(parent) || !parent.keeps_names() {
        return Ok(None);
    }
    let above = fstat(parent).map_err(number)?;
    if !still::is_possible() {
        return Ok(None);
    }
    // Whoever finds it before it is marked waits.
    let _still = still::keep(serving, Number::of_name(&above, name.as_bytes()), Way::Alone)?;
    let flags = (flags - OFlags::DIRECT - OFlags::TRUNC) | OFlags::CREATE | OFlags::EXCL;
    let writes = Mode::from_raw_mode((mode & 0o7777) | 0o200);
    let file = openat(parent, name, flags, writes).map_err(number)?;
    let marked = Stage::Plain { is_synced: false }.set(&file).and_then(|()| match mode & 0o200 {
        0 => {
            let mode = fstat(&file)?.st_mode & 0o7577;
            fchmod(&file, Mode::from_raw_mode(mode))
        }
        _ => Ok(()),
    });
    if marked.is_err() {
        // The file system keeps no marks.
        let is_same = parent
            .facts_of(name)
            .is_ok_and(|it| fstat(&file).is_ok_and(|made| Key::of(&made) == Key::of(&it)));
        if is_same {
            let _ = parent.remove_file(name);
        }
        return Ok(None);
    }
    let _ = hold::take(file.as_raw_fd(), flags & OFlags::ACCMODE);
    let fd = file.into_raw_fd();
    note_opened(fd, true);
    Ok(Some(fd))
}

/// Waits until whoever has just made a file has marked it, if it was not.
pub fn wait_for_mark(serving: &Serving, fd: c_int, above: &Stat, name: &[u8]) {
    let (Some(file), true) = (sys::borrow(fd), still::is_possible()) else { return };
    if fstat(file).is_ok_and(|it| it.st_size == 0 && it.st_uid == acting_user())
        && matches!(Stage::of(file), Ok(None))
    {
        let _ = still::keep(serving, Number::of_name(above, name), Way::Shared);
    }
}

/// Keeps the files of names still, if they may grow.
pub fn keep_names(serving: &Serving, files: [Option<Stat>; 2]) -> Option<(Option<Still>, Still)> {
    if !IS_BUILT {
        return None;
    }
    let number = |it: &Stat| {
        (FileType::from_raw_mode(it.st_mode) == FileType::RegularFile && it.st_uid == acting_user())
            .then(|| Number::of(it))
    };
    let mut numbers = files.iter().flatten().filter_map(number);
    let first = numbers.next().filter(|_| still::is_possible())?;
    match numbers.next() {
        Some(second) => still::keep_both(serving, first, second).ok(),
        None => still::keep(serving, first, Way::Shared).ok().map(|it| (None, it)),
    }
}
