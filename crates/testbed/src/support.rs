//! What the host can give a bed, and what is missing.

use plimsoll_machine::{BlockControl, Machine, Space};

use crate::file_system::mkfs_program;
use crate::{FileSystem, Kind, KindChoice, TestbedError};

/// Something that a bed should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Targets can be slowed down.
    Limits,
    /// The kernel counts what each target does.
    BlockCounters,
    /// Targets have their own space and do not share a journal.
    Isolation,
    /// Loop devices bypass the page cache of the file system below.
    DirectIo,
    /// The data are on a disk and not in memory.
    Disk,
}

impl Feature {
    /// Returns its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limits => "limits",
            Self::BlockCounters => "block counters",
            Self::Isolation => "isolation",
            Self::DirectIo => "direct I/O",
            Self::Disk => "disk",
        }
    }
}

/// What a bed does not have, for one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// What is missing.
    pub features: Vec<Feature>,
    /// Why.
    pub why: String,
    /// What would provide it.
    pub remedy: String,
}

impl Lacking {
    pub(crate) fn new(features: &[Feature], why: &str, remedy: &str) -> Self {
        let (why, remedy) = (why.to_owned(), remedy.to_owned());
        Self { features: features.to_vec(), why, remedy }
    }

    /// Returns the names of what is missing: "limits, block counters and isolation".
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.features.iter().map(|feature| feature.name()).collect();
        match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }
}

/// Decides what targets will be, and what they will lack as a result. A request for a
/// file system is a request for loop devices.
pub(crate) fn choose(
    machine: &Machine,
    choice: KindChoice,
    file_system: Option<FileSystem>,
) -> Result<(Kind, Vec<Lacking>), TestbedError> {
    let obstacle = match choice {
        KindChoice::Directory => {
            let remedy = match file_system {
                Some(_) => "leave out --file-system, or ask for loop devices",
                None => "ask for loop devices",
            };
            Some(without_loop("plain directories were asked for", remedy))
        }
        KindChoice::Auto | KindChoice::Loop => {
            loop_obstacle(machine, file_system.unwrap_or_default())?
        }
    };
    let needs_loop = choice == KindChoice::Loop || file_system.is_some();
    match obstacle {
        None => Ok((Kind::Loop, no_limits(machine)?.into_iter().collect())),
        Some(lacking) if needs_loop => Err(TestbedError::NoLoop { lacking: Box::new(lacking) }),
        Some(lacking) => Ok((Kind::Directory, vec![lacking])),
    }
}

/// Returns what stands against loop devices, and what would help.
fn loop_obstacle(
    machine: &Machine,
    file_system: FileSystem,
) -> Result<Option<Lacking>, TestbedError> {
    const ROOT: u32 = 0;
    if machine.effective_uid()? != ROOT {
        return Ok(Some(without_loop("loop devices need root", "run as root")));
    }
    if !machine.has_loop_control() {
        let remedy = "load the loop driver with: modprobe loop (in a container: on its host)";
        return Ok(Some(without_loop("there is no /dev/loop-control", remedy)));
    }
    let missing = ["losetup", mkfs_program(file_system)]
        .into_iter()
        .find(|program| machine.find_system_program(program).is_none());
    Ok(missing.map(|program| {
        let remedy = format!("install {}", package_of(program));
        without_loop(&format!("{program} is not installed"), &remedy)
    }))
}

fn package_of(program: &str) -> &'static str {
    match program {
        "mkfs.ext4" => "e2fsprogs",
        "mkfs.xfs" => "xfsprogs",
        _ => "util-linux",
    }
}

fn without_loop(why: &str, remedy: &str) -> Lacking {
    Lacking::new(&[Feature::Limits, Feature::BlockCounters, Feature::Isolation], why, remedy)
}

fn no_limits(machine: &Machine) -> Result<Option<Lacking>, TestbedError> {
    let BlockControl::Neither { .. } = machine.block_control()? else { return Ok(None) };
    let remedy = "boot a kernel with CONFIG_BLK_CGROUP and CONFIG_BLK_DEV_THROTTLING and mount \
                  cgroup v2 with the io and memory controllers";
    Ok(Some(Lacking::new(&[Feature::Limits], &no_control(machine)?, remedy)))
}

/// Returns why block devices cannot be limited here; empty when they can.
pub(crate) fn no_control(machine: &Machine) -> Result<String, TestbedError> {
    match machine.block_control()? {
        BlockControl::Neither { reasons } => {
            Ok(reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }
        BlockControl::V1 { .. } | BlockControl::V2 { .. } => Ok(String::new()),
    }
}

/// A bed in memory measures the memory.
pub(crate) fn no_disk(space: &Space) -> Option<Lacking> {
    let why = format!("{} is {}, which is memory", space.mounted_at.display(), space.fs_type);
    let remedy = "choose a base directory on a disk";
    space.is_memory().then(|| Lacking::new(&[Feature::Disk], &why, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn machine(uid: u32, programs: &[&str]) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        for directory in ["proc/self", "dev", "usr/sbin"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        let status = format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n");
        fs::write(root.path().join("proc/self/status"), status).unwrap();
        fs::write(root.path().join("proc/self/mountinfo"), "").unwrap();
        fs::write(root.path().join("dev/loop-control"), "").unwrap();
        for program in programs {
            let path = root.path().join("usr/sbin").join(program);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let machine = Machine::at(root.path(), "");
        (root, machine)
    }

    #[test]
    fn directories_where_loop_devices_cannot_be_had() {
        let (_root, user) = machine(1000, &["losetup", "mkfs.ext4"]);
        let (kind, lacking) = choose(&user, KindChoice::Auto, None).unwrap();
        assert_eq!(kind, Kind::Directory);
        assert_eq!(lacking.len(), 1, "the cause is told once");
        assert_eq!(lacking[0].names(), "limits, block counters and isolation");
        assert_eq!(lacking[0].remedy, "run as root");
        let (_root, bare) = machine(0, &["losetup"]);
        let (_, lacking) = choose(&bare, KindChoice::Auto, None).unwrap();
        assert_eq!(lacking[0].remedy, "install e2fsprogs");
    }

    #[test]
    fn a_file_system_that_was_asked_for_is_had_or_an_error() {
        let (_root, without_xfs) = machine(0, &["losetup", "mkfs.ext4"]);
        let error = choose(&without_xfs, KindChoice::Auto, Some(FileSystem::Xfs)).unwrap_err();
        assert_eq!(error.to_string(), "cannot make loop devices: mkfs.xfs is not installed");
        assert_eq!(error.hint().as_deref(), Some("install xfsprogs"));
        let (kind, _) = choose(&without_xfs, KindChoice::Auto, Some(FileSystem::Ext4)).unwrap();
        assert_eq!(kind, Kind::Loop);
        let error = choose(&without_xfs, KindChoice::Directory, Some(FileSystem::Ext4));
        assert!(matches!(error, Err(TestbedError::NoLoop { .. })));
        let (_root, user) = machine(1000, &["losetup", "mkfs.ext4"]);
        let error = choose(&user, KindChoice::Auto, Some(FileSystem::Ext4)).unwrap_err();
        assert_eq!(error.hint().as_deref(), Some("run as root"));
    }

    #[test]
    fn loop_devices_or_an_error_when_asked_for() {
        let (_root, user) = machine(1000, &["losetup", "mkfs.ext4"]);
        let error = choose(&user, KindChoice::Loop, None).unwrap_err();
        assert_eq!(error.to_string(), "cannot make loop devices: loop devices need root");
        assert_eq!(error.hint().as_deref(), Some("run as root"));
        let (_root, root) = machine(0, &["losetup", "mkfs.ext4"]);
        let (kind, lacking) = choose(&root, KindChoice::Loop, None).unwrap();
        assert_eq!(kind, Kind::Loop);
        assert_eq!(lacking[0].features, [Feature::Limits], "there is no cgroup in this tree");
    }
}
