//! Targets that are not independent: one directory, or directories on one disk or one file system.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use plimsoll_guarded::Directory;
use rustix::fs::fstat;

use crate::{BlockDevice, Machine};

/// Some targets and what they all lie on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneStorage {
    /// The disk or the file system.
    pub what: String,
    /// Names of the targets.
    pub targets: Vec<String>,
}

impl OneStorage {
    /// Returns a one-line warning about it.
    pub fn warning(&self) -> String {
        const SHOWN: usize = 6;
        let shown = &self.targets[..self.targets.len().min(SHOWN)];
        let more = match self.targets.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "{}{more} lie on one storage, {}: what one gets the others lack, so that they cannot be compared",
            shown.join(", "),
            self.what
        )
    }
}

/// Returns the names of the first two targets that are one directory, whatever links and mounts lead there. A
/// directory that cannot be looked at is like no other.
pub fn one_directory<'a>(
    targets: impl IntoIterator<Item = (&'a str, &'a Path)>,
) -> Option<(&'a str, &'a str)> {
    let mut seen: HashMap<(u64, u64), &str> = HashMap::new();
    targets.into_iter().find_map(|(name, path)| {
        let facts = fstat(Directory::hold_unserved(path).ok()?).ok()?;
        let first = seen.insert((facts.st_dev, facts.st_ino), name)?;
        Some((first, name))
    })
}

impl Machine {
    /// Returns every storage that more than one of these targets lies on. Loop devices are storage of their own, whatever
    /// their files lie on: the targets of a test bed are meant to be told apart.
    pub fn shared_storage<'a>(
        &self,
        targets: impl IntoIterator<Item = (&'a str, &'a Path)>,
    ) -> Vec<OneStorage> {
        let mut lying_on: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, path) in targets {
            for storage in storage_of(self, path) {
                lying_on.entry(storage).or_default().push(name.to_owned());
            }
        }
        let mut shared: Vec<OneStorage> = Vec::new();
        for (what, targets) in lying_on.into_iter().filter(|(_, targets)| targets.len() > 1) {
            // A volume over several disks is told once.
            match shared.iter_mut().find(|known| known.targets == targets) {
                Some(known) => known.what = format!("{} and {what}", known.what),
                None => shared.push(OneStorage { what, targets }),
            }
        }
        shared
    }
}

/// Returns the disks below a directory, or else its file system; nothing if neither is known.
fn storage_of(machine: &Machine, path: &Path) -> Vec<String> {
    let on_disks = |device: BlockDevice| {
        let disks = machine.disks_below(&device.name).into_iter();
        disks.map(|disk| format!("the disk /dev/{}", disk.replace('!', "/"))).collect()
    };
    if let Ok(Some(device)) = machine.device_below(path) {
        return on_disks(device);
    }
    let Ok((held, real)) = Directory::hold_unserved_with_path(path) else { return Vec::new() };
    let Ok(facts) = fstat(held) else { return Vec::new() };
    let mount = machine.mount_of(&real).ok().flatten();
    let named = mount.map_or_else(
        || format!("the file system {}", facts.st_dev),
        |mount| format!("the {} at {}", mount.fs_type, mount.point.display()),
    );
    vec![named]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_one_file_system_are_told_together() {
        let machine = Machine::host();
        let here = tempfile::tempdir_in("/var/tmp").unwrap();
        let other = tempfile::tempdir_in("/var/tmp").unwrap();
        let found = machine.shared_storage([("a", here.path()), ("b", other.path())]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].targets, ["a", "b"]);
        assert!(found[0].warning().starts_with("a, b lie on one storage, the "), "{found:?}");
        assert_eq!(machine.shared_storage([("a", here.path())]), []);
        if let Ok(memory) = tempfile::tempdir_in("/dev/shm") {
            assert_eq!(machine.shared_storage([("a", here.path()), ("m", memory.path())]), []);
        }
        assert_eq!(machine.shared_storage([("x", Path::new("/no/such")); 2]), []);
    }

    #[test]
    fn a_directory_is_known_whatever_leads_there() {
        let folder = tempfile::tempdir().unwrap();
        let (here, link) = (folder.path().join("here"), folder.path().join("link"));
        std::fs::create_dir(&here).unwrap();
        std::os::unix::fs::symlink(&here, &link).unwrap();
        let none = Path::new("/no/such");
        let targets = [("x", none), ("a", here.as_path()), ("y", none), ("f", folder.path())];
        assert_eq!(one_directory(targets), None);
        let targets = targets.into_iter().chain([("b", link.as_path()), ("c", here.as_path())]);
        assert_eq!(one_directory(targets), Some(("a", "b")));
    }

    #[test]
    fn many_are_counted() {
        let targets = (0..9).map(|index| format!("t{index}")).collect();
        let warning = OneStorage { what: "the disk /dev/sda".into(), targets }.warning();
        assert!(warning.starts_with("t0, t1, t2, t3, t4, t5 and 3 more lie on"), "{warning}");
    }
}
