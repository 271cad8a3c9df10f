//! What a bed consists of now.

use std::io;
use std::path::PathBuf;

use plimsoll_domain::Bytes;
use plimsoll_guarded::Directory;
use plimsoll_machine::DeviceNumber;
use rustix::fs::FileType;

use crate::marker::Mark;
use crate::scan::Found;
use crate::{
    FileCondition, FileSystem, Kind, Limits, TargetName, Testbed, TestbedError, base_directory,
    bed_directory, limits,
};

/// A bed as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The bed's directory.
    pub directory: PathBuf,
    /// Whose directory it is, if there is one.
    pub owner: Option<u32>,
    /// False when the directory is not a bed.
    pub exists: bool,
    /// Why it is none although it has a marker: it is a copy, or the marker is damaged.
    pub not_a_bed: Option<String>,
    /// What the state file says about itself.
    pub state_file: FileCondition,
    /// What the targets are, if anything tells.
    pub kind: Option<Kind>,
    /// The file system of loop targets, if the state file tells.
    pub file_system: Option<FileSystem>,
    /// Every target that the bed has or was to have, by index.
    pub targets: Vec<TargetInfo>,
}

/// A target as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetInfo {
    /// Its name.
    pub name: TargetName,
    /// Where its data are.
    pub path: PathBuf,
    /// What it is, if anything tells.
    pub kind: Option<Kind>,
    /// Its loop device, if it has one.
    pub device: Option<TargetDevice>,
    /// Its size, or what was asked for where it is a plain directory; if anything tells.
    pub size: Option<Bytes>,
    /// What can still be written to it, if it can be used.
    pub free: Option<Bytes>,
    /// Its limits: those of the kernel (cgroup v1), or those that
    /// [`Testbed::run`] will set (cgroup v2).
    pub limits: Limits,
    /// How far it is.
    pub state: TargetState,
    /// What is the matter with it, if its state does not say it all.
    pub problem: Option<String>,
}

/// The loop device of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetDevice {
    /// E.g. "/dev/loop0".
    pub path: PathBuf,
    /// Its number, by which the kernel's counters and limits know it.
    pub number: DeviceNumber,
    /// True when it bypasses the page cache of the file system below.
    pub direct_io: bool,
}

/// How far a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetState {
    /// Its file system is mounted.
    Mounted,
    /// It is a plain directory, which needs no mount.
    Plain,
    /// It was finished, but is not mounted now; as after a reboot.
    NotMounted,
    /// It was begun and not finished.
    HalfMade,
    /// A foreign file system is mounted over it.
    Covered,
    /// It cannot be looked at.
    Unreachable,
}

impl TargetState {
    /// Returns true if data can be stored on it.
    pub fn is_usable(self) -> bool {
        matches!(self, Self::Mounted | Self::Plain)
    }
}

impl Listing {
    /// Returns the targets that data can be stored on.
    pub fn usable(self) -> impl Iterator<Item = TargetInfo> {
        self.targets.into_iter().filter(|target| target.state.is_usable())
    }
}

impl TargetInfo {
    /// Returns the target as a site file describes it.
    pub fn for_site(self) -> plimsoll_domain::site::Target {
        plimsoll_domain::site::Target {
            path: Some(self.path),
            device: self.device.map(|device| device.path),
            capacity: self.size,
            ..plimsoll_domain::site::Target::named(self.name.to_string())
        }
    }
}

impl Testbed {
    /// Returns the bed as [`Testbed::list`] does, if its targets can be worked on: only this user and root can
    /// have made it, and nobody else can exchange it or anything above it.
    ///
    /// # Errors
    /// If it is somebody else's, or in a directory of somebody else: names of beds can be guessed.
    pub fn list_own(&self) -> Result<Listing, TestbedError> {
        let listing = self.list()?;
        if listing.exists {
            base_directory::check_bed(&self.place)?;
        }
        Ok(listing)
    }

    /// Returns what the bed consists of now, whosever it is. Waits for no other command, so a bed that is
    /// being made can be watched.
    pub fn list(&self) -> Result<Listing, TestbedError> {
        let bed = bed_directory::look(&self.place)?;
        let found = Found::scan(&self.machine, &self.place, bed.as_ref())?;
        let targets: Result<Vec<TargetInfo>, TestbedError> =
            found.targets().map(|target| self.look_at(&found, bed.as_ref(), target)).collect();
        let owner = bed.as_ref().and_then(|bed| Some(bed.facts().ok()?.st_uid));
        Ok(Listing {
            directory: self.directory(),
            owner,
            exists: found.is_bed(),
            not_a_bed: match &found.mark {
                Mark::Foreign { reason } => Some(reason.clone()),
                Mark::Own(_) | Mark::None => None,
            },
            state_file: found.state_file.clone(),
            kind: found.kind(),
            file_system: found.state.as_ref().map(|state| state.file_system),
            targets: targets?,
        })
    }

    fn look_at(
        &self,
        found: &Found,
        bed: Option<&Directory>,
        target: TargetName,
    ) -> Result<TargetInfo, TestbedError> {
        let path = self.place.point(target);
        let (mut state, mut problem) = self.state_of(found, bed, target);
        let device = found.device_of(target);
        let recorded = found.state.as_ref().map(|state| state.limits(target));
        let limits = limits::current(&self.machine, device, recorded.unwrap_or_default())?;
        let image_size = || bed?.facts_of(target.image_name()).ok()?.st_size.try_into().ok();
        let size = found
            .state
            .as_ref()
            .map(|state| state.size)
            .or_else(|| device.map(|device| device.size))
            .or_else(|| image_size().map(Bytes::new));
        let mut free = None;
        if state.is_usable() {
            match self.machine.space(&path) {
                Ok(space) => free = Some(space.available),
                Err(error) => (state, problem) = unreachable(&error),
            }
        }
        let device = device.map(|device| TargetDevice {
            path: device.path(),
            number: device.number,
            direct_io: device.backing.as_ref().is_some_and(|backing| backing.direct_io),
        });
        let (name, kind) = (target, found.kind());
        Ok(TargetInfo { name, path, kind, device, size, free, limits, state, problem })
    }

    /// Returns the state, and what is the matter where that does not say it all.
    fn state_of(
        &self,
        found: &Found,
        bed: Option<&Directory>,
        target: TargetName,
    ) -> (TargetState, Option<String>) {
        let point = self.place.point(target);
        let is_directory = match bed.map(|bed| bed.kind_of(target.to_string())) {
            Some(Err(cause)) if cause.kind() != io::ErrorKind::NotFound => {
                return unreachable(&cause);
            }
            kind => matches!(kind, Some(Ok(FileType::Directory))),
        };
        // Of several mounts on one directory the last one is visible.
        let state = match found.mounts.iter().rfind(|mount| mount.point == point) {
            Some(mount) if found.is_own(&self.place, mount) => TargetState::Mounted,
            Some(mount) => return (TargetState::Covered, Some(mount.fs_type.clone())),
            None if found.kind() == Some(Kind::Directory) && is_directory => TargetState::Plain,
            None if found.state_file == FileCondition::Complete => TargetState::NotMounted,
            None => TargetState::HalfMade,
        };
        (state, None)
    }
}

fn unreachable(error: &impl std::fmt::Display) -> (TargetState, Option<String>) {
    (TargetState::Unreachable, Some(error.to_string()))
}
