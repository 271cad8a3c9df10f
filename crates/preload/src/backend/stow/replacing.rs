//! Giving files of a mount other names, of which some are those of other files, which are no more then.
//!
//! Where nobody else may write to the directories, the two names are exchanged: the one leads to the one file or the other at every moment. Where others may, what lies
//! in one directory must not come into the other, not even for a moment: it may be another user's link by then. There, what is replaced makes room in its own directory.

use core::ffi::c_int;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use plimsoll_guarded::acting_user;
use plimsoll_stow::{Container, aside_name, inherit, renew};
use rustix::fs::{RenameFlags, Stat, fstat, renameat, renameat_with};
use rustix::io::Errno;

use super::entry::{Key, told};
use super::found::Found;
use super::names::{NamedAt, is_directory};
use super::naming::{HeldName, make_empty, remove, targets, whole_path};
use super::renaming::{exchange, rename_aside, rename_to_free};
use super::{Outcome, names, number, opening};
use crate::backend::{Answer, Name};
use crate::thread::Serving;

/// Gives a file another name, of which one of the two is below the mount. `None` where no container is concerned.
pub fn rename(serving: &Serving, from: &Name, to: &Name, flags: u32) -> Answer {
    let is_to_below = names::is_below(to);
    let (from_name, to_name) = (from, to);
    let (from, to) = (NamedAt::of(from_name)?, NamedAt::of(to_name)?);
    let source = from.container(false).filter(|_| names::is_below(from_name));
    let replaced = to.container(false).filter(|_| is_to_below);
    if source.is_none() && replaced.is_none() {
        return if is_to_below { directory_over(&from, &to, flags) } else { None };
    }
    if from.path.is_empty() || to.path.is_empty() {
        return None;
    }
    let flags = RenameFlags::from_bits_retain(flags);
    if !are_valid(flags) {
        return Some(Err(libc::EINVAL));
    }
    if flags.contains(RenameFlags::NOREPLACE) && to.facts().is_ok() {
        return Some(Err(libc::EEXIST));
    }
    if from.ends_with_slash() || to.ends_with_slash() {
        return Some(Err(libc::ENOTDIR));
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

/// Returns whether the kernel knows these flags, and takes them together.
fn are_valid(flags: RenameFlags) -> bool {
    let others = RenameFlags::NOREPLACE | RenameFlags::WHITEOUT;
    let known = others | RenameFlags::EXCHANGE;
    known.bits() & flags.bits() == flags.bits()
        && !(flags.contains(RenameFlags::EXCHANGE) && flags.intersects(others))
}

/// Gives a directory the name of another one in which programs see nothing. `None` of what are not two directories.
fn directory_over(from: &NamedAt<'_>, to: &NamedAt<'_>, flags: u32) -> Answer {
    let are_two = to.facts().is_ok_and(|it| is_directory(&it))
        && from.facts().is_ok_and(|it| is_directory(&it));
    if flags != 0 || !are_two {
        return None;
    }
    let moved = || renameat(from.directory, from.path, to.directory, to.path);
    let renamed = match moved() {
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            make_empty(to);
            moved()
        }
        renamed => renamed,
    };
    Some(renamed.map(|()| 0).map_err(number))
}

/// Does so with names in directories that are held.
fn rename_held(
    serving: &Serving,
    (from, source): (&NamedAt<'_>, Option<Found>),
    (to, replaced): (&NamedAt<'_>, Option<Found>),
    flags: RenameFlags,
) -> Outcome {
    let (held_from, held_to) = (HeldName::of(from)?, HeldName::of(to)?);
    let (from, to) = (held_from.at()?, held_to.at()?);
    let moved = |flags| {
        renameat_with(from.directory, from.path, to.directory, to.path, flags).map_err(number)
    };
    if flags.contains(RenameFlags::EXCHANGE) {
        return moved(flags).map(|()| 0);
    }
    let is_free = match (&replaced, to.facts()) {
        (None, Ok(facts)) if is_directory(&facts) => return Err(libc::EISDIR),
        (Some(_), Err(_)) => return Err(libc::ENOENT),
        (_, facts) => facts.is_err(),
    };
    if source.is_none() && from.facts().is_ok_and(|it| is_directory(&it)) {
        return Err(libc::ENOTDIR);
    }
    if is_free || flags.contains(RenameFlags::NOREPLACE) {
        let renamed = moved(flags);
        if renamed.is_ok() {
            note_home(&to);
        }
        return renamed.map(|()| 0);
    }
    // What is left behind then would have to be left before what is replaced goes.
    if flags.contains(RenameFlags::WHITEOUT) {
        return Err(libc::EINVAL);
    }
    match are_private(&from, &to) {
        true => by_exchange(serving, (&from, source), (&to, replaced)),
        false => by_steps(serving, (&from, source), (&to, replaced)),
    }
}

/// A name, and the container that it is of, if it is of one.
type Named<'a, 'b> = (&'a NamedAt<'b>, Option<Found>);

/// Returns whether both names are in one directory, or in two that only this user may write to.
fn are_private(from: &NamedAt<'_>, to: &NamedAt<'_>) -> bool {
    let (Ok(from), Ok(to)) = (fstat(from.directory), fstat(to.directory)) else { return false };
    const OTHERS_WRITE: u32 = 0o022;
    let is_private = |it: &Stat| it.st_uid == acting_user() && it.st_mode & OTHERS_WRITE == 0;
    Key::of(&from) == Key::of(&to) || is_private(&from) && is_private(&to)
}

fn by_exchange(
    serving: &Serving,
    (from, source): Named<'_, '_>,
    (to, replaced): Named<'_, '_>,
) -> Outcome {
    exchange(from, to)?;
    if let Some(source) = &source {
        note_home(to);
        // A copy that takes the place of its original has the logs then, or leaves it where it was: they would go with the original.
        if let Some(replaced) = &replaced
            && let Err(errno) = hand_over(replaced, source)
        {
            exchange(from, to)?;
            return Err(errno);
        }
    }
    let Ok(left) = from.facts() else { return Ok(0) };
    match replaced.filter(|it| it.itself == Key::of(&left)).or_else(|| from.container(false)) {
        Some(found) => remove(serving, from, &found),
        // Somebody has put a directory there, which nothing can replace.
        None if is_directory(&left) => {
            exchange(from, to)?;
            Err(libc::EISDIR)
        }
        // Whatever somebody has put there meanwhile, it is what was replaced: another's link must not stay in its place.
        None => opening::unlink_plain(from).map(|()| 0).map_err(number),
    }
}

fn by_steps(
    serving: &Serving,
    (from, source): Named<'_, '_>,
    (to, replaced): Named<'_, '_>,
) -> Outcome {
    // By its name it is given back if this process is killed.
    let aside = aside_name(OsStr::from_bytes(to.path.to_bytes())).map_err(|_| libc::EIO)?;
    let aside = CString::new(aside.into_vec()).map_err(|_| libc::EINVAL)?;
    let aside = NamedAt { directory: to.directory, path: &aside };
    rename_aside(to.directory, to.path, aside.path).map_err(number)?;
    // Of no container, if somebody has given the name to another file meanwhile.
    let lies_aside = |it: &Found| aside.facts().is_ok_and(|facts| it.itself == Key::of(&facts));
    let replaced = replaced.filter(lies_aside);
    if let Err(errno) = take(from, &source, to, &replaced, &aside) {
        let _ = rename_to_free((aside.directory, aside.path), (to.directory, to.path));
        return Err(errno);
    }
    match replaced {
        Some(found) => remove(serving, &aside, &found),
        None => opening::unlink_plain(&aside).map(|()| 0).map_err(number),
    }
}

/// Takes a name whose file has made room.
fn take(
    from: &NamedAt<'_>,
    source: &Option<Found>,
    to: &NamedAt<'_>,
    replaced: &Option<Found>,
    aside: &NamedAt<'_>,
) -> Result<(), c_int> {
    if replaced.is_none() && aside.facts().is_ok_and(|it| is_directory(&it)) {
        return Err(libc::EISDIR);
    }
    let handed = match (replaced, source) {
        (Some(replaced), Some(source)) => {
            hand_over(replaced, source).map(|_| Some((replaced, source)))?
        }
        _ => None,
    };
    rename_to_free((from.directory, from.path), (to.directory, to.path)).map_err(|errno| {
        if let Some((replaced, source)) = handed {
            let _ = hand_over(source, replaced);
        }
        number(errno)
    })?;
    if source.is_some() {
        note_home(to);
    }
    Ok(())
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
