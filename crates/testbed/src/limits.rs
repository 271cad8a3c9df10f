//! Limits targets, and removes their limits again.

use std::path::Path;

use plimsoll_domain::Limit;
use plimsoll_guarded::Directory;
use plimsoll_machine::{BlockControl, BlockDevice, DeviceNumber, Machine};

use crate::place::MARKER;
use crate::scan::Found;
use crate::state_file::FileCondition;
use crate::support::no_control;
use crate::{
    Direction, Kind, Limits, TargetName, Testbed, TestbedError, bed_directory, io_max, throttle,
};

/// The processes for which a limit holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// For every process, at once (cgroup v1).
    EveryProcess,
    /// For what is under [`Testbed::run`] or [`Testbed::enter`], now or later (cgroup v2).
    UnderRun,
}

/// The outcome of a change of limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitOutcome {
    /// The target.
    pub target: TargetName,
    /// All its limits now, read back where the kernel has them.
    pub limits: Limits,
    /// For whom they hold.
    pub effect: Effect,
}

impl Testbed {
    /// Limits a target. The limit replaces what held for that direction (bytes and
    /// operations); the other direction keeps what it has.
    pub fn slow(
        &self,
        target: TargetName,
        limit: Limit,
        direction: Direction,
    ) -> Result<LimitOutcome, TestbedError> {
        check(target, limit)?;
        self.change(target, |limits| limits.with(direction, limit))
    }

    /// Removes all limits of a target.
    pub fn normal(&self, target: TargetName) -> Result<LimitOutcome, TestbedError> {
        self.change(target, |_| Limits::NONE)
    }

    /// Gives a target exactly these limits, such as those that it had before.
    pub fn restore(
        &self,
        target: TargetName,
        limits: Limits,
    ) -> Result<LimitOutcome, TestbedError> {
        self.change(target, |_| limits)
    }

    /// For whom a limit would hold on this machine; `None` when there can be none.
    pub fn effect_of_limits(&self) -> Result<Option<Effect>, TestbedError> {
        Ok(match self.machine.block_control()? {
            BlockControl::V1 { .. } => Some(Effect::EveryProcess),
            BlockControl::V2 { .. } => Some(Effect::UnderRun),
            BlockControl::Neither { .. } => None,
        })
    }

    fn change(
        &self,
        target: TargetName,
        change: impl FnOnce(Limits) -> Limits,
    ) -> Result<LimitOutcome, TestbedError> {
        self.check_directories()?;
        let directory = self.directory();
        if bed_directory::look(&self.place)?.is_none() {
            return Err(TestbedError::NoBed { directory });
        }
        let lock = self.lock_existing()?;
        let bed = bed_directory::open(lock.base(), &self.place)?;
        let bed = bed.ok_or(TestbedError::NoBed { directory })?;
        let mut found = Found::scan(&self.machine, &self.place, Some(&bed))?;
        let device = limitable_device(self, &found, target)?;
        let recorded = found.state.as_ref().map(|state| state.limits(target));
        let before = current(&self.machine, Some(&device), recorded.unwrap_or_default())?;
        let wanted = change(before);
        let effect = match self.machine.block_control()? {
            BlockControl::V1 { hierarchy } => {
                self.clear_left(&found)?;
                // Whenever this process is killed, limits that are in the kernel are recorded.
                if !wanted.is_none() {
                    self.record(&bed, &mut found, (target, device.number), wanted)?;
                }
                throttle::set(&self.machine.locate(hierarchy), device.number, &wanted)?;
                if wanted.is_none() {
                    self.record(&bed, &mut found, (target, device.number), wanted)?;
                }
                Effect::EveryProcess
            }
            // Here the state file is the only place that has the limits.
            BlockControl::V2 { .. } if found.state.is_none() => {
                return Err(self.no_state(&found.state_file));
            }
            BlockControl::V2 { hierarchy } => {
                self.record(&bed, &mut found, (target, device.number), wanted)?;
                let hierarchy = self.machine.locate(hierarchy);
                io_max::change_running(&hierarchy, self.place.name(), device.number, &wanted)?;
                Effect::UnderRun
            }
            BlockControl::Neither { .. } => {
                return Err(TestbedError::NoLimit { target, reason: no_control(&self.machine)? });
            }
        };
        Ok(LimitOutcome { target, limits: wanted, effect })
    }

    /// A state file that cannot be read is left as it is.
    fn record(
        &self,
        bed: &Directory,
        found: &mut Found,
        (target, device): (TargetName, DeviceNumber),
        limits: Limits,
    ) -> Result<(), TestbedError> {
        let Some(state) = &mut found.state else { return Ok(()) };
        state.set_limits(target, limits, device);
        state.save(bed, &self.place)
    }

    /// Removes limits that this bed set for devices which it has no longer, as somebody detached them by hand:
    /// the kernel keeps them. Those of a device that somebody else uses now are removed only if they are
    /// what this bed set; another bed has its own.
    pub(crate) fn clear_left(&self, found: &Found) -> Result<(), TestbedError> {
        let BlockControl::V1 { hierarchy } = self.machine.block_control()? else { return Ok(()) };
        let hierarchy = self.machine.locate(hierarchy);
        let settings = found.state.iter().flat_map(|state| &state.targets);
        for (number, limits) in settings.filter_map(|it| Some((it.device?, it.limits))) {
            let is_attached = found.devices.iter().any(|(_, device)| device.number == number);
            if is_attached || throttle::get(&hierarchy, number)?.is_none() {
                continue;
            }
            let devices = self.machine.block_devices()?;
            let device = devices.into_iter().find(|device| device.number == number);
            let is_left = match device.and_then(|device| device.backing) {
                None => true,
                Some(backing) if is_image_of_bed(&backing.file) => false,
                Some(_) => throttle::get(&hierarchy, number)? == limits,
            };
            if is_left {
                throttle::set(&hierarchy, number, &Limits::NONE)?;
            }
        }
        Ok(())
    }

    fn no_state(&self, condition: &FileCondition) -> TestbedError {
        let reason = match condition {
            FileCondition::Unreadable { reason } => reason.clone(),
            FileCondition::Newer { version } => {
                format!("written by a newer program (version {version})")
            }
            FileCondition::Missing | FileCondition::Complete | FileCondition::Unfinished => {
                "missing".to_owned()
            }
        };
        TestbedError::State { path: self.place.state_file(), reason }
    }
}

fn is_image_of_bed(file: &Path) -> bool {
    let is_image = file.file_name().is_some_and(|name| TargetName::of_image(name).is_some());
    is_image && file.parent().is_some_and(|directory| directory.join(MARKER).exists())
}

fn limitable_device(
    bed: &Testbed,
    found: &Found,
    target: TargetName,
) -> Result<BlockDevice, TestbedError> {
    let directory = bed.directory();
    if !found.is_bed() {
        return Err(TestbedError::NoBed { directory });
    }
    if !found.targets().any(|own| own == target) {
        return Err(TestbedError::NoSuchTarget { target, directory });
    }
    let reason = match found.kind() {
        Some(Kind::Directory) => "it is a plain directory and has no block device",
        _ => "it has no loop device now",
    };
    let no_limit = || TestbedError::NoLimit { target, reason: reason.to_owned() };
    found.device_of(target).cloned().ok_or_else(no_limit)
}

fn check(target: TargetName, limit: Limit) -> Result<(), TestbedError> {
    let operations = limit.operations.map(|rate| rate.get());
    let is_zero = limit.bytes.is_some_and(|rate| rate.get() == 0) || operations == Some(0);
    if limit.is_none() || is_zero {
        return Err(TestbedError::ZeroLimit { target });
    }
    match operations {
        // tg_set_conf in block/blk-throttle.c stores an unsigned int.
        Some(operations) if operations > u64::from(u32::MAX) => {
            Err(TestbedError::LimitTooLarge { target, operations })
        }
        _ => Ok(()),
    }
}

/// Returns the limits of a device: the kernel's where it has them for all processes, and the
/// recorded ones elsewhere.
pub(crate) fn current(
    machine: &Machine,
    device: Option<&BlockDevice>,
    recorded: Limits,
) -> Result<Limits, TestbedError> {
    match (machine.block_control()?, device) {
        (BlockControl::V1 { hierarchy }, Some(device)) => {
            throttle::get(&machine.locate(hierarchy), device.number)
        }
        (BlockControl::V1 { .. }, None) => Ok(Limits::NONE),
        (BlockControl::V2 { .. } | BlockControl::Neither { .. }, _) => Ok(recorded),
    }
}

/// Removes limits that the kernel has for a device, whoever set them.
pub(crate) fn clear_stale(machine: &Machine, device: DeviceNumber) -> Result<(), TestbedError> {
    let BlockControl::V1 { hierarchy } = machine.block_control()? else { return Ok(()) };
    let hierarchy = machine.locate(hierarchy);
    if throttle::get(&hierarchy, device)?.is_none() {
        Ok(())
    } else {
        throttle::set(&hierarchy, device, &Limits::NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(limit: &str) -> Result<(), TestbedError> {
        check(TargetName::new(1).unwrap(), limit.parse().unwrap())
    }

    #[test]
    fn a_limit_that_stops_everything_or_is_cut_is_refused() {
        checked("20MiB/s,4294967295op/s").unwrap();
        assert_eq!(checked("0B/s").unwrap_err().to_string(), "cannot limit t1 to nothing");
        assert!(matches!(checked("1MiB/s,0op/s"), Err(TestbedError::ZeroLimit { .. })));
        let none = check(TargetName::new(1).unwrap(), Limit::NONE);
        assert!(matches!(none, Err(TestbedError::ZeroLimit { .. })));
        let error = checked("4294967296op/s").unwrap_err().to_string();
        assert!(error.contains("4294967296") && error.contains("4294967295"), "{error}");
    }
}
