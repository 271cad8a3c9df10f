//! How full mounted file systems are.

use std::collections::HashSet;

use plimsoll_guarded::{Directory, mount_of};
use plimsoll_history::{Component, ComponentKind, Measure, Value};
use plimsoll_machine::{Machine, MachineError, Mount};
use rustix::fs::{StatVfs, fstatvfs};

use crate::readings::Readings;

/// The file systems of this machine's own disks. Those of others' machines and processes may not answer, and are not asked; Lustre's
/// own say it by other means.
#[derive(Debug, Default)]
pub struct Mounts {
    points: Vec<(Component, Mount)>,
}

impl Mounts {
    /// Looks what is mounted. A captured tree has mounts but no file systems behind them.
    ///
    /// Fails if the kernel does not tell.
    pub fn find(machine: &Machine, cluster: &str) -> Result<Self, MachineError> {
        if machine.root() != std::path::Path::new("/") {
            return Ok(Self::default());
        }
        let mut seen = HashSet::new();
        let mut mounts = machine.mounts()?;
        mounts.retain(|mount| is_of_own_disk(mount) && seen.insert(mount.device));
        let component = |mount: &Mount| {
            let name = mount.point.to_string_lossy();
            Component::new(ComponentKind::Mount, name).of_cluster(cluster)
        };
        Ok(Self { points: mounts.into_iter().map(|mount| (component(&mount), mount)).collect() })
    }

    /// Returns their components.
    pub fn components(&self) -> impl Iterator<Item = &Component> {
        self.points.iter().map(|(component, _)| component)
    }

    /// Adds a reading of each one that is still there and answers. Whoever owns a directory above it may have mounted a file system there
    /// meanwhile, and is not asked for the way, or have put something else in its place.
    pub fn take(&self, server: &str, time: u64, readings: &mut Readings) {
        for (component, mount) in &self.points {
            let Some(space) = space_of(mount) else { continue };
            let reading = readings.next(component, server, time, 0);
            let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
            for (measure, value) in [
                (Measure::CapacityBytes, bytes(space.f_blocks)),
                (Measure::FreeBytes, bytes(space.f_bfree)),
                (Measure::AvailableBytes, bytes(space.f_bavail)),
                (Measure::Inodes, space.f_files),
                (Measure::FreeInodes, space.f_ffree),
            ] {
                reading.values.push(Value::new(measure, value));
            }
        }
    }
}

/// Returns how full it is; `None` if its place leads elsewhere now.
fn space_of(mount: &Mount) -> Option<StatVfs> {
    let held = Directory::hold_unserved(&mount.point).ok()?;
    let is_it = mount_of(&held).is_none_or(|number| number == mount.number);
    if is_it { fstatvfs(held).ok() } else { None }
}

fn is_of_own_disk(mount: &Mount) -> bool {
    let is_device = mount.source.as_encoded_bytes().starts_with(b"/dev/");
    is_device && !mount.is_network() && !mount.fs_type.starts_with("fuse")
}
