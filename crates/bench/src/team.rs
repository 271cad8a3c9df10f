//! The processes that do an experiment's bursts, wherever they run.

use std::path::PathBuf;

use plimsoll_engine::Burst;
use plimsoll_guarded::Claim;
use thiserror::Error;

use crate::message::Done;

/// One process, and the client that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The client's name.
    pub client: String,
}

/// What one process did of a burst, or why it did not.
pub type Part = Result<Done, NotDone>;

/// Why a process did not do its burst.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotDone {
    /// It was ready, and another one was not.
    #[error("called off, because another process could not take part")]
    CalledOff,
    /// It could not.
    #[error("{0}")]
    Failed(String),
}

/// Processes that do bursts together.
pub trait Team {
    /// Returns all processes; a burst names them by their place here.
    fn members(&self) -> &[Member];

    /// Lets each of these members do its burst, all released at the same moment. Every member's part is
    /// kept separately: a process that cannot do its own does not lose what the others measured.
    ///
    /// # Errors
    /// When a process is gone, or `interrupted` says to stop: no further burst is possible then.
    fn burst(
        &mut self,
        bursts: Vec<(usize, Burst)>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Part>, TeamError>;

    /// Lets every member open these working directories, and make them where they are not visible.
    /// Files of bursts are in them.
    ///
    /// # Errors
    /// When one cannot be opened, or something else is in its place.
    fn enter(&mut self, working: &[Claim]) -> Result<(), TeamError>;

    /// Removes these files of the working directories wherever a member runs. What is not there is not
    /// an error.
    ///
    /// # Errors
    /// When one cannot be removed.
    fn remove_files(&mut self, paths: &[PathBuf]) -> Result<(), TeamError>;

    /// Removes the working directories with what is in them, wherever a member runs.
    ///
    /// # Errors
    /// When one cannot be removed.
    fn leave(&mut self) -> Result<(), TeamError>;
}

/// Why a team cannot go on.
#[derive(Debug, Error)]
pub enum TeamError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A process could not be started.
    #[error("cannot start a worker process: {0}")]
    Start(std::io::Error),
    /// More processes than this machine lets one program talk to.
    #[error(
        "{wanted} worker processes are more than this machine allows one program to have open ({most}); \
         hint: fewer clients or processes, or a higher `ulimit -n`"
    )]
    TooMany {
        /// Processes that the plan needs.
        wanted: u64,
        /// What the limit of open files leaves room for.
        most: u64,
    },
    /// A process ended too early.
    #[error("worker {member} of client {client} is gone: {how}")]
    Gone {
        /// Its place in the team.
        member: usize,
        /// Its client.
        client: String,
        /// What is known of its end.
        how: String,
    },
    /// Something else about files or memory.
    #[error("cannot {what}: {error}")]
    System {
        /// What was attempted, on what.
        what: String,
        /// Why it failed.
        error: std::io::Error,
    },
    /// A burst that was to find out how large bursts must be.
    #[error("cannot find bursts that outlast caches: {0}")]
    Growth(String),
    /// Something about MPI.
    #[error("{0}")]
    Mpi(String),
}
