//! The anchor: an empty file that has the rights and the times of the file that a container holds.
//!
//! To whom it is readable holds for all parts of the container, also where these came with other rights, as from an archive: whoever
//! writes to it, or changes the rights of its file, takes them from all others.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use plimsoll_guarded::{AccessList, Directory};
use rustix::fs::{AtFlags, Mode, Stat, chmodat, fchmod, fstat, statat};
use rustix::io::Errno;

use crate::rights::{OTHERS_WRITE, PRIVATE_FILE};

/// The file whose rights and times are those of the container. It is always empty.
pub const ANCHOR: &str = "anchor";

/// All rights of the group, and of all others; the former are those of a list, where there is one.
const GROUP: u32 = 0o070;
const OTHERS: u32 = 0o007;
const OTHERS_READ: u32 = 0o004;

/// Who may use a file: its rights, the group that they are of, and a list of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Users {
    /// As of `chmod`.
    mode: u32,
    /// The number of the group.
    group: u32,
    list: Option<AccessList>,
}

impl Users {
    /// Nobody but the owner.
    pub const NONE: Users = Users { mode: PRIVATE_FILE, group: 0, list: None };

    /// Returns those of the file of a container, which is held by its directory; of one without a file, nobody but the owner.
    pub fn of_container(directory: impl AsFd) -> Self {
        let facts = statat(&directory, ANCHOR, AtFlags::SYMLINK_NOFOLLOW);
        let list = || AccessList::of(&path_in(&directory, ANCHOR));
        facts.map_or(Users::NONE, |it| Users::of(&it, list()))
    }

    fn of(facts: &Stat, list: Option<AccessList>) -> Self {
        Users { mode: facts.st_mode & 0o7777, group: facts.st_gid, list }
    }

    /// Returns those after `chmod`.
    pub fn with_mode(self, mode: u32) -> Self {
        Users { mode, group: self.group, list: self.list.map(|it| it.with_mask(group_of(mode))) }
    }

    /// Returns those after `chgrp`.
    pub fn with_group(self, group: u32) -> Self {
        Users { group, ..self }
    }

    fn list(&self) -> AccessList {
        self.list.clone().unwrap_or(AccessList::without(group_of(self.mode)))
    }

    /// Returns whether group and others may all read.
    pub fn are_all(&self) -> bool {
        self.mode & OTHERS_READ != 0 && self.list().are_all()
    }

    /// Returns which of the rights to a part others keep: none to write, and none at all who may not read the file. Of a part of another group nobody
    /// knows who is in both.
    fn kept(&self, part: &Users) -> u32 {
        let is_of_group = match self.group == part.group {
            true => part.list().is_within(&self.list()),
            false => self.are_all() && part.list.is_none(),
        };
        let is_of_all = match self.list.is_some() || self.group != part.group {
            true => self.are_all(),
            false => self.mode & OTHERS_READ != 0,
        };
        let barred = if is_of_group { 0 } else { GROUP } | if is_of_all { 0 } else { OTHERS };
        part.mode & !(OTHERS_WRITE | barred)
    }
}

/// Returns the rights of the group, as those of a list.
fn group_of(mode: u32) -> u32 {
    (mode & GROUP) >> 3
}

/// Returns a path by which the kernel finds what is in a directory that is held.
fn path_in(directory: impl AsFd, name: impl AsRef<OsStr>) -> PathBuf {
    let held = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
    PathBuf::from(held).join(name.as_ref())
}

/// Returns what the rights of a part have to become so that only those have some to whom the file of these users is readable; `None` if they can stay. Nothing
/// is asked where nobody else has any.
fn to_become(
    part: &Stat,
    list: impl FnOnce() -> Option<AccessList>,
    users: impl FnOnce() -> Users,
) -> Option<Mode> {
    if part.st_mode & (GROUP | OTHERS) == 0 {
        return None;
    }
    let part = Users::of(part, list());
    Some(users().kept(&part)).filter(|it| *it != part.mode).map(Mode::from_raw_mode)
}

/// Keeps those out of the directory of a container, or of logs, to whom a file of these users is not readable.
///
/// # Errors
/// If the system refuses.
pub fn keep_out(directory: impl AsFd, users: &Users) -> Result<(), Errno> {
    keep_all_out(directory, || users.clone())
}

fn keep_all_out(directory: impl AsFd, users: impl FnOnce() -> Users) -> Result<(), Errno> {
    let list = || AccessList::of(&path_in(&directory, "."));
    match to_become(&fstat(&directory)?, list, users) {
        Some(kept) => chmodat(directory, c".", kept, AtFlags::empty()),
        None => Ok(()),
    }
}

/// Keeps those out of a container to whom its file is not readable. Some file systems have no permissions.
pub(crate) fn keep_private(directory: &Directory) {
    let _ = keep_all_out(directory, || Users::of_container(directory));
}

/// Keeps the same out of the directory of its logs.
pub(crate) fn keep_logs_private(logs: &Directory, container: &Directory) {
    let _ = keep_all_out(logs, || Users::of_container(container));
}

/// Keeps the same out of an open file of it.
pub(crate) fn keep_private_file(file: impl AsFd, directory: &Directory) {
    let Ok(facts) = fstat(&file) else { return };
    let list = || AccessList::of_file(&file);
    if let Some(kept) = to_become(&facts, list, || Users::of_container(directory)) {
        let _ = fchmod(file, kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_read_the_file_has_no_rights_to_its_parts_and_nobody_else_writes() {
        let kept = |part, mode| {
            let of = |mode| Users { mode, group: 5, list: None };
            let (file, part) = (of(mode), of(part));
            file.kept(&part)
        };
        assert_eq!(kept(0o755, 0o600), 0o700);
        assert_eq!(kept(0o666, 0o644), 0o644);
        assert_eq!(kept(0o4777, 0o640), 0o4750);
        assert_eq!(kept(0o700, 0o666), 0o700);
    }

    #[test]
    fn rights_of_a_group_are_no_other_groups() {
        let part = Users { mode: 0o2755, group: 6, list: None };
        let kept = |mode| Users { mode, group: 5, list: None }.kept(&part);
        assert_eq!([0o640, 0o604, 0o644, 0o600].map(kept), [0o2700, 0o2700, 0o2755, 0o2700]);
    }

    /// What `st_mode` tells of the group is the list's mask.
    #[test]
    fn who_is_named_by_a_list_and_who_is_not_is_looked_at() {
        let of = |mode, list: Option<&AccessList>| Users { mode, group: 5, list: list.cloned() };
        let barred = AccessList::without(0);
        assert_eq!(of(0o640, Some(&barred)).kept(&of(0o750, None)), 0o700);
        assert_eq!(of(0o644, Some(&barred)).kept(&of(0o755, None)), 0o700);
        let open = AccessList::without(4);
        assert_eq!(of(0o644, Some(&open)).kept(&of(0o755, None)), 0o755);
        assert_eq!(of(0o640, None).kept(&of(0o750, Some(&open))), 0o750);
        assert!(of(0o644, Some(&open)).are_all() && !of(0o644, Some(&barred)).are_all());
        assert_eq!(of(0o640, Some(&open)).with_mode(0o600).kept(&of(0o750, None)), 0o700);
        // Who may only go through it reaches what is in it.
        assert_eq!(of(0o600, None).kept(&of(0o710, None)), 0o700);
    }
}
