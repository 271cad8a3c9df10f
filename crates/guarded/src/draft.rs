//! Files that are either complete or absent.

use std::borrow::Borrow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use rustix::fs::{OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::Directory;

/// A file that is written under another name and gets its own once it is complete, so that readers find
/// the old one or the new one. It is removed if it is dropped before that.
///
/// It holds the directory that it is in, or borrows it.
#[derive(Debug)]
pub struct Draft<D: Borrow<Directory>> {
    directory: D,
    temporary: OsString,
    name: OsString,
    file: File,
    has_its_name: bool,
}

impl<D: Borrow<Directory>> Draft<D> {
    /// Begins the file of that name, which only one process writes at a time.
    ///
    /// # Errors
    /// As [`Draft::create_as`].
    pub fn create(directory: D, name: impl AsRef<OsStr>, mode: u32) -> io::Result<Self> {
        let mut temporary = OsString::from(".");
        temporary.push(name.as_ref());
        temporary.push(".tmp");
        Self::create_as(directory, temporary, name, mode)
    }

    /// Begins the file of that name under this other one. What a killed process left there, or somebody
    /// planted, goes first, and is not followed if it is a link.
    ///
    /// # Errors
    /// If the system refuses to remove or to create.
    pub fn create_as(
        directory: D,
        temporary: impl AsRef<OsStr>,
        name: impl AsRef<OsStr>,
        mode: u32,
    ) -> io::Result<Self> {
        let (temporary, name) = (temporary.as_ref().to_owned(), name.as_ref().to_owned());
        directory.borrow().remove_file_if_there(&temporary)?;
        let file = directory.borrow().create(&temporary, OFlags::WRONLY, mode)?;
        Ok(Draft { directory, temporary, name, file, has_its_name: false })
    }

    /// Returns where it is until it is complete.
    pub fn path(&self) -> PathBuf {
        self.directory.borrow().path().join(&self.temporary)
    }

    /// Returns the file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Makes what was written durable, still under the other name.
    ///
    /// # Errors
    /// If the system refuses: the disk is full, for example.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives the file its name, in place of what has it. The name is durable after
    /// [`Directory::sync`].
    ///
    /// # Errors
    /// If the system refuses, or if somebody put another file in its place: whoever may write to the
    /// directory can do so at any moment.
    pub fn publish(self) -> io::Result<()> {
        self.rename(|directory, from, to| directory.rename(from, to))
    }

    /// Gives the file its name, if nothing has it.
    ///
    /// # Errors
    /// As [`Draft::publish`], or if there is anything of that name.
    pub fn publish_new(self) -> io::Result<()> {
        self.rename(|directory, from, to| {
            match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
                // Some file systems only know how to replace. A further name is not given over another file.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    directory.link(from, to)?;
                    directory.remove_file(from)
                }
                renamed => Ok(renamed?),
            }
        })
    }

    fn rename(
        mut self,
        rename: impl FnOnce(&Directory, &OsStr, &OsStr) -> io::Result<()>,
    ) -> io::Result<()> {
        let directory = self.directory.borrow();
        directory.require_same(&self.temporary, &self.file)?;
        rename(directory, &self.temporary, &self.name)?;
        directory.require_same(&self.name, &self.file)?;
        self.has_its_name = true;
        Ok(())
    }
}

impl<D: Borrow<Directory>> Write for Draft<D> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl<D: Borrow<Directory>> Drop for Draft<D> {
    fn drop(&mut self) {
        let directory = self.directory.borrow();
        if !self.has_its_name && directory.require_same(&self.temporary, &self.file).is_ok() {
            // Half a file is worse than none; that it stays is no worse than why.
            let _ = directory.remove_file_if_there(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refusal;
    use crate::refusal::refused;
    use std::fs;

    #[test]
    fn readers_find_the_old_file_or_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let (directory, path) = (Directory::open(folder.path()).unwrap(), folder.path().join("it"));
        fs::write(&path, "old").unwrap();
        fs::write(folder.path().join("precious"), "thesis").unwrap();
        std::os::unix::fs::symlink("precious", folder.path().join(".it.tmp")).unwrap();
        let mut draft = Draft::create(&directory, "it", 0o600).unwrap();
        draft.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_to_string(draft.path()).unwrap(), "new");
        draft.sync().unwrap();
        draft.publish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        drop(Draft::create(&directory, "half", 0o600).unwrap());
        assert_eq!(fs::read_to_string(folder.path().join("precious")).unwrap(), "thesis");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "half a file is none");
    }
    #[test]
    fn a_new_file_takes_the_name_of_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it");
        let begin = || {
            let directory = Directory::open(folder.path()).unwrap();
            let mut draft = Draft::create_as(directory, "other", "it", 0o600).unwrap();
            draft.write_all(b"new").unwrap();
            draft
        };
        let draft = begin();
        fs::write(&path, "somebody was quicker").unwrap();
        assert_eq!(draft.publish_new().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody was quicker");
        assert!(!folder.path().join("other").exists());
        fs::remove_file(&path).unwrap();
        begin().publish_new().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_file_that_somebody_put_in_its_place_gets_no_name_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        for publish in [Draft::publish, Draft::publish_new] {
            let draft = Draft::create(&directory, "it", 0o600).unwrap();
            fs::write(folder.path().join("thesis"), "thesis").unwrap();
            fs::rename(folder.path().join("thesis"), draft.path()).unwrap();
            let path = draft.path();
            assert_eq!(refused(publish(draft)), Refusal::ExchangedFile);
            assert_eq!(fs::read_to_string(path).unwrap(), "thesis");
            assert!(!folder.path().join("it").exists());
        }
    }
}
