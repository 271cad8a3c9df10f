//! Who does the work: processes of this machine, or the ranks of an MPI job.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_bench::launcher::Launcher;
use plimsoll_bench::local_team::LocalTeam;
use plimsoll_bench::measuring::Clients;
use plimsoll_bench::mpi_team::{self, Grouping, MpiTeam};
use plimsoll_bench::plan::{ClientsPlan, Plan};
use plimsoll_bench::{Team, TeamError};
use plimsoll_testbed::{UnderLimits, check_limits_of_job, enter_limits};

use crate::interruption::{Interruption, SIGNALS};
use crate::testbed::with_hint;

/// The hidden command of a worker process.
pub const WORKER_COMMAND: &str = "bench-worker";

/// What this process coordinates.
pub enum Joined {
    /// Processes that it starts itself.
    Alone,
    /// The ranks of its job.
    Job {
        /// The ranks.
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
    /// Returns the clients that there are; `None` where as many as wanted are started.
    pub fn clients(&self) -> Option<ClientsPlan> {
        let Joined::Job { team, .. } = self else { return None };
        let clients = Clients::of(team.members());
        let names = clients.names().to_vec();
        let count = names.len() as u32;
        Some(ClientsPlan { count, names, used: count, processes: clients.processes_least() })
    }

    /// Makes clients of the ranks of one node.
    pub fn group(&mut self, grouping: Grouping) {
        if let Joined::Job { team, .. } = self {
            team.group(grouping);
        }
    }

    /// Makes such clients of the ranks as a plan wants.
    pub fn group_for(&mut self, plan: &Plan) {
        self.group(match plan.clients.count {
            1 => Grouping::Node,
            _ => Grouping::Processes(plan.processes_most()),
        });
    }

    /// Returns who started the processes.
    pub fn launcher(&self) -> &'static str {
        match self {
            Joined::Alone => "plimsoll",
            Joined::Job { launcher, .. } => launcher,
        }
    }

    /// Returns whether the user asked to stop.
    pub fn interruption(&self) -> Result<Interruption> {
        match self {
            Joined::Job { interruption, .. } => Ok(interruption.clone()),
            Joined::Alone => Interruption::watch(),
        }
    }

    /// Makes clients of the job's ranks as the plan wants them, and puts their names into it. There must be
    /// enough.
    pub fn fit(&mut self, plan: &mut Plan) -> Result<()> {
        self.group_for(plan);
        self.check_enough(plan.clients.count, plan.processes_most())?;
        if let Some(there) = self.clients() {
            plan.clients.names = there.names[..plan.clients.count as usize].to_vec();
        }
        Ok(())
    }

    /// Refuses more clients, or processes of each, than the job has.
    pub fn check_enough(&self, clients: u32, processes: u32) -> Result<()> {
        let (Joined::Job { team, .. }, Some(there)) = (self, self.clients()) else {
            return Ok(());
        };
        ensure!(
            clients <= there.count && processes <= there.processes,
            "{clients} client(s) with {processes} process(es) each are wanted, and the job has {} rank(s) on {} \
             node(s); hint: a job with more ranks, or fewer clients",
            team.ranks(),
            team.nodes()
        );
        Ok(())
    }

    /// Returns the limits of the plan's test bed, if there is one, for those who work.
    pub fn under_limits(&self, plan: &Plan) -> Result<Option<UnderLimits>> {
        let targets = plan.targets.iter().map(|target| &target.path);
        match self {
            Joined::Alone => enter_limits(targets).map_err(with_hint),
            Joined::Job { .. } => check_limits_of_job(targets).map(|()| None).map_err(with_hint),
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
