//! The targets of a race, and the rate of each.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use plimsoll_machine::check_apart;
use plimsoll_stats::Sample;
use plimsoll_testbed::{Limits, TargetName, Testbed};

use crate::course::Course;
use crate::race::{Entry, race};
use crate::{Contender, RaceError};

/// A target of a race.
#[derive(Debug, Clone)]
pub struct RaceTarget {
    /// What people call it.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its name in its test bed, if it is on one.
    pub in_bed: Option<TargetName>,
    /// Its limits there.
    pub limits: Limits,
    /// Bytes per second, once known.
    pub rate: Option<f64>,
    /// Where that is from.
    pub rate_source: RateSource,
}

/// Where a rate is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateSource {
    /// The limit of a test bed's target.
    Limit,
    /// Bursts before the races.
    Measured,
}

/// All targets of a race.
#[derive(Debug)]
pub struct Targets {
    /// The targets, by number.
    pub list: Vec<RaceTarget>,
    /// Their test bed, if they are on one.
    pub bed: Option<Testbed>,
}

/// How often rates are measured; the median counts.
const PROBES: u64 = 3;

impl RateSource {
    /// Returns its name in results.
    pub fn name(self) -> &'static str {
        match self {
            RateSource::Limit => "limit",
            RateSource::Measured => "measured",
        }
    }
}

/// The most targets of a race.
const TARGETS_MAX: usize = 256;

impl Targets {
    /// Checks that there are some, not too many, and that each is one by itself.
    pub(crate) fn check(&self) -> Result<(), RaceError> {
        let count = self.list.len();
        if count == 0 {
            return Err(RaceError::NoTargets);
        }
        if count > TARGETS_MAX {
            return Err(RaceError::TooManyTargets { count, most: TARGETS_MAX });
        }
        check_apart(self.directories())?;
        let mut names = HashSet::new();
        match self.list.iter().find(|target| !names.insert(&target.name)) {
            Some(target) => Err(RaceError::NamedTwice { target: target.name.clone() }),
            None => Ok(()),
        }
    }

    /// Returns names and directories.
    pub fn directories(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.list.iter().map(|target| (target.name.as_str(), target.path.as_path()))
    }
}

impl RaceTarget {
    /// A directory, whose rate is to be measured.
    pub fn directory(name: String, path: PathBuf) -> Self {
        let (limits, rate, rate_source) = (Limits::NONE, None, RateSource::Measured);
        RaceTarget { name, path, in_bed: None, limits, rate, rate_source }
    }

    /// A target of a test bed. Its limit is its rate, if it has one.
    pub fn of_bed(info: plimsoll_testbed::TargetInfo) -> Self {
        let rate = info.limits.write.bytes.map(|rate| rate.get() as f64);
        let rate_source = if rate.is_some() { RateSource::Limit } else { RateSource::Measured };
        RaceTarget {
            name: info.name.to_string(),
            path: info.path,
            in_bed: Some(info.name),
            limits: info.limits,
            rate,
            rate_source,
        }
    }
}

impl Targets {
    /// Returns the number of a target that a person names. Targets of a test bed also go by their
    /// names there.
    ///
    /// # Errors
    /// Fails if there is no such target.
    pub fn position(&self, name: &str) -> Result<usize, RaceError> {
        let by_name = self.list.iter().position(|target| target.name == name);
        let in_bed = || {
            let wanted: TargetName = name.parse().ok()?;
            self.list.iter().position(|target| target.in_bed == Some(wanted))
        };
        let known = || self.list.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        by_name
            .or_else(in_bed)
            .ok_or_else(|| RaceError::UnknownTarget { name: name.to_string(), known: known() })
    }

    /// Returns all rates in bytes per second; `None` if one is not known yet.
    pub fn rates(&self) -> Option<Vec<f64>> {
        self.list.iter().map(|target| target.rate).collect()
    }

    /// Measures the rates that no limit tells: all targets at once, so that targets that share a
    /// device are not counted twice.
    ///
    /// # Errors
    /// Fails if a race does, if data is lost, or if nothing was written to a target.
    pub fn measure(
        &mut self,
        course: &Course,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), RaceError> {
        if self.rates().is_some() {
            return Ok(());
        }
        let writers = self.list.len() as u32;
        let probe = Course { writers, noise: Vec::new(), ..course.clone() };
        let mut seen = vec![Vec::new(); self.list.len()];
        for seed in 0..PROBES {
            let entry =
                Entry { contender: Contender::STATIC, changes: Vec::new(), seed, verify: false };
            let outcome = race(&probe, entry, interrupted)?;
            let lost_bytes = outcome.lost_bytes();
            if lost_bytes > 0 {
                return Err(RaceError::LostWhileMeasuring { lost_bytes });
            }
            let took = outcome.target_bytes.iter().zip(&outcome.target_ended_ns);
            for (rates, (bytes, ended_ns)) in seen.iter_mut().zip(took) {
                if let Some(ended_ns) = ended_ns.filter(|it| *it > 0) {
                    rates.push(*bytes as f64 / (ended_ns as f64 * 1e-9));
                }
            }
        }
        for (target, rates) in self.list.iter_mut().zip(seen) {
            if target.rate.is_none() {
                let unmeasured = |_| RaceError::Unmeasured { target: target.name.clone() };
                target.rate = Some(Sample::new(rates).map_err(unmeasured)?.median());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets() -> Targets {
        let directory = |name: &str| RaceTarget::directory(name.into(), name.into());
        let mut list = vec![directory("fast"), directory("t7")];
        list[0].in_bed = TargetName::new(3);
        Targets { list, bed: None }
    }

    #[test]
    fn a_target_goes_by_its_name_and_by_that_in_its_bed() {
        let targets = targets();
        assert_eq!(targets.position("fast").unwrap(), 0);
        assert_eq!(targets.position("t3").unwrap(), 0);
        assert_eq!(targets.position("t7").unwrap(), 1);
        let error = targets.position("t4").unwrap_err().to_string();
        assert_eq!(error, "there is no target \"t4\"; hint: one of fast, t7");
    }

    #[test]
    fn rates_are_known_when_all_are() {
        let mut targets = targets();
        targets.list[0].rate = Some(5.0);
        assert_eq!(targets.rates(), None);
        targets.list[1].rate = Some(7.0);
        assert_eq!(targets.rates(), Some(vec![5.0, 7.0]));
    }
}
