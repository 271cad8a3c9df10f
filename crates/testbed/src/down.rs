//! Removing a bed, or whatever there is of one.

use std::path::PathBuf;

use plimsoll_machine::{BlockControl, BlockDevice};

use crate::lock::Lock;
use crate::scan::Found;
use crate::unmount::unmount_from;
use crate::{
    Kind, Record, TargetName, Testbed, TestbedError, bed_directory, io_max, limits, loop_device,
};

/// How [`Testbed::down`] shall go about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DownOptions {
    /// Take file systems that are in use out of sight, and let the kernel release
    /// them when their last user is gone.
    pub force: bool,
}

/// What [`Testbed::down`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// False when there was no bed to remove, which is fine.
    pub was_there: bool,
    /// What the state file said; anything but [`Record::Complete`] is worth a word.
    pub record: Record,
    /// What was unmounted.
    pub unmounted: Vec<PathBuf>,
    /// The devices that were detached.
    pub detached: Vec<PathBuf>,
    /// Devices that the kernel will release when their last user is gone; only with force.
    pub lingering: Vec<PathBuf>,
    /// Things in the bed's directory that are not the bed's and still are there.
    pub kept: Vec<PathBuf>,
}

impl Testbed {
    /// Removes the bed: limits first, then mounts, devices, and files; and checks that
    /// nothing is left. Works on any part of a bed, and does no harm without one.
    pub fn down(&self, options: DownOptions) -> Result<Removed, TestbedError> {
        self.check_directories()?;
        if !self.directory().exists() && !self.place.lock_file().exists() {
            // Devices may have outlived their directory.
            return self.tear_down(None, options.force);
        }
        let lock = Lock::acquire(&self.place)?;
        self.check_directories()?;
        let removed = self.tear_down(Some(&lock), options.force)?;
        self.remove_lock(lock)?;
        Ok(removed)
    }

    pub(crate) fn remove_lock(&self, lock: Lock) -> Result<(), TestbedError> {
        lock.remove(&self.place)?;
        if self.owns_base() {
            bed_directory::remove_if_empty(self.place.base())?;
        }
        Ok(())
    }

    pub(crate) fn tear_down(
        &self,
        lock: Option<&Lock>,
        force: bool,
    ) -> Result<Removed, TestbedError> {
        let found = Found::scan(&self.machine, &self.place)?;
        let mut removed = Removed {
            was_there: found.is_bed(),
            record: found.record.clone(),
            unmounted: Vec::new(),
            detached: Vec::new(),
            lingering: Vec::new(),
            kept: Vec::new(),
        };
        if !self.may_remove(&found)? {
            removed.was_there = false;
            removed.kept = bed_directory::entries(&self.directory())?;
            return Ok(removed);
        }
        // A slow device would take long to write back what is left to write.
        for (_, device) in &found.devices {
            limits::clear_stale(&self.machine, device.number)?;
        }
        removed.unmounted = self.unmount_all(&found, force)?;
        (removed.detached, removed.lingering) = self.detach_all(&found, lock, force)?;
        self.remove_stale_groups()?;
        removed.kept = self.remove_files(&found)?;
        self.verify(&removed)?;
        Ok(removed)
    }

    /// True for a bed of this program and for the remains of one; an error for a
    /// directory that only looks like it and has devices in use.
    fn may_remove(&self, found: &Found) -> Result<bool, TestbedError> {
        let directory = self.directory();
        if found.is_marked() || self.owns_base() || !directory.exists() {
            return Ok(true);
        }
        if !found.devices.is_empty() || !found.mounts.is_empty() {
            return Err(TestbedError::NotABed { directory });
        }
        // Between creating and marking a directory a process may have been killed.
        bed_directory::remove_if_empty(&directory)
    }

    /// The deepest first, and of several on one directory the last first.
    fn unmount_all(&self, found: &Found, force: bool) -> Result<Vec<PathBuf>, TestbedError> {
        let mut points: Vec<PathBuf> =
            found.mounts.iter().rev().map(|mount| mount.point.clone()).collect();
        points.sort_by_key(|point| std::cmp::Reverse(point.components().count()));
        for point in &points {
            unmount_from(&self.machine, point, force)?;
        }
        Ok(points)
    }

    /// Gives the devices that are detached, and those that will be.
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

    /// Gives what is not the bed's own and therefore stays. The marker goes last, so
    /// that a killed clean-up can be repeated.
    fn remove_files(&self, found: &Found) -> Result<Vec<PathBuf>, TestbedError> {
        let mut kept = found.foreign.clone();
        for target in &found.images {
            bed_directory::remove_file(&self.place.image(*target))?;
        }
        for target in &found.points {
            kept.extend(self.remove_point(found, *target)?);
        }
        for path in self.place.bookkeeping() {
            if !kept.contains(&path) {
                bed_directory::remove_file(&path)?;
            }
        }
        bed_directory::remove_if_empty(&self.directory())?;
        Ok(kept)
    }

    /// The contents of a plain directory are the target's data. Contents of what should
    /// be an empty mount point are somebody's mistake, and kept.
    fn remove_point(
        &self,
        found: &Found,
        target: TargetName,
    ) -> Result<Option<PathBuf>, TestbedError> {
        let point = self.place.point(target);
        if found.kind() == Some(Kind::Directory) {
            bed_directory::remove_all(&point)?;
            return Ok(None);
        }
        Ok((!bed_directory::remove_if_empty(&point)?).then_some(point))
    }

    fn verify(&self, removed: &Removed) -> Result<(), TestbedError> {
        let left = Found::scan(&self.machine, &self.place)?;
        let devices = left.devices.iter().map(|(_, device)| device.path());
        let devices = devices.filter(|device| !removed.lingering.contains(device));
        let mounts = left.mounts.iter().map(|mount| mount.point.clone());
        let images = left.images.iter().map(|target| self.place.image(*target));
        let points = left.points.iter().map(|target| self.place.point(*target));
        let points = points.filter(|point| !removed.kept.contains(point));
        let directory = Some(self.directory())
            .filter(|directory| removed.kept.is_empty() && directory.symlink_metadata().is_ok());
        let remains: Vec<PathBuf> =
            devices.chain(mounts).chain(images).chain(points).chain(directory).collect();
        match remains.is_empty() {
            true => Ok(()),
            false => Err(TestbedError::LeftOver { remains }),
        }
    }
}
