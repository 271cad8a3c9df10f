//! The directories that an experiment writes in: one in each target, gone when it ends.
//!
//! Each holds a file that its owner keeps locked, with the owner's host in it. So the next experiment of
//! that host on a target can tell what a killed one left behind from what another one is using, and
//! removes the former. Locks are not trusted between hosts: Lustre may keep them on each node.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

const PREFIX: &str = ".plimsoll-bench-";
const OWNER: &str = "owner";

/// One directory in each target, removed on drop.
pub struct WorkingDirectories {
    /// One for each target; targets with one path share theirs.
    directories: Vec<PathBuf>,
    locks: Vec<File>,
}

impl WorkingDirectories {
    /// Makes a directory in each of these, and locks it.
    ///
    /// # Errors
    /// With the path that failed. What was made before is removed.
    pub fn make(targets: &[PathBuf]) -> Result<Self, (PathBuf, io::Error)> {
        let name = format!("{PREFIX}{:08x}-{}", unique(), std::process::id());
        let mut made = Self { directories: Vec::new(), locks: Vec::new() };
        for target in targets {
            let directory = target.join(&name);
            if made.directories.contains(&directory) {
                made.directories.push(directory);
                continue;
            }
            let lock = claim(target, &directory).map_err(|error| (directory.clone(), error))?;
            made.directories.push(directory);
            made.locks.push(lock);
        }
        Ok(made)
    }

    /// The directories, in the order of the targets.
    pub fn paths(&self) -> &[PathBuf] {
        &self.directories
    }
}

impl Drop for WorkingDirectories {
    fn drop(&mut self) {
        for directory in &self.directories {
            // A target that vanished took it along.
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// Makes a directory that is locked before it has its name.
fn claim(target: &Path, directory: &Path) -> io::Result<File> {
    let unnamed = target.join(format!(".plimsoll-new-{:08x}-{}", unique(), std::process::id()));
    fs::create_dir(&unnamed)?;
    let claimed = own(&unnamed).and_then(|lock| {
        fs::rename(&unnamed, directory)?;
        Ok(lock)
    });
    if claimed.is_err() {
        let _ = fs::remove_dir_all(&unnamed);
    }
    claimed
}

/// Locks a directory for as long as the file is open.
pub(crate) fn own(directory: &Path) -> io::Result<File> {
    let path = directory.join(OWNER);
    let mut owner = OpenOptions::new().write(true).create_new(true).open(path)?;
    // Where locks are not to be had, nothing can be taken for left behind either.
    let _ = flock(&owner, FlockOperation::NonBlockingLockExclusive);
    owner.write_all(host().as_bytes())?;
    Ok(owner)
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Experiments of several machines may begin in one second and with one process number.
fn unique() -> u32 {
    let time = crate::clock::monotonic() ^ crate::clock::wall_offset();
    (time ^ (time >> 32)) as u32
}

/// Removes what experiments that are no more left behind on targets, and tells how many there were.
pub fn remove_left_behind(targets: &[PathBuf]) -> usize {
    targets.iter().map(|target| remove_stale(target)).sum()
}

fn remove_stale(target: &Path) -> usize {
    let Ok(entries) = fs::read_dir(target) else { return 0 };
    let ours = entries.flatten().filter(|entry| {
        entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    ours.filter(|entry| is_stale(&entry.path()) && fs::remove_dir_all(entry.path()).is_ok()).count()
}

fn is_stale(directory: &Path) -> bool {
    let path = directory.join(OWNER);
    let Ok(owner) = File::open(&path) else { return false };
    let is_ours = fs::read_to_string(&path).is_ok_and(|text| text == host());
    is_ours && flock(&owner, FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_goes_and_what_is_in_use_stays() {
        let target = tempfile::tempdir().unwrap();
        let targets = [target.path().to_path_buf()];
        let first = WorkingDirectories::make(&targets).unwrap();
        assert_eq!(remove_left_behind(&targets), 0);
        let left_behind = target.path().join(format!("{PREFIX}dead"));
        fs::create_dir(&left_behind).unwrap();
        fs::write(left_behind.join(OWNER), host()).unwrap();
        fs::write(left_behind.join("burst"), "data").unwrap();
        let foreign = target.path().join(format!("{PREFIX}foreign"));
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join(OWNER), "another host").unwrap();
        let second = WorkingDirectories::make(&targets).unwrap();
        assert_eq!(remove_left_behind(&targets), 1);
        assert!(first.paths()[0].exists() && second.paths()[0].exists() && foreign.exists());
        drop((first, second));
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 1, "only the foreign one stays");
    }

    #[test]
    fn a_target_that_cannot_be_written_leaves_nothing_in_the_others() {
        let target = tempfile::tempdir().unwrap();
        let missing = target.path().join("missing");
        let result = WorkingDirectories::make(&[target.path().to_path_buf(), missing.clone()]);
        assert!(result.is_err_and(|(path, _)| path.starts_with(&missing)));
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
    }
}
