//! Block devices, from `/sys/class/block`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;

use crate::{DeviceNumber, Machine, MachineError, Mount};

const BLOCK_CLASS: &str = "/sys/class/block";

/// Sizes in sysfs count sectors of 512 bytes whatever the disk's own sector size
/// (SECTOR_SHIFT in include/linux/blk_types.h).
const SYSFS_SECTOR: u64 = 512;

/// What the kernel appends to the name of a file that was removed while open
/// (d_path in fs/d_path.c).
const DELETED_SUFFIX: &[u8] = b" (deleted)";

/// One block device: a disk, a partition or a loop device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDevice {
    /// The kernel's name, e.g. "sda" or "loop0".
    pub name: String,
    /// Its number.
    pub number: DeviceNumber,
    /// How much it holds; zero for a loop device without a file.
    pub size: Bytes,
    /// True for spinning disks, as the kernel believes; `None` when it does not say.
    pub rotational: Option<bool>,
    /// The file behind a loop device.
    pub backing: Option<LoopBacking>,
    /// Where its file system is mounted; empty when it is not.
    pub mounted_at: Vec<PathBuf>,
}

/// The file behind a loop device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopBacking {
    /// Its path as the kernel resolved it, without symlinks.
    pub file: PathBuf,
    /// True when the file was removed while the device still uses it.
    pub deleted: bool,
    /// True when the device bypasses the page cache of the file system below.
    pub direct_io: bool,
}

impl BlockDevice {
    /// Returns the path of the device, e.g. "/dev/loop0".
    pub fn path(&self) -> PathBuf {
        device_path(&self.name)
    }
}

fn device_path(name: &str) -> PathBuf {
    // sysfs writes "!" for "/" in names (kobject_set_name_vargs in lib/kobject.c).
    Path::new("/dev").join(name.replace('!', "/"))
}

impl Machine {
    /// Returns all block devices, ordered by name.
    pub fn block_devices(&self) -> Result<Vec<BlockDevice>, MachineError> {
        let entries = fs::read_dir(self.locate(BLOCK_CLASS)).map_err(|cause| {
            let path = PathBuf::from(BLOCK_CLASS);
            MachineError::Read { what: "the block devices", path, cause }
        })?;
        let mounts = self.mounts()?;
        let mut devices: Vec<BlockDevice> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter_map(|name| self.block_device(name, &mounts))
            .collect();
        devices.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(devices)
    }

    /// `None` when the device went away while it was looked at.
    fn block_device(&self, name: String, mounts: &[Mount]) -> Option<BlockDevice> {
        let directory = Path::new(BLOCK_CLASS).join(&name);
        let number: DeviceNumber = self.read_line(directory.join("dev"))?.parse().ok()?;
        let sectors: u64 = self.read_line(directory.join("size"))?.trim().parse().ok()?;
        let paths = self.device_paths(&name);
        // btrfs gives its mounts numbers of their own, but names the (first) device as their source. Users who serve one themselves (FUSE) name any source.
        let is_here = |mount: &&Mount| {
            let is_source = || paths.iter().any(|path| path.as_os_str() == mount.source);
            mount.device == number || mount.served_by().is_none() && is_source()
        };
        let mounted_at = mounts.iter().filter(is_here).map(|mount| mount.point.clone()).collect();
        Some(BlockDevice {
            number,
            size: Bytes::new(sectors.saturating_mul(SYSFS_SECTOR)),
            rotational: self.rotational(&name),
            backing: self.loop_backing(&directory),
            mounted_at,
            name,
        })
    }

    /// Returns the paths by which mounts name the device: a volume of the device mapper also has one by its name.
    fn device_paths(&self, name: &str) -> Vec<PathBuf> {
        let mapped = self.read_line(Path::new(BLOCK_CLASS).join(name).join("dm/name"));
        let mapped = mapped.map(|name| Path::new("/dev/mapper").join(name));
        [Some(device_path(name)), mapped].into_iter().flatten().collect()
    }

    /// Returns whether the disk rotates. A partition has no queue of its own; its disk is the directory above.
    fn rotational(&self, name: &str) -> Option<bool> {
        let device = Path::new(BLOCK_CLASS).join(name);
        let own = device.join("queue/rotational");
        let disk = device.join("../queue/rotational");
        let line = self.read_line(own).or_else(|| self.read_line(disk))?;
        Some(line.trim() == "1")
    }

    fn loop_backing(&self, directory: &Path) -> Option<LoopBacking> {
        let bytes = self.bytes(directory.join("loop/backing_file")).ok()?;
        let (file, deleted) = parse_backing_file(&bytes)?;
        let direct_io = self.read_line(directory.join("loop/dio")).as_deref() == Some("1");
        Some(LoopBacking { file, deleted, direct_io })
    }
}

/// Returns the path in `loop/backing_file`, and whether the kernel marked it as deleted.
///
/// A file whose own name ends in " (deleted)" cannot be told from a removed one:
/// the kernel does not escape it.
fn parse_backing_file(bytes: &[u8]) -> Option<(PathBuf, bool)> {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let (path, deleted) = match line.strip_suffix(DELETED_SUFFIX) {
        Some(path) => (path, true),
        None => (line, false),
    };
    let file = PathBuf::from(OsString::from_vec(path.to_vec()));
    (!file.as_os_str().as_bytes().is_empty()).then_some((file, deleted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured() -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let mounts = "1 0 8:1 / /data rw - ext4 /dev/sda1 rw\n\
            2 0 0:31 /@ /pool rw - btrfs /dev/sda rw\n\
            3 0 0:32 / /volume rw - btrfs /dev/mapper/vg-lv rw\n\
            4 0 0:33 / /forged rw - fuse.ext4 /dev/sda rw,user_id=1002,group_id=1002\n";
        write("proc/self/mountinfo", mounts);
        write("sys/devices/virtual/dm-0/dev", "253:0\n");
        write("sys/devices/virtual/dm-0/size", "64\n");
        write("sys/devices/virtual/dm-0/dm/name", "vg-lv\n");
        write("sys/devices/disk/sda/dev", "8:0\n");
        write("sys/devices/disk/sda/size", "2048\n");
        write("sys/devices/disk/sda/queue/rotational", "1\n");
        write("sys/devices/disk/sda/sda1/dev", "8:1\n");
        write("sys/devices/disk/sda/sda1/size", "1024\n");
        write("sys/devices/virtual/loop0/dev", "7:0\n");
        write("sys/devices/virtual/loop0/size", "64\n");
        write("sys/devices/virtual/loop0/loop/backing_file", "/a b/t0.img (deleted)\n");
        write("sys/devices/virtual/loop0/loop/dio", "1\n");
        write("sys/devices/virtual/gone/dev", "junk\n");
        fs::create_dir_all(root.path().join("sys/class/block")).unwrap();
        for (name, target) in [
            ("sda", "disk/sda"),
            ("sda1", "disk/sda/sda1"),
            ("dm-0", "virtual/dm-0"),
            ("loop0", "virtual/loop0"),
            ("gone", "virtual/gone"),
        ] {
            let link = root.path().join("sys/class/block").join(name);
            std::os::unix::fs::symlink(format!("../../devices/{target}"), link).unwrap();
        }
        let machine = Machine::at(root.path(), "");
        (root, machine)
    }

    #[test]
    fn reads_disks_partitions_and_loop_devices() {
        let (_root, machine) = captured();
        let devices = machine.block_devices().unwrap();
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["dm-0", "loop0", "sda", "sda1"]);
        let [volume, looped, disk, partition] = &devices[..] else { panic!("{devices:?}") };
        let backing = looped.backing.as_ref().unwrap();
        assert_eq!(backing.file, Path::new("/a b/t0.img"));
        assert!(backing.deleted && backing.direct_io);
        assert_eq!(disk.size, Bytes::new(1 << 20));
        assert_eq!(partition.rotational, Some(true), "asked of the disk");
        assert_eq!(partition.mounted_at, [Path::new("/data")]);
        assert_eq!(partition.path(), Path::new("/dev/sda1"));
        assert_eq!(disk.mounted_at, [Path::new("/pool")], "btrfs tells it by the source only");
        assert_eq!(volume.mounted_at, [Path::new("/volume")], "and by a volume's name");
    }

    #[test]
    fn a_backing_file_may_have_any_name() {
        let parse = |text: &[u8]| parse_backing_file(text);
        assert_eq!(parse(b"/x\xff.img\n").unwrap().0.as_os_str().as_bytes(), b"/x\xff.img");
        assert_eq!(parse(b"\n"), None);
        assert_eq!(parse(b" (deleted)"), None);
    }
}
