//! What of a bed exists, asked of the kernel and of the directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use plimsoll_machine::{BlockDevice, Machine, Mount};

use crate::bed_directory::{entries, marked_kind};
use crate::place::Place;
use crate::state_file::{Record, State, load};
use crate::{Kind, TargetName, TestbedError};

/// What of a bed exists.
#[derive(Debug)]
pub(crate) struct Found {
    /// Loop devices on the bed's backing files, also on removed ones.
    pub(crate) devices: Vec<(TargetName, BlockDevice)>,
    /// Everything mounted below the bed's directory, in the order it was mounted.
    pub(crate) mounts: Vec<Mount>,
    /// Targets with a backing file.
    pub(crate) images: BTreeSet<TargetName>,
    /// Targets with a directory.
    pub(crate) points: BTreeSet<TargetName>,
    /// What else is in the bed's directory, other than the bed's bookkeeping.
    pub(crate) foreign: Vec<PathBuf>,
    pub(crate) state: Option<State>,
    pub(crate) record: Record,
    marked: bool,
    kind: Option<Kind>,
}

impl Found {
    /// Looks at the directory and asks the kernel.
    pub(crate) fn scan(machine: &Machine, place: &Place) -> Result<Self, TestbedError> {
        let (state, record) = load(place);
        let kind = state.as_ref().map(|state| state.kind).or_else(|| marked_kind(place));
        let mut found = Self {
            devices: devices_of(machine, place)?,
            mounts: mounts_below(machine, place)?,
            images: BTreeSet::new(),
            points: BTreeSet::new(),
            foreign: Vec::new(),
            marked: fs::symlink_metadata(place.marker()).is_ok_and(|marker| marker.is_file()),
            state,
            record,
            kind,
        };
        for path in entries(&place.directory())? {
            found.sort_in(path);
        }
        Ok(found)
    }

    /// A symlink with the name of one of our files is not one of our files.
    fn sort_in(&mut self, path: PathBuf) {
        let Ok(metadata) = fs::symlink_metadata(&path) else { return };
        let name = path.file_name().unwrap_or_default();
        let image = TargetName::of_image(name).filter(|_| metadata.is_file());
        let point = TargetName::of_directory(name).filter(|_| metadata.is_dir());
        match (image, point) {
            (Some(target), _) => drop(self.images.insert(target)),
            (_, Some(target)) => drop(self.points.insert(target)),
            _ if metadata.is_file() && Place::is_bookkeeping(name) => (),
            _ => self.foreign.push(path),
        }
    }

    /// The kind of the targets, if state file or marker tells.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// True when the directory surely is a bed: it has the marker or a sound state file.
    pub(crate) fn is_marked(&self) -> bool {
        self.marked || self.state.is_some()
    }

    /// True when there is anything of a bed at all.
    pub(crate) fn is_bed(&self) -> bool {
        self.is_marked()
            || self.record != Record::Missing
            || !self.devices.is_empty()
            || !self.mounts.is_empty()
            || !self.images.is_empty()
            || !self.points.is_empty()
    }

    /// All targets of which there is any sign, in order.
    pub(crate) fn targets(&self) -> BTreeSet<TargetName> {
        let recorded = self.state.iter().flat_map(|state| {
            TargetName::first(u32::try_from(state.targets.len()).unwrap_or(u32::MAX))
        });
        let attached = self.devices.iter().map(|(target, _)| *target);
        let on_disk = self.images.iter().chain(&self.points).copied();
        recorded.chain(attached).chain(on_disk).collect()
    }

    /// The loop device of a target.
    pub(crate) fn device_of(&self, target: TargetName) -> Option<&BlockDevice> {
        self.devices.iter().find(|(owner, _)| *owner == target).map(|(_, device)| device)
    }
}

fn devices_of(
    machine: &Machine,
    place: &Place,
) -> Result<Vec<(TargetName, BlockDevice)>, TestbedError> {
    let owned = |device: BlockDevice| {
        let target = place.target_of_image(&device.backing.as_ref()?.file)?;
        Some((target, device))
    };
    let mut devices: Vec<_> = machine.block_devices()?.into_iter().filter_map(owned).collect();
    devices.sort_by_key(|(target, device)| (*target, device.number));
    Ok(devices)
}

fn mounts_below(machine: &Machine, place: &Place) -> Result<Vec<Mount>, TestbedError> {
    let directory = place.directory();
    let mut mounts = machine.mounts()?;
    mounts.retain(|mount| mount.point.starts_with(&directory) && mount.point != directory);
    Ok(mounts)
}
