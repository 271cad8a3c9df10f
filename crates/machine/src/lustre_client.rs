//! The Lustre file systems that this machine is a client of: their targets and servers,
//! as the client's own object storage clients (osc) and metadata clients (mdc) see them.
//!
//! The names of those devices, "FSNAME-OST0003-osc-ffff88…", and their connection files
//! have stayed the same over the releases; only their place moved from proc to sysfs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;

use crate::{Machine, MachineError, Mount};

/// Places of client devices, the newer one first (Lustre Operations Manual, "lctl").
const PLACES: [&str; 2] = ["/sys/fs/lustre", "/proc/fs/lustre"];

/// A mounted Lustre file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LustreFileSystem {
    /// Its name, e.g. "scratch".
    pub name: String,
    /// Where it is mounted.
    pub mount: PathBuf,
    /// Its targets, by index.
    pub targets: Vec<LustreTarget>,
    /// Network ids of its metadata servers.
    pub metadata_servers: BTreeSet<String>,
}

/// An object storage target (OST).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LustreTarget {
    /// Its index in the file system.
    pub index: u32,
    /// Network id of the server that serves it now.
    pub server: Option<String>,
    /// How much it holds.
    pub capacity: Option<Bytes>,
}

impl Machine {
    /// Returns all mounted Lustre file systems; empty where there is none.
    pub fn lustre_file_systems(&self) -> Result<Vec<LustreFileSystem>, MachineError> {
        let mut found: BTreeMap<String, LustreFileSystem> = BTreeMap::new();
        for mount in self.lustre_mounts()? {
            let Some(name) = file_system_name(&mount) else { continue };
            let file_system = || LustreFileSystem {
                targets: self.lustre_targets(&name),
                metadata_servers: self.lustre_metadata_servers(&name),
                mount: mount.point.clone(),
                name: name.clone(),
            };
            // The same file system mounted twice is one file system.
            found.entry(name.clone()).or_insert_with(file_system);
        }
        Ok(found.into_values().collect())
    }

    fn lustre_targets(&self, file_system: &str) -> Vec<LustreTarget> {
        let mut targets: BTreeMap<u32, LustreTarget> = BTreeMap::new();
        for device in self.lustre_devices("osc") {
            let Some(index) = device_index(&device, file_system, "-OST", "-osc-") else { continue };
            let kibibytes =
                self.read_line(device.join("kbytestotal")).and_then(|it| it.parse().ok());
            let server = self.read_line(device.join("ost_conn_uuid")).filter(|it| !it.is_empty());
            let capacity = kibibytes.and_then(|it: u64| it.checked_mul(1024)).map(Bytes::new);
            // A metadata server has two devices for a target, and one of them knows less.
            let target = targets.entry(index).or_insert(LustreTarget {
                index,
                server: None,
                capacity: None,
            });
            target.server = target.server.take().or(server);
            target.capacity = target.capacity.or(capacity);
        }
        targets.into_values().collect()
    }

    fn lustre_metadata_servers(&self, file_system: &str) -> BTreeSet<String> {
        self.lustre_devices("mdc")
            .iter()
            .filter(|device| device_index(device, file_system, "-MDT", "-mdc-").is_some())
            .filter_map(|device| self.read_line(device.join("mds_conn_uuid")))
            .filter(|server| !server.is_empty())
            .collect()
    }

    fn lustre_devices(&self, kind: &str) -> Vec<PathBuf> {
        let mut devices = Vec::new();
        for place in PLACES.map(|place| Path::new(place).join(kind)) {
            let Ok(entries) = fs::read_dir(self.locate(&place)) else { continue };
            devices.extend(entries.flatten().map(|entry| place.join(entry.file_name())));
        }
        devices.sort();
        devices
    }
}

/// "10.0.0.1@tcp:10.0.0.2@tcp:/scratch/sub" names the file system "scratch". On a server,
/// targets are mounted with the same type but from a device: those have no ":/".
fn file_system_name(mount: &Mount) -> Option<String> {
    let source = mount.source.to_str()?;
    let (_, path) = source.split_once(":/")?;
    let name = path.split('/').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// "scratch-OST000a-osc-ffff8800" is index 10 of "scratch".
fn device_index(device: &Path, file_system: &str, kind: &str, client: &str) -> Option<u32> {
    let name = device.file_name()?.to_str()?;
    let index = name.strip_prefix(file_system)?.strip_prefix(kind)?.split_once(client)?.0;
    u32::from_str_radix(index, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let machine = Machine::at(root.path(), "");
        (root, machine)
    }

    const MOUNTINFO: &str = "\
90 1 0:41 / /lustre rw shared:1 - lustre 10.0.0.1@tcp:10.0.0.2@tcp:/scratch rw,flock
91 1 0:41 / /again rw shared:1 - lustre 10.0.0.1@tcp:/scratch rw
92 1 8:1 / /mnt/ost rw shared:1 - lustre /dev/sdb rw
";

    #[test]
    fn finds_targets_and_servers_in_proc_and_sysfs() {
        let (_root, machine) = machine(&[
            ("proc/self/mountinfo", MOUNTINFO),
            ("sys/fs/lustre/osc/scratch-OST000a-osc-ffff88/ost_conn_uuid", "10.0.0.5@tcp\n"),
            ("sys/fs/lustre/osc/scratch-OST000a-osc-ffff88/kbytestotal", "4\n"),
            ("proc/fs/lustre/osc/scratch-OST0001-osc-ffff88/ost_conn_uuid", "10.0.0.6@tcp\n"),
            ("proc/fs/lustre/osc/other-OST0002-osc-ffff88/ost_conn_uuid", "10.0.0.7@tcp\n"),
            ("proc/fs/lustre/osc/scratch-OSTzzzz-osc-ffff88/ost_conn_uuid", "junk\n"),
            ("proc/fs/lustre/mdc/scratch-MDT0000-mdc-ffff88/mds_conn_uuid", "10.0.0.2@tcp\n"),
        ]);
        let found = machine.lustre_file_systems().unwrap();
        assert_eq!(found.len(), 1, "mounted twice, and a server's own mount is not a client's");
        assert_eq!(found[0].mount, Path::new("/lustre"));
        assert_eq!(found[0].metadata_servers, BTreeSet::from(["10.0.0.2@tcp".to_string()]));
        assert_eq!(
            found[0].targets,
            [
                LustreTarget { index: 1, server: Some("10.0.0.6@tcp".into()), capacity: None },
                LustreTarget {
                    index: 10,
                    server: Some("10.0.0.5@tcp".into()),
                    capacity: Some(Bytes::new(4096))
                },
            ]
        );
    }

    #[test]
    fn a_machine_without_lustre_has_none() {
        let (_root, machine) = machine(&[("proc/self/mountinfo", "")]);
        assert_eq!(machine.lustre_file_systems().unwrap(), []);
    }
}
