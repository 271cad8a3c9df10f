//! Why results cannot be written or read.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll_table::TableError;
use thiserror::Error;

/// Why results cannot be written or read: one line, with a hint where something can be done.
///
/// What the system said is in the line, and so is no `source`: who prints the chain of sources would
/// say it twice.
#[derive(Debug, Error)]
pub enum MeasuresError {
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
        "cannot {action} {path}: {cause}; all instances up to here are kept; \
         hint: make room, then continue with --resume"
    )]
    Full {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The directory has something that would be overwritten.
    #[error(
        "{directory} already has {file}; hint: continue that experiment with --resume, or choose \
         another directory with -o"
    )]
    Exists {
        /// The directory.
        directory: PathBuf,
        /// What is in it.
        file: &'static str,
    },
    /// Others could lead elsewhere what is written there.
    #[error(
        "cannot keep results in {directory}: {cause}; hint: choose another directory, one of yours \
         that only you can write to (chmod go-w)"
    )]
    NotOwn {
        /// The directory.
        directory: PathBuf,
        /// What is wrong with it.
        cause: io::Error,
    },
    /// Nothing that an experiment wrote.
    #[error("{directory} holds no results: it has neither {} nor {}", crate::JOURNAL, crate::PAIRS)]
    NoResults {
        /// The directory.
        directory: PathBuf,
    },
    /// There is nothing to continue.
    #[error(
        "the experiment in {directory} is complete; hint: choose another directory with -o to repeat it"
    )]
    Complete {
        /// The directory.
        directory: PathBuf,
    },
    /// Another process has the journal.
    #[error("another process is writing {path}; hint: wait until it has ended")]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// Written by a later version of this program.
    #[error(
        "{path} has version {version}, this program knows up to {known}; hint: read it with a newer plimsoll"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
        /// The newest that is known.
        known: u64,
    },
    /// A file does not hold what it should.
    #[error("cannot understand {path}: {reason}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An instance that the format has no place for.
    #[error("cannot keep instance {instance}: {reason}")]
    Refused {
        /// Its number.
        instance: u64,
        /// Why not.
        reason: String,
    },
    /// One of the Parquet files is not what it should be.
    #[error(transparent)]
    Table(TableError),
}

impl MeasuresError {
    pub(crate) fn io(action: &'static str, path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        match cause.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => MeasuresError::Full { action, path, cause },
            _ => MeasuresError::Io { action, path, cause },
        }
    }

    pub(crate) fn format(path: &Path, reason: impl ToString) -> Self {
        MeasuresError::Format { path: path.to_owned(), reason: reason.to_string() }
    }
}

impl From<TableError> for MeasuresError {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Io { action, path, cause } => MeasuresError::io(action, &path, cause),
            TableError::Newer { path, version, known } => {
                MeasuresError::Newer { path, version, known }
            }
            other => MeasuresError::Table(other),
        }
    }
}
