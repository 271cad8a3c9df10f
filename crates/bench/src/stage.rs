//! An experiment's processes and directories, from the first burst to the last.

use std::path::PathBuf;

use plimsoll_guarded::WorkingDirectories;
use plimsoll_machine::Machine;
use plimsoll_measures::{Journal, Results};

use crate::growth::{Growth, GrowthError, fit};
use crate::load::Load;
use crate::measuring::{Clients, Setup};
use crate::plan::Plan;
use crate::runner::{Ending, RunError, Runner, Spent};
use crate::{Team, TeamError};

/// Who does an experiment, and where.
pub struct Stage {
    team: Box<dyn Team>,
    working: WorkingDirectories,
}

impl Stage {
    /// Makes a private directory on each target of the plan, and lets the team enter them.
    ///
    /// # Errors
    /// If one cannot be made or entered.
    pub fn set(
        plan: &Plan,
        team: impl FnOnce() -> Result<Box<dyn Team>, TeamError>,
    ) -> Result<Self, RunError> {
        let targets: Vec<PathBuf> = plan.targets.iter().map(|it| it.path.clone()).collect();
        let working = WorkingDirectories::make(&targets)?;
        let mut team = team()?;
        team.enter(&working.claims())?;
        Ok(Stage { team, working })
    }

    /// Gives the plan bursts that outlast caches ([`fit`]). `None` if the user asked to stop.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn fit_bursts(
        &mut self,
        plan: &mut Plan,
        machine: &Machine,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<Growth>>, GrowthError> {
        fit(plan, &self.working.paths(), self.team.as_mut(), machine, interrupted)
    }

    /// Measures what the plan has and earlier sessions have not. `progress` is told after each instance.
    ///
    /// # Errors
    /// When results cannot be read or written, or the processes cannot go on.
    pub fn measure(
        &mut self,
        plan: &Plan,
        journal: &mut Journal,
        earlier: &Results,
        progress: &mut dyn FnMut(&Spent),
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(Ending, Spent), RunError> {
        let clients = Clients::of(self.team.members());
        let setup = Setup { plan, directories: &self.working.paths(), clients: &clients };
        let measured = earlier.instances()?;
        let runner = Runner::new(setup, journal, progress);
        let (ending, mut spent) = runner.run(self.team.as_mut(), measured, interrupted)?;
        spent.load.add(Load::from_json(&earlier.summary["load"]));
        Ok((ending, spent))
    }

    /// Removes the directories: every node removes its own, and the drop removes what is left.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn clear(&mut self) -> Result<(), TeamError> {
        self.team.leave()
    }
}
