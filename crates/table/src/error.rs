//! Why a table cannot be written or read.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use thiserror::Error;

/// Why a table cannot be written or read: one line, with a hint where something can be done.
///
/// The line contains what the system said, so there is no `source`: printing the chain of sources would
/// say it twice.
#[derive(Debug, Error)]
pub enum TableError {
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
    /// A missing column.
    #[error("{path} has no column {column:?}; hint: {documentation} lists all columns")]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column's name.
        column: &'static str,
        /// Where all are listed.
        documentation: &'static str,
    },
    /// A column of another type.
    #[error("column {column:?} of {path} is {found}, expected {expected}")]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// The column's name.
        column: &'static str,
        /// What its values are.
        found: String,
        /// What they should be.
        expected: &'static str,
    },
    /// An impossible value.
    #[error("row {row} of {path}, column {column:?}: {reason}")]
    Value {
        /// The file.
        path: PathBuf,
        /// The column's name.
        column: &'static str,
        /// The row, from 0.
        row: u64,
        /// What is wrong with it.
        reason: String,
    },
}

impl TableError {
    pub(crate) fn io(action: &'static str, path: &Path, cause: io::Error) -> Self {
        TableError::Io { action, path: path.to_owned(), cause }
    }

    pub(crate) fn format(path: &Path, reason: impl ToString) -> Self {
        TableError::Format { path: path.to_owned(), reason: reason.to_string() }
    }

    /// Returns the error for what the Parquet library said when it read a file.
    pub(crate) fn read(path: &Path, error: ParquetError) -> Self {
        match error {
            // What the system said is inside, and the caller wants to know its kind.
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(cause) => Self::io("read", path, *cause),
                Err(cause) => Self::format(path, cause),
            },
            ParquetError::General(reason) if reason.contains("Disabled feature") => {
                Self::format(path, format!("{reason}; hint: write it with compression snappy"))
            }
            ParquetError::General(reason) => Self::format(path, reason),
            other => Self::format(path, other),
        }
    }
}

/// Returns the error for what the Parquet library said when it wrote: the system's own error where there was one.
pub(crate) fn write_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(format!("cannot encode Parquet: {cause}")),
        },
        other => io::Error::other(format!("cannot encode Parquet: {other}")),
    }
}
