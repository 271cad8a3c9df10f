//! Why history cannot be written or read.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll_table::TableError;
use rustix::io::Errno;
use thiserror::Error;

/// Why history cannot be written or read: one line, with a hint where something can be done.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The system refused.
    #[error("cannot {action} {path}: {cause}")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// No room, or no more quota.
    #[error(
        "cannot {action} {path}: {cause}; samples are missing until there is room, and everything \
         before is kept; hint: make room, or give the store a smaller budget"
    )]
    Full {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A file of the store.
    #[error(transparent)]
    Table(#[from] TableError),
    /// No history there.
    #[error(
        "{path} is no history; hint: plimsoll monitor --store DIR begins one, --store names another"
    )]
    NotAStore {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// Something else is there.
    #[error(
        "{path} has something in it that is no history; hint: name an empty or a new directory"
    )]
    Occupied {
        /// The directory.
        path: PathBuf,
    },
    /// It has samples, and should have none.
    #[error("{path} has samples already; hint: name an empty or a new directory")]
    NotEmpty {
        /// The store.
        path: PathBuf,
    },
    /// Written by a later version of this program.
    #[error(
        "{path} is a history of version {version}, this program knows up to {known}; hint: use a newer plimsoll"
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its version.
        version: u64,
        /// The newest that is known.
        known: u64,
    },
    /// Somebody else writes to it.
    #[error("{path} is being written{}; hint: one process writes to a store at a time", by_process(*.holder))]
    Held {
        /// The store.
        path: PathBuf,
        /// The process, if the kernel tells.
        holder: Option<u32>,
    },
    /// Somebody else imports.
    #[error("an import to {path} is going on{}; hint: one goes on at a time, run this again when it has ended", by_process(*.holder))]
    Importing {
        /// The store.
        path: PathBuf,
        /// The process, if the kernel tells.
        holder: Option<u32>,
    },
    /// Others could exchange what is in it.
    #[error(
        "cannot keep history in {path}: {cause}; hint: choose a directory of your own that only you can write to"
    )]
    NotOwn {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        cause: io::Error,
    },
    /// A file that does not hold what it should.
    #[error("cannot understand {path}: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

fn by_process(holder: Option<u32>) -> String {
    holder.map_or_else(String::new, |process| format!(" by process {process}"))
}

impl HistoryError {
    /// Returns the error for what the system said.
    pub(crate) fn io(action: &'static str, path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        if is_full(&cause) {
            HistoryError::Full { action, path, cause }
        } else {
            HistoryError::Io { action, path, cause }
        }
    }

    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> Self {
        HistoryError::Damaged { path: path.to_owned(), reason: reason.to_string() }
    }

    /// Returns whether there was no room.
    pub fn is_full(&self) -> bool {
        match self {
            HistoryError::Full { .. } => true,
            HistoryError::Table(TableError::Io { cause, .. }) => is_full(cause),
            _ => false,
        }
    }

    /// Returns whether something was not there.
    pub(crate) fn is_not_there(&self) -> bool {
        match self {
            HistoryError::Io { cause, .. } | HistoryError::Table(TableError::Io { cause, .. }) => {
                cause.kind() == io::ErrorKind::NotFound
            }
            _ => false,
        }
    }
}

fn is_full(cause: &io::Error) -> bool {
    let errno = cause.raw_os_error();
    [Errno::NOSPC, Errno::DQUOT, Errno::FBIG].iter().any(|it| errno == Some(it.raw_os_error()))
}
