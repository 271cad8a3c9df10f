//! Working on another user's bed with that user's rights.

use std::io;

use plimsoll_guarded::{Directory, act_as};

/// A user and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    user: u32,
    group: u32,
}

impl Owner {
    /// Returns whose directory this is, if this process is root's and the directory is not.
    pub(crate) fn other_than_root(directory: &Directory) -> Option<Self> {
        let facts = directory.facts().ok()?;
        let is_others = rustix::process::geteuid().is_root() && facts.st_uid != 0;
        is_others.then_some(Self { user: facts.st_uid, group: facts.st_gid })
    }

    /// Does the work as this user, who may exchange directories under our hands: root's
    /// rights would make that dangerous. The kernel keeps rights for each thread
    /// (credentials(7)), so the work is done in one of its own, which stays root's to signals.
    pub(crate) fn work<T: Send>(self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| act_as(self.user, self.group).map(|()| work()));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    #[test]
    fn only_the_work_is_done_as_the_owner() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: needs root");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let owner = || Owner::other_than_root(&Directory::open(directory.path()).unwrap());
        assert_eq!(owner(), None);
        std::os::unix::fs::chown(directory.path(), Some(65534), Some(65533)).unwrap();
        let owner = owner().unwrap();
        let file = directory.path().join("file");
        owner.work(|| fs::write(&file, "").unwrap()).unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (65534, 65533));
        owner.work(|| fs::write("/etc/plimsoll-test", "").unwrap_err()).unwrap();
        assert_eq!(plimsoll_guarded::acting_user(), 0);
        fs::write(&file, "").unwrap();
    }

    #[test]
    fn no_other_right_of_roots_is_left() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: needs root");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(directory.path(), Some(65534), Some(65533)).unwrap();
        let owner = Owner::other_than_root(&Directory::open(directory.path()).unwrap()).unwrap();
        let status = owner.work(|| fs::read_to_string("/proc/thread-self/status").unwrap());
        let status = status.unwrap();
        let is = |line: &str| status.lines().any(|it| it.trim_end() == line);
        assert!(is("Uid:\t0\t0\t0\t65534") && is("Gid:\t0\t0\t0\t65533"), "{status}");
        assert!(is("Groups:"), "{status}");
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            assert!(is(&format!("{set}:\t0000000000000000")), "{status}");
        }
        let mounts = || {
            use rustix::mount::{MountFlags, mount};
            mount("plimsoll-test", directory.path(), "tmpfs", MountFlags::empty(), None)
                .unwrap_err()
        };
        assert_eq!(owner.work(mounts).unwrap(), rustix::io::Errno::PERM);
        let machine = plimsoll_machine::Machine::host();
        let tool = || crate::tool::run_tool(&machine, None, "id", &["-u"], Path::new("/x"));
        let error = owner.work(tool).unwrap().unwrap_err().to_string();
        assert!(error.contains("with the rights of user 65534"), "{error}");
    }
}
