//! Working on another user's bed with that user's rights.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// A user and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    user: Uid,
    group: Gid,
}

impl Owner {
    /// Returns whose directory this is, if this process is root's and the directory is not.
    pub(crate) fn other_than_root(directory: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(directory).ok().filter(fs::Metadata::is_dir)?;
        let user = Uid::from_raw(metadata.uid());
        let is_others = rustix::process::geteuid().is_root() && !user.is_root();
        is_others.then(|| Self { user, group: Gid::from_raw(metadata.gid()) })
    }

    /// Does the work as this user, who may exchange directories under our hands: root's
    /// rights would make that dangerous. The kernel keeps rights for each thread
    /// (credentials(7)), so the work is done in one of its own.
    pub(crate) fn work<T: Send>(self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| self.become_owner().map(|()| work()));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn become_owner(self) -> io::Result<()> {
        set_thread_groups(&[])?;
        set_thread_res_gid(self.group, self.group, self.group)?;
        Ok(set_thread_res_uid(self.user, self.user, self.user)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_work_is_done_as_the_owner() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: needs root");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Owner::other_than_root(directory.path()), None);
        std::os::unix::fs::chown(directory.path(), Some(65534), Some(65533)).unwrap();
        let owner = Owner::other_than_root(directory.path()).unwrap();
        let file = directory.path().join("file");
        owner.work(|| fs::write(&file, "").unwrap()).unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (65534, 65533));
        owner.work(|| fs::write("/etc/plimsoll-test", "").unwrap_err()).unwrap();
        assert!(rustix::process::geteuid().is_root());
    }
}
