//! Names that still lead to what was opened or made: whoever may write to a directory can exchange them at any moment.

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use rustix::fs::{RenameFlags, fstat, renameat_with};
use rustix::io::Errno;

use crate::directory::checked;
use crate::held::Identity;
use crate::trust::is_writable_by_others;
use crate::{Directory, Refusal, acting_user};

/// Only its maker enters a directory that is made to be one's own.
const PRIVATE: u32 = 0o700;
const OTHERS: u32 = 0o077;

impl Directory {
    /// Makes sure that a name is that of this very file.
    ///
    /// # Errors
    /// If it is another file, or none.
    pub fn require_same(&self, name: impl AsRef<OsStr>, file: &File) -> io::Result<()> {
        let (named, held) = (self.identity_of(name.as_ref())?, fstat(file)?);
        if named == Identity::of(&held) { Ok(()) } else { Err(Refusal::ExchangedFile.into()) }
    }

    /// Makes sure that a name is that of this very directory.
    ///
    /// # Errors
    /// If it is a link, another directory, or none.
    pub fn require_same_directory(
        &self,
        name: impl AsRef<OsStr>,
        directory: &Directory,
    ) -> io::Result<()> {
        let (named, held) = (self.identity_of(name.as_ref())?, directory.facts()?);
        if named == Identity::of(&held) { Ok(()) } else { Err(Refusal::Exchanged.into()) }
    }

    /// Makes a directory for this user alone, and makes sure that what was opened is that one: whoever may write beside it
    /// could put another directory of this user, or one of their own, in its place.
    ///
    /// # Errors
    /// If there is anything of that name, nothing can be made here, or somebody was quicker.
    pub fn make_own(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let made = self.make(name, PRIVATE)?;
        let is_new = || -> io::Result<bool> { Ok(self.is_own_place() || made.names()?.is_empty()) };
        if made.require_own().is_ok() && is_new()? && made.is_private()? {
            Ok(made)
        } else {
            Err(Refusal::Exchanged.into())
        }
    }

    /// Returns whether nobody else may look into it, as far as its file system tells: some have no permissions at all, and show any.
    ///
    /// # Errors
    /// If its file system does not answer.
    pub fn is_private(&self) -> io::Result<bool> {
        Ok(self.facts()?.st_mode & OTHERS == 0 || self.mode_of_new_files()? & OTHERS != 0)
    }

    /// Returns whether nobody else can put anything in the place of what this user makes here, so that what was opened is what was made.
    fn is_own_place(&self) -> bool {
        self.facts().is_ok_and(|it| it.st_uid == acting_user() && !is_writable_by_others(self, &it))
    }

    /// Gives a directory that is held another name, unless there is something of that name. What happens to that name is not looked at: somebody may rename
    /// it again at once.
    ///
    /// # Errors
    /// If there is anything of that name, or somebody put something else in its place before: whoever may write here can. It was not renamed then.
    pub fn rename_directory(
        &self,
        from: impl AsRef<OsStr>,
        to: impl AsRef<OsStr>,
        directory: &Directory,
    ) -> io::Result<()> {
        let (from, to) = (checked(from.as_ref())?, checked(to.as_ref())?);
        self.require_same_directory(from, directory)?;
        match renameat_with(self, from, self, to, RenameFlags::NOREPLACE) {
            // Some file systems only know how to replace, which is refused where there is something in it.
            Err(Errno::INVAL | Errno::NOSYS) => self.rename(from, to).map_err(as_taken),
            renamed => Ok(renamed?),
        }
    }

    /// Removes a directory that is held and empty, if the name is still its own.
    ///
    /// # Errors
    /// If it is not, or if there is something in it.
    pub fn remove_held_directory(
        &self,
        name: impl AsRef<OsStr>,
        directory: &Directory,
    ) -> io::Result<()> {
        let name = name.as_ref();
        self.require_same_directory(name, directory)?;
        self.remove_directory(name)
    }
}

/// Returns the error of a name that is taken, if this is the one of replacing what cannot be replaced.
fn as_taken(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => Errno::EXIST.into(),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::refused;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// The attack: whoever may write beside a new directory exchanges it before it is opened. What is in it is looked at wherever somebody may.
    #[test]
    fn only_where_nobody_else_may_write_is_a_new_directory_not_looked_into() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let parent = Directory::open(folder.path()).unwrap();
        for (mode, is_own) in [(0o700, true), (0o755, true), (0o777, false), (0o1777, false)] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(parent.is_own_place(), is_own, "{mode:o}");
            drop(parent.make_own(format!("new-{mode:o}")).unwrap());
        }
        if rustix::process::geteuid().is_root() {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
            std::os::unix::fs::chown(folder.path(), Some(65_533), None).unwrap();
            assert!(!parent.is_own_place());
        }
    }

    #[test]
    fn a_directory_is_renamed_and_removed_only_under_its_own_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let parent = Directory::open(folder.path()).unwrap();
        let ours = parent.make_own("ours").unwrap();
        fs::create_dir(at("taken")).unwrap();
        let error = parent.rename_directory("ours", "taken", &ours).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        parent.rename_directory("ours", "named", &ours).unwrap();
        fs::rename(at("named"), at("moved")).unwrap();
        fs::create_dir(at("named")).unwrap();
        assert_eq!(refused(parent.rename_directory("named", "other", &ours)), Refusal::Exchanged);
        assert_eq!(refused(parent.remove_held_directory("named", &ours)), Refusal::Exchanged);
        fs::remove_dir(at("named")).unwrap();
        symlink("moved", at("named")).unwrap();
        assert_eq!(refused(parent.require_same_directory("named", &ours)), Refusal::Exchanged);
        parent.remove_held_directory("moved", &ours).unwrap();
        assert!(!at("moved").exists() && !at("other").exists() && at("taken").exists());
    }
}
