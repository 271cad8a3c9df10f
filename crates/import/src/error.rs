//! Why a file cannot be imported.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll_history::HistoryError;
use plimsoll_table::TableError;
use thiserror::Error;

/// Why a file cannot be imported: one line, with a hint where something can be done.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The system refused.
    #[error("cannot read {path}: {cause}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is damaged, or no history.
    #[error("cannot import {path}: {reason}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Its times have no zone, and none was given.
    #[error(
        "cannot import {path}: its times have no time zone; hint: say where its clock was, as in --time-zone America/Los_Angeles"
    )]
    NoZone {
        /// The file.
        path: PathBuf,
    },
    /// A zone that nobody knows.
    #[error("{name:?} is no time zone; hint: write it like Europe/Berlin, UTC or +02:00")]
    UnknownZone {
        /// What was given.
        name: String,
    },
    /// A Parquet file.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The store.
    #[error(transparent)]
    Store(#[from] HistoryError),
}

impl ImportError {
    pub(crate) fn io(path: &Path, cause: io::Error) -> Self {
        ImportError::Io { path: path.to_owned(), cause }
    }

    pub(crate) fn content(path: &Path, reason: impl ToString) -> Self {
        ImportError::Content { path: path.to_owned(), reason: reason.to_string() }
    }
}
