//! What is read of a store beside its minutes: how busy targets were, and which jobs made the load.

use std::collections::{BTreeSet, HashMap};

use plimsoll_history::{Component, Day, HistoryError, Store};
use plimsoll_stored::stored;
use plimsoll_utilization as utilization;
use plimsoll_utilization::{By, Survey, SurveyPart, TargetCosts, survey_days};

use crate::day_shares::on_threads;
use crate::job_sums::JobSums;
use crate::{AnalyzeError, Frame, Jobs};

/// What is read of some days that follow each other. Joining is associative and exact, as of [`crate::Partial`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BesidePart {
    utilization: SurveyPart,
    /// Names of targets whose costs were assumed.
    assumed: BTreeSet<String>,
    jobs: JobSums,
}

stored! { BesidePart { utilization, assumed, jobs } }

/// What is read of a store beside its minutes.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    /// How busy file systems were, by day, where operations are counted.
    pub utilization: Option<Survey>,
    /// Names of targets whose costs were assumed.
    pub assumed: Vec<String>,
    /// Which jobs made the load, where targets count by job.
    pub jobs: Option<Jobs>,
}

/// Says what operations cost a target, and whether that was measured.
pub type CostsOf<'a> = &'a dyn Fn(&Component) -> (TargetCosts, bool);

/// What is wanted beside minutes.
pub struct Wanted<'a> {
    /// What operations cost targets; nothing where utilization is not wanted.
    pub costs: Option<CostsOf<'a>>,
    /// Whether jobs are wanted.
    pub jobs: bool,
}

impl BesidePart {
    /// Reads some days, with so many threads.
    ///
    /// # Errors
    /// If the store is damaged or cannot be read.
    pub fn read(
        store: &Store,
        frame: &Frame,
        days: &[Day],
        wanted: &Wanted<'_>,
        threads: usize,
    ) -> Result<Self, AnalyzeError> {
        let costs: Option<HashMap<&Component, (TargetCosts, bool)>> =
            wanted.costs.map(|of| frame.targets.iter().map(|it| (it, of(it))).collect());
        let has_jobs = wanted.jobs;
        let some_days = |days: &[Day]| -> Result<BesidePart, HistoryError> {
            let mut part = BesidePart::default();
            if let Some(costs) = &costs {
                part.survey(store, frame, days, costs)?;
            }
            if has_jobs {
                part.jobs = JobSums::read(store, frame, days)?;
            }
            Ok(part)
        };
        let mut all = BesidePart::default();
        for part in on_threads(days, threads, some_days) {
            all = all.join(part?, frame)?;
        }
        Ok(all)
    }

    fn survey(
        &mut self,
        store: &Store,
        frame: &Frame,
        days: &[Day],
        costs: &HashMap<&Component, (TargetCosts, bool)>,
    ) -> Result<(), HistoryError> {
        let of = |component: &Component| costs.get(component).map(|it| it.0);
        let asked = utilization::Asked {
            is_wanted: &|component| costs.contains_key(component),
            costs: &|component| of(component).unwrap_or(TargetCosts::ASSUMED),
        };
        self.utilization = survey_days(store, days, &options(frame), &asked)?;
        let is_assumed = |it: &&Component| costs.get(*it).is_none_or(|it| !it.1);
        let assumed = self.utilization.costed().filter(is_assumed);
        self.assumed = assumed.map(|it| it.name.clone()).collect();
        Ok(())
    }

    /// Returns these days and those of a later part.
    ///
    /// # Errors
    /// If they took other costs for the same target.
    pub fn join(mut self, next: BesidePart, frame: &Frame) -> Result<Self, AnalyzeError> {
        self.utilization = self.utilization.join(next.utilization, &options(frame))?;
        self.assumed.extend(next.assumed);
        self.jobs.join(next.jobs);
        Ok(self)
    }

    /// Returns what all parts together say.
    pub fn whole(self, frame: &Frame) -> Beside {
        Beside {
            utilization: Some(self.utilization.whole(&options(frame))),
            assumed: self.assumed.into_iter().collect(),
            jobs: Jobs::of(self.jobs),
        }
    }
}

/// Returns how utilization is asked for: of file systems, by day, and only where operations are known.
fn options(frame: &Frame) -> utilization::Options {
    utilization::Options {
        since: frame.options.since,
        until: frame.options.until,
        by: By::FileSystem,
        bucket_millis: Day::MILLIS,
        only_operations: true,
        ..utilization::Options::default()
    }
}
