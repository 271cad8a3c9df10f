//! What the law keeps: plain integers, so that the processes of a node can share them.

use super::WindowSettings;
use crate::lease::{POLICY_LANE_WORDS, POLICY_NODE_WORDS};

/// What the law keeps of one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub(super) struct LaneControl {
    pub window_bytes: u32,
    /// Towards the next turn of a target whose window is less than a lease.
    pub credit_bytes: u32,
    /// What ended since all that was in flight had ended, where ends are noticed late.
    pub ended_bytes: u32,
    /// Keeps the next field where it is on every machine.
    pub reserved: u32,
    /// Smoothed delay; 0 before anything ended.
    pub delay_ns: u64,
}

/// What the law keeps of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub(super) struct NodeControl {
    /// All windows together.
    pub sum_bytes: u64,
    /// The delay that this node aims at now: longer than the setting while its share would
    /// not be in flight otherwise.
    pub aim_ns: u64,
    /// Smoothed delay on all lanes together; 0 before anything ended.
    pub mean_ns: u64,
    /// How much later than they happen ends are noticed, at most, smoothed.
    pub notice_ns: u64,
    /// What waited when it was last asked for a place.
    pub waiting_bytes: u64,
    /// What is left to place, if that is known: once all writers have closed.
    pub left_bytes: u64,
    /// The largest submission so far.
    pub block_bytes: u64,
    pub writers: u32,
    /// Lanes whose delay is longer than the setting.
    pub slow_lanes: u16,
    /// The lane that had a turn last.
    pub turn: u16,
    /// 1 if attempts may be under way that should have ended long ago.
    pub has_late: u32,
    /// 1 in a deep flood.
    pub is_deep: u32,
}

/// Windows are kept in 32 bits.
pub(super) const WINDOW_BYTES_MAX: u64 = u32::MAX as u64;

impl LaneControl {
    /// Returns lane `lane` of `lanes` at the start. Credits are not equal, so that turns do not come to all
    /// lanes, and on all nodes, at once.
    pub fn new(start_bytes: u64, lane: usize, lanes: usize) -> Self {
        LaneControl {
            window_bytes: start_bytes as u32,
            credit_bytes: (start_bytes * lane as u64 / lanes as u64) as u32,
            ended_bytes: 0,
            reserved: 0,
            delay_ns: 0,
        }
    }
}

impl NodeControl {
    /// Returns a node at the start.
    pub fn new(settings: &WindowSettings, start_bytes: u64, lanes: usize, writers: u32) -> Self {
        NodeControl {
            sum_bytes: start_bytes * lanes as u64,
            aim_ns: settings.tau_ns,
            mean_ns: 0,
            notice_ns: 0,
            waiting_bytes: 0,
            left_bytes: u64::MAX,
            block_bytes: 0,
            writers,
            slow_lanes: 0,
            turn: 0,
            has_late: 0,
            is_deep: 0,
        }
    }
}

/// Delays are no longer than this: about 12 days.
const DELAY_NS_MAX: u64 = 1 << 50;

impl LaneControl {
    /// Returns it as words.
    pub fn words(&self) -> [u64; POLICY_LANE_WORDS] {
        let LaneControl { window_bytes, credit_bytes, ended_bytes, reserved, delay_ns } = *self;
        [pair(window_bytes, credit_bytes), pair(ended_bytes, reserved), delay_ns, 0]
    }

    /// Returns what words say, whatever they are.
    pub fn from_words(words: [u64; POLICY_LANE_WORDS], most_bytes: u64) -> Self {
        let ((window_bytes, credit_bytes), (ended_bytes, _)) = (halves(words[0]), halves(words[1]));
        LaneControl {
            window_bytes: window_bytes.min(most_bytes as u32).max(1),
            credit_bytes,
            ended_bytes,
            reserved: 0,
            delay_ns: words[2].min(DELAY_NS_MAX),
        }
    }
}

impl NodeControl {
    /// Returns it as words.
    pub fn words(&self) -> [u64; POLICY_NODE_WORDS] {
        let NodeControl {
            sum_bytes,
            aim_ns,
            mean_ns,
            notice_ns,
            waiting_bytes,
            left_bytes,
            block_bytes,
            writers,
            slow_lanes,
            turn,
            has_late,
            is_deep,
        } = *self;
        let turns = pair(u32::from(slow_lanes), u32::from(turn));
        let flags = pair(writers, has_late);
        let block = block_bytes;
        [
            sum_bytes,
            aim_ns,
            mean_ns,
            notice_ns,
            waiting_bytes,
            left_bytes,
            turns,
            flags,
            block,
            u64::from(is_deep),
            0,
            0,
        ]
    }

    /// Returns what words say, whatever they are; what the lanes say themselves is taken from them.
    pub fn from_words(
        words: [u64; POLICY_NODE_WORDS],
        settings: &WindowSettings,
        writers: u32,
        controls: &[LaneControl],
    ) -> Self {
        let is_slow = |lane: &&LaneControl| lane.delay_ns > settings.tau_ns;
        let longest_ns = DELAY_NS_MAX.max(settings.tau_ns);
        NodeControl {
            sum_bytes: controls.iter().map(|lane| u64::from(lane.window_bytes)).sum(),
            aim_ns: words[1].clamp(settings.tau_ns, longest_ns),
            mean_ns: words[2].min(DELAY_NS_MAX),
            notice_ns: words[3].min(DELAY_NS_MAX),
            waiting_bytes: words[4],
            left_bytes: words[5],
            block_bytes: words[8],
            writers,
            slow_lanes: controls.iter().filter(is_slow).count() as u16,
            turn: (halves(words[6]).1 as usize % controls.len()) as u16,
            has_late: u32::from(halves(words[7]).1 != 0),
            is_deep: u32::from(words[9] != 0),
        }
    }
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// The law over a node's state, wherever that lies.
pub(super) struct Law<'a> {
    pub settings: &'a WindowSettings,
    pub node: &'a mut NodeControl,
    pub controls: &'a mut [LaneControl],
}

impl Law<'_> {
    #[inline]
    pub fn window_bytes(&self, lane: usize) -> u64 {
        u64::from(self.controls[lane].window_bytes)
    }
}
