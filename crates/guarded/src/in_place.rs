//! Names that still lead to what was opened or made: whoever may write to a directory can exchange them at any moment.

use std::ffi::OsStr;
use std::fs::File;
use std::io;

use rustix::fs::{RenameFlags, Stat, fstat, renameat_with};
use rustix::io::Errno;

use crate::directory::checked;
use crate::{Directory, Refusal};

/// Only its maker enters a directory that is made to be one's own.
const PRIVATE: u32 = 0o700;
const OTHERS: u32 = 0o077;

impl Directory {
    /// Makes sure that a name is that of this very file.
    ///
    /// # Errors
    /// If it is another file, or none.
    pub fn require_same(&self, name: impl AsRef<OsStr>, file: &File) -> io::Result<()> {
        let (named, held) = (self.facts_of(name)?, fstat(file)?);
        if is_same(&named, &held) { Ok(()) } else { Err(Refusal::ExchangedFile.into()) }
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
        let (named, held) = (self.facts_of(name)?, directory.facts()?);
        if is_same(&named, &held) { Ok(()) } else { Err(Refusal::Exchanged.into()) }
    }

    /// Makes a directory for this user alone, and makes sure that what was opened is that one: whoever may write beside it
    /// could put another directory of this user, or one of their own, in its place.
    ///
    /// # Errors
    /// If there is anything of that name, nothing can be made here, or somebody was quicker.
    pub fn make_own(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let made = self.make(name, PRIVATE)?;
        let is_private = || -> io::Result<bool> {
            // Some file systems have no permissions at all, and show any.
            Ok(made.facts()?.st_mode & OTHERS == 0 || made.mode_of_new_files()? & OTHERS != 0)
        };
        if made.require_own().is_ok() && made.names()?.is_empty() && is_private()? {
            Ok(made)
        } else {
            Err(Refusal::Exchanged.into())
        }
    }

    /// Gives a directory that is held another name, unless there is something of that name.
    ///
    /// # Errors
    /// If there is anything of that name, or somebody put something else in its place: whoever may write here can.
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
            Err(Errno::INVAL | Errno::NOSYS) => self.rename(from, to).map_err(as_taken)?,
            renamed => renamed?,
        }
        self.require_same_directory(to, directory)
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

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::refused;
    use std::fs;
    use std::os::unix::fs::symlink;

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
