//! Making a bed.

use std::path::{Path, PathBuf};

use plimsoll_domain::Bytes;
use plimsoll_guarded::Directory;

use crate::backing_file::{rewrite_unwritten, write_in_full};
use crate::error::file_error;
use crate::lock::Lock;
use crate::place::{BOOKKEEPING, DIRECTORY_MODE, NEW_MARKER};
use crate::scan::Found;
use crate::state_file::{State, TargetSetting};
use crate::support::{choose, no_disk};
use crate::{
    Feature, FileSystem, Kind, Lacking, Listing, Progress, Step, TargetName, Testbed, TestbedError,
    UpOptions, bed_directory, file_system, limits, loop_device,
};

/// Stays free in the file system below, for everything else that lives there.
const RESERVE: Bytes = Bytes::new(512 << 20);

/// A bed that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bed {
    /// The bed as [`Testbed::list`] sees it.
    pub listing: Listing,
    /// What the bed does not have on this machine, why, and what would provide it.
    pub lacking: Vec<Lacking>,
}

/// What will be made.
struct BedPlan {
    kind: Kind,
    file_system: FileSystem,
    size: Bytes,
    targets: u32,
    lacking: Vec<Lacking>,
}

impl Testbed {
    /// Makes a bed. Tells `progress` before each step.
    ///
    /// When it fails, or `progress` panics, all that was made is removed again.
    pub fn up(
        &self,
        options: &UpOptions,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Bed, TestbedError> {
        let targets = options.checked_targets()?;
        let (kind, lacking) = choose(&self.machine, options.kind, options.file_system)?;
        let size = options.checked_size(kind)?;
        let file_system = options.file_system.unwrap_or_default();
        let mut plan = BedPlan { kind, file_system, size, targets, lacking };
        self.check_directories()?;
        let lock = self.lock()?;
        let there = bed_directory::open(lock.base(), &self.place)?;
        self.check_vacant(&Found::scan(&self.machine, &self.place, there.as_ref())?)?;
        let undo = Undo { bed: self, lock: Some(lock) };
        match self.make(&mut plan, &undo, progress) {
            Ok(()) => undo.keep(),
            Err(first) => return Err(undo.after(first)),
        }
        Ok(Bed { listing: self.list()?, lacking: plan.lacking })
    }

    /// Refuses a directory with a bed or with anything else in it, and one whose devices
    /// outlived it.
    fn check_vacant(&self, found: &Found) -> Result<(), TestbedError> {
        let directory = self.directory();
        if found.is_bed() {
            return Err(TestbedError::Exists { directory });
        }
        let bookkeeping = BOOKKEEPING.map(|name| directory.join(name));
        let (own_names, foreign): (Vec<&PathBuf>, Vec<&PathBuf>) =
            found.entries.iter().partition(|entry| bookkeeping.contains(entry));
        // A killed process leaves the beginnings of a marker.
        let own_names = own_names.into_iter().filter(|name| **name != directory.join(NEW_MARKER));
        match foreign.into_iter().chain(own_names).next() {
            Some(entry) => Err(TestbedError::Foreign { directory, entry: entry.clone() }),
            None if !found.devices.is_empty() => Err(TestbedError::Exists { directory }),
            None => Ok(()),
        }
    }

    fn make(
        &self,
        plan: &mut BedPlan,
        undo: &Undo<'_>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(), TestbedError> {
        self.check_space(plan)?;
        let Some(lock) = &undo.lock else { return Ok(()) };
        let bed = bed_directory::make(&self.place, plan.kind, plan.targets, lock)?;
        let mut state = State {
            kind: plan.kind,
            file_system: plan.file_system,
            size: plan.size,
            complete: false,
            targets: vec![TargetSetting::default(); plan.targets as usize],
        };
        state.save(&bed, &self.place)?;
        for target in TargetName::first(plan.targets) {
            let mut tell = |step| progress(&Progress { target, targets: plan.targets, step });
            let point = bed.make(target.to_string(), DIRECTORY_MODE);
            let point = point.map_err(file_error("create", self.place.point(target)))?;
            if plan.kind == Kind::Loop {
                let made = (lock, &bed, &point);
                let lacking = self.make_loop_target(plan, made, target, &mut tell)?;
                note_once(&mut plan.lacking, lacking);
            }
            progress(&Progress { target, targets: plan.targets, step: Step::Ready });
        }
        state.complete = true;
        state.save(&bed, &self.place)
    }

    /// Makes a target, and returns what it lacks.
    fn make_loop_target(
        &self,
        plan: &BedPlan,
        (lock, bed, point): (&Lock, &Directory, &Directory),
        target: TargetName,
        tell: &mut dyn FnMut(Step),
    ) -> Result<Option<Lacking>, TestbedError> {
        let image = target.image_name();
        let total = plan.size;
        write_in_full(bed, &image, total, |written| tell(Step::Writing { written, total }))?;
        tell(Step::Attaching);
        let device = loop_device::attach(&self.machine, lock, &self.place.image(target))?;
        // A rule outlives the file that the device had when it was made.
        limits::clear_stale(&self.machine, device.number)?;
        tell(Step::Formatting);
        file_system::make(&self.machine, lock, plan.file_system, &device.path())?;
        rewrite_unwritten(bed, &image, &device.path())?;
        tell(Step::Mounting);
        file_system::mount_on(plan.file_system, &device.path(), point)?;
        let direct_io = device.backing.is_some_and(|backing| backing.direct_io);
        Ok((!direct_io).then(|| self.no_direct_io()))
    }

    fn no_direct_io(&self) -> Lacking {
        let why = format!("the file system below {} refuses it", self.place.base().display());
        Lacking::new(&[Feature::DirectIo], &why, "choose a base directory on ext4 or XFS on a disk")
    }

    fn check_space(&self, plan: &mut BedPlan) -> Result<(), TestbedError> {
        let space = self.machine.space(self.place.base())?;
        plan.lacking.extend(no_disk(&space));
        let one = match plan.kind {
            Kind::Loop => plan.size.get(),
            Kind::Directory => 0,
        };
        let needed = Bytes::new(one.saturating_mul(u64::from(plan.targets)));
        check_fits(self.place.base(), needed, space.available)
    }
}

fn check_fits(base: &Path, needed: Bytes, available: Bytes) -> Result<(), TestbedError> {
    match needed.get().checked_add(RESERVE.get()) {
        Some(with_reserve) if with_reserve <= available.get() => Ok(()),
        _ => {
            let base = base.to_path_buf();
            Err(TestbedError::Space { base, available, needed, reserve: RESERVE })
        }
    }
}

fn note_once(lacking: &mut Vec<Lacking>, more: Option<Lacking>) {
    lacking.extend(more.filter(|more| !lacking.contains(more)).into_iter().collect::<Vec<_>>());
}

/// Removes what was made unless told to keep it; also when the stack unwinds.
struct Undo<'a> {
    bed: &'a Testbed,
    /// Taken when all is decided.
    lock: Option<Lock>,
}

impl Undo<'_> {
    fn keep(mut self) {
        if let Some(lock) = self.lock.take() {
            lock.keep();
        }
    }

    /// Cleans up after an error, and gives that error back.
    fn after(mut self, first: TestbedError) -> TestbedError {
        match self.clean_up() {
            Ok(()) => first,
            Err(second) => {
                TestbedError::CleanUp { first: Box::new(first), second: Box::new(second) }
            }
        }
    }

    fn clean_up(&mut self) -> Result<(), TestbedError> {
        let Some(lock) = self.lock.take() else { return Ok(()) };
        const LEAVE_BUSY_MOUNTS: bool = false;
        let outcome = self.bed.tear_down_locked(&lock, LEAVE_BUSY_MOUNTS).map(drop);
        match outcome {
            Ok(()) => lock.remove(),
            Err(error) => {
                // The rest of a bed is there, and its lock shall be.
                lock.keep();
                Err(error)
            }
        }
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        // Only a panic comes here with work left; there is nobody to tell of an error.
        let _ = self.clean_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_gibibyte_stays_free() {
        let fits = |needed: u64, available: u64| {
            check_fits(Path::new("/base"), Bytes::new(needed), Bytes::new(available))
        };
        const MIB: u64 = 1 << 20;
        fits(100 * MIB, 612 * MIB).unwrap();
        fits(0, 512 * MIB).unwrap();
        assert!(fits(0, 512 * MIB - 1).is_err());
        assert!(fits(u64::MAX, u64::MAX).is_err());
        let error = fits(100 * MIB, 612 * MIB - 1).unwrap_err().to_string();
        assert_eq!(
            error,
            "/base has 612.0 MiB free, but the targets need 100 MiB and 512 MiB stay in reserve"
        );
    }
}
