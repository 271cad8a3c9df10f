//! What a policy may say: where the next piece should go, and whether to try one twice.
//!
//! A policy only advises. The mechanism ([`Node`](crate::Node)) checks every advice and
//! does something sound where it is absent or impossible, so that no policy can lose a
//! write, commit one twice, break the throttle or bring a node to a halt.

use std::ops::Range;

use crate::{Failure, TargetId};

/// One target as its node sees it. A policy speaks of targets by their place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
// Two to a cache line, so that none lies on two.
#[repr(align(32))]
pub struct Lane {
    /// Which target.
    pub target: TargetId,
    /// Bytes that this node has in flight there.
    pub in_flight_bytes: u64,
    /// Attempts that this node has under way there.
    pub attempts: u32,
    /// Bytes that this node placed there and that count, durable or in flight.
    pub placed_bytes: u64,
    /// Why it takes nothing, if so.
    pub failure: Option<Failure>,
    /// Of what is in flight, what began at one moment, the last at which something did.
    newest_bytes: u32,
    newest: Moment,
}

/// A time, as much of it as tells it from others nearby.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Moment(u32);

impl Moment {
    fn of(now_ns: u64) -> Self {
        Moment((now_ns >> 8) as u32)
    }
}

impl Lane {
    /// Returns a target that takes data and has none.
    pub fn new(target: TargetId) -> Self {
        Lane {
            target,
            in_flight_bytes: 0,
            attempts: 0,
            placed_bytes: 0,
            failure: None,
            newest_bytes: 0,
            newest: Moment(0),
        }
    }

    /// Returns what is in flight here and began before now.
    #[inline]
    pub fn older_bytes(&self, now_ns: u64) -> u64 {
        let newest = if self.newest == Moment::of(now_ns) { self.newest_bytes } else { 0 };
        self.in_flight_bytes.saturating_sub(u64::from(newest))
    }

    /// An attempt begins here.
    #[inline]
    pub fn begin(&mut self, now_ns: u64, length_bytes: u64) {
        let (now, length) = (Moment::of(now_ns), u32::try_from(length_bytes).unwrap_or(u32::MAX));
        let before = if self.newest == now { self.newest_bytes } else { 0 };
        (self.newest, self.newest_bytes) = (now, before.saturating_add(length));
        self.in_flight_bytes += length_bytes;
        self.placed_bytes += length_bytes;
        self.attempts += 1;
    }

    /// Takes over what began last here, and when.
    pub(crate) fn set_newest(&mut self, bits: u64) {
        (self.newest, self.newest_bytes) = (Moment((bits >> 32) as u32), bits as u32);
    }

    /// Returns what [`Lane::set_newest`] takes over, once so much more has begun now.
    pub(crate) fn newest_with(bits: u64, now_ns: u64, more_bytes: u32) -> u64 {
        let now = Moment::of(now_ns).0;
        let before = if (bits >> 32) as u32 == now { bits as u32 } else { 0 };
        u64::from(now) << 32 | u64::from(before.saturating_add(more_bytes))
    }
}

/// All targets of a node, and the most that each may hold.
#[derive(Debug, Clone, Copy)]
pub struct Lanes<'a> {
    /// The targets.
    pub lanes: &'a [Lane],
    /// Bytes that the node has in flight on all of them.
    pub in_flight_bytes: u64,
    /// How many of them have nothing in flight.
    pub idle: usize,
    /// From the throttle: a lane with as much or more placed takes nothing now.
    pub most_placed_bytes: u64,
    /// The time, on the clock of the machine.
    pub now_ns: u64,
}

impl Lanes<'_> {
    /// True if the mechanism would accept to place something here.
    pub fn admits(&self, index: usize) -> bool {
        let admits =
            |lane: &Lane| lane.failure.is_none() && lane.placed_bytes < self.most_placed_bytes;
        self.lanes.get(index).is_some_and(admits)
    }

    /// The admitted lane with the least in flight: what the mechanism does on its own.
    pub fn least_loaded(&self) -> Option<usize> {
        let admitted = (0..self.lanes.len()).filter(|index| self.admits(*index));
        admitted.min_by_key(|index| self.lanes[*index].in_flight_bytes)
    }
}

/// What waits for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Waiting {
    /// Whose data, counted from the node's first writer.
    pub writer: u32,
    /// What is left of the submission, or the part that must be tried again; where the policy gathers, also what the writer submitted
    /// behind it.
    pub length_bytes: u64,
    /// How much of the submission was placed before.
    pub offset_bytes: u64,
    /// Bytes of the whole submission.
    pub submission_bytes: u64,
    /// A part that failed keeps its length: advice about length is not heard.
    pub is_retry: bool,
    /// Everything that waits on this node.
    pub node_bytes: u64,
    /// All writers of the node have closed: nothing more will come.
    pub is_last: bool,
    /// If said, nothing but this lane has got room since `place` last found none: a policy
    /// need not look at the others.
    pub only_lane: Option<usize>,
}

/// An advice: this much to that lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Advice {
    /// Which lane.
    pub lane: usize,
    /// At most this many bytes.
    pub length_bytes: u64,
}

/// An attempt that ended well or is still under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timing {
    /// Which lane.
    pub lane: usize,
    /// Bytes.
    pub length_bytes: u64,
    /// It took, or takes, at least so long.
    pub at_least_ns: u64,
    /// It took at most so long; for one under way the same as `at_least_ns`.
    pub at_most_ns: u64,
    /// What is still in flight on the lane and began before now. Where the host polls, 0 means that the lane was idle for
    /// a while.
    pub older_bytes: u64,
}

/// A policy of a node.
pub trait Placement {
    /// True if a writer's next submission waits until the one before is committed.
    fn is_serial(&self) -> bool {
        false
    }

    /// A piece may hold several submissions of a writer in a row, up to so many bytes, where the first is shorter; 0 is never.
    fn gather_bytes(&self) -> u64 {
        0
    }

    /// While a writer has something under way and may submit more, less than this waits for more of it. Otherwise all small
    /// submissions that come while there is room would be pieces of their own.
    fn hold_bytes(&self) -> u64 {
        0
    }

    /// Where should the next piece go? `None`: nowhere before something ends.
    fn place(&mut self, waiting: Waiting, lanes: Lanes<'_>) -> Option<Advice>;

    /// An attempt is durable.
    fn ended(&mut self, _timing: Timing, _lanes: Lanes<'_>) {}

    /// How often to look at what is under way; `None` is never.
    fn look_every_ns(&self) -> Option<u64> {
        None
    }

    /// An attempt is still under way. `before` is what was returned when it was looked at
    /// last, 0 at first: a policy counts here how often it has reacted.
    fn overdue(&mut self, _timing: Timing, before: u8, _lanes: Lanes<'_>) -> u8 {
        before
    }

    /// Asks for the memory of what is kept about a lane: see
    /// [`Node::prefetch`](crate::Node::prefetch).
    fn prefetch(&self, _lane: usize) {}

    /// Nothing waits: try this one a second time, and where? `is_much` if a good part of the data was tried a
    /// second time before.
    fn rescue(&mut self, _timing: Timing, _is_much: bool, _lanes: Lanes<'_>) -> Option<usize> {
        None
    }
}

/// Every writer to its own targets, a submission at a time, each target an equal part of it: how
/// programs write now, with any placement of files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Static {
    /// Lanes of the node's first writer, then of its second, ….
    lanes: Box<[u16]>,
    lanes_per_writer: usize,
}

impl Static {
    /// Makes the policy of a node that has these of this many writers, and all targets. Each writer
    /// has one; neighbours share one, as they share a group in [`coordinated`](crate::coordinated).
    pub fn grouped(writers: Range<u32>, all_writers: u32, targets: usize) -> Self {
        let lane = |writer| home(writer, all_writers, targets) as u16;
        Static { lanes: writers.map(lane).collect(), lanes_per_writer: 1 }
    }

    /// Returns the targets of a node, and its policy: `each` of `homes` for its first writer, then
    /// for its second, ….
    pub fn pinned(homes: &[TargetId], each: usize) -> (Vec<TargetId>, Self) {
        let mut targets = homes.to_vec();
        targets.sort_unstable();
        targets.dedup();
        let lane = |home: &TargetId| targets.partition_point(|known| known < home) as u16;
        let lanes = homes.iter().map(lane).collect();
        (targets, Static { lanes, lanes_per_writer: each })
    }
}

impl Placement for Static {
    fn is_serial(&self) -> bool {
        true
    }

    fn place(&mut self, waiting: Waiting, lanes: Lanes<'_>) -> Option<Advice> {
        let count = self.lanes_per_writer;
        let stripe = waiting.submission_bytes.div_ceil(count as u64).max(1);
        let nth = (waiting.offset_bytes / stripe) as usize;
        let own = self.lanes[waiting.writer as usize * count + nth.min(count - 1)];
        Some(Advice { lane: next_live(usize::from(own), lanes)?, length_bytes: stripe })
    }
}

/// Every submission over several targets in equal parts, all at once: a striped file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Striped {
    first_writer: u32,
    count: u32,
    least_bytes: u64,
}

impl Striped {
    /// Over `count` lanes, at least 1, at most all; each writer begins one lane further.
    pub fn new(first_writer: u32, count: u32) -> Self {
        Striped { first_writer, count: count.max(1), least_bytes: 1 }
    }

    /// The same with parts of at least this many bytes: what a device writes in any case.
    pub fn in_parts_of_at_least(self, least_bytes: u64) -> Self {
        Striped { least_bytes: least_bytes.max(1), ..self }
    }
}

impl Placement for Striped {
    fn is_serial(&self) -> bool {
        true
    }

    fn place(&mut self, waiting: Waiting, lanes: Lanes<'_>) -> Option<Advice> {
        let all = lanes.lanes.len();
        let own = (self.first_writer as usize + waiting.writer as usize) % all;
        let count = u64::from(self.count).min(all as u64);
        let stripe = waiting.submission_bytes.div_ceil(count).max(self.least_bytes);
        let nth = (waiting.offset_bytes / stripe) as usize;
        Some(Advice { lane: next_live((own + nth) % all, lanes)?, length_bytes: stripe })
    }
}

/// The own target of a writer, one of this many: neighbours share one (Huang, section 3.1).
pub(crate) fn home(writer: u32, writers: u32, targets: usize) -> usize {
    (u64::from(writer) * targets as u64 / u64::from(writers.max(1))) as usize
}

/// `own`, or the next one that has not failed.
fn next_live(own: usize, lanes: Lanes<'_>) -> Option<usize> {
    let all = lanes.lanes.len();
    (0..all).map(|step| (own + step) % all).find(|lane| lanes.admits(*lane))
}
