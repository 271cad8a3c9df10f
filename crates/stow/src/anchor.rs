//! The anchor: an empty file that has the rights and the times of the file that a container holds.
//!
//! To whom it is readable holds for all parts of the container, also where these came with other rights, as from an archive: whoever
//! writes to it, or changes the rights of its file, takes them from all others.

use std::os::fd::AsFd;

use plimsoll_guarded::Directory;
use rustix::fs::{AtFlags, Mode, Stat, chmodat, fchmod, fstat};
use rustix::io::Errno;

use crate::rights::{OTHERS_WRITE, PRIVATE_FILE};

/// The file whose rights and times are those of the container. It is always empty.
pub const ANCHOR: &str = "anchor";

/// The rights to read of the group and of all others, and all rights of theirs.
const CLASSES: [(u32, u32); 2] = [(0o040, 0o070), (0o004, 0o007)];

/// Who may use a file: its rights, and the group that they are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Users {
    /// As of `chmod`.
    pub mode: u32,
    /// The number of the group.
    pub group: u32,
}

impl Users {
    /// Returns those of a file.
    pub fn of(facts: &Stat) -> Self {
        Users { mode: facts.st_mode & 0o7777, group: facts.st_gid }
    }

    /// Returns those of the file of a container.
    pub(crate) fn of_anchor(directory: &Directory) -> Self {
        let private = Users { mode: PRIVATE_FILE, group: 0 };
        directory.facts_of(ANCHOR).map_or(private, |it| Users::of(&it))
    }

    /// Returns whether group and others may all read.
    pub fn are_all(&self) -> bool {
        CLASSES.iter().all(|(read, _)| self.mode & read != 0)
    }

    /// Returns which of the rights to a part others keep: none to write, and none at all who may not read the file. Of a part of another group nobody
    /// knows who is in both.
    fn kept(&self, part: &Users) -> u32 {
        let is_barred = |read: u32| match self.group == part.group {
            true => self.mode & read == 0,
            false => !self.are_all(),
        };
        let barred = CLASSES.iter().filter(|(read, _)| is_barred(*read));
        part.mode & !barred.fold(OTHERS_WRITE, |barred, (_, all)| barred | all)
    }
}

/// Keeps those out of the directory of a container to whom a file of these users is not readable.
///
/// # Errors
/// If the system refuses.
pub fn keep_out(directory: impl AsFd, users: Users) -> Result<(), Errno> {
    let own = Users::of(&fstat(&directory)?);
    match users.kept(&own) {
        same if same == own.mode => Ok(()),
        kept => chmodat(directory, c".", Mode::from_raw_mode(kept), AtFlags::empty()),
    }
}

/// Keeps those out of a container to whom its file is not readable. Some file systems have no permissions.
pub(crate) fn keep_private(directory: &Directory) {
    let _ = keep_out(directory, Users::of_anchor(directory));
}

/// Keeps the same out of an open file of it.
pub(crate) fn keep_private_file(file: impl AsFd, directory: &Directory) {
    let Ok(facts) = fstat(&file) else { return };
    let own = Users::of(&facts);
    let kept = Users::of_anchor(directory).kept(&own);
    if kept != own.mode {
        let _ = fchmod(file, Mode::from_raw_mode(kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_read_the_file_has_no_rights_to_its_parts_and_nobody_else_writes() {
        let kept = |part, mode| {
            let (file, part) = (Users { mode, group: 5 }, Users { mode: part, group: 5 });
            file.kept(&part)
        };
        assert_eq!(kept(0o755, 0o600), 0o700);
        assert_eq!(kept(0o666, 0o644), 0o644);
        assert_eq!(kept(0o4777, 0o640), 0o4750);
        assert_eq!(kept(0o700, 0o666), 0o700);
    }

    #[test]
    fn rights_of_a_group_are_no_other_groups() {
        let part = Users { mode: 0o2755, group: 6 };
        let kept = |mode| Users { mode, group: 5 }.kept(&part);
        assert_eq!([0o640, 0o604, 0o644, 0o600].map(kept), [0o2700, 0o2700, 0o2755, 0o2700]);
    }
}
