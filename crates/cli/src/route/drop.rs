//! `--drop TARGET=RATE@SECONDS`: a target of a test bed whose limit changes during each race.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use plimsoll_domain::{BytesPerSec, Limit};
use plimsoll_race::{Change, RateChange};
use plimsoll_testbed::{Direction, Effect, Limits, TargetName, Testbed};

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
    wishes.iter().map(|wish| one(wish, targets)).collect()
}

fn one(wish: &str, targets: &Targets) -> Result<Drop> {
    let shape = || format!("--drop {wish:?}: hint: TARGET=RATE@SECONDS, as t3=2MiB/s@1.5");
    let (target, change) = wish.split_once('=').with_context(shape)?;
    let (rate, seconds) = change.split_once('@').with_context(shape)?;
    let rate: BytesPerSec = rate.parse().with_context(|| format!("--drop {wish:?}"))?;
    ensure!(rate.get() > 0, "--drop {wish:?}: a rate of 0 would never end; hint: 1KiB/s");
    let seconds = seconds.trim_end_matches('s').parse::<f64>().ok().with_context(shape)?;
    ensure!((0.0..86_400.0).contains(&seconds), "--drop {wish:?}: hint: 0 to 86400 seconds");
    let target = targets.position(target)?;
    let Target { name, before } = Target::of(targets, target)?;
    let Some(bed) = targets.bed.clone() else {
        bail!("--drop changes limits of a test bed; hint: --testbed NAME instead of --targets")
    };
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

struct Target {
    name: TargetName,
    before: Limits,
}

impl Target {
    fn of(targets: &Targets, at: usize) -> Result<Self> {
        let target = &targets.list[at];
        let name = target.in_bed.with_context(|| {
            format!("{} is no target of a test bed; hint: --testbed NAME", target.name)
        })?;
        ensure!(
            target.limits.write.bytes.is_some(),
            "{name} has no limit that could drop; hint: plimsoll testbed slow {name} 20MiB/s"
        );
        Ok(Target { name, before: target.limits })
    }
}

impl Drop {
    /// To be done by the race.
    pub fn change(&self) -> Change {
        let (bed, name, limit) = (self.bed.clone(), self.name, self.limit);
        let apply = move || match bed.slow(name, limit, Direction::Write) {
            Ok(outcome) if outcome.effect == Effect::EveryProcess => Ok(()),
            Ok(_) => {
                Err("limits of running processes cannot be changed with cgroup v2".to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        Change { after: self.after, apply: Box::new(apply) }
    }

    /// For the fluid bound: when it really happened, or should.
    pub fn rate_change(&self, changed_ns: Option<u64>) -> RateChange {
        let planned = self.after.as_secs_f64();
        let after_seconds = changed_ns.map_or(planned, |at| at as f64 * 1e-9);
        RateChange { target: self.target, after_seconds, rate: self.rate }
    }

    /// Restores the limit when dropped, also when a race failed.
    pub fn undo(&self) -> Undo<'_> {
        Undo(self)
    }
}

/// Gives the target its limits back at the end of its life.
pub struct Undo<'a>(&'a Drop);

impl std::ops::Drop for Undo<'_> {
    fn drop(&mut self) {
        let Drop { bed, name, before, .. } = self.0;
        if let Err(error) = bed.restore(*name, *before) {
            output::message(&format!(
                "error: {name} keeps its lower limit: {error}; hint: plimsoll testbed slow {name} {}",
                before.write
            ));
        }
    }
}
