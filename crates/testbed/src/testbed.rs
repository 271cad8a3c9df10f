//! A test bed, by its place.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_machine::Machine;

use crate::bed_directory::check_owned;
use crate::lock::{Lock, Patience};
use crate::place::Place;
use crate::{TestbedError, Waiting};

/// The name of the bed when none is given.
pub const DEFAULT_NAME: &str = "default";

/// A test bed, which may or may not exist: one directory with all that belongs to it.
#[derive(Debug, Clone)]
pub struct Testbed {
    pub(crate) machine: Machine,
    pub(crate) place: Place,
    base_is_default: bool,
    patience: Patience,
}

impl Testbed {
    /// Returns the bed of that name in the default base directory.
    pub fn new(name: &str) -> Result<Self, TestbedError> {
        let place = Place::new(&Self::default_base(), name)?;
        Ok(Self {
            machine: Machine::host(),
            place,
            base_is_default: true,
            patience: Patience::default(),
        })
    }

    /// Returns the bed of that name in that base directory.
    pub fn in_base(base: &Path, name: &str) -> Result<Self, TestbedError> {
        let place = Place::new(base, name)?;
        let base_is_default = base == Self::default_base();
        Ok(Self { machine: Machine::host(), place, base_is_default, patience: Patience::default() })
    }

    /// Returns the bed that the directory of a target belongs to, if it is one.
    pub fn of_target(path: &Path) -> Option<Self> {
        let directory = path.parent()?;
        let bed = Self::in_base(directory.parent()?, directory.file_name()?.to_str()?).ok()?;
        let listing = bed.list().ok().filter(|listing| listing.exists)?;
        listing.targets.iter().any(|target| target.path == path).then_some(bed)
    }

    /// Returns the same bed on another machine, such as a captured tree.
    pub fn on(self, machine: Machine) -> Self {
        Self { machine, ..self }
    }

    /// Returns the same bed; `tell` is called when a command on it has to wait for another one
    /// for longer than a second.
    pub fn when_waiting(self, tell: fn(Waiting)) -> Self {
        Self { patience: Patience { told: Some(tell), ..self.patience }, ..self }
    }

    /// Returns the same bed; commands on it wait for others so long at most.
    pub(crate) fn waiting_at_most(&self, time: Duration) -> Self {
        let patience = Patience { at_most: Some(time), ..self.patience };
        Self { patience, ..self.clone() }
    }

    /// Returns the base directory when none is given: one per user, on a disk as a rule
    /// (`/tmp` often is memory; `/var/tmp` outlives a reboot by the Filesystem
    /// Hierarchy Standard 3.0, section 5.15).
    pub fn default_base() -> PathBuf {
        let uid = rustix::process::geteuid().as_raw();
        PathBuf::from(format!("/var/tmp/plimsoll-testbed-{uid}"))
    }

    /// Returns the bed's directory.
    pub fn directory(&self) -> PathBuf {
        self.place.directory()
    }

    /// Refuses a default base directory that someone else made, or a bed's directory
    /// that is not this user's.
    pub(crate) fn check_directories(&self) -> Result<(), TestbedError> {
        if self.base_is_default {
            check_owned(self.place.base())?;
        }
        check_owned(&self.directory())
    }

    /// Waits until no other command works on the bed, which may be made then.
    pub(crate) fn lock(&self) -> Result<Lock, TestbedError> {
        Lock::acquire(&self.place, self.patience)
    }

    /// Waits until no other command works on the bed that there is.
    pub(crate) fn lock_existing(&self) -> Result<Lock, TestbedError> {
        Lock::acquire_existing(&self.place, self.patience)
    }
}
