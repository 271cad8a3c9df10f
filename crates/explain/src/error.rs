//! Why recordings and summaries are refused.

use std::path::PathBuf;

use plimsoll_report::words::count_is;
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
        "{} is not a recording: it has no *.rec file; hint: make one with `plimsoll record COMMAND`",
        directory.display()
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
    /// Parts belong to different recordings, or were gathered in different ways.
    #[error(
        "parts of {} and of {} cannot be merged: they differ in the recording, its state, its path \
         or in options; hint: gather all parts again, by the same path, from a recording that is \
         over", own.display(), other.display()
    )]
    DifferentFrames {
        /// The recording of the one part.
        own: PathBuf,
        /// The recording of the other.
        other: PathBuf,
    },
    /// Two parts have the same process.
    #[error("{process} is in two of the parts, and would count twice")]
    GatheredTwice {
        /// The process.
        process: String,
    },
    /// Some processes are in no part.
    #[error(
        "{absent} of {processes} processes are in none of the parts, {first} first; hint: give all \
         summaries of the recording"
    )]
    Incomplete {
        /// How many are missing.
        absent: usize,
        /// How many there are.
        processes: usize,
        /// The first that is missing.
        first: String,
    },
    /// There was no room in memory for what processes did.
    #[error(
        "what its processes did takes more than 1.25 GiB of memory: {} left out; hint: save summaries of its parts \
         (--part 0/8 --save-summary FILE), and report on these",
        count_is(*left_out, "process")
    )]
    NoRoom {
        /// How many processes were left out.
        left_out: u64,
    },
    /// The bytes are not those of a summary.
    #[error(
        "it is neither a recording nor a summary of one; hint: `plimsoll record PROGRAM` makes a recording"
    )]
    NotASummary,
    /// Another version of the program wrote the summary.
    #[error(
        "it is a summary of version {version}, and this program reads versions up to {readable}"
    )]
    SummaryVersion {
        /// The version.
        version: u32,
        /// What can be read.
        readable: u32,
    },
    /// A summary that was made by something else than this program.
    #[error("it holds more than a summary of any recording does (made by hand, or damaged)")]
    TooMuch,
    /// The bytes have changed, or some are missing.
    #[error("the summary is damaged: its checksum or its content is wrong")]
    DamagedSummary,
}
