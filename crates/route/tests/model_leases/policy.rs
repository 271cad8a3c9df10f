//! A policy that does as it is told.

use plimsoll_route::lease::{KeptPlacement, POLICY_LANE_WORDS, POLICY_NODE_WORDS};
use plimsoll_route::placement::{Advice, Lanes, Placement, Timing, Waiting};

/// Names a lane, the one after the last is "nowhere", the next one does not exist.
#[derive(Clone, Debug, Hash, PartialEq, Eq, Default)]
pub struct Anything {
    pub advice: usize,
}

impl Placement for Anything {
    fn place(&mut self, _waiting: Waiting, lanes: Lanes<'_>) -> Option<Advice> {
        let lane = self.advice;
        (lane != lanes.lanes.len()).then_some(Advice { lane, length_bytes: 2 })
    }

    fn overdue(&mut self, _timing: Timing, before: u8, _lanes: Lanes<'_>) -> u8 {
        before.max(1)
    }

    fn rescue(&mut self, _timing: Timing, _is_much: bool, _lanes: Lanes<'_>) -> Option<usize> {
        Some(self.advice)
    }
}

impl KeptPlacement for Anything {
    fn node_words(&self) -> [u64; POLICY_NODE_WORDS] {
        [0; POLICY_NODE_WORDS]
    }

    fn lane_words(&self, _lane: usize) -> [u64; POLICY_LANE_WORDS] {
        [0; POLICY_LANE_WORDS]
    }

    fn restore(
        &mut self,
        _writers: u32,
        _node: [u64; POLICY_NODE_WORDS],
        _lanes: impl Iterator<Item = [u64; POLICY_LANE_WORDS]>,
    ) {
    }

    fn seal_after_ns(&self) -> u64 {
        0
    }
}
