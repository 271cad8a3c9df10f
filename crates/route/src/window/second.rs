//! What is tried a second time, and where.

use super::state::Law;
use crate::placement::{Lanes, Timing};

/// What is under way for so many times the usual delay is stuck: it may never end. More where nothing has ended on the node yet, so
/// that it does not know what is usual.
const STUCK_TIMES: u64 = 64;
const STUCK_TIMES_IN_SILENCE: u64 = 1024;

impl Law<'_> {
    /// Where to try an attempt a second time, if that is worth its bytes.
    pub fn second_attempt(
        &self,
        timing: Timing,
        is_much: bool,
        lanes: &Lanes<'_>,
    ) -> Option<usize> {
        if !self.settings.rescue {
            return None;
        }
        let delay_ns = self.controls[timing.lane].delay_ns;
        let age_ns = timing.at_least_ns;
        // What is late already is expected to be late by as much again.
        let left_ns = if delay_ns > age_ns { delay_ns - age_ns } else { age_ns };
        let usual_ns = self.node.aim_ns.saturating_add(self.late_notice_ns());
        // Not worth its bytes where all ends within about the usual delay anyway.
        if left_ns <= usual_ns / 2 * 3 {
            return None;
        }
        let stuck_ns = match self.node.mean_ns {
            0 => self.patience_ns().saturating_mul(STUCK_TIMES_IN_SILENCE),
            _ => usual_ns.saturating_mul(STUCK_TIMES),
        };
        if is_much && age_ns < stuck_ns {
            return None;
        }
        let takes_ns = |lane: usize| {
            self.expected_ns(lane, lanes.lanes[lane].in_flight_bytes + timing.length_bytes)
        };
        let fits = |lane: &usize| {
            *lane != timing.lane
                && lanes.admits(*lane)
                && self.has_room(*lane, timing.length_bytes, lanes)
        };
        let best = (0..self.controls.len()).filter(fits).min_by_key(|lane| takes_ns(*lane))?;
        (left_ns > takes_ns(best).saturating_mul(2)).then_some(best)
    }

    /// Whether a lane is idle, or its window has room.
    fn has_room(&self, lane: usize, length_bytes: u64, lanes: &Lanes<'_>) -> bool {
        let out_bytes = lanes.lanes[lane].in_flight_bytes;
        out_bytes == 0 || out_bytes + length_bytes <= self.window_bytes(lane)
    }
}
