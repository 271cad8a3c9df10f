//! Why a fact could not be read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A fact that could not be read. Names what was wanted, where, and the cause.
#[derive(Debug, Error)]
pub enum MachineError {
    /// The file that holds the fact could not be read.
    #[error("cannot read {what} from {}: {cause}", path.display())]
    Read {
        /// The fact, in words.
        what: &'static str,
        /// Where it was looked for.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The file is there but does not say what it should.
    #[error("cannot understand {what} in {}: {reason}", path.display())]
    Understand {
        /// The fact, in words.
        what: &'static str,
        /// Where it was read.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The kernel did not answer a question about a directory.
    #[error("cannot find the free space of {}: {cause}", path.display())]
    Space {
        /// The directory.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
}

impl MachineError {
    /// Returns what to do about it, in one line.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { cause, .. } | Self::Space { cause, .. } => match cause.kind() {
                io::ErrorKind::PermissionDenied => "run as root, or ask for read access",
                io::ErrorKind::NotFound => {
                    "check that the path exists and that /proc and /sys are mounted"
                }
                _ => "check that /proc and /sys are mounted and readable",
            },
            Self::Understand { .. } => "report this with the contents of that file",
        }
    }
}
