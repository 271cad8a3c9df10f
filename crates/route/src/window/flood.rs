//! Where others flood the storage, who has more in flight gets more.

use super::law::REACTIONS_MAX;
use super::state::Law;
use crate::placement::{Lanes, Timing};

/// Of what waits, the part that may be in flight for a flood.
const WAITING_PART: u64 = 2;

/// No writer counts for more, however large its blocks are.
const BLOCK_BYTES_MOST: u64 = 64 << 20;

/// A flood is deep where the share alone would take so many times the delay that is aimed at.
const DEEP_TIMES: u64 = 6;

/// What a byte takes on a target that the program's nodes have for themselves: 100 MB/s. Slower ones are taken for flooded, which costs
/// little: nodes then write as without a router.
const OWN_NS_PER_BYTE: u64 = 10;

/// While nothing ends, windows grow so many times whenever the silence has lasted twice as long.
const SILENCE_TIMES: u64 = 4;

impl Law<'_> {
    /// Returns whether there is nowhere to go: all lanes are slow, and not because very many of the program's nodes are there.
    #[inline]
    pub fn is_flooded(&self) -> bool {
        (self.are_all_slow() && !self.settings.is_crowded()) || self.is_deeply_flooded()
    }

    /// Returns whether they are so slow that waiting for them costs more than any choice between them gains.
    #[inline]
    pub fn is_deeply_flooded(&self) -> bool {
        self.node.is_deep != 0
    }

    #[inline]
    fn are_all_slow(&self) -> bool {
        usize::from(self.node.slow_lanes) == self.controls.len()
    }

    /// A deep flood begins where the share alone would take long, and lasts until one lane is quick: in a queue of others' blocks, delay
    /// does not tell how much is the node's own.
    #[inline]
    pub fn tell_deep_flood(&mut self) {
        if !self.are_all_slow() {
            self.node.is_deep = 0;
        } else if self.node.is_deep == 0 {
            let mut share_bytes = self.settings.share_bytes(self.node.writers);
            if !self.settings.is_crowded() {
                share_bytes = share_bytes.max(self.every_lane_bytes());
            }
            let usual_ns = self.settings.tau_ns.saturating_mul(DEEP_TIMES) + self.late_notice_ns();
            let most_ns = usual_ns.max(self.crowd_ns(share_bytes / self.controls.len() as u64));
            self.node.is_deep = u32::from(self.delay_at_ns(share_bytes) > most_ns);
        }
    }

    /// How long it takes at most, without others, if each node of the program has so much in flight on a lane.
    fn crowd_ns(&self, lane_bytes: u64) -> u64 {
        let nodes = u64::from(self.settings.nodes_per_target);
        lane_bytes.saturating_mul(nodes).saturating_mul(OWN_NS_PER_BYTE)
    }

    /// Returns what a program that writes without a router has in flight: a whole block for each writer, in a deep flood at
    /// least a lease on each lane for each writer, as if its blocks were striped; as far as there is so much.
    #[inline]
    pub fn flood_bytes(&self, in_flight_bytes: u64) -> u64 {
        let block_bytes = self.node.block_bytes.min(BLOCK_BYTES_MOST);
        let waiting_bytes = self.node.waiting_bytes;
        let (mut each_bytes, mut most_bytes) = (block_bytes, waiting_bytes / WAITING_PART);
        if self.is_deeply_flooded() {
            most_bytes = waiting_bytes.saturating_add(in_flight_bytes);
            if !self.settings.is_crowded() {
                each_bytes = each_bytes.max(self.every_lane_bytes());
            }
        }
        let blocks_bytes = each_bytes.saturating_mul(u64::from(self.node.writers));
        blocks_bytes.min(most_bytes.max(self.every_lane_bytes()))
    }

    /// Returns the largest lease in a deep flood: where others share by stream, a node needs as many as a striped program has.
    #[inline]
    pub fn flood_lease_bytes(&self, in_flight_bytes: u64) -> u64 {
        let streams = u64::from(self.node.writers.max(1)) * self.controls.len() as u64;
        self.flood_bytes(in_flight_bytes) / streams
    }

    /// Returns the window of a target before anything is known of it.
    pub fn start_bytes(&self) -> u64 {
        self.settings.usual_lease_bytes(self.node.writers, self.controls.len())
    }

    /// Returns how long the first writes may take without others.
    pub fn patience_ns(&self) -> u64 {
        self.settings.tau_ns.saturating_mul(2).max(self.crowd_ns(self.start_bytes()))
    }

    /// Nothing has ended on this node yet, and that takes longer than the program's own nodes explain: what waits joins the queues
    /// before it is known how long they are. Grows all windows, at most to what a program without a router has in flight.
    pub fn learn_silence(&mut self, timing: Timing, before: u8, lanes: &Lanes<'_>) -> u8 {
        let limit_ns = self.patience_ns().saturating_mul(1 << before);
        // Ends may have been noticed of which it is not known how long they took.
        let has_ended = self.node.notice_ns > 0;
        if has_ended || before >= REACTIONS_MAX || timing.at_least_ns < limit_ns {
            return before;
        }
        let lanes_count = self.controls.len();
        let times = SILENCE_TIMES.pow(u32::from(before) + 1);
        let most_bytes = self.flood_bytes(lanes.in_flight_bytes) / lanes_count as u64;
        let window_bytes = self.start_bytes().saturating_mul(times).min(most_bytes);
        for lane in 0..lanes_count {
            if self.window_bytes(lane) < window_bytes {
                self.set_window(lane, window_bytes);
            }
        }
        before + 1
    }
}
