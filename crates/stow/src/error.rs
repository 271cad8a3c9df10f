//! What goes wrong with containers, in one line each.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use rustix::io::Errno;
use thiserror::Error;

/// Why a container cannot be used as asked.
#[derive(Debug, Error)]
pub enum StowError {
    /// The system refused.
    #[error("cannot {what} {}: {cause}", path.display())]
    System {
        /// What was attempted.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// There is something else at the path.
    #[error("{} is not a container: {why}", path.display())]
    NotAContainer {
        /// The path.
        path: PathBuf,
        /// What it lacks.
        why: String,
    },
    /// The power failed before it was made durable for the first time.
    #[error("{} was never made durable before the power failed, and holds nothing", path.display())]
    Torn {
        /// The container.
        path: PathBuf,
    },
    /// A file of the container says what no program wrote.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Somebody holds what one alone may have.
    #[error("{} is being written", path.display())]
    Busy {
        /// The container.
        path: PathBuf,
    },
    /// Room cannot be given back under those who read.
    #[error("{} is being read", path.display())]
    BeingRead {
        /// The container.
        path: PathBuf,
    },
    /// Somebody holds it for too long.
    #[error("{} is held by {holder}, who was waited for in vain", path.display())]
    Held {
        /// The container.
        path: PathBuf,
        /// Who holds it.
        holder: String,
    },
    /// No write can be later than what is there.
    #[error("the stamps of {} are used up: it can be read, and not written", path.display())]
    UsedUp {
        /// The container.
        path: PathBuf,
    },
    /// Each node that writes has a place of its own.
    #[error("{} is being written on as many nodes as can be", path.display())]
    TooManyNodes {
        /// The container.
        path: PathBuf,
    },
    /// It has the logs of another container.
    #[error("{} is a copy of {}, to whose logs only that one writes", path.display(), original.display())]
    Copy {
        /// The copy.
        path: PathBuf,
        /// The container that the logs belong to.
        original: PathBuf,
    },
    /// It may have the logs of another container.
    #[error("{} may be a copy: its logs are those of a container that was at {}, and is not there any more, or nobody can look there", path.display(), home.display())]
    Displaced {
        /// The container.
        path: PathBuf,
        /// Where the container of the logs was.
        home: PathBuf,
    },
    /// It may have the logs of another container, which somebody may have hidden.
    #[error("{} may be a copy: its logs are those of a container that was at {}, which others could have hidden for a moment: {why}", path.display(), home.display())]
    Hidden {
        /// The container.
        path: PathBuf,
        /// Where the container of the logs was.
        home: PathBuf,
        /// Who could have.
        why: String,
    },
    /// It may have the logs of another container.
    #[error("{} may be a copy: nothing beside its logs says whose they are", path.display())]
    Unnoted {
        /// The container.
        path: PathBuf,
    },
    /// A part of the file cannot be read, and nothing else is returned in its place.
    #[error("bytes {} to {} of {} cannot be read: {why}", range.start, range.end, path.display())]
    Unreadable {
        /// The container.
        path: PathBuf,
        /// Which bytes.
        range: Range<u64>,
        /// What is missing or damaged.
        why: String,
    },
    /// Something that cannot be read may have changed the size, and no other one is told in its place.
    #[error("the size of {} cannot be told: {why}", path.display())]
    UnknownSize {
        /// The container.
        path: PathBuf,
        /// What is missing or damaged.
        why: String,
    },
    /// No target takes any more.
    #[error("no target of {} takes more: {why}", path.display())]
    NoTarget {
        /// The container.
        path: PathBuf,
        /// What each of them says.
        why: String,
        /// What a program gets to know.
        errno: Errno,
    },
    /// A file cannot be that large.
    #[error("{offset} and {length} bytes more are beyond the largest file")]
    TooLarge {
        /// Where the write begins.
        offset: u64,
        /// Its bytes.
        length: u64,
    },
}

impl StowError {
    /// Returns the number that a program's call fails with.
    pub fn errno(&self) -> Errno {
        match self {
            StowError::System { cause, .. } => Errno::from_io_error(cause).unwrap_or(Errno::IO),
            StowError::NotAContainer { .. } => Errno::INVAL,
            StowError::Torn { .. }
            | StowError::Damaged { .. }
            | StowError::Unreadable { .. }
            | StowError::UnknownSize { .. } => Errno::IO,
            StowError::Busy { .. } | StowError::BeingRead { .. } | StowError::Held { .. } => {
                Errno::BUSY
            }
            StowError::Copy { .. }
            | StowError::Displaced { .. }
            | StowError::Hidden { .. }
            | StowError::Unnoted { .. }
            | StowError::UsedUp { .. } => Errno::ROFS,
            StowError::TooManyNodes { .. } => Errno::USERS,
            StowError::NoTarget { errno, .. } => *errno,
            StowError::TooLarge { .. } => Errno::FBIG,
        }
    }
}

/// Says what was attempted, and on what, when the system refuses.
pub(crate) trait Attempt<T> {
    fn attempt(self, what: &'static str, path: impl Into<PathBuf>) -> Result<T, StowError>;
}

impl<T, E: Into<io::Error>> Attempt<T> for Result<T, E> {
    fn attempt(self, what: &'static str, path: impl Into<PathBuf>) -> Result<T, StowError> {
        self.map_err(|cause| StowError::System { what, path: path.into(), cause: cause.into() })
    }
}
