//! What a bed consists of now.

use std::path::PathBuf;

use plimsoll_domain::Bytes;
use plimsoll_machine::DeviceNumber;

use crate::scan::Found;
use crate::{FileSystem, Kind, Limits, Record, TargetName, Testbed, TestbedError, limits};

/// A bed as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The bed's directory.
    pub directory: PathBuf,
    /// False when there is nothing of a bed.
    pub exists: bool,
    /// What the state file says about itself.
    pub record: Record,
    /// What the targets are, if anything tells.
    pub kind: Option<Kind>,
    /// The file system of loop targets, if the state file tells.
    pub file_system: Option<FileSystem>,
    /// Every target of which there is any sign, by index.
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
}

impl TargetState {
    /// True when data can be stored on it.
    pub fn is_usable(self) -> bool {
        matches!(self, Self::Mounted | Self::Plain)
    }
}

impl Testbed {
    /// What the bed consists of now. Waits for no other command, so a bed that is
    /// being made can be watched.
    pub fn list(&self) -> Result<Listing, TestbedError> {
        let found = Found::scan(&self.machine, &self.place)?;
        let targets: Result<Vec<TargetInfo>, TestbedError> =
            found.targets().into_iter().map(|target| self.look_at(&found, target)).collect();
        Ok(Listing {
            directory: self.directory(),
            exists: found.is_bed(),
            record: found.record.clone(),
            kind: found.kind(),
            file_system: found.state.as_ref().map(|state| state.file_system),
            targets: targets?,
        })
    }

    fn look_at(&self, found: &Found, target: TargetName) -> Result<TargetInfo, TestbedError> {
        let path = self.place.point(target);
        let state = self.state_of(found, target);
        let device = found.device_of(target);
        let recorded = found.state.as_ref().map(|state| state.limits(target));
        let limits = limits::current(&self.machine, device, recorded.unwrap_or_default())?;
        let image_size = || self.place.image(target).metadata().ok().map(|image| image.len());
        let size = found
            .state
            .as_ref()
            .map(|state| state.size)
            .or_else(|| device.map(|device| device.size))
            .or_else(|| image_size().map(Bytes::new));
        let free = match state.is_usable() {
            true => Some(self.machine.space(&path)?.available),
            false => None,
        };
        let device = device.map(|device| TargetDevice {
            path: device.path(),
            number: device.number,
            direct_io: device.backing.as_ref().is_some_and(|backing| backing.direct_io),
        });
        Ok(TargetInfo { name: target, path, kind: found.kind(), device, size, free, limits, state })
    }

    fn state_of(&self, found: &Found, target: TargetName) -> TargetState {
        let point = self.place.point(target);
        let number = found.device_of(target).map(|device| device.number);
        let is_mounted =
            found.mounts.iter().any(|mount| mount.point == point && Some(mount.device) == number);
        let is_plain = found.kind() == Some(Kind::Directory) && found.points.contains(&target);
        if is_mounted {
            TargetState::Mounted
        } else if is_plain {
            TargetState::Plain
        } else if found.record == Record::Complete {
            TargetState::NotMounted
        } else {
            TargetState::HalfMade
        }
    }
}
