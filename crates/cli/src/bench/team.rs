//! Who does the work: processes of this machine, or the ranks of an MPI job.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use plimsoll_bench::launcher::Launcher;
use plimsoll_bench::local_team::LocalTeam;
use plimsoll_bench::measuring::Clients;
use plimsoll_bench::mpi_team::{self, MpiTeam};
use plimsoll_bench::plan::{ClientsPlan, Plan};
use plimsoll_bench::{Team, TeamError};

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
    },
}

/// Joins the job that a launcher started this process in. `None` for a rank that has served.
pub fn join() -> Result<Option<Joined>> {
    let launcher = Launcher::of_this_process().filter(|launcher| launcher.processes > 1);
    let Some(launcher) = launcher else { return Ok(Some(Joined::Alone)) };
    clean_up_when_ended()?;
    Ok(match MpiTeam::join(&launcher)? {
        mpi_team::Joined::Served => None,
        mpi_team::Joined::Coordinator(team) => {
            Some(Joined::Job { team: Box::new(team), launcher: launcher.name })
        }
    })
}

/// Launchers end a job by a signal and soon after by a kill, while ranks may be inside a transfer or wait
/// for each other: a thread of its own removes the files at once. The journal is complete at
/// any moment.
fn clean_up_when_ended() -> Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    const INTERRUPTED: i32 = 130;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            mpi_team::remove_made();
            signal_hook::low_level::exit(INTERRUPTED);
        }
    });
    Ok(())
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
