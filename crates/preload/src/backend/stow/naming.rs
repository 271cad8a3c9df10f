//! Removing and renaming containers.
//!
//! A container that is removed first gets a name that programs do not see; it is discarded once nobody has it open, by whoever closes it last.
//! What a kill leaves is discarded when its directory is removed or the next `plimsoll stow run` ends.

use core::ffi::c_int;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use plimsoll_guarded::Directory;
use plimsoll_stow::{
    Container, Target, discard_all_gone, discard_gone, discard_small, gone_name, inherit, is_gone,
    mark_gone, renew,
};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat, openat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::entry::{Key, told};
use super::found::Found;
use super::names::{NamedAt, is_directory};
use super::renaming::{exchange, rename_aside};
use super::{Outcome, names, number, opening, registry, settings};
use crate::backend::{Answer, Name};
use crate::text::{PATH_BYTES, Text};
use crate::thread::Serving;
use crate::{descriptors, sys};

/// Removes a name.
pub fn unlink(serving: &Serving, at: &NamedAt<'_>, flags: i32) -> Answer {
    let container = at.container(false);
    if flags & libc::AT_REMOVEDIR != 0 {
        return if container.is_some() { Some(Err(libc::ENOTDIR)) } else { Some(rmdir(at)) };
    }
    let found = container?;
    if at.ends_with_slash() {
        return Some(Err(libc::ENOTDIR));
    }
    Some(remove(serving, at, &found))
}

/// Removes a directory, also if there is something in it that the program does not see.
fn rmdir(at: &NamedAt<'_>) -> Outcome {
    let remove = || unlinkat(at.directory, at.path, AtFlags::REMOVEDIR);
    let removed = match remove() {
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            if let Some(directory) = whole_path(at).and_then(|it| Directory::open(&it).ok()) {
                discard_all_gone(directory, false, targets());
            }
            remove()
        }
        removed => removed,
    };
    removed.map(|()| 0).map_err(number)
}

/// Takes a container's name away, and the container itself if nobody has it open.
fn remove(serving: &Serving, at: &NamedAt<'_>, found: &Found) -> Outcome {
    let held = HeldName::of(at)?;
    let gone = gone_name(found.directory()).map_err(|_| libc::EIO)?;
    hide(&held, found, &gone)?;
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
    rename_aside(directory, name, gone).map_err(|it| {
        let _ = mark_gone(container, false);
        number(it)
    })?;
    mark_again(container)
}

/// Marks a removed container that has its last name, if somebody took the mark for one that was left by a kill.
pub fn mark_again(container: impl AsFd + Copy) -> Result<(), c_int> {
    match is_gone(container).map_err(number)? {
        true => Ok(()),
        false => mark_gone(container, true).map_err(number),
    }
}

/// A name in a directory that is held: several steps that concern it are about the same directory, whoever exchanges those above.
struct HeldName {
    directory: OwnedFd,
    name: Text<{ NAME_BYTES + 1 }>,
}

/// limits.h, NAME_MAX
const NAME_BYTES: usize = 255;

impl HeldName {
    fn of(at: &NamedAt<'_>) -> Result<Self, c_int> {
        let (above, name) = at.divided().ok_or(libc::EISDIR)?;
        if name.len() > NAME_BYTES {
            return Err(libc::ENAMETOOLONG);
        }
        let directory = openat(at.directory, above.as_c_str(), HELD, Mode::empty());
        let mut held = HeldName { directory: directory.map_err(number)?, name: Text::new() };
        held.name.push(name);
        Ok(held)
    }

    fn at(&self) -> Result<NamedAt<'_>, c_int> {
        let directory = sys::borrow(self.directory.as_raw_fd()).ok_or(libc::EBADF)?;
        Ok(NamedAt { directory, path: self.name.as_c_str() })
    }
}

const HELD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Discards a container that has lost its name, unless somebody has it open: whoever closes it last does the same.
pub fn discard(path: &Path) {
    discard_gone(path, targets());
}

/// Returns the targets that logs may be on.
pub fn targets() -> &'static [Target] {
    settings::get().map_or(&[], |it| &it.targets)
}

/// Returns the whole path of a directory.
fn whole_path(at: &NamedAt<'_>) -> Option<PathBuf> {
    let directory = openat(at.directory, at.path, HELD, Mode::empty()).ok()?;
    let mut path = Text::<PATH_BYTES>::new();
    descriptors::push_link(directory.as_raw_fd(), &mut path);
    Some(Path::new(OsStr::from_bytes(path.as_bytes())).to_path_buf())
}

/// Gives a file another name, of which one of the two is below the mount. `None` where no container is concerned.
pub fn rename(serving: &Serving, from: &Name, to: &Name, flags: u32) -> Answer {
    let is_to_below = names::is_below(to);
    let (from_name, to_name) = (from, to);
    let (from, to) = (NamedAt::of(from_name)?, NamedAt::of(to_name)?);
    let source = from.container(false).filter(|_| names::is_below(from_name));
    let replaced = to.container(false).filter(|_| is_to_below);
    if source.is_none() && replaced.is_none() {
        return None;
    }
    if source.is_some() && !is_to_below {
        // As between two file systems: programs copy then.
        return Some(Err(libc::EXDEV));
    }
    if let (Some(source), Some(replaced)) = (&source, &replaced)
        && source.key() == replaced.key()
    {
        return Some(Ok(0));
    }
    Some(rename_held(serving, (&from, source), (&to, replaced), flags))
}

/// Does so with names in directories that are held.
fn rename_held(
    serving: &Serving,
    (from, source): (&NamedAt<'_>, Option<Found>),
    (to, replaced): (&NamedAt<'_>, Option<Found>),
    flags: u32,
) -> Outcome {
    let (held_from, held_to) = (HeldName::of(from)?, HeldName::of(to)?);
    let (from, to) = (held_from.at()?, held_to.at()?);
    let flags = RenameFlags::from_bits_retain(flags);
    let moved = |flags| {
        renameat_with(from.directory, from.path, to.directory, to.path, flags).map_err(number)
    };
    if flags.contains(RenameFlags::EXCHANGE) {
        return moved(flags).map(|()| 0);
    }
    let target = match (&replaced, to.facts()) {
        (None, Err(_)) => None,
        (None, Ok(facts)) if is_directory(&facts) => return Err(libc::EISDIR),
        (_, Ok(facts)) => Some(facts),
        (Some(_), Err(_)) => return Err(libc::ENOENT),
    };
    let is_directory = || from.facts().is_ok_and(|it| is_directory(&it));
    if source.is_none() && is_directory() {
        return Err(libc::ENOTDIR);
    }
    if target.is_none() || flags.contains(RenameFlags::NOREPLACE) {
        let renamed = moved(flags);
        if renamed.is_ok() {
            note_home(&to);
        }
        return renamed.map(|()| 0);
    }
    // The name leads to the one or the other at every moment.
    exchange(&from, &to)?;
    if let Some(source) = &source {
        note_home(&to);
        // A copy that takes the place of its original has the logs then, or leaves it where it was: they would go with the original.
        if let Some(replaced) = &replaced
            && let Err(errno) = hand_over(replaced, source)
        {
            exchange(&from, &to)?;
            return Err(errno);
        }
    }
    let is_as_it_was = |it: &Stat| target.is_some_and(|before| Key::of(&before) == Key::of(it));
    let Ok(left) = from.facts() else { return Ok(0) };
    match replaced.filter(|_| is_as_it_was(&left)).or_else(|| from.container(false)) {
        Some(found) => remove(serving, &from, &found),
        // Somebody has put a directory there, which nothing can replace.
        None if names::is_directory(&left) => {
            exchange(&from, &to)?;
            Err(libc::EISDIR)
        }
        // Whatever somebody has put there meanwhile, it is what was replaced: another's link must not stay in its place.
        None => opening::unlink_plain(&from).map(|()| 0).map_err(number),
    }
}

/// Notes beside the logs of a container that they are those of its copy.
fn hand_over(original: &Found, copy: &Found) -> Outcome {
    let (Ok(original), Ok(copy)) = (original.open(), copy.open()) else { return Ok(0) };
    if original.id() != copy.id() {
        return Ok(0);
    }
    let noted = inherit(&copy, &original).map_err(|error| {
        let _ = inherit(&original, &copy);
        told(error)
    });
    noted.map(|()| 0)
}

/// Notes beside the logs where their container is now, if they are its own.
fn note_home(at: &NamedAt<'_>) {
    if let Some(path) = whole_path(at)
        && let Ok(container) = Container::open(&path, targets())
    {
        let _ = renew(&container);
    }
}
