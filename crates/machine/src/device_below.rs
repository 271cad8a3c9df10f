//! Which block device a directory's file system lies on, and what it has done.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use plimsoll_guarded::Directory;

use crate::{BlockDevice, DeviceNumber, DiskCounters, Machine, MachineError, parse_block_stat};

impl Machine {
    /// Returns the block device below a directory: a disk, a partition, a loop device or a volume.
    /// `None` for memory, network and stacked file systems.
    pub fn device_below(&self, directory: &Path) -> Result<Option<BlockDevice>, MachineError> {
        let failed = |cause| MachineError::Space { path: directory.to_path_buf(), cause };
        let (held, real) =
            Directory::hold_unserved_with_path(&self.locate(directory)).map_err(failed)?;
        self.device_below_open(held, &real)
    }

    /// Returns the same of a directory that is open, whatever has its path meanwhile.
    pub fn device_below_open(
        &self,
        directory: impl AsFd,
        path: &Path,
    ) -> Result<Option<BlockDevice>, MachineError> {
        let facts = rustix::fs::fstat(directory).map_err(|errno| MachineError::Space {
            path: path.to_path_buf(),
            cause: errno.into(),
        })?;
        self.device_of_number(facts.st_dev, path)
    }

    fn device_of_number(
        &self,
        device: u64,
        path: &Path,
    ) -> Result<Option<BlockDevice>, MachineError> {
        let mut devices = self.block_devices()?;
        let mut take = |number| {
            let found = devices.iter().position(|device| device.number == number);
            found.map(|index| devices.swap_remove(index))
        };
        if let Some(device) = take(number_of(device)) {
            return Ok(Some(device));
        }
        // btrfs gives its files numbers of their own; its mount names the (first) device.
        let source = self.mount_of(path)?.map(|mount| mount.source);
        let source = source.filter(|source| Path::new(source).starts_with("/dev"));
        let number = source.and_then(|source| fs::metadata(self.locate(source)).ok());
        Ok(number.and_then(|source| take(number_of(source.rdev()))))
    }

    /// Returns what the block device of that name has done since it appeared. `None` when it is gone.
    pub fn block_stat(&self, name: &str) -> Option<DiskCounters> {
        let path = Path::new("/sys/class/block").join(name).join("stat");
        parse_block_stat(&self.read_line(path)?)
    }
}

fn number_of(device: u64) -> DeviceNumber {
    DeviceNumber { major: rustix::fs::major(device), minor: rustix::fs::minor(device) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_lies_on_no_device() {
        let machine = Machine::host();
        let memory = Path::new("/dev/shm");
        if !machine.space(memory).is_ok_and(|space| space.is_memory()) {
            eprintln!("SKIPPED: /dev/shm is not memory here");
            return;
        }
        assert_eq!(machine.device_below(memory).unwrap(), None);
        assert!(machine.device_below(Path::new("/no/such/directory")).is_err());
        assert_eq!(machine.block_stat("no-such-device"), None);
    }

    #[test]
    fn a_disk_has_counters() {
        let machine = Machine::host();
        let Ok(Some(device)) = machine.device_below(Path::new("/var/tmp")) else {
            eprintln!("SKIPPED: /var/tmp lies on no block device here");
            return;
        };
        let before = machine.block_stat(&device.name).unwrap();
        let after = machine.block_stat(&device.name).unwrap();
        assert!(after.writes >= before.writes && after.reads >= before.reads);
    }
}
