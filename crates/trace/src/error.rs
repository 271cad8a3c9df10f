//! Why files of recordings are refused.

use std::path::PathBuf;

use thiserror::Error;

/// Why a file of a recording cannot be read at all.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The system refused.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// It is something else.
    #[error("{} is not a file of a recording", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It has no bytes: its process could not allocate any.
    #[error("{} is empty: its process could not be recorded for lack of space, or because of a quota or a file-size limit", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It was written by a newer program.
    #[error("{} has format version {found}, this program reads up to {known}; hint: update plimsoll", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that is understood.
        known: u32,
    },
    /// Its first page is damaged, so nothing in it can be trusted.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}
