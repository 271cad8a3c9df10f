//! Who does the work: processes of this machine, or the ranks of an MPI job.

use std::path::Path;

use thiserror::Error;

use crate::launcher::Launcher;
use crate::local_team::LocalTeam;
use crate::measuring::Clients;
use crate::mpi_team::{self, Grouping, MpiTeam};
use crate::plan::{ClientsPlan, Plan};
use crate::{Team, TeamError};

/// What this process coordinates.
pub enum Job {
    /// Processes that it starts itself.
    Alone,
    /// The ranks of its MPI job.
    Ranks {
        /// The ranks.
        team: Box<MpiTeam>,
        /// Who started them.
        launcher: &'static str,
    },
}

/// A plan wants more than the job has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{clients} client(s) with {processes} process(es) each are wanted, and the job has {ranks} rank(s) on {nodes} \
     node(s); hint: a job with more ranks, or fewer clients"
)]
pub struct TooFewRanks {
    /// Clients that are wanted.
    pub clients: u32,
    /// Processes of each.
    pub processes: u32,
    /// Ranks that there are.
    pub ranks: usize,
    /// Nodes that they are on.
    pub nodes: usize,
}

impl Job {
    /// Joins the job that a launcher started this process in. `None` in a rank that has served.
    ///
    /// # Errors
    /// When the job's MPI cannot be used.
    pub fn join(launcher: &Launcher) -> Result<Option<Self>, TeamError> {
        Ok(match MpiTeam::join(launcher)? {
            mpi_team::Role::Served => None,
            mpi_team::Role::Coordinator(team) => {
                Some(Job::Ranks { team: Box::new(team), launcher: launcher.name })
            }
        })
    }

    /// Returns the clients that there are; `None` where as many as wanted are started.
    pub fn clients(&self) -> Option<ClientsPlan> {
        let Job::Ranks { team, .. } = self else { return None };
        let clients = Clients::of(team.members());
        let names = clients.names().to_vec();
        let count = names.len() as u32;
        Some(ClientsPlan { count, names, used: count, processes: clients.processes_least() })
    }

    /// Makes clients of the ranks of one node.
    pub fn group(&mut self, grouping: Grouping) {
        if let Job::Ranks { team, .. } = self {
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

    /// Returns the processes for a plan on the machine that has most of them.
    pub fn processes_on_one_machine(&self, plan: &Plan) -> u64 {
        match self {
            Job::Alone => u64::from(plan.clients.count) * u64::from(plan.processes_most()),
            Job::Ranks { team, .. } => team.ranks().div_ceil(team.nodes().max(1)) as u64,
        }
    }

    /// Returns who started the processes.
    pub fn launcher(&self) -> &'static str {
        match self {
            Job::Alone => "plimsoll",
            Job::Ranks { launcher, .. } => launcher,
        }
    }

    /// Makes clients of the ranks as the plan wants them, and puts their names into it.
    ///
    /// # Errors
    /// If there are not enough.
    pub fn fit(&mut self, plan: &mut Plan) -> Result<(), TooFewRanks> {
        self.group_for(plan);
        self.require(plan.clients.count, plan.processes_most())?;
        if let Some(there) = self.clients() {
            plan.clients.names = there.names[..plan.clients.count as usize].to_vec();
        }
        Ok(())
    }

    /// Makes sure that the job has these clients, and these processes of each.
    ///
    /// # Errors
    /// If there are not enough.
    pub fn require(&self, clients: u32, processes: u32) -> Result<(), TooFewRanks> {
        let (Job::Ranks { team, .. }, Some(there)) = (self, self.clients()) else {
            return Ok(());
        };
        if clients <= there.count && processes <= there.processes {
            return Ok(());
        }
        Err(TooFewRanks { clients, processes, ranks: team.ranks(), nodes: team.nodes() })
    }

    /// Returns those who work for the plan. Those who are not there yet are started as `worker`: a program and its
    /// argument.
    ///
    /// # Errors
    /// When one cannot be started.
    pub fn into_team(self, plan: &Plan, worker: (&Path, &str)) -> Result<Box<dyn Team>, TeamError> {
        if let Job::Ranks { team, .. } = self {
            return Ok(team);
        }
        let names: Vec<String> =
            (0..plan.clients.count).map(|client| plan.clients.name(client)).collect();
        let (program, argument) = worker;
        Ok(Box::new(LocalTeam::start(&names, plan.processes_most(), program, &[argument])?))
    }
}
