//! Removing a bed, or whatever there is of one.

use std::cmp::Reverse;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_guarded::Directory;
use plimsoll_machine::{BlockControl, BlockDevice, Mount};

use crate::error::file_error;
use crate::lock::Lock;
use crate::marker::{Mark, Marker};
use crate::owner::Owner;
use crate::place::{BOOKKEEPING, MARKER, NEW_MARKER, STATE_FILE};
use crate::scan::{Found, devices_of, mounts_below};
use crate::unmount::{unmount_from, unmount_lazily};
use crate::{
    FileCondition, Kind, TargetName, Testbed, TestbedError, base_directory, bed_directory, io_max,
    limits, loop_device,
};

/// Another user can hold the lock of a bed of theirs forever, to keep root waiting.
const PATIENCE_WITH_OTHERS: Duration = Duration::from_secs(15);

/// Options of [`Testbed::down`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DownOptions {
    /// Unmount file systems that are in use, and foreign ones that are mounted in the bed, lazily:
    /// the kernel releases them when their last user is gone.
    pub force: bool,
}

/// What [`Testbed::down`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// False when there was no bed to remove, which is fine.
    pub was_there: bool,
    /// What the state file said; anything but [`FileCondition::Complete`] is worth a word.
    pub state_file: FileCondition,
    /// Which of the bed's own file systems were unmounted.
    pub unmounted: Vec<PathBuf>,
    /// Where foreign file systems were mounted that were taken out of sight; only with
    /// force.
    pub foreign_unmounted: Vec<PathBuf>,
    /// The devices that were detached.
    pub detached: Vec<PathBuf>,
    /// Devices that the kernel will release when their last user is gone; only with force.
    pub lingering: Vec<PathBuf>,
    /// Things in the bed's directory that are not the bed's and still are there.
    pub kept: Vec<PathBuf>,
}

impl Removed {
    fn nothing_yet(found: &Found) -> Self {
        Self {
            was_there: found.is_bed(),
            state_file: found.state_file.clone(),
            unmounted: Vec::new(),
            foreign_unmounted: Vec::new(),
            detached: Vec::new(),
            lingering: Vec::new(),
            kept: Vec::new(),
        }
    }
}

impl Testbed {
    /// Removes the bed: limits first, then mounts, devices, and files; and checks that
    /// nothing is left. Works on any part of a bed, and does no harm without one.
    ///
    /// Only what the marker says is the bed's is removed. Root can remove another user's
    /// bed, which is then done with that user's rights.
    pub fn down(&self, options: DownOptions) -> Result<Removed, TestbedError> {
        let directory = self.directory();
        let is_bed = || -> Result<bool, TestbedError> {
            let bed = bed_directory::look(&self.place)?;
            Ok(Mark::read(bed.as_ref(), &self.place).own().is_some())
        };
        match bed_directory::look(&self.place)?.as_ref().and_then(Owner::other_than_root) {
            Some(_) if !is_bed()? => self.leave_alone(),
            Some(owner) => owner
                .work(|| self.waiting_at_most(PATIENCE_WITH_OTHERS).down_as_owner(options))
                .map_err(file_error("act as the owner of", directory))?,
            None => self.down_as_owner(options),
        }
    }

    /// Removes nothing from another user's directory that is no bed, and says why.
    fn leave_alone(&self) -> Result<Removed, TestbedError> {
        let bed = bed_directory::look(&self.place)?;
        let found = Found::scan(&self.machine, &self.place, bed.as_ref())?;
        match &found.mark {
            Mark::Foreign { reason } => Err(self.not_a_bed(reason.clone())),
            Mark::Own(_) | Mark::None => self.remove_remains(&found, bed.as_ref(), None, false),
        }
    }

    fn down_as_owner(&self, options: DownOptions) -> Result<Removed, TestbedError> {
        self.check_directories()?;
        let base = base_directory::open(&self.place)?;
        let is_there = |name: &str| base.as_ref().is_some_and(|base| base.facts_of(name).is_ok());
        if !is_there(self.place.name()) && !is_there(&self.place.lock_name()) {
            // Devices may have outlived their directory.
            let found = Found::scan(&self.machine, &self.place, None)?;
            let removed = self.remove_remains(&found, None, None, options.force)?;
            base.iter().for_each(base_directory::remove_if_made);
            return Ok(removed);
        }
        let lock = self.lock_existing()?;
        let removed = self.tear_down_locked(&lock, options.force)?;
        lock.remove()?;
        Ok(removed)
    }

    /// Removes whatever there is of the bed, while no other command works on it.
    pub(crate) fn tear_down_locked(
        &self,
        lock: &Lock,
        force: bool,
    ) -> Result<Removed, TestbedError> {
        let bed = bed_directory::open(lock.base(), &self.place)?;
        let found = Found::scan(&self.machine, &self.place, bed.as_ref())?;
        match (&found.mark, &bed) {
            (Mark::Foreign { reason }, _) => Err(self.not_a_bed(reason.clone())),
            (Mark::Own(marker), Some(bed)) => self.remove_bed(&found, *marker, (bed, lock), force),
            _ => self.remove_remains(&found, bed.as_ref(), Some(lock), force),
        }
    }

    fn not_a_bed(&self, reason: String) -> TestbedError {
        TestbedError::NotABed { directory: self.directory(), reason }
    }

    fn remove_bed(
        &self,
        found: &Found,
        marker: Marker,
        (bed, lock): (&Directory, &Lock),
        force: bool,
    ) -> Result<Removed, TestbedError> {
        let mut removed = Removed::nothing_yet(found);
        let mounts = self.mounts_to_remove(found, force)?;
        // A slow device would take long to write back what is left to write.
        for (_, device) in &found.devices {
            limits::clear_stale(&self.machine, device.number)?;
        }
        self.clear_left(found)?;
        (removed.unmounted, removed.foreign_unmounted) =
            self.unmount_all(found, bed, &mounts, force)?;
        (removed.detached, removed.lingering) = self.detach_all(found, Some(lock), force)?;
        self.remove_stale_groups()?;
        removed.kept = self.remove_files(found, marker, (bed, lock))?;
        self.verify(marker, &removed)?;
        Ok(removed)
    }

    /// A directory without a marker is not ours, but between making and marking one a
    /// process may have been killed, and devices may have outlived theirs.
    fn remove_remains(
        &self,
        found: &Found,
        bed: Option<&Directory>,
        lock: Option<&Lock>,
        force: bool,
    ) -> Result<Removed, TestbedError> {
        let mut removed = Removed::nothing_yet(found);
        let Some(bed) = bed else {
            (removed.detached, removed.lingering) = self.detach_all(found, lock, force)?;
            removed.was_there = !found.devices.is_empty();
            return Ok(removed);
        };
        let looks_like_a_bed = !found.devices.is_empty() || bed.facts_of(STATE_FILE).is_ok();
        if looks_like_a_bed {
            return Err(self.not_a_bed(format!("its marker {MARKER} is missing")));
        }
        if let Some(lock) = lock {
            if found.entries == [self.directory().join(NEW_MARKER)] {
                bed_directory::remove_file(bed, NEW_MARKER)?;
            }
            if lock.is_unmarked() {
                removed.was_there = bed_directory::remove_if_empty(lock.base(), self.place.name())?;
                if removed.was_there {
                    return Ok(removed);
                }
            }
        }
        removed.kept = bed_directory::entries(bed)?;
        Ok(removed)
    }

    /// The deepest first, and of several on one directory the last first. Refuses
    /// foreign ones unless forced.
    fn mounts_to_remove<'a>(
        &self,
        found: &'a Found,
        force: bool,
    ) -> Result<Vec<&'a Mount>, TestbedError> {
        let mut mounts: Vec<&Mount> = found.mounts.iter().rev().collect();
        mounts.sort_by_key(|mount| Reverse(mount.point.components().count()));
        let foreign = mounts.iter().find(|mount| !found.is_own(&self.place, mount));
        match foreign {
            Some(mount) if !force => Err(TestbedError::ForeignMount {
                point: mount.point.clone(),
                fs_type: mount.fs_type.clone(),
            }),
            _ => Ok(mounts),
        }
    }

    /// Returns where the bed's own file systems were, and where foreign ones.
    fn unmount_all(
        &self,
        found: &Found,
        bed: &Directory,
        mounts: &[&Mount],
        force: bool,
    ) -> Result<(Vec<PathBuf>, Vec<PathBuf>), TestbedError> {
        let (mut own, mut foreign) = (Vec::new(), Vec::new());
        for mount in mounts {
            let point = mount.point.clone();
            if found.is_own(&self.place, mount) {
                unmount_from(&self.machine, bed, &point, force)?;
                own.push(point);
            } else {
                unmount_lazily(bed, &point)?;
                foreign.push(point);
            }
        }
        Ok((own, foreign))
    }

    /// Returns the devices that are detached, and those that will be.
    fn detach_all(
        &self,
        found: &Found,
        lock: Option<&Lock>,
        force: bool,
    ) -> Result<(Vec<PathBuf>, Vec<PathBuf>), TestbedError> {
        let devices: Vec<&BlockDevice> = found.devices.iter().map(|(_, device)| device).collect();
        for device in &devices {
            loop_device::detach(&self.machine, lock, device)?;
        }
        let (mut detached, mut lingering) = (Vec::new(), Vec::new());
        for device in devices {
            match loop_device::wait_until_released(&self.machine, device, force) {
                Ok(()) => detached.push(device.path()),
                Err(_) if force => lingering.push(device.path()),
                Err(in_use) => return Err(in_use),
            }
        }
        Ok((detached, lingering))
    }

    fn remove_stale_groups(&self) -> Result<(), TestbedError> {
        if let BlockControl::V2 { hierarchy } = self.machine.block_control()? {
            let is_alive = |pid: u32| self.machine.locate(format!("/proc/{pid}")).exists();
            io_max::remove_stale(&self.machine.locate(hierarchy), self.place.name(), is_alive);
        }
        Ok(())
    }

    /// Returns what is not the bed's own and therefore stays. The marker goes last, so
    /// that a killed clean-up can be repeated.
    fn remove_files(
        &self,
        found: &Found,
        marker: Marker,
        (bed, lock): (&Directory, &Lock),
    ) -> Result<Vec<PathBuf>, TestbedError> {
        for target in found.targets() {
            bed_directory::remove_file(bed, &target.image_name())?;
            remove_point(bed, marker.kind, target)?;
        }
        if marker.made_directory {
            lock.note_unmarked(true)?;
        }
        for name in BOOKKEEPING {
            bed_directory::remove_file(bed, name)?;
        }
        let is_gone = marker.made_directory
            && bed_directory::remove_if_empty(lock.base(), self.place.name())?;
        if is_gone { Ok(Vec::new()) } else { bed_directory::entries(bed) }
    }

    /// Looks again whether all is gone that is the bed's.
    fn verify(&self, marker: Marker, removed: &Removed) -> Result<(), TestbedError> {
        let devices = devices_of(&self.machine, &self.place, marker.targets)?;
        let devices = devices.into_iter().map(|(_, device)| device.path());
        let devices = devices.filter(|device| !removed.lingering.contains(device));
        let mounts = mounts_below(&self.machine, &self.place)?.into_iter();
        let mounts = mounts.map(|mount| mount.point);
        let files = TargetName::first(marker.targets)
            .flat_map(|target| [self.place.image(target), self.place.point(target)])
            .chain(BOOKKEEPING.map(|name| self.directory().join(name)))
            .chain(marker.made_directory.then(|| self.directory()))
            .filter(|path| fs::symlink_metadata(path).is_ok())
            .filter(|path| !removed.kept.iter().any(|kept| kept.starts_with(path)));
        let remains: Vec<PathBuf> = devices.chain(mounts).chain(files).collect();
        if remains.is_empty() { Ok(()) } else { Err(TestbedError::LeftOver { remains }) }
    }
}

/// The contents of a plain directory are the target's data. Contents of what should
/// be an empty mount point are somebody's mistake, and kept.
fn remove_point(bed: &Directory, kind: Kind, target: TargetName) -> Result<(), TestbedError> {
    match kind {
        Kind::Directory => bed_directory::remove_all(bed, &target.to_string()),
        Kind::Loop => bed_directory::remove_if_empty(bed, &target.to_string()).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KindChoice, UpOptions};
    use plimsoll_domain::Bytes;

    #[test]
    fn what_is_still_there_is_noticed() {
        let base = tempfile::tempdir_in("/var/tmp").unwrap();
        let bed = Testbed::in_base(base.path(), "bed").unwrap();
        let options =
            UpOptions { kind: KindChoice::Directory, ..UpOptions::new(1, Bytes::new(4096)) };
        bed.up(&options, &mut |_| ()).unwrap();
        let directory = bed_directory::look(&bed.place).unwrap();
        let found = Found::scan(&bed.machine, &bed.place, directory.as_ref()).unwrap();
        let marker = found.mark.own().unwrap();
        let mut removed = Removed::nothing_yet(&found);
        let TestbedError::LeftOver { remains } = bed.verify(marker, &removed).unwrap_err() else {
            panic!("another error");
        };
        let names = ["t0", "testbed.toml", MARKER].map(|name| bed.directory().join(name));
        assert_eq!(remains, [names.as_slice(), &[bed.directory()]].concat());
        // What is known to stay, and that its directory does, is fine.
        removed.kept = names.to_vec();
        bed.verify(marker, &removed).unwrap();
        bed.down(DownOptions::default()).unwrap();
        bed.verify(marker, &Removed::nothing_yet(&found)).unwrap();
    }
}
