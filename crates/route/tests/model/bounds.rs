//! What the checker lets happen.

use plimsoll_route::{Failure, TargetId};

/// What may happen, and how often.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub writers: u32,
    /// Submissions of every writer.
    pub submissions: Vec<u64>,
    /// Advice goes from 0 to one less than this.
    pub advice: u16,
    /// Messages of a pair keep their order. Else any message may come next.
    pub is_fifo: bool,
    pub losses: u8,
    pub repeats: u8,
    pub attempt_failures: u8,
    pub target_failures: Vec<(TargetId, Failure)>,
    pub target_returns: u8,
    pub writer_deaths: u8,
    /// Attempts on a target that stopped may stay under way for ever.
    pub stopped_is_for_ever: bool,
}

impl Bounds {
    pub fn new(writers: u32, submissions: &[u64], advice: u16) -> Self {
        Bounds {
            writers,
            submissions: submissions.to_vec(),
            advice,
            is_fifo: true,
            losses: 0,
            repeats: 0,
            attempt_failures: 0,
            target_failures: Vec::new(),
            target_returns: 0,
            writer_deaths: 0,
            stopped_is_for_ever: false,
        }
    }
}
