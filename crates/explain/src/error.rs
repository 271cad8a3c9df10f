use std::path::PathBuf;

use thiserror::Error;

/// Why a recording cannot be explained at all.
#[derive(Debug, Error)]
pub enum ExplainError {
    /// The directory cannot be listed.
    #[error("cannot read the recording {}: {cause}", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// It holds no file of a process.
    #[error(
        "{} is not a recording: it has no *.rec file; hint: make one with `plimsoll record -o {} -- COMMAND`",
        directory.display(), directory.display()
    )]
    Empty {
        /// The directory.
        directory: PathBuf,
    },
    /// It has files, and none can be read.
    #[error("cannot read any of the {files} files of {}; the first: {first}", directory.display())]
    Unreadable {
        /// The directory.
        directory: PathBuf,
        /// How many there are.
        files: usize,
        /// What is wrong with the first.
        first: String,
    },
}
