//! Removing what is in a directory.

use std::ffi::{OsStr, OsString};
use std::io;

use rustix::fs::{AtFlags, FileType, renameat, unlinkat};

use crate::directory::checked;
use crate::working::{NEW_PREFIX, random_hex};
use crate::{Directory, Refusal};

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

    /// Removes all that is in it, as [`Directory::remove_tree`] does. Whoever made the tree chose its depth, so
    /// what lies too deep is moved up first: neither the stack nor the number of open files grows with it.
    ///
    /// # Errors
    /// If something stays, or if somebody makes it deeper and deeper meanwhile.
    pub fn empty(&self) -> io::Result<()> {
        self.empty_in(MOVES_MAX)
    }

    fn empty_in(&self, mut moves_left: usize) -> io::Result<()> {
        let mut names = self.names()?;
        let mut levels: Vec<Level> = Vec::new();
        loop {
            let is_deepest = levels.len() == LEVELS_MAX;
            let (here, pending) = match levels.last_mut() {
                Some(level) => (&level.directory, &mut level.names),
                None => (self, &mut names),
            };
            if let Some(name) = pending.pop() {
                match here.removed_or_entered(&name)? {
                    Some(_) if is_deepest => {
                        let moved = here.removed_or_moved(&name, self)?;
                        moves_left = match moved {
                            Some(_) => moves_left.checked_sub(1).ok_or(Refusal::Grows)?,
                            None => moves_left,
                        };
                        names.extend(moved);
                    }
                    Some(directory) => {
                        let names = directory.names()?;
                        levels.push(Level { name, directory, names });
                    }
                    None => {}
                }
            } else if let Some(Level { name, .. }) = levels.pop() {
                let parent = levels.last().map_or(self, |level| &level.directory);
                unless_missing(parent.remove_directory(name))?;
            } else {
                return Ok(());
            }
        }
    }

    /// Removes what is no directory; opens what is one.
    fn removed_or_entered(&self, name: &OsStr) -> io::Result<Option<Self>> {
        let outcome = match self.kind_of(name) {
            Ok(FileType::Directory) => self.child_not_mounted(name).map(Some),
            Ok(_) => self.remove_file(name).map(|()| None),
            Err(cause) => Err(cause),
        };
        match outcome {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            outcome => outcome,
        }
    }

    /// Removes a directory if it is empty; otherwise moves it up, and returns its new name there.
    fn removed_or_moved(&self, name: &OsStr, up: &Self) -> io::Result<Option<OsString>> {
        match self.remove_directory(name) {
            Err(cause) if cause.kind() == io::ErrorKind::DirectoryNotEmpty => {
                let new_name = format!("{NEW_PREFIX}{}", random_hex(8)?);
                renameat(self, name, up, &new_name)?;
                Ok(Some(new_name.into()))
            }
            outcome => unless_missing(outcome).map(|()| None),
        }
    }
}

/// So many directories are open at once.
const LEVELS_MAX: usize = 64;

/// Directories that are moved up at most: a tree that is 64 times as deep is removed in one go.
const MOVES_MAX: usize = 1 << 16;

/// A directory on the way down.
struct Level {
    name: OsString,
    directory: Directory,
    /// What is still to be removed in it.
    names: Vec<OsString>,
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
    use crate::refusal::refused;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use rustix::fs::OFlags;

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

    #[test]
    fn a_tree_may_have_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        let parent = Directory::open(folder.path()).unwrap();
        let mut deepest = parent.make("tree", 0o700).unwrap();
        for level in 0..2000 {
            if level % 50 == 0 {
                deepest.make("beside", 0o700).unwrap().make("below", 0o700).unwrap();
                drop(deepest.create("file", OFlags::WRONLY, 0o600).unwrap());
            }
            deepest = deepest.make("a", 0o700).unwrap().renamed(PathBuf::from("deep"));
        }
        let small_stack = std::thread::Builder::new().stack_size(256 << 10);
        let tree = parent.child("tree").unwrap();
        assert_eq!(refused(tree.empty_in(3)), Refusal::Grows, "somebody could go on for ever");
        let removing = small_stack.spawn(move || parent.remove_tree("tree").map(|()| parent));
        let parent = removing.unwrap().join().unwrap().unwrap();
        assert_eq!(parent.names().unwrap(), Vec::<OsString>::new());
    }
}
