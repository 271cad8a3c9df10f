//! Why a race could not be run.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a race has no outcome.
#[derive(Debug, Error)]
pub enum RaceError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A process could not be started.
    #[error("cannot start a writer process: {0}")]
    Start(#[source] io::Error),
    /// A process could not take part.
    #[error("writer {writer} cannot take part: {why}")]
    Unfit {
        /// Which; those that make noise come after the writers.
        writer: usize,
        /// What it says.
        why: String,
    },
    /// What a process has to be told cannot be said.
    #[error("cannot tell a writer what to do: {0}")]
    Order(#[source] io::Error),
    /// The connections to the writers.
    #[error("cannot listen to the writers: {0}")]
    Listen(#[source] io::Error),
    /// The router waits for something that cannot come. A defect of the router.
    #[error(
        "the router stopped with {open_bytes} bytes of {submitted_bytes} not committed and nothing under way"
    )]
    Stuck {
        /// Not committed.
        open_bytes: u64,
        /// All.
        submitted_bytes: u64,
    },
    /// A file could not be read back.
    #[error("cannot read back {path}: {error}", path = path.display())]
    ReadBack {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// What was to happen meanwhile did not.
    #[error("cannot change a target during the race: {0}")]
    Change(String),
}
