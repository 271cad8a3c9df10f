//! Who does the work: processes of this machine, or the ranks of an MPI job.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_bench::launcher::Launcher;
use plimsoll_bench::local_team::LocalTeam;
use plimsoll_bench::measuring::Clients;
use plimsoll_bench::mpi_team::{self, MpiTeam};
use plimsoll_bench::plan::{ClientsPlan, Plan};
use plimsoll_bench::{Team, TeamError};
use plimsoll_testbed::UnderLimits;

use crate::interruption::{Interruption, SIGNALS};
use crate::testbed::limited;

/// The hidden command of a worker process.
pub const WORKER_COMMAND: &str = "bench-worker";

/// What this process coordinates.
pub enum Joined {
    /// Processes that it starts itself.
    Alone,
    /// The ranks of its job.
    Job {
        /// They.
        team: Box<MpiTeam>,
        /// Who started them.
        launcher: &'static str,
        /// Whether the job is to end.
        interruption: Interruption,
    },
}

/// Joins the job that a launcher started this process in. Breaks off with its exit status in a rank
/// that has served.
pub fn join() -> Result<ControlFlow<ExitCode, Joined>> {
    let launcher = Launcher::of_this_process().filter(|launcher| launcher.processes > 1);
    let Some(launcher) = launcher else { return Ok(ControlFlow::Continue(Joined::Alone)) };
    let interruption = end_after_a_signal()?;
    Ok(match MpiTeam::join(&launcher)? {
        mpi_team::Joined::Served => ControlFlow::Break(served(&interruption)),
        mpi_team::Joined::Coordinator(team) => ControlFlow::Continue(Joined::Job {
            team: Box::new(team),
            launcher: launcher.name,
            interruption,
        }),
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
    /// The clients that there are; `None` where as many as wanted are started.
    pub fn clients(&self) -> Option<ClientsPlan> {
        let Joined::Job { team, .. } = self else { return None };
        let clients = Clients::of(team.members());
        let names = clients.names().to_vec();
        let count = names.len() as u32;
        Some(ClientsPlan { count, names, used: count, processes: clients.processes_least() })
    }

    /// Who started the processes.
    pub fn launcher(&self) -> &'static str {
        match self {
            Joined::Alone => "plimsoll",
            Joined::Job { launcher, .. } => launcher,
        }
    }

    /// Whether the user asked to stop.
    pub fn interruption(&self) -> Result<Interruption> {
        match self {
            Joined::Job { interruption, .. } => Ok(interruption.clone()),
            Joined::Alone => Interruption::watch(),
        }
    }

    /// Puts the names of the job's clients into the plan, which must not ask for more than there are.
    pub fn fit(&self, plan: &mut Plan) -> Result<()> {
        let Some(there) = self.clients() else { return Ok(()) };
        let (wanted, processes) = (plan.clients.count, plan.processes_most());
        ensure!(
            wanted <= there.count && processes <= there.processes,
            "the plan wants {wanted} client(s) with {processes} process(es) each, and the job has {} with {}; \
             hint: a job with more ranks, or fewer clients",
            there.count,
            there.processes
        );
        plan.clients.names = there.names[..wanted as usize].to_vec();
        Ok(())
    }

    /// The limits of the plan's test bed, if there is one, for those who work.
    pub fn under_limits(&self, plan: &Plan) -> Result<Option<UnderLimits>> {
        let targets = plan.targets.iter().map(|target| &target.path);
        match self {
            Joined::Alone => limited::enter(targets),
            Joined::Job { .. } => limited::check_job(targets).map(|()| None),
        }
    }

    /// Starts what is not there yet.
    pub fn into_team(self, plan: &Plan) -> Result<Box<dyn Team>> {
        match self {
            Joined::Job { team, .. } => Ok(team),
            Joined::Alone => Ok(Box::new(started(plan)?)),
        }
    }
}

fn started(plan: &Plan) -> Result<LocalTeam> {
    let program = std::env::current_exe().context("cannot find this program to start workers")?;
    let names: Vec<String> =
        (0..plan.clients.count).map(|client| plan.clients.name(client)).collect();
    let started: Result<_, TeamError> =
        LocalTeam::start(&names, plan.processes_most(), Path::new(&program), &[WORKER_COMMAND]);
    Ok(started?)
}
