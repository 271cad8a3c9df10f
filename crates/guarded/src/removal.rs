//! Removing what is in a directory.

use std::ffi::OsStr;
use std::io;

use rustix::fs::{AtFlags, FileType, unlinkat};

use crate::Directory;
use crate::directory::checked;

impl Directory {
    /// Removes a file, or a link, or whatever is no directory.
    ///
    /// # Errors
    /// If it is not there or cannot be removed.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(self, checked(name.as_ref())?, AtFlags::empty())?)
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove_file_if_there(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        unless_missing(self.remove_file(name))
    }

    /// Removes a directory that is empty.
    ///
    /// # Errors
    /// If it is not there, is not empty or is no directory.
    pub fn remove_directory(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(self, checked(name.as_ref())?, AtFlags::REMOVEDIR)?)
    }

    /// Removes a directory and all that is in it. Links are removed, not followed, and what is
    /// mounted in it is left alone.
    ///
    /// # Errors
    /// If something stays. What is gone already is fine.
    pub fn remove_tree(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = name.as_ref();
        let child = match self.child_not_mounted(name) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            child => child?,
        };
        child.empty()?;
        drop(child);
        unless_missing(self.remove_directory(name))
    }

    /// Removes all that is in it, as [`Directory::remove_tree`] does.
    ///
    /// # Errors
    /// If something stays.
    pub fn empty(&self) -> io::Result<()> {
        for name in self.names()? {
            match self.kind_of(&name) {
                Ok(FileType::Directory) => self.remove_tree(&name)?,
                Ok(_) => self.remove_file_if_there(&name)?,
                Err(cause) => unless_missing(Err(cause))?,
            }
        }
        Ok(())
    }
}

fn unless_missing(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refusal;
    use crate::refusal::refused;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_mounted_is_neither_entered_nor_emptied() {
        use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let point = folder.path().join("tree/mounted");
        fs::create_dir_all(&point).unwrap();
        if mount("plimsoll-test", &point, "tmpfs", MountFlags::empty(), c"size=64k").is_err() {
            println!("SKIPPED: needs root to mount");
            return;
        }
        fs::write(point.join("file"), "precious").unwrap();
        let parent = Directory::open(folder.path()).unwrap();
        let entered = parent.child("tree").unwrap().child_not_mounted("mounted");
        let removed = parent.remove_tree("tree");
        let is_there = point.join("file").exists();
        unmount(&point, UnmountFlags::DETACH).unwrap();
        assert!(is_there);
        assert_eq!(refused(entered), Refusal::Mounted);
        assert_eq!(refused(removed), Refusal::Mounted);
        parent.remove_tree("tree").unwrap();
    }

    #[test]
    fn removing_a_tree_removes_links_and_not_what_they_lead_to() {
        let folder = tempfile::tempdir().unwrap();
        let parent = Directory::open(folder.path()).unwrap();
        fs::create_dir_all(folder.path().join("tree/deep/er")).unwrap();
        fs::create_dir(folder.path().join("kept")).unwrap();
        fs::write(folder.path().join("kept/file"), "precious").unwrap();
        symlink(folder.path().join("kept"), folder.path().join("tree/deep/link")).unwrap();
        symlink(folder.path().join("kept"), folder.path().join("link")).unwrap();
        parent.remove_tree("tree").unwrap();
        parent.remove_tree("tree").unwrap();
        assert_eq!(refused(parent.remove_tree("link")), Refusal::Symlink);
        assert_eq!(parent.names().unwrap(), ["kept", "link"]);
        assert_eq!(fs::read_to_string(folder.path().join("kept/file")).unwrap(), "precious");
    }
}
