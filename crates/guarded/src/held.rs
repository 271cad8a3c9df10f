//! Directories that somebody holds by a descriptor, and which file a name in a directory is of.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, Stat, StatxFlags, makedev, openat, statx};
use rustix::io::Errno;

use crate::Directory;
use crate::directory::{HELD, checked};

/// What a file is known by, whatever its name: the number of its device, and its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// Returns that of a file that was looked at.
    pub(crate) fn of(facts: &Stat) -> Self {
        Identity { device: facts.st_dev, inode: facts.st_ino }
    }
}

impl Directory {
    /// Opens a directory anew that is held by a descriptor, whatever has its path by now.
    ///
    /// # Errors
    /// If it cannot be entered.
    pub fn open_held(directory: impl AsFd, path: PathBuf) -> io::Result<Self> {
        Ok(Self::opened(openat(directory, ".", HELD, Mode::empty())?, path))
    }

    /// Takes the descriptor of a directory, whatever has its path by now.
    pub fn of_held(directory: OwnedFd, path: PathBuf) -> Self {
        Self::opened(directory, path)
    }

    /// Returns what has that name; of a link, the link itself. On this directory's own mount it is asked with one call, which tells what never changes of a file, and
    /// asks no server; what is on another one is looked at as everything is.
    pub(crate) fn identity_of(&self, name: &OsStr) -> io::Result<Identity> {
        let name = checked(name)?;
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
        let number_and_mount = StatxFlags::INO | StatxFlags::MNT_ID;
        match statx(self, name, flags, number_and_mount) {
            Ok(told)
                if told.stx_mask & number_and_mount.bits() == number_and_mount.bits()
                    && self.mount == Some(told.stx_mnt_id) =>
            {
                let device = makedev(told.stx_dev_major, told.stx_dev_minor);
                Ok(Identity { device, inode: told.stx_ino })
            }
            Err(Errno::NOENT) => Err(Errno::NOENT.into()),
            _ => self.facts_of(name).map(|it| Identity::of(&it)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn one_call_tells_the_same_file_as_a_look_at_it() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        File::create(folder.path().join("file")).unwrap();
        fs::create_dir(folder.path().join("directory")).unwrap();
        symlink("file", folder.path().join("link")).unwrap();
        let of = |name: &str| directory.identity_of(OsStr::new(name)).unwrap();
        for name in ["file", "directory", "link"] {
            assert_eq!(of(name), Identity::of(&directory.facts_of(name).unwrap()), "{name}");
        }
        assert_ne!(of("link"), of("file"));
        let missing = directory.identity_of(OsStr::new("missing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_on_another_mount_is_looked_at_with_care() {
        let mut root = Directory::open(std::path::Path::new("/")).unwrap();
        let proc = Identity::of(&root.facts_of("proc").unwrap());
        assert_eq!(root.identity_of(OsStr::new("proc")).unwrap(), proc);
        root.mount = None;
        assert_eq!(root.identity_of(OsStr::new("proc")).unwrap(), proc);
    }
}
