//! Does a plan's steps, one after the other, and keeps what they measured.

use std::iter::Peekable;
use std::time::{Duration, Instant as Moment};

use plimsoll_domain::burst::Setting;
use plimsoll_guarded::NoWorkingDirectory;
use plimsoll_machine::Machine;
use plimsoll_measures::{Instance, Journal, MeasuresError, Outcome};
use thiserror::Error;

use crate::load::Load;
use crate::measuring::{CacheUse, Setup};
use crate::plan::{Budget, Plan};
use crate::schedule::{InstancePlan, Schedule, Step};
use crate::stopping::{Shortfall, Stopping};
use crate::team::{Team, TeamError};

/// How long a pause may go on before it looks whether the user asked to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How an experiment ended. Whatever was measured is in the journal.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// Everything that was planned was measured, and no precision was requested.
    Complete,
    /// The medians are known as precisely as requested.
    Precise,
    /// Everything that was planned was measured, and some medians are not known as precisely as requested.
    Imprecise(Shortfall),
    /// The budget of bytes or time was spent; with what is missing to the precision, if one was requested.
    BudgetSpent(Option<Shortfall>),
    /// The user asked to stop.
    Interrupted,
    /// A process could not do its part, and why.
    Failed(String),
}

impl Ending {
    /// Returns whether nothing is left to do.
    pub fn is_complete(&self) -> bool {
        !matches!(self, Ending::Interrupted | Ending::Failed(_))
    }
}

/// Why nothing more can be measured.
#[derive(Debug, Error)]
pub enum RunError {
    /// The results cannot be written.
    #[error(transparent)]
    Results(#[from] MeasuresError),
    /// The processes cannot go on.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// A target has no place for files.
    #[error(transparent)]
    Working(#[from] NoWorkingDirectory),
}

/// What to do about an instance of the schedule.
enum Next {
    Measure,
    LeaveOut,
    EndRun,
}

/// What was done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Instances.
    pub instances: u64,
    /// Bytes moved, preparations included.
    pub bytes: u64,
    /// Time, that of earlier sessions of a resumed experiment left out.
    pub time: Duration,
    /// What the page cache had a part in, earlier sessions left out.
    pub cache: CacheUse,
    /// How busy this machine was.
    pub load: Load,
}

impl Spent {
    /// Returns how much of the most that an experiment can take is done, from 0 to 1: of its instances, its time or
    /// its bytes, whichever ends it first.
    pub fn share(&self, instances_most: u64, budget: &Budget) -> f64 {
        let instances = self.instances as f64 / instances_most.max(1) as f64;
        let time = budget.time.map(|most| self.time.as_secs_f64() / most.as_seconds());
        let bytes = budget.bytes.map(|most| self.bytes as f64 / most.get() as f64);
        [Some(instances), time, bytes].into_iter().flatten().fold(0.0, f64::max).min(1.0)
    }
}

/// An experiment under way.
pub struct Runner<'a> {
    setup: Setup<'a>,
    journal: &'a mut Journal,
    /// Asked after each repetition, when a precision is to be reached.
    stopping: Option<Stopping<(Setting, String)>>,
    spent: Spent,
    began: Moment,
    machine: Machine,
    /// Whether any run ended early because of the budget.
    is_budget_spent: bool,
    /// Told after each instance.
    progress: &'a mut dyn FnMut(&Spent),
}

impl<'a> Runner<'a> {
    /// Prepares to run.
    pub fn new(
        setup: Setup<'a>,
        journal: &'a mut Journal,
        progress: &'a mut dyn FnMut(&Spent),
    ) -> Self {
        let repeat = &setup.plan.repeat;
        let stopping = repeat.precision.map(|it| Stopping::new(it, repeat.confidence));
        let (spent, began, machine) = (Spent::default(), Moment::now(), Machine::host());
        Self { setup, journal, stopping, spent, began, machine, is_budget_spent: false, progress }
    }

    fn plan(&self) -> &'a Plan {
        self.setup.plan
    }

    /// Runs to the end. `measured` are the instances of an earlier session, in their order: they are
    /// not measured again, and count for the precision and the budget of bytes.
    ///
    /// # Errors
    /// When the results cannot be kept. A team that cannot go on is an [`Ending`].
    pub fn run(
        mut self,
        team: &mut dyn Team,
        measured: impl Iterator<Item = Result<Instance, MeasuresError>>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(Ending, Spent), RunError> {
        let mut measured = measured.peekable();
        let mut schedule = Schedule::new(self.plan());
        while let Some(step) = schedule.next() {
            if interrupted() {
                return Ok((Ending::Interrupted, self.spent));
            }
            match step {
                Step::Instance(planned) => match self.what_to_do(&planned, &mut measured)? {
                    Next::Measure => {
                        if let Some(ending) = self.measure(&planned, team, interrupted)? {
                            return Ok((ending, self.spent));
                        }
                    }
                    Next::EndRun => {
                        self.is_budget_spent = true;
                        schedule.end_run();
                    }
                    Next::LeaveOut => {}
                },
                Step::Pause(pause) if measured.peek().is_none() => {
                    self.pause(pause.as_seconds(), interrupted);
                }
                Step::EndOfRepetition { repetitions, .. } if self.is_precise(repetitions) => {
                    schedule.end_run();
                }
                Step::EndOfRun { .. } => {
                    self.stopping.iter_mut().for_each(Stopping::begin_run);
                }
                _ => {}
            }
        }
        Ok((self.ending(), self.spent))
    }

    /// Returns how an experiment ended that has nothing left to do.
    fn ending(&self) -> Ending {
        let missing = self.stopping.as_ref().and_then(|it| it.shortfall(self.settings()));
        match (self.is_budget_spent, missing, &self.stopping) {
            (true, missing, _) => Ending::BudgetSpent(missing),
            (false, Some(missing), _) => Ending::Imprecise(missing),
            (false, None, Some(_)) => Ending::Precise,
            (false, None, None) => Ending::Complete,
        }
    }

    /// Returns whether an instance is still to be measured. One of an earlier session is counted instead.
    fn what_to_do<I: Iterator<Item = Result<Instance, MeasuresError>>>(
        &mut self,
        planned: &InstancePlan,
        measured: &mut Peekable<I>,
    ) -> Result<Next, RunError> {
        let beyond_budget = self.is_beyond_budget(planned);
        let Some(earlier) = measured.peek() else {
            return Ok(if beyond_budget { Next::EndRun } else { Next::Measure });
        };
        // An earlier session that went on to another run here had its reasons.
        if earlier.as_ref().is_ok_and(|earlier| earlier.run > planned.run) {
            return Ok(Next::EndRun);
        }
        let is_this = |it: &Result<_, _>| {
            it.as_ref().map_or(true, |it: &Instance| it.instance == planned.instance)
        };
        // Lost lines of a journal leave gaps, which are not filled afterwards.
        if let Some(instance) = measured.next_if(is_this) {
            self.count(planned, &instance?);
        }
        Ok(Next::LeaveOut)
    }

    /// Measures, keeps, counts. An ending when it cannot go on.
    fn measure(
        &mut self,
        planned: &InstancePlan,
        team: &mut dyn Team,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<Ending>, RunError> {
        let before = self.machine.processor_time().ok();
        let measured = self.setup.measure(planned, team, interrupted);
        self.spent.load.count(before, self.machine.processor_time().ok());
        let (instance, cache) = match measured {
            Ok(measured) => measured,
            Err(TeamError::Interrupted) => return Ok(Some(Ending::Interrupted)),
            Err(error) => return Ok(Some(Ending::Failed(error.to_string()))),
        };
        // A job that is being ended removes its files under those who still use them.
        if interrupted() && instance.outcome != Outcome::Complete {
            return Ok(Some(Ending::Interrupted));
        }
        self.journal.append(&instance)?;
        self.spent.cache.add(cache);
        self.count(planned, &instance);
        Ok(match instance.outcome {
            Outcome::Complete => None,
            Outcome::Failed(why) => Some(Ending::Failed(why)),
        })
    }

    fn count(&mut self, planned: &InstancePlan, instance: &Instance) {
        if let (Outcome::Complete, Some(bandwidth)) =
            (&instance.outcome, instance.aggregate_bandwidth())
        {
            let stopping = self.stopping.iter_mut();
            let key = (instance.setting.clone(), planned.grouped.clone());
            stopping.for_each(|it| it.observe(&key, bandwidth));
        }
        self.spent.instances += 1;
        self.spent.bytes += bytes_of(planned);
        self.spent.time = self.began.elapsed();
        (self.progress)(&self.spent);
    }

    fn is_precise(&self, repetitions: u32) -> bool {
        let asked = repetitions >= self.plan().repeat.rounds;
        asked && self.stopping.as_ref().is_some_and(|it| it.verdict(self.settings()).reached)
    }

    /// Returns the number of settings of the plan.
    fn settings(&self) -> usize {
        let plan = self.plan();
        plan.vary.len() * plan.groups.len() * plan.burst.sizes.len().max(1)
    }

    /// Returns whether this instance would go beyond the share of the budget that runs up to its own have.
    fn is_beyond_budget(&self, planned: &InstancePlan) -> bool {
        let budget = self.plan().budget;
        let share = f64::from(planned.run + 1) / f64::from(self.plan().repeat.runs.max(1));
        let bytes = (self.spent.bytes + bytes_of(planned)) as f64;
        let beyond_bytes = budget.bytes.is_some_and(|most| bytes > most.get() as f64 * share);
        let time = self.began.elapsed().as_secs_f64();
        let beyond_time = budget.time.is_some_and(|most| time > most.as_seconds() * share);
        beyond_bytes || beyond_time
    }

    fn pause(&self, seconds: f64, interrupted: &dyn Fn() -> bool) {
        let until = Moment::now() + Duration::from_secs_f64(seconds);
        while !interrupted() {
            let left = until.saturating_duration_since(Moment::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(LOOK_EVERY));
        }
    }
}

fn bytes_of(planned: &InstancePlan) -> u64 {
    let processes = planned.processes.iter().chain(&planned.prepare);
    processes.map(|process| process.bytes.get()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_domain::{Bytes, Nanos};

    #[test]
    fn what_ends_first_tells_how_far_it_is() {
        let time = Duration::from_secs(30);
        let spent = Spent { instances: 10, bytes: 1 << 20, time, ..Spent::default() };
        let share = |bytes: Option<u64>, seconds: Option<u64>| {
            let time = seconds.map(|it| Nanos::new(it * 1_000_000_000));
            spent.share(1000, &Budget { bytes: bytes.map(Bytes::new), time })
        };
        assert_eq!(share(None, None), 0.01);
        assert_eq!(share(None, Some(60)), 0.5);
        assert_eq!(share(Some(4 << 20), Some(3000)), 0.25);
        assert_eq!(share(Some(1 << 10), None), 1.0, "never more than all");
        assert_eq!(Spent::default().share(0, &Budget::default()), 0.0);
    }
}
