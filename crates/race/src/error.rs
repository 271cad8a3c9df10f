//! Why a race could not be run.

use std::io;
use std::path::PathBuf;

use plimsoll_domain::{Bytes, BytesPerSec};
use plimsoll_machine::PreflightError;
use plimsoll_route::{PolicyError, Refusal};
use plimsoll_testbed::{TargetName, TestbedError};
use thiserror::Error;

/// Why a race has no outcome.
#[derive(Debug, Error)]
pub enum RaceError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A process could not be started.
    #[error("cannot start a writer process: {0}")]
    Start(#[source] io::Error),
    /// A process could not take part.
    #[error("writer {writer} cannot take part: {why}")]
    Unfit {
        /// Which; those that make noise come after the writers.
        writer: usize,
        /// What it says.
        why: String,
    },
    /// What a process has to be told cannot be said.
    #[error("cannot tell a writer what to do: {0}")]
    Order(#[source] io::Error),
    /// The connections to the writers.
    #[error("cannot listen to the writers: {0}")]
    Listen(#[source] io::Error),
    /// The router waits for something that cannot come. A defect of the router.
    #[error(
        "the router stopped with {open_bytes} bytes of {submitted_bytes} not committed and nothing under way"
    )]
    Stuck {
        /// Not committed.
        open_bytes: u64,
        /// All bytes that writers submitted.
        submitted_bytes: u64,
    },
    /// A writer submitted what the router does not take. A defect of the writer.
    #[error("{0}")]
    Refused(Refusal),
    /// A file could not be read back.
    #[error("cannot read back {path}: {error}", path = path.display())]
    ReadBack {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Somebody who races is not a policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// No target of this name.
    #[error("there is no target {name:?}; hint: one of {known}")]
    UnknownTarget {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Data was lost before the races began.
    #[error("cannot measure rates: {lost_bytes} bytes were lost meanwhile")]
    LostWhileMeasuring {
        /// How much.
        lost_bytes: u64,
    },
    /// Nothing was written to a target.
    #[error("cannot measure {target}: nothing was written to it")]
    Unmeasured {
        /// Which.
        target: String,
    },
    /// None, or too many.
    #[error("{count} {what}; hint: 1 to {most}")]
    Count {
        /// Of what.
        what: &'static str,
        /// How many were asked for.
        count: u64,
        /// The most that there may be.
        most: u32,
    },
    /// Too small or too large.
    #[error("{what} of {size}; hint: {least} to {most}")]
    Size {
        /// Of what.
        what: &'static str,
        /// What was asked for.
        size: Bytes,
        /// The least that is possible.
        least: Bytes,
        /// The most that is possible.
        most: Bytes,
    },
    /// Nothing to race on.
    #[error("there are no targets; hint: plimsoll testbed list")]
    NoTargets,
    /// More targets than can be watched.
    #[error("{count} targets are too many; hint: at most {most}")]
    TooManyTargets {
        /// How many there are.
        count: usize,
        /// The most that there may be.
        most: usize,
    },
    /// Two targets have one name.
    #[error("target {target} is named twice; hint: NAME=DIR gives names")]
    NamedTwice {
        /// The name.
        target: String,
    },
    /// Two targets are one.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// More streams of noise than there may be on all targets.
    #[error("{streams} streams of noise; hint: at most {most}")]
    TooMuchNoise {
        /// How many were asked for.
        streams: u32,
        /// The most that there may be.
        most: u32,
    },
    /// There is no memory that writers could share.
    #[error("cannot make a directory for memory that writers share: {0}")]
    SharedMemory(#[source] io::Error),
    /// Too much memory.
    #[error(
        "the blocks of all writers take {needed} of memory, at most {most} are used; hint: a smaller --block-size"
    )]
    Memory {
        /// What they take.
        needed: Bytes,
        /// What they may take.
        most: Bytes,
    },
    /// A limit is to drop, but the target is on no test bed.
    #[error("{target} is no target of a test bed; hint: --testbed NAME")]
    NotInBed {
        /// Which.
        target: String,
    },
    /// A limit is to drop, but there is no test bed.
    #[error("only limits of a test bed can drop; hint: --testbed NAME instead of --targets")]
    NoTestbed,
    /// A limit is to drop, but the target has none.
    #[error("{target} has no limit that could drop; hint: plimsoll testbed slow {target} 20MiB/s")]
    NoLimit {
        /// Which.
        target: TargetName,
    },
    /// A limit is to drop to what it is, or to more.
    #[error("{target} has {limit} already; hint: a lower rate")]
    NotLower {
        /// Which.
        target: TargetName,
        /// What it has.
        limit: BytesPerSec,
    },
    /// Limits are out of reach.
    #[error("limits cannot be changed here; hint: see what they need with: plimsoll doctor")]
    LimitsCannotChange,
    /// The test bed.
    #[error(transparent)]
    Testbed(#[from] TestbedError),
    /// The process that restores limits.
    #[error("cannot start the process that restores limits: {0}")]
    Keeper(#[source] io::Error),
    /// What was to happen meanwhile did not.
    #[error("cannot change a target during the race: {0}")]
    Change(String),
}
