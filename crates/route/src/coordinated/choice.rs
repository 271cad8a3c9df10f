//! Which busy group the coordinator asks on behalf of an idle one.

use crate::TargetId;

/// Which busy group to ask: the coordinator's own policy. It only advises.
pub trait SourceChoice {
    /// All answers to the status inquiry are in: put the groups into an order.
    fn inquired(&mut self, _sources: &mut Vec<u16>, _queued_bytes: &[u64]) {}

    /// The place in `sources` (never empty) to ask for `taker`. Anything else is taken as 0.
    fn choose(&mut self, taker: TargetId, sources: &[u16]) -> usize;
}

/// The group with the longest queue at the one inquiry first (section 3.5).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ByQueue;

impl SourceChoice for ByQueue {
    fn inquired(&mut self, sources: &mut Vec<u16>, queued_bytes: &[u64]) {
        sources.sort_by_key(|group| std::cmp::Reverse(queued_bytes[usize::from(*group)]));
    }

    fn choose(&mut self, _taker: TargetId, _sources: &[u16]) -> usize {
        0
    }
}

/// One after the other: what can be done without the inquiry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RoundRobin {
    next: usize,
}

impl SourceChoice for RoundRobin {
    fn choose(&mut self, _taker: TargetId, sources: &[u16]) -> usize {
        self.next = (self.next + 1) % sources.len();
        self.next
    }
}

/// The longest queue first if the coordinator inquired, else one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ByInquiry {
    /// It inquired.
    Inquired(ByQueue),
    /// It did not.
    Uninformed(RoundRobin),
}

impl ByInquiry {
    /// Makes the choice of a coordinator that inquires, or does not.
    pub fn new(inquires: bool) -> Self {
        if inquires {
            ByInquiry::Inquired(ByQueue)
        } else {
            ByInquiry::Uninformed(RoundRobin::default())
        }
    }
}

impl SourceChoice for ByInquiry {
    fn inquired(&mut self, sources: &mut Vec<u16>, queued_bytes: &[u64]) {
        match self {
            ByInquiry::Inquired(choice) => choice.inquired(sources, queued_bytes),
            ByInquiry::Uninformed(choice) => choice.inquired(sources, queued_bytes),
        }
    }

    fn choose(&mut self, taker: TargetId, sources: &[u16]) -> usize {
        match self {
            ByInquiry::Inquired(choice) => choice.choose(taker, sources),
            ByInquiry::Uninformed(choice) => choice.choose(taker, sources),
        }
    }
}
