//! Working directories of commands that were killed.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, OFlags, flock, fstat};

use crate::Directory;
use crate::small_file::text_of;
use crate::working::{OWNER, PREFIX, empty_owner_last, host, owner_host};

const OTHERS_WRITE: u32 = 0o022;

/// Removes what killed commands of this user and this host left behind on targets, and returns how many
/// there were.
pub fn remove_left_behind(targets: &[PathBuf]) -> usize {
    let of_target = |target: &PathBuf| -> io::Result<usize> {
        let directory = Directory::open_by_own_links(target)?;
        let names = directory.names()?;
        let stale = names.into_iter().filter(|name| is_prefixed(name));
        Ok(stale.filter(|name| remove_stale(&directory, name).unwrap_or(false)).count())
    };
    targets.iter().map(|target| of_target(target).unwrap_or(0)).sum()
}

fn is_prefixed(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with(PREFIX)
}

/// Removes a directory if it is one that this user left behind.
fn remove_stale(target: &Directory, name: &OsStr) -> io::Result<bool> {
    let directory = target.child_not_mounted(name)?;
    // Writable: NFS takes an exclusive lock for no less (flock(2)).
    let owner = directory.open_file(OWNER, OFlags::RDWR)?;
    let (directory_facts, owner_facts) = (directory.facts()?, fstat(&owner)?);
    let is_ours = directory_facts.st_uid == owner_facts.st_uid
        && directory_facts.st_mode & OTHERS_WRITE == 0
        && directory.require_owner(&owner_facts).is_ok();
    let is_of_host = || text_of(&owner).is_ok_and(|text| owner_host(&text) == host());
    let is_free = || flock(&owner, FlockOperation::NonBlockingLockExclusive).is_ok();
    if !(is_ours && is_of_host() && is_free()) {
        return Ok(false);
    }
    empty_owner_last(&directory)?;
    target.remove_directory(name)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkingDirectories;
    use crate::working::owner_text;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn what_is_left_behind_goes_and_what_is_in_use_stays() {
        let target = tempfile::tempdir().unwrap();
        let targets = [target.path().to_path_buf()];
        let first = WorkingDirectories::make(&targets).unwrap();
        assert_eq!(remove_left_behind(&targets), 0);
        let left_behind = target.path().join(format!("{PREFIX}dead"));
        fs::create_dir(&left_behind).unwrap();
        fs::write(left_behind.join(OWNER), owner_text(&host(), "secret")).unwrap();
        fs::write(left_behind.join("0.0.0"), "data").unwrap();
        let foreign = target.path().join(format!("{PREFIX}foreign"));
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join(OWNER), "another host").unwrap();
        let second = WorkingDirectories::make(&targets).unwrap();
        assert_eq!(remove_left_behind(&targets), 1);
        assert!(first.all()[0].path().exists() && second.all()[0].path().exists());
        assert!(foreign.exists());
        drop((first, second));
        assert_eq!(count(target.path()), 1, "only the foreign one stays");
    }

    #[test]
    fn a_pipe_or_a_link_as_owner_is_neither_waited_for_nor_read() {
        let target = tempfile::tempdir().unwrap();
        let planted = target.path().join(format!("{PREFIX}planted"));
        fs::create_dir(&planted).unwrap();
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o666));
        rustix::fs::mknodat(rustix::fs::CWD, planted.join(OWNER), kind, mode, 0).unwrap();
        let targets = [target.path().to_path_buf()];
        assert_eq!(remove_left_behind(&targets), 0);
        fs::remove_file(planted.join(OWNER)).unwrap();
        symlink("/dev/zero", planted.join(OWNER)).unwrap();
        assert_eq!(remove_left_behind(&targets), 0);
        assert_eq!(count(target.path()), 1);
    }
}
