//! Which disks lie below a block device.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::Machine;

const BLOCK_CLASS: &str = "/sys/class/block";

impl Machine {
    /// Returns the disks that the block device of that name lies on, by their kernel names: of a partition its
    /// disk, of a volume (LVM, RAID, dm-crypt) those of all its members, and of anything else itself.
    pub fn disks_below(&self, name: &str) -> BTreeSet<String> {
        let mut disks = BTreeSet::new();
        // Each is looked at once: there may be many ways to a device, and in a captured tree it may lie on itself.
        let mut looked_at = BTreeSet::from([name.to_owned()]);
        let mut left = vec![name.to_owned()];
        while let Some(device) = left.pop() {
            let below = self.directly_below(&device);
            if below.is_empty() {
                disks.insert(device);
            }
            left.extend(below.into_iter().filter(|it| looked_at.insert(it.clone())));
        }
        if disks.is_empty() {
            disks.insert(name.to_owned());
        }
        disks
    }

    /// Returns the members of a volume, or the disk of a partition; nothing below anything else.
    fn directly_below(&self, name: &str) -> Vec<String> {
        let directory = Path::new(BLOCK_CLASS).join(name);
        let members = fs::read_dir(self.locate(directory.join("slaves"))).into_iter().flatten();
        let members = members.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        members.chain(self.disk_of_partition(&directory)).collect()
    }

    /// A partition's directory lies in its disk's, and has its number in a file.
    fn disk_of_partition(&self, directory: &Path) -> Option<String> {
        self.read_line(directory.join("partition"))?;
        let real = fs::canonicalize(self.locate(directory)).ok()?;
        Some(real.parent()?.file_name()?.to_str()?.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// /dev/sda with a partition, and LVM over that and a whole /dev/sdb.
    fn captured() -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        let devices = root.path().join("sys/devices");
        for directory in ["sda/sda1", "sdb", "dm-0/slaves", "dm-1/slaves", "loop0/slaves"] {
            fs::create_dir_all(devices.join(directory)).unwrap();
        }
        fs::write(devices.join("sda/sda1/partition"), "1\n").unwrap();
        for member in ["dm-0/slaves/sda1", "dm-0/slaves/sdb", "dm-1/slaves/dm-0"] {
            fs::write(devices.join(member), "").unwrap();
        }
        fs::create_dir_all(root.path().join("sys/class/block")).unwrap();
        for name in ["sda", "sda/sda1", "sdb", "dm-0", "dm-1", "loop0"] {
            let link =
                root.path().join("sys/class/block").join(Path::new(name).file_name().unwrap());
            std::os::unix::fs::symlink(format!("../../devices/{name}"), link).unwrap();
        }
        let machine = Machine::at(root.path(), "");
        (root, machine)
    }

    #[test]
    fn partitions_and_volumes_lie_on_disks() {
        let (_root, machine) = captured();
        let disks = |name: &str| Vec::from_iter(machine.disks_below(name));
        assert_eq!(disks("sda1"), ["sda"]);
        assert_eq!(disks("sda"), ["sda"]);
        assert_eq!(disks("dm-0"), ["sda", "sdb"]);
        assert_eq!(disks("dm-1"), ["sda", "sdb"], "two volumes deep");
        assert_eq!(disks("loop0"), ["loop0"]);
        assert_eq!(disks("gone"), ["gone"]);
    }

    #[test]
    fn a_volume_that_holds_itself_ends() {
        let (root, machine) = captured();
        fs::write(root.path().join("sys/devices/dm-0/slaves/dm-1"), "").unwrap();
        assert!(machine.disks_below("dm-1").contains("sda"));
    }

    /// The symptom: `site init --root` of a tree of half a kilobyte had no end. There are 16^16 ways through these.
    #[test]
    fn volumes_that_hold_each_other_are_looked_at_once() {
        let (root, machine) = captured();
        let volumes: Vec<String> = (10..26).map(|it| format!("dm-{it}")).collect();
        for volume in &volumes {
            let slaves = root.path().join(format!("sys/class/block/{volume}/slaves"));
            fs::create_dir_all(&slaves).unwrap();
            volumes.iter().for_each(|it| fs::write(slaves.join(it), "").unwrap());
        }
        let disks = |name: &str| Vec::from_iter(machine.disks_below(name));
        assert_eq!(disks("dm-10"), ["dm-10"], "there is no disk");
        fs::write(root.path().join("sys/class/block/dm-25/slaves/sda1"), "").unwrap();
        assert_eq!(disks("dm-10"), ["sda"]);
    }
}
