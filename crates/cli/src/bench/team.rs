//! Who does the work: processes of this machine, or the ranks of an MPI job.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_bench::job::Job;
use plimsoll_bench::launcher::Launcher;
use plimsoll_bench::mpi_team;
use plimsoll_bench::plan::Plan;
use plimsoll_bench::stage::Stage;
use plimsoll_testbed::{UnderLimits, check_limits_of_job, enter_limits};

use crate::interruption::{Interruption, SIGNALS};
use crate::testbed::with_hint;

/// The hidden command of a worker process.
pub const WORKER_COMMAND: &str = "bench-worker";

/// A job that this process coordinates.
pub struct Joined {
    pub job: Job,
    /// Whether it is to end, where signals are watched for already.
    interruption: Option<Interruption>,
}

/// Joins the job that a launcher started this process in, if one did. Breaks off with its exit status in a rank
/// that has served.
pub fn join() -> Result<ControlFlow<ExitCode, Joined>> {
    let launcher = Launcher::of_this_process().filter(|launcher| launcher.processes > 1);
    let Some(launcher) = launcher else {
        let alone = Joined { job: Job::Alone, interruption: None };
        return Ok(ControlFlow::Continue(alone));
    };
    let interruption = end_after_a_signal()?;
    Ok(match Job::join(&launcher)? {
        None => ControlFlow::Break(served(&interruption)),
        Some(job) => ControlFlow::Continue(Joined { job, interruption: Some(interruption) }),
    })
}

/// That of rank 0: launchers may tell any rank's status for that of the job.
fn served(interruption: &Interruption) -> ExitCode {
    if interruption.is_asked() { interruption.exit_code() } else { ExitCode::SUCCESS }
}

/// Launchers that end a job may kill it a second after the signal. Most often rank 0 sees the signal,
/// and all ranks end in order before this is over; ranks that are inside a transfer do not.
const TIME_TO_END: Duration = Duration::from_millis(300);

/// Ends this rank some time after a signal, wherever it is, and removes the experiment's files. The
/// journal is complete at any moment. A second signal says nothing new: a launcher passes on what
/// the terminal has sent to everybody.
fn end_after_a_signal() -> Result<Interruption> {
    let interruption = Interruption::default();
    let mut signals = signal_hook::iterator::Signals::new(SIGNALS)?;
    let told = interruption.clone();
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            told.note(signal);
            std::thread::sleep(TIME_TO_END);
            mpi_team::remove_made();
            signal_hook::low_level::exit(told.status().into());
        }
    });
    Ok(interruption)
}

impl Joined {
    /// Returns the limits of the plan's test bed, if there is one, for those who work.
    pub fn under_limits(&self, plan: &Plan) -> Result<Option<UnderLimits>> {
        let targets = plan.targets.iter().map(|target| &target.path);
        match self.job {
            Job::Alone => enter_limits(targets).map_err(with_hint),
            Job::Ranks { .. } => check_limits_of_job(targets).map(|()| None).map_err(with_hint),
        }
    }

    /// Starts what is not there yet, and returns where the experiment takes place and whether the user asked to stop.
    pub fn into_stage(self, plan: &Plan) -> Result<(Stage, Interruption)> {
        let program =
            std::env::current_exe().context("cannot find this program to start workers")?;
        let interruption = match self.interruption {
            Some(interruption) => interruption,
            None => Interruption::watch()?,
        };
        let stage = Stage::set(plan, || self.job.into_team(plan, (&program, WORKER_COMMAND)))?;
        Ok((stage, interruption))
    }
}
