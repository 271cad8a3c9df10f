//! Which busy group the coordinator asks on behalf of an idle one.

use crate::TargetId;

/// Which busy group to ask: the policy of the paper's router. It only advises.
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
