//! A target of a test bed whose limit is lowered during each race, and restored after it.

use std::time::Duration;

use plimsoll_domain::{BytesPerSec, Limit};
use plimsoll_testbed::{Direction, Limits, TargetName, Testbed};
use plimsoll_theory::RateChange;

use crate::{Change, RaceError, Targets};

/// A limit to be lowered, and how to undo it.
#[derive(Debug)]
pub struct LimitDrop {
    bed: Testbed,
    name: TargetName,
    before: Limits,
    /// Which target.
    pub target: usize,
    /// Its rate afterwards, bytes per second.
    pub rate: f64,
    /// When.
    pub after: Duration,
    limit: Limit,
}

impl LimitDrop {
    /// Plans the drop of a target to a rate.
    ///
    /// # Errors
    /// Fails if the target has no limit above that rate, or if limits cannot be changed here.
    pub fn new(
        targets: &Targets,
        target: usize,
        rate: BytesPerSec,
        after: Duration,
    ) -> Result<Self, RaceError> {
        let (name, before) = limited(targets, target)?;
        let limit = before.write.bytes.unwrap_or(rate);
        if rate >= limit {
            return Err(RaceError::NotLower { target: name, limit });
        }
        let bed = targets.bed.clone().ok_or(RaceError::NoTestbed)?;
        if bed.effect_of_limits()?.is_none() {
            return Err(RaceError::LimitsCannotChange);
        }
        Ok(LimitDrop {
            bed,
            name,
            before,
            target,
            rate: rate.get() as f64,
            after,
            limit: Limit { bytes: Some(rate), operations: before.write.operations },
        })
    }

    /// Returns what a race does at its time. `complain` is told when a limit could not be restored.
    pub fn change(&self, complain: fn(&str)) -> Change {
        let (bed, name, limit) = (self.bed.clone(), self.name, self.limit);
        let apply = move || match bed.slow(name, limit, Direction::Write) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        let (bed, before) = (self.bed.clone(), self.before);
        let undo = move || {
            if let Err(error) = bed.restore(name, before) {
                complain(&format!(
                    "error: {name} keeps its lower limit: {error}; hint: plimsoll testbed slow {name} {}",
                    before.write
                ));
            }
        };
        Change { after: self.after, apply: Box::new(apply), undo: Box::new(undo) }
    }

    /// Returns it for the fluid bound: when it really happened, or should.
    pub fn rate_change(&self, changed_ns: Option<u64>) -> RateChange {
        let planned = self.after.as_secs_f64();
        let after_seconds = changed_ns.map_or(planned, |at| at as f64 * 1e-9);
        RateChange { target: self.target, after_seconds, rate: self.rate }
    }

    /// Its test bed, itself, and the limits that it has to get back.
    pub(crate) fn kept(&self) -> (&Testbed, TargetName, Limits) {
        (&self.bed, self.name, self.before)
    }
}

/// The name of a target in its test bed, and its limits.
fn limited(targets: &Targets, at: usize) -> Result<(TargetName, Limits), RaceError> {
    let target = &targets.list[at];
    let not_in_bed = || RaceError::NotInBed { target: target.name.clone() };
    let name = target.in_bed.ok_or_else(not_in_bed)?;
    if target.limits.write.bytes.is_none() {
        return Err(RaceError::NoLimit { target: name });
    }
    Ok((name, target.limits))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use plimsoll_machine::{Machine, THROTTLE_FILES};

    use super::*;
    use crate::{RaceTarget, RateSource};

    const V1: &str = "38 31 0:35 / /cg/blkio rw - cgroup cgroup rw,blkio\n";
    const V2: &str = "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n";

    /// What comes of a drop of a target with a limit of 20 MiB/s on a machine with these cgroups.
    fn drop_on(mountinfo: &str, rate: &str) -> Result<LimitDrop, RaceError> {
        let root = tempfile::tempdir().unwrap();
        for directory in ["proc/self", "cg/blkio", "cg/unified"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        fs::write(root.path().join("proc/self/mountinfo"), mountinfo).unwrap();
        fs::write(root.path().join("cg/unified/cgroup.controllers"), "io memory\n").unwrap();
        for file in THROTTLE_FILES {
            fs::write(root.path().join("cg/blkio").join(file), "").unwrap();
        }
        let bed = Testbed::in_base(Path::new("/var/tmp/beds"), "race").unwrap();
        let write = "20MiB/s".parse().unwrap();
        let target = RaceTarget {
            name: "t0".into(),
            path: bed.directory().join("t0"),
            in_bed: TargetName::new(0),
            limits: Limits { read: Limit::NONE, write },
            rate: Some(20e6),
            rate_source: RateSource::Limit,
        };
        let bed = bed.on(Machine::at(root.path(), ""));
        let targets = Targets { list: vec![target], bed: Some(bed) };
        LimitDrop::new(&targets, 0, rate.parse().unwrap(), Duration::from_secs(1))
    }

    #[test]
    fn what_could_not_be_changed_during_a_race_is_refused_before_it() {
        for with in [V1, V2] {
            assert_eq!(drop_on(with, "2MiB/s").unwrap().target, 0);
            assert!(matches!(drop_on(with, "20MiB/s"), Err(RaceError::NotLower { .. })));
        }
        let error = drop_on("", "2MiB/s").unwrap_err().to_string();
        assert!(error.contains("plimsoll doctor"), "{error}");
    }

    #[test]
    fn a_target_without_a_bed_or_a_limit_cannot_drop() {
        let mut target = RaceTarget::directory("here".into(), "/here".into());
        let drop = |target: &RaceTarget| {
            let targets = Targets { list: vec![target.clone()], bed: None };
            LimitDrop::new(&targets, 0, "1MiB/s".parse().unwrap(), Duration::ZERO).unwrap_err()
        };
        assert!(matches!(drop(&target), RaceError::NotInBed { .. }));
        target.in_bed = TargetName::new(1);
        assert!(matches!(drop(&target), RaceError::NoLimit { .. }));
        target.limits.write = "2MiB/s".parse().unwrap();
        assert!(matches!(drop(&target), RaceError::NoTestbed));
    }

    #[test]
    fn the_bound_counts_the_moment_at_which_it_really_dropped() {
        let drop = drop_on(V1, "2MiB/s").unwrap();
        assert_eq!(drop.rate_change(None).after_seconds, 1.0);
        assert_eq!(drop.rate_change(Some(1_250_000_000)).after_seconds, 1.25);
        assert_eq!(drop.rate_change(None).rate, f64::from(2 << 20));
    }
}
