//! How much a directory's file system holds, and what it is.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;
use plimsoll_guarded::Directory;
use rustix::fs::StatVfs;

use crate::{Machine, MachineError};

/// The file system that a directory is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// File system type, e.g. "ext4"; "unknown" when no mount covers the directory.
    pub fs_type: String,
    /// Where it is mounted.
    pub mounted_at: PathBuf,
    /// All that it holds.
    pub total: Bytes,
    /// What an ordinary user can still write (without root's reserve).
    pub available: Bytes,
}

impl Space {
    /// Returns true if the data live in memory, not on a disk.
    pub fn is_memory(&self) -> bool {
        matches!(self.fs_type.as_str(), "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs")
    }
}

impl Machine {
    /// Returns the file system of a directory that exists, and its free space. One that another user serves, or is below one, is not asked.
    pub fn space(&self, directory: &Path) -> Result<Space, MachineError> {
        let failed = |cause| MachineError::Space { path: directory.to_path_buf(), cause };
        let (held, real) =
            Directory::hold_unserved_with_path(&self.locate(directory)).map_err(failed)?;
        let statistics = rustix::fs::fstatvfs(held).map_err(|errno| failed(errno.into()))?;
        // The mounts are named as the machine names them: without the captured root.
        let named = match real.strip_prefix(self.root()) {
            Ok(inside) => Path::new("/").join(inside),
            Err(_) => real,
        };
        self.space_of_mount(&named, statistics)
    }

    /// Returns the same of a directory that is open, whatever has its path meanwhile.
    pub fn space_of_open(&self, directory: impl AsFd, path: &Path) -> Result<Space, MachineError> {
        let statistics = rustix::fs::fstatvfs(directory).map_err(|errno| MachineError::Space {
            path: path.to_path_buf(),
            cause: errno.into(),
        })?;
        self.space_of_mount(path, statistics)
    }

    fn space_of_mount(&self, path: &Path, statistics: StatVfs) -> Result<Space, MachineError> {
        let mount = self.mount_of(path)?;
        let (fs_type, mounted_at) = match mount {
            Some(mount) => (mount.fs_type, mount.point),
            None => ("unknown".to_owned(), PathBuf::from("/")),
        };
        let bytes = |blocks: u64| Bytes::new(blocks.saturating_mul(statistics.f_frsize));
        let (total, available) = (bytes(statistics.f_blocks), bytes(statistics.f_bavail));
        Ok(Space { fs_type, mounted_at, total, available })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn names_the_file_system_of_a_directory() {
        let root = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(root.path()).unwrap();
        fs::create_dir_all(real.join("proc/self")).unwrap();
        fs::create_dir_all(real.join("run/bed")).unwrap();
        let mountinfo = "1 0 8:1 / / rw - xfs /dev/sda1 rw\n2 1 0:9 / /run rw - tmpfs none rw\n";
        fs::write(real.join("proc/self/mountinfo"), mountinfo).unwrap();
        let machine = Machine::at(&real, "");
        let space = machine.space(Path::new("/run/bed")).unwrap();
        assert!(space.is_memory());
        assert_eq!(space.mounted_at, Path::new("/run"));
        assert!(space.total >= space.available);
        assert_eq!(machine.space(Path::new("/")).unwrap().fs_type, "xfs");
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        let error = Machine::host().space(Path::new("/no/such/directory")).unwrap_err();
        assert!(error.to_string().contains("/no/such/directory"), "{error}");
    }
}
