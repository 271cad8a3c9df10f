//! Removing containers.
//!
//! A container that is removed first gets a name that programs do not see; it is discarded once nobody has it open, by whoever closes it last.
//! What a kill leaves is discarded when its directory is removed or the next `plimsoll stow run` ends.

use core::ffi::{CStr, c_int};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use plimsoll_guarded::Directory;
use plimsoll_stow::{
    Target, Turn, discard_all_gone, discard_gone, discard_small, gone_name, is_gone, is_gone_name,
    mark_gone, move_gone_up, unmark_left, waiting_name,
};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, Stat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::entry::Key;
use super::found::Found;
use super::names::NamedAt;
use super::renaming::{rename_aside, rename_to_free};
use super::{Outcome, number, registry, settings};
use crate::backend::Answer;
use crate::text::{PATH_BYTES, Text};
use crate::thread::Serving;
use crate::{descriptors, sys};

/// Removes a name.
pub fn unlink(serving: &Serving, at: &NamedAt<'_>, flags: i32) -> Answer {
    if flags & libc::AT_REMOVEDIR != 0 {
        let is_file = at.container(false).is_some();
        return Some(if is_file { Err(libc::ENOTDIR) } else { rmdir(at) });
    }
    for _ in 0..TRIES {
        let removed = match at.container_now() {
            Some(_) if at.ends_with_slash() => Err(libc::ENOTDIR),
            Some(found) => remove(serving, at, &found),
            None => unlink_plain(at),
        };
        match removed {
            // Another one has taken its place meanwhile.
            Err(libc::ENOENT) if at.facts().is_ok() => {}
            Err(libc::EISDIR) if at.container(false).is_some() => {}
            removed => return Some(removed),
        }
    }
    Some(Err(libc::EBUSY))
}

/// Removes the name of what is no container.
pub fn unlink_plain(at: &NamedAt<'_>) -> Outcome {
    unlinkat(at.directory, at.path, AtFlags::empty()).map(|()| 0).map_err(number)
}

/// How often others may replace a file while it is removed.
const TRIES: usize = 64;

/// Removes a directory, also if there is something in it that the program does not see.
fn rmdir(at: &NamedAt<'_>) -> Outcome {
    let remove = || unlinkat(at.directory, at.path, AtFlags::REMOVEDIR);
    let removed = match remove() {
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            make_empty(at);
            remove()
        }
        removed => removed,
    };
    removed.map(|()| 0).map_err(number)
}

/// Takes what programs do not see out of a directory that is to be removed or replaced. What is still open of that goes to the directory above, if that is not out of the mount.
pub fn make_empty(at: &NamedAt<'_>) {
    let Some(directory) = held_directory(at) else { return };
    if let Ok(again) = directory.again() {
        discard_all_gone(again, false, targets());
    }
    let is_in_mount =
        settings::get().and_then(|it| it.split(directory.path().as_os_str().as_bytes()));
    if let (Some(_), Ok(held)) = (is_in_mount, HeldName::of(at)) {
        move_gone_up(&directory, &held.directory);
    }
}

/// Takes a container's name away, and the container itself if nobody has it open.
pub fn remove(serving: &Serving, at: &NamedAt<'_>, found: &Found) -> Outcome {
    remove_in_turn(serving, at, found, Turn::at(found.directory()))
}

/// Does so for whoever has the turn at it, which is given up once it has lost its name.
pub fn remove_in_turn<Turns>(
    serving: &Serving,
    at: &NamedAt<'_>,
    found: &Found,
    turns: Turns,
) -> Outcome {
    let held = HeldName::of(at)?;
    let gone = gone_name(found.directory()).map_err(|_| libc::EIO)?;
    hide(&held, found, &gone)?;
    drop(turns);
    if let Some(entry) = registry::find(serving, found.key()) {
        let mut entry = entry.hold(serving);
        if entry.is_open() {
            return Ok(0);
        }
        registry::remove(serving, found.key());
        let _ = entry.close();
    }
    if discard_small(&held.directory, &gone, found.directory()) {
        return Ok(0);
    }
    let mut path = Text::<PATH_BYTES>::new();
    descriptors::push_link(held.directory.as_raw_fd(), &mut path);
    drop(held);
    discard(&Path::new(OsStr::from_bytes(path.as_bytes())).join(gone));
    Ok(0)
}

/// Gives a container a name that programs do not see, after it was marked as removed, which only its owner can.
fn hide(held: &HeldName, found: &Found, gone: &str) -> Result<(), c_int> {
    let is_same = |it: &Stat| Key::of(it) == found.itself;
    if !held.at()?.facts().is_ok_and(|it| is_same(&it)) {
        // Somebody gave the name to another file meanwhile.
        return Err(libc::ENOENT);
    }
    let container = found.directory();
    mark_gone(container, true).map_err(number)?;
    let (directory, name) = (&held.directory, held.name.as_c_str());
    let is_named = || held.at().is_ok_and(|it| it.facts().is_ok_and(|it| is_same(&it)));
    rename_aside(directory, name, gone).map_err(|it| {
        // Another one may have removed it: then the mark is theirs.
        let _ = unmark_left(container, is_named);
        number(it)
    })?;
    let moved = statat(directory, gone, AtFlags::SYMLINK_NOFOLLOW);
    if !moved.is_ok_and(|it| is_same(&it)) {
        // Somebody gave the name to another file in that moment, which gets it back.
        let gone = CString::new(gone).map_err(|_| libc::EINVAL)?;
        if rename_to_free((directory, gone.as_c_str()), (directory, name)).is_err() {
            keep_hidden(directory, &gone, name);
        }
        // Unless another one has removed it: then the mark is theirs.
        let _ = unmark_left(container, || !is_named_gone(found));
        return Err(libc::ENOENT);
    }
    mark_again(container)
}

/// Has a file whose name was taken while it had another one wait for it, instead of being taken for one that is gone.
fn keep_hidden(directory: &OwnedFd, gone: &CStr, name: &CStr) {
    let facts = statat(directory, gone, AtFlags::SYMLINK_NOFOLLOW);
    let number = facts.map_or(0, |it| it.st_ino);
    if let Ok(waiting) = waiting_name(OsStr::from_bytes(name.to_bytes()), number, 0) {
        let _ = rename_aside(directory, gone, &waiting);
    }
}

/// Returns whether a container has the name of a removed one.
fn is_named_gone(found: &Found) -> bool {
    let path = found.path();
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    path.file_name().is_some_and(is_gone_name)
}

/// Marks a removed container that has its last name, if somebody took the mark for one that was left by a kill.
pub fn mark_again(container: impl AsFd + Copy) -> Result<(), c_int> {
    match is_gone(container).map_err(number)? {
        true => Ok(()),
        false => mark_gone(container, true).map_err(number),
    }
}

/// A name in a directory that is held: several steps that concern it are about the same directory, whoever exchanges those above.
pub struct HeldName {
    directory: OwnedFd,
    name: Text<{ NAME_BYTES + 1 }>,
}

/// limits.h, NAME_MAX
pub const NAME_BYTES: usize = 255;

impl HeldName {
    /// Holds the directory of a name.
    pub fn of(at: &NamedAt<'_>) -> Result<Self, c_int> {
        let (above, name) = at.divided().ok_or(libc::EISDIR)?;
        if name.len() > NAME_BYTES {
            return Err(libc::ENAMETOOLONG);
        }
        let directory = openat(at.directory, above.as_c_str(), HELD, Mode::empty());
        let mut held = HeldName { directory: directory.map_err(number)?, name: Text::new() };
        held.name.push(name);
        Ok(held)
    }

    /// Returns the name in it.
    pub fn at(&self) -> Result<NamedAt<'_>, c_int> {
        let directory = sys::borrow(self.directory.as_raw_fd()).ok_or(libc::EBADF)?;
        Ok(NamedAt { directory, path: self.name.as_c_str() })
    }
}

const HELD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Discards a container that has lost its name, unless somebody has it open: whoever closes it last does the same.
pub fn discard(path: &Path) {
    discard_gone(path, targets());
}

/// Does so with one that was removed meanwhile, if it has lost its name.
pub fn discard_if_gone(found: &Found) {
    if is_gone(found.directory()) == Ok(true) && is_named_gone(found) {
        let path = found.path();
        discard(Path::new(OsStr::from_bytes(path.as_bytes())));
    }
}

/// Returns the targets that logs may be on.
pub fn targets() -> &'static [Target] {
    settings::get().map_or(&[], |it| &it.targets)
}

/// Holds a directory, with its whole path.
pub fn held_directory(at: &NamedAt<'_>) -> Option<Directory> {
    let directory = openat(at.directory, at.path, HELD, Mode::empty()).ok()?;
    let mut path = Text::<PATH_BYTES>::new();
    descriptors::push_link(directory.as_raw_fd(), &mut path);
    let path = Path::new(OsStr::from_bytes(path.as_bytes())).to_path_buf();
    Some(Directory::of_held(directory, path))
}
