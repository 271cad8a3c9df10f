//! Why something cannot be analysed.

use plimsoll_history::HistoryError;
use plimsoll_utilization::OtherCosts;
use thiserror::Error;

use crate::frame::{COMPONENTS_MAX, DAYS_MAX, TARGET_DAYS_MAX};

/// Why something cannot be analysed: one line, with a hint where something can be done.
#[derive(Debug, Error)]
pub enum AnalyzeError {
    /// The store is damaged or cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// More days than fit.
    #[error(
        "the history goes over {days} days, and one of more than {DAYS_MAX} is not analysed at once; hint: --since and --until"
    )]
    TooLong {
        /// Days from the first to the last, long gaps shortened.
        days: u64,
    },
    /// More components than fit.
    #[error(
        "the history has {components} targets and servers, and one of more than {COMPONENTS_MAX} is not analysed at once; hint: --file-system"
    )]
    TooMany {
        /// How many there are.
        components: usize,
    },
    /// More days of targets than fit.
    #[error(
        "the history has {days} days and {targets} targets or servers, and more than {TARGET_DAYS_MAX} days of targets, or of servers, are not analysed at once; hint: --since, --until and --file-system"
    )]
    TooMuchAtOnce {
        /// How many days,
        days: usize,
        /// and how many targets.
        targets: usize,
    },
    /// Bytes of something else.
    #[error("it is no part of an analysis")]
    NoPart,
    /// Another program wrote it.
    #[error(
        "it is a part of version {version}, this program joins parts of version {known}; hint: make all parts with the same plimsoll"
    )]
    OtherVersion {
        /// Its version.
        version: u32,
        /// The one that is known.
        known: u32,
    },
    /// A part that was cut off or changed.
    #[error("it is damaged; hint: make this part again")]
    Damaged,
    /// A part that needs more memory than there is for it.
    #[error("it holds more than a part has room for")]
    TooMuch,
    /// Parts that were asked for otherwise.
    #[error(
        "it was made with other options than part {first}: {differing}; hint: make all parts with the same options"
    )]
    OtherOptions {
        /// The part that it was compared with.
        first: usize,
        /// Which ones.
        differing: String,
    },
    /// Parts that are of something else.
    #[error(
        "it is of another history than part {first}, or the history was changed in between; hint: make all parts again"
    )]
    OtherHistory {
        /// The part that it was compared with.
        first: usize,
    },
    /// Parts for which operations cost something else.
    #[error(
        "it was made with other costs of operations of {target} than the parts before it; hint: make all parts with the same site file"
    )]
    OtherCosts {
        /// The first target of which that is so.
        target: String,
    },
    /// A part that does not come next.
    #[error("it is part {number} of {parts}, and part {expected} of {of} is expected here")]
    OutOfOrder {
        /// What it is.
        number: usize,
        /// And of how many.
        parts: usize,
        /// What should come.
        expected: usize,
        /// And of how many.
        of: usize,
    },
    /// Not all parts are there.
    #[error("part {expected} of {of} is absent; hint: make it")]
    Absent {
        /// The first one that is absent.
        expected: usize,
        /// Of how many.
        of: usize,
    },
}

impl From<OtherCosts> for AnalyzeError {
    fn from(OtherCosts { target }: OtherCosts) -> Self {
        AnalyzeError::OtherCosts { target }
    }
}
