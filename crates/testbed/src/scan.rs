//! What of a bed exists, asked of the kernel and of the directory.

use std::path::PathBuf;

use plimsoll_guarded::Directory;
use plimsoll_machine::{BlockDevice, Machine, Mount};

use crate::bed_directory::entries;
use crate::marker::Mark;
use crate::place::Place;
use crate::state_file::{FileCondition, State, load};
use crate::{Kind, MAX_TARGETS, TargetName, TestbedError};

/// What of a bed exists.
#[derive(Debug)]
pub(crate) struct Found {
    /// Whether the directory is a bed.
    pub(crate) mark: Mark,
    /// Loop devices on the bed's backing files, also on removed ones. Where there is no
    /// marker, on everything that has the name of a backing file.
    pub(crate) devices: Vec<(TargetName, BlockDevice)>,
    /// Everything mounted below the bed's directory, in the order it was mounted.
    pub(crate) mounts: Vec<Mount>,
    /// Everything in the bed's directory.
    pub(crate) entries: Vec<PathBuf>,
    pub(crate) state: Option<State>,
    pub(crate) state_file: FileCondition,
}

impl Found {
    /// Looks at the bed's directory, if it is there, and asks the kernel.
    pub(crate) fn scan(
        machine: &Machine,
        place: &Place,
        bed: Option<&Directory>,
    ) -> Result<Self, TestbedError> {
        let mark = Mark::read(bed, place);
        let (state, state_file) = match (bed, mark.own()) {
            (Some(bed), Some(marker)) => load(bed, place, marker),
            _ => (None, FileCondition::Missing),
        };
        let targets = mark.own().map_or(MAX_TARGETS, |marker| marker.targets);
        Ok(Self {
            devices: devices_of(machine, place, targets)?,
            mounts: mounts_below(machine, place)?,
            entries: bed.map_or(Ok(Vec::new()), entries)?,
            mark,
            state,
            state_file,
        })
    }

    /// Returns the kind of the targets, if this is a bed.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.mark.own().map(|marker| marker.kind)
    }

    /// Returns true if the directory is a bed of this program.
    pub(crate) fn is_bed(&self) -> bool {
        self.mark.own().is_some()
    }

    /// Returns all targets that the bed has or was to have, in order.
    pub(crate) fn targets(&self) -> impl Iterator<Item = TargetName> + use<> {
        TargetName::first(self.mark.own().map_or(0, |marker| marker.targets))
    }

    /// Returns the loop device of a target.
    pub(crate) fn device_of(&self, target: TargetName) -> Option<&BlockDevice> {
        self.devices.iter().find(|(owner, _)| *owner == target).map(|(_, device)| device)
    }

    /// Returns true for a target's file system on that target's directory.
    pub(crate) fn is_own(&self, place: &Place, mount: &Mount) -> bool {
        // A bind mount of a part of the file system has another root.
        let is_whole = mount.root == std::path::Path::new("/");
        let is_targets = |(target, device): &(TargetName, BlockDevice)| {
            place.point(*target) == mount.point && device.number == mount.device
        };
        is_whole && self.devices.iter().any(is_targets)
    }
}

/// Loop devices on the backing files of the first this many targets.
pub(crate) fn devices_of(
    machine: &Machine,
    place: &Place,
    targets: u32,
) -> Result<Vec<(TargetName, BlockDevice)>, TestbedError> {
    let owned = |device: BlockDevice| {
        let target = place.target_of_image(&device.backing.as_ref()?.file)?;
        (target.index() < targets).then_some((target, device))
    };
    let mut devices: Vec<_> = machine.block_devices()?.into_iter().filter_map(owned).collect();
    devices.sort_by_key(|(target, device)| (*target, device.number));
    Ok(devices)
}

/// Everything mounted below the bed's directory, in the order it was mounted.
pub(crate) fn mounts_below(machine: &Machine, place: &Place) -> Result<Vec<Mount>, TestbedError> {
    let directory = place.directory();
    let mut mounts = machine.mounts()?;
    mounts.retain(|mount| mount.point.starts_with(&directory) && mount.point != directory);
    Ok(mounts)
}
