//! `--drop TARGET=RATE@SECONDS`: a target of a test bed whose limit changes during each race.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use plimsoll_domain::{BytesPerSec, Limit};
use plimsoll_race::{Change, RateChange};
use plimsoll_testbed::{Direction, Limits, TargetName, Testbed};

use super::targets::Targets;
use crate::output;

/// A change of a limit, and how to undo it.
pub struct Drop {
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

/// Reads all wishes. Refuses what cannot be done before anything is written.
pub fn drops(wishes: &[String], targets: &Targets) -> Result<Vec<Drop>> {
    let mut drops: Vec<Drop> = Vec::new();
    for wish in wishes {
        let drop = one(wish, targets)?;
        let is_second = drops.iter().any(|known| known.target == drop.target);
        ensure!(!is_second, "--drop {wish:?}: hint: a target drops once during a race");
        drops.push(drop);
    }
    Ok(drops)
}

fn one(wish: &str, targets: &Targets) -> Result<Drop> {
    let shape = || format!("--drop {wish:?}: hint: TARGET=RATE@SECONDS, as t3=2MiB/s@1.5");
    let (target, change) = wish.split_once('=').with_context(shape)?;
    let (rate, seconds) = change.split_once('@').with_context(shape)?;
    let rate: BytesPerSec = rate.parse().with_context(|| format!("--drop {wish:?}"))?;
    ensure!(rate.get() > 0, "--drop {wish:?}: a rate of 0 would never end; hint: 1KiB/s");
    let seconds =
        seconds.strip_suffix('s').unwrap_or(seconds).parse::<f64>().ok().with_context(shape)?;
    ensure!((0.0..86_400.0).contains(&seconds), "--drop {wish:?}: hint: 0 to 86400 seconds");
    let target = targets.position(target)?;
    let (name, before) = limited(targets, target)?;
    let limit = before.write.bytes.unwrap_or(rate);
    ensure!(rate < limit, "--drop {wish:?}: {name} has {limit} already; hint: a lower rate");
    let Some(bed) = targets.bed.clone() else {
        bail!("--drop changes limits of a test bed; hint: --testbed NAME instead of --targets")
    };
    ensure!(
        bed.effect_of_limits()?.is_some(),
        "--drop {wish:?}: limits cannot be changed here; hint: see what they need with: plimsoll doctor"
    );
    Ok(Drop {
        bed,
        name,
        before,
        target,
        rate: rate.get() as f64,
        after: Duration::from_secs_f64(seconds),
        limit: Limit { bytes: Some(rate), operations: before.write.operations },
    })
}

/// The name of a target in its test bed, and its limits.
fn limited(targets: &Targets, at: usize) -> Result<(TargetName, Limits)> {
    let target = &targets.list[at];
    let name = target.in_bed.with_context(|| {
        format!("{} is no target of a test bed; hint: --testbed NAME", target.name)
    })?;
    ensure!(
        target.limits.write.bytes.is_some(),
        "{name} has no limit that could drop; hint: plimsoll testbed slow {name} 20MiB/s"
    );
    Ok((name, target.limits))
}

impl Drop {
    /// To be done by the race.
    pub fn change(&self) -> Change {
        let (bed, name, limit) = (self.bed.clone(), self.name, self.limit);
        let apply = move || match bed.slow(name, limit, Direction::Write) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        let (bed, before) = (self.bed.clone(), self.before);
        let undo = move || {
            if let Err(error) = bed.restore(name, before) {
                output::message(&format!(
                    "error: {name} keeps its lower limit: {error}; hint: plimsoll testbed slow {name} {}",
                    before.write
                ));
            }
        };
        Change { after: self.after, apply: Box::new(apply), undo: Box::new(undo) }
    }

    /// For the fluid bound: when it really happened, or should.
    pub fn rate_change(&self, changed_ns: Option<u64>) -> RateChange {
        let planned = self.after.as_secs_f64();
        let after_seconds = changed_ns.map_or(planned, |at| at as f64 * 1e-9);
        RateChange { target: self.target, after_seconds, rate: self.rate }
    }

    /// Its test bed, itself, and the limits that it has to get back.
    pub fn kept(&self) -> (&Testbed, TargetName, Limits) {
        (&self.bed, self.name, self.before)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use plimsoll_machine::{Machine, THROTTLE_FILES};

    use super::super::targets::{LIMIT, Target};
    use super::*;

    const V1: &str = "38 31 0:35 / /cg/blkio rw - cgroup cgroup rw,blkio\n";
    const V2: &str = "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n";

    /// What comes of a drop of a limited target on a machine with these cgroups.
    fn drop_on(mountinfo: &str) -> Result<Vec<Drop>> {
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
        let target = Target {
            name: "t0".into(),
            path: bed.directory().join("t0"),
            in_bed: TargetName::new(0),
            limits: Limits { read: Limit::NONE, write },
            rate: Some(20e6),
            rate_source: LIMIT,
        };
        let bed = bed.on(Machine::at(root.path(), ""));
        drops(&["t0=2MiB/s@1".into()], &Targets { list: vec![target], bed: Some(bed) })
    }

    #[test]
    fn what_could_not_be_changed_during_a_race_is_refused_before_it() {
        for with in [V1, V2] {
            assert_eq!(drop_on(with).unwrap().len(), 1);
        }
        let error = drop_on("").err().unwrap().to_string();
        assert!(error.contains("plimsoll doctor"), "{error}");
    }
}
