//! Whether file systems in user space can be mounted.

use std::path::PathBuf;

use crate::Machine;

/// What FUSE needs (Documentation/filesystems/fuse/fuse.rst).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fuse {
    /// True when `/dev/fuse` is there.
    pub device: bool,
    /// The set-uid helper that mounts for ordinary users: fusermount3 of libfuse 3.
    pub fusermount3: Option<PathBuf>,
}

impl Fuse {
    /// Returns true if an ordinary user can mount; root needs the device only.
    pub fn for_everyone(&self) -> bool {
        self.device && self.fusermount3.is_some()
    }
}

impl Machine {
    /// Returns which parts of FUSE are there.
    pub fn fuse(&self) -> Fuse {
        Fuse {
            device: self.locate("/dev/fuse").exists(),
            fusermount3: self.find_program("fusermount3"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn needs_device_and_helper() {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(root.path(), "/bin");
        assert!(!machine.fuse().for_everyone());
        fs::create_dir_all(root.path().join("dev")).unwrap();
        fs::write(root.path().join("dev/fuse"), "").unwrap();
        assert_eq!(machine.fuse(), Fuse { device: true, fusermount3: None });
        fs::create_dir_all(root.path().join("bin")).unwrap();
        let helper = root.path().join("bin/fusermount3");
        fs::write(&helper, "").unwrap();
        fs::set_permissions(&helper, fs::Permissions::from_mode(0o4755)).unwrap();
        assert!(machine.fuse().for_everyone());
    }
}
