//! Why a target could not be calibrated.

use std::io;
use std::path::PathBuf;

use plimsoll_domain::Bytes;
use plimsoll_engine::EngineError;
use plimsoll_machine::MachineError;
use plimsoll_stats::StatsError;
use thiserror::Error;

/// Why a target could not be calibrated. Each is one line; [`hint`](Self::hint) says what to do.
#[derive(Debug, Error)]
pub enum CalibrateError {
    /// The directory cannot be looked at.
    #[error("cannot calibrate {}: {cause}", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The target's data live in memory.
    #[error("cannot calibrate {}: {file_system} is memory, not a device: there are no transactions to see", directory.display())]
    Memory {
        /// The directory.
        directory: PathBuf,
        /// Its file system type.
        file_system: String,
    },
    /// No file can be made in the directory.
    #[error("cannot make a file in {}: {cause}", directory.display())]
    Create {
        /// The directory.
        directory: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file does not fit.
    #[error("cannot write {span} in {}: only {available} are free", directory.display())]
    Space {
        /// The directory.
        directory: PathBuf,
        /// Bytes that the file would have.
        span: Bytes,
        /// Bytes that are free.
        available: Bytes,
    },
    /// One size cannot tell an operation's cost from its bytes' cost.
    #[error(
        "cannot separate the cost of an operation from that of its bytes with one transfer size"
    )]
    OneSize,
    /// A size that O_DIRECT does not take.
    #[error("cannot transfer {size}: direct I/O needs whole blocks of {block}")]
    Block {
        /// The size.
        size: Bytes,
        /// The smallest block.
        block: Bytes,
    },
    /// Transfers would lie on each other.
    #[error(
        "cannot seek for transfers of {largest} in a span of {span}: it holds fewer than {places}"
    )]
    SpanTooSmall {
        /// Bytes of the file.
        span: Bytes,
        /// The largest transfer.
        largest: Bytes,
        /// Transfers that must fit.
        places: u64,
    },
    /// A setting that makes no sense.
    #[error("cannot calibrate with {what} {value}")]
    Setting {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: String,
    },
    /// The transactions at the target were all of about one size.
    #[error(
        "cannot separate the cost of an operation from that of its bytes: the target did {kind} of every size in transactions of about {size}"
    )]
    OneTransactionSize {
        /// "reads" or "writes".
        kind: &'static str,
        /// The size.
        size: Bytes,
    },
    /// The I/O itself failed.
    #[error("cannot calibrate {}: {}", directory.display(), without_descriptor(error))]
    Engine {
        /// The directory of the file.
        directory: PathBuf,
        /// What failed.
        error: EngineError,
    },
    /// Somebody asked to end.
    #[error("interrupted")]
    Interrupted,
    /// A fact about the machine could not be read.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The measures cannot be fitted.
    #[error(transparent)]
    Stats(#[from] StatsError),
}

impl CalibrateError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Directory { cause, .. } if cause.kind() == io::ErrorKind::NotFound => {
                "name a directory on the target, or --target NAME=DIR".into()
            }
            Self::Directory { .. } => "name a directory on the target".into(),
            Self::Memory { .. } => "name a directory on a disk".into(),
            Self::Create { cause, .. } => match cause.kind() {
                io::ErrorKind::ReadOnlyFilesystem => {
                    "a target is calibrated by writing to it: mount it writable".into()
                }
                io::ErrorKind::PermissionDenied => {
                    "name a directory of the target in which you may write".into()
                }
                _ => "name another directory of the target".into(),
            },
            Self::Space { .. } => "free some space, or ask for less with --span".into(),
            Self::OneSize => "give at least three, far apart: --sizes 4KiB,64KiB,1MiB".into(),
            Self::Block { block, .. } => format!("use multiples of {block}"),
            Self::SpanTooSmall { largest, places, .. } => format!(
                "--span {} or more, or smaller --sizes",
                Bytes::new(largest.get().saturating_mul(*places))
            ),
            Self::Setting { .. } => "see --help".into(),
            Self::OneTransactionSize { .. } => {
                "use sizes further apart: --sizes 4KiB,64KiB,1MiB".into()
            }
            Self::Engine { error: EngineError::NoUring { .. }, .. } => {
                "--depth 1 does without io_uring".into()
            }
            Self::Engine { error: EngineError::NoDirectIo { .. }, .. } => {
                "the page cache would be measured: choose a file system that takes O_DIRECT".into()
            }
            Self::Engine { error, .. } => return error.hint(),
            Self::Interrupted => return None,
            Self::Machine(error) => error.hint().into(),
            Self::Stats(_) => "measure longer: --seconds, --repetitions".into(),
        })
    }
}

/// Removes the path through /proc from an error: the file has no name, and this path would only confuse.
fn without_descriptor(error: &EngineError) -> String {
    let words = error.to_string();
    let words = words.split(' ').map(|word| {
        if word.starts_with("/proc/self/fd/") {
            format!("the file{}", word.trim_start_matches(|c: char| c != ':' && c != ','))
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
