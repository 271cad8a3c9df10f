//! The targets of a race, and the rate of each.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail, ensure};
use plimsoll_race::{Course, Entry, Policy, race};
use plimsoll_stats::Sample;
use plimsoll_testbed::{Limits, TargetInfo, TargetName, Testbed};

use crate::targets::{Choice, Known, NamedDirectory, TargetArguments};

/// Where the targets come from. Limits of a test bed's targets are their rates; others are measured first.
#[derive(clap::Args)]
pub struct Source {
    #[command(flatten)]
    named: TargetArguments,
}

/// A target of a race.
#[derive(Debug, Clone)]
pub struct Target {
    /// What people call it.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its name in its test bed.
    pub in_bed: Option<TargetName>,
    /// Its limits there.
    pub limits: Limits,
    /// Bytes per second, once known.
    pub rate: Option<f64>,
    /// Where that is from.
    pub rate_source: &'static str,
}

/// All targets.
pub struct Targets {
    /// They.
    pub list: Vec<Target>,
    /// Their test bed.
    pub bed: Option<Testbed>,
}

/// Where a rate is from: the limit of a test bed's target.
pub const LIMIT: &str = "limit";

/// Where a rate is from: bursts before the races.
const MEASURED: &str = "measured";

/// How often rates are measured; the median counts.
const PROBES: u64 = 3;

impl Source {
    /// The targets, with the rates that their limits tell.
    pub fn find(&self) -> Result<Targets> {
        let bed = self.named.bed.find()?;
        if bed.is_none() && !self.named.are_named() {
            bail!("which targets? hint: --targets DIR…, or --testbed NAME");
        }
        let (bed, known) = match bed {
            Some((bed, targets)) => {
                let targets = targets.into_iter().map(|it| (it.name.to_string(), of_bed(it)));
                (Some(bed), Some(Known { place: "test bed", targets: targets.collect() }))
            }
            None => (None, None),
        };
        let target = |choice| match choice {
            Choice::Known(target) => target,
            Choice::Directory(directory) => named(directory),
        };
        let list = self.named.choose(known)?.into_iter().map(target).collect();
        let targets = Targets { list, bed };
        let count = targets.list.len();
        ensure!(count > 0, "there are no targets; hint: plimsoll testbed list");
        ensure!(count <= 256, "{count} targets are too many; hint: at most 256");
        let places: Vec<PathBuf> = targets.list.iter().map(Target::place).collect();
        for (at, target) in targets.list.iter().enumerate() {
            if let Some(other) = places[..at].iter().position(|place| *place == places[at]) {
                let (first, second) = (&targets.list[other].name, &target.name);
                bail!("targets {first} and {second} are one directory; hint: name it once");
            }
            let is_other = |other: &Target| other.name == target.name;
            ensure!(
                !targets.list[..at].iter().any(is_other),
                "target {} is named twice; hint: NAME=DIR gives names",
                target.name
            );
        }
        Ok(targets)
    }
}

fn named(directory: NamedDirectory) -> Target {
    let NamedDirectory { name, path } = directory;
    let (limits, rate, rate_source) = (Limits::NONE, None, MEASURED);
    Target { name, path, in_bed: None, limits, rate, rate_source }
}

fn of_bed(info: TargetInfo) -> Target {
    let rate = info.limits.write.bytes.map(|rate| rate.get() as f64);
    Target {
        name: info.name.to_string(),
        path: info.path,
        in_bed: Some(info.name),
        limits: info.limits,
        rate,
        rate_source: if rate.is_some() { LIMIT } else { MEASURED },
    }
}

impl Target {
    /// Where it really is, whatever links lead there.
    fn place(&self) -> PathBuf {
        self.path.canonicalize().unwrap_or_else(|_| self.path.clone())
    }
}

impl Targets {
    /// The place of a target that a person names.
    pub fn position(&self, name: &str) -> Result<usize> {
        let by_name = self.list.iter().position(|target| target.name == name);
        // Targets of a bed also go by their number.
        let by_index = || {
            let wanted: TargetName = name.parse().ok()?;
            self.list.iter().position(|target| target.in_bed == Some(wanted))
        };
        let names = || self.list.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        by_name
            .or_else(by_index)
            .ok_or_else(|| anyhow!("there is no target {name:?}; hint: one of {}", names()))
    }

    /// All rates, in bytes per second; 0 for one that is not known.
    pub fn rates(&self) -> Vec<f64> {
        self.list.iter().map(|target| target.rate.unwrap_or(0.0)).collect()
    }

    /// Measures what no limit tells: all targets at once, so that targets that share a device
    /// are not counted twice.
    pub fn measure(&mut self, course: &Course, interrupted: &dyn Fn() -> bool) -> Result<()> {
        if self.list.iter().all(|target| target.rate.is_some()) {
            return Ok(());
        }
        let writers = self.list.len() as u32;
        let probe = Course { writers, noise: Vec::new(), ..course.clone() };
        let mut seen = vec![Vec::new(); self.list.len()];
        for seed in 0..PROBES {
            let entry = Entry { policy: Policy::Static, changes: Vec::new(), seed, verify: false };
            let outcome = race(&probe, entry, interrupted)?;
            let lost = outcome.lost_bytes();
            ensure!(lost == 0, "cannot measure rates: {lost} bytes were lost meanwhile");
            let took = outcome.target_bytes.iter().zip(&outcome.target_ended_ns);
            for (rates, (bytes, ended_ns)) in seen.iter_mut().zip(took) {
                if let Some(ended_ns) = ended_ns.filter(|it| *it > 0) {
                    rates.push(*bytes as f64 / (ended_ns as f64 * 1e-9));
                }
            }
        }
        for (target, rates) in self.list.iter_mut().zip(seen) {
            if target.rate.is_none() {
                let sample = Sample::new(rates).ok();
                let sample = sample.with_context(|| format!("cannot measure {}", target.name))?;
                target.rate = Some(sample.median());
            }
        }
        Ok(())
    }
}
