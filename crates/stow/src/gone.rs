//! Containers that were removed while somebody had them open as a file, through the preload library.
//!
//! Such a container has a name that programs do not see, and is discarded once nobody has its anchor open. Whoever opens an anchor as a file
//! holds a lock on one byte of it, far behind all offsets: the lock is that of the open file, so that it lasts as long as any
//! copy of the descriptor, in whichever process.
//!
//! Whoever may write beside a container can give it such a name. So the name alone says nothing: its owner marked the container as removed before. The mark is a bit of a mode,
//! which copies have as well (`cp -r`); so the name has the number of the directory in it, which no copy has.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use plimsoll_guarded::{Directory, acting_user, random_hex};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, chmodat, fstat, renameat_with,
};
use rustix::io::Errno;

use crate::aside::give_back;
use crate::container::split;
use crate::creation;
use crate::first_sync::TornContainer;
use crate::lock::SMALL_LOCK;
use crate::turn::Turn;
use crate::waiting::{keep_replaced, settle};
use crate::{ANCHOR, Container, StowError, Target};

/// What the names of removed containers begin with.
pub const GONE_PREFIX: &str = ".plimsoll-stow-gone-";
/// Where the bytes begin that are locked.
pub const HOLDS_FROM: i64 = 1 << 62;
/// How many there are.
pub const HOLDS: i64 = 1 << 40;

/// The bit of its directory's mode by which the owner says that a container was removed. It needs no room, as on a full disk things are removed.
const REMOVED: u32 = 0o1000;

/// Marks a container as removed, before it gets such a name, or takes the mark back.
///
/// # Errors
/// If it is another user's.
pub fn mark_gone(directory: impl AsFd, gone: bool) -> Result<(), Errno> {
    let mode = fstat(&directory)?.st_mode & 0o7777 & !REMOVED;
    let mode = Mode::from_raw_mode(if gone { mode | REMOVED } else { mode });
    // As a name in itself: it may only be held, and is the one that is held.
    chmodat(&directory, c".", mode, AtFlags::empty())
}

/// Returns a name for a container that is removed.
///
/// # Errors
/// If the system has no random numbers, or the directory cannot be asked.
pub fn gone_name(directory: impl AsFd) -> io::Result<String> {
    Ok(format!("{GONE_PREFIX}{:x}-{}", fstat(directory)?.st_ino, random_hex(8)?))
}

/// Returns whether its owner removed the container in this directory, which has this name.
fn is_removed(directory: &Directory, name: &OsStr) -> bool {
    let number = |name: &str| {
        let (number, _) = name.strip_prefix(GONE_PREFIX)?.split_once('-')?;
        u64::from_str_radix(number, 16).ok()
    };
    let number = name.to_str().and_then(number);
    let facts = fstat(directory).ok().filter(|it| it.st_uid == acting_user());
    facts.is_some_and(|it| it.st_mode & REMOVED != 0 && number == Some(it.st_ino))
}

/// Takes back the mark of a container that still has a name which programs see: whoever removed it was killed before it got another one. Returns whether the
/// name of the directory was such a one all the time.
///
/// # Errors
/// If it is another user's.
pub fn unmark_left(directory: impl AsFd, is_named: impl Fn() -> bool) -> Result<bool, Errno> {
    if !is_named() {
        return Ok(false);
    }
    mark_gone(&directory, false)?;
    if is_named() {
        return Ok(true);
    }
    // Whoever removes it is alive after all.
    mark_gone(directory, true)?;
    Ok(false)
}

/// Returns whether somebody has the file of this anchor open; also where that cannot be told. When an anchor is closed, the locks of
/// the process that closes it go, as those of all files do: who may have some does not ask.
pub fn is_held(anchor: impl AsFd) -> bool {
    is_in_the_way(anchor, libc::F_WRLCK)
}

/// Returns whether somebody has it open so that it can be written to; otherwise as [`is_held`].
pub fn is_held_to_write(anchor: impl AsFd) -> bool {
    is_in_the_way(anchor, libc::F_RDLCK)
}

/// Returns whether somebody keeps a lock of this kind from being taken.
fn is_in_the_way(anchor: impl AsFd, kind: i32) -> bool {
    let mut lock = libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: HOLDS_FROM,
        l_len: HOLDS,
        l_pid: 0,
    };
    let fd = anchor.as_fd().as_raw_fd();
    // SAFETY: an open file, and a lock that the kernel reads and writes.
    let asked = unsafe { libc::fcntl(fd, libc::F_OFD_GETLK, &raw mut lock) };
    asked < 0 || i32::from(lock.l_type) != libc::F_UNLCK
}

/// Discards a removed container, unless somebody has it open: whoever closes it last does the same. What cannot be removed stays a container, which can be
/// removed by hand.
pub fn discard_gone(path: &Path, targets: &[Target]) {
    let Some(name) = path.file_name() else { return };
    // One at a time: two would keep each other from being alone. Whoever finds it open leaves it to those who have it so, who come here, too.
    let _turn = turn_at(path);
    let container = match Container::open(path, targets) {
        Ok(container) => container,
        Err(StowError::Torn { .. }) => return discard_torn(path),
        Err(_) => return discard_empty(path),
    };
    let is_free = match anchor_of_removed(container.directory()) {
        Ok(anchor) => !is_held(anchor),
        // Somebody was killed who removed it.
        Err(cause) => cause.kind() == ErrorKind::NotFound,
    };
    if is_removed(container.directory(), name) && is_free {
        let _ = container.remove();
    }
}

/// Opens the anchor of a removed container, also where its rights keep its owner from reading it.
fn anchor_of_removed(directory: &Directory) -> io::Result<File> {
    let open = || directory.open_file(ANCHOR, OFlags::RDONLY);
    let opened = open();
    if !opened.as_ref().is_err_and(|cause| cause.kind() == ErrorKind::PermissionDenied) {
        return opened;
    }
    const OWNER_READS: u32 = 0o400;
    let mode = directory.facts_of(ANCHOR)?.st_mode & 0o7777;
    let change = |mode| chmodat(directory, ANCHOR, Mode::from_raw_mode(mode), AtFlags::empty());
    change(mode | OWNER_READS)?;
    let opened = open();
    // Who has it open sees them.
    change(mode)?;
    opened
}

/// Waits until nobody else discards what is there, but not for long: others may lock it.
fn turn_at(path: &Path) -> Option<Turn> {
    let (above, name) = split(path).ok()?;
    let directory = Directory::open(above).ok()?.child_not_mounted(name).ok()?;
    if is_removed(&directory, name) { Turn::at(&directory) } else { None }
}

/// What had a marker once has nothing in it any more, but for the lock of somebody who found it removed.
fn discard_empty(path: &Path) {
    if let Ok((above, name)) = split(path)
        && let Ok(parent) = Directory::open(above)
        && let Ok(directory) = parent.child_not_mounted(name)
        && is_removed(&directory, name)
    {
        let is_lock = |it: &Stat| it.st_size == 0 && it.st_uid == acting_user();
        if directory.names().is_ok_and(|it| it == [SMALL_LOCK])
            && directory.facts_of(SMALL_LOCK).is_ok_and(|it| is_lock(&it))
        {
            let _ = directory.remove_file(SMALL_LOCK);
        }
        let _ = parent.remove_held_directory(name, &directory);
    }
}

fn discard_torn(path: &Path) {
    if let Ok(torn) = TornContainer::open(path)
        && path.file_name().is_some_and(|name| is_removed(torn.directory(), name))
    {
        let _ = torn.remove();
    }
}

/// Removes a plain file that was to take a container's place and did not. Who can give such a name to another file could remove that as well.
fn discard_draft(directory: &Directory, name: &OsStr) {
    if directory.open_own_file_now(name, OFlags::RDONLY | OFlags::NOFOLLOW).is_ok() {
        let _ = directory.remove_file(name);
    }
}

/// Returns whether a container was removed, by its directory: whoever has opened its anchor and is told that it was not, has it.
///
/// # Errors
/// If the directory cannot be asked.
pub fn is_gone(directory: impl AsFd) -> Result<bool, Errno> {
    Ok(fstat(directory)?.st_mode & REMOVED != 0)
}

/// Discards what is left of removed and of unfinished containers in a directory and, if so, below it: in directories of this user and of root, without links. Those of others
/// could go on for ever; and so could those that others may move, if they were entered twice.
pub fn discard_all_gone(directory: Directory, below: bool, targets: &[Target]) {
    let mut seen = BTreeSet::new();
    let names_in = |directory: &Directory| {
        let names = directory.names_and_kinds().unwrap_or_default();
        // First: what was not replaced after all is not removed, whatever names others give it.
        keep_replaced(directory, &names);
        names
    };
    let mut entered = vec![(names_in(&directory), directory)];
    while let Some((names, directory)) = entered.last_mut() {
        let Some((name, kind)) = names.pop() else {
            entered.pop();
            continue;
        };
        if is_gone_name(&name) {
            discard_draft(directory, &name);
            // Others may have made thousands of such names.
            if directory.child_not_mounted(&name).is_ok_and(|it| is_removed(&it, &name)) {
                discard_gone(&directory.path().join(name), targets);
            }
        } else if give_back(directory, &name) {
            // It made room for one that did not come.
        } else if settle(directory, &name, targets) {
            // It was to take the place of another one, or had to make room.
        } else if creation::is_draft(&name) {
            creation::discard_draft(directory, &name);
        } else if below
            && let Some(child) = own_directory(directory, &name, kind)
            && child.facts().is_ok_and(|it| seen.insert((it.st_dev, it.st_ino)))
        {
            entered.push((names_in(&child), child));
        }
    }
}

/// Moves removed containers that somebody has open to the directory above theirs, so that theirs can be removed. From then on nobody else comes into them: what they were in may
/// have kept others out.
pub fn move_gone_up(directory: &Directory, above: impl AsFd) {
    for (name, _) in directory.names_and_kinds().unwrap_or_default() {
        if is_gone_name(&name)
            && let Ok(container) = directory.child_not_mounted(&name)
            && is_removed(&container, &name)
            && chmodat(&container, c".", Mode::from_raw_mode(REMOVED | 0o700), AtFlags::empty())
                .is_ok()
        {
            let _ = renameat_with(directory, &name, &above, &name, RenameFlags::NOREPLACE);
        }
    }
}

/// Returns the directory of that name, which is listed as this kind, if it is this user's or root's and no container. Other files are not even looked at, unless no kinds are listed.
fn own_directory(directory: &Directory, name: &OsStr, listed: FileType) -> Option<Directory> {
    let kind = match listed {
        FileType::Unknown => directory.kind_of(name).ok()?,
        listed => listed,
    };
    if kind != FileType::Directory {
        return None;
    }
    let child = directory.child_not_mounted(name).ok()?;
    let owner = child.facts().ok()?.st_uid;
    ((owner == 0 || owner == acting_user()) && !Container::is_in(&child).unwrap_or(true))
        .then_some(child)
}

/// Returns whether a name is that of a removed container.
pub fn is_gone_name(name: &OsStr) -> bool {
    name.as_bytes().starts_with(GONE_PREFIX.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_as_a_directory_or_as_nothing_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        std::fs::create_dir(folder.path().join("directory")).unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let is_entered =
            |name: &str, listed| own_directory(&directory, OsStr::new(name), listed).is_some();
        for listed in [FileType::Directory, FileType::Unknown] {
            assert!(is_entered("directory", listed));
            assert!(!is_entered("file", listed));
        }
        assert!(!is_entered("directory", FileType::RegularFile));
    }
}
