//! Routing that the processes of a node do together: leases in a flat table that all of them share.
//!
//! A process [reserves](Leases::reserve) a lease, which is a target and a length, fills it with as many writes as it likes,
//! says after each how far it has got, and [seals](Leases::seal) it. From then on its data is on its way to the target, until
//! anybody sees that it is [durable](Leases::durable). A process may die at any moment: its leases are sealed where its last published
//! data ends ([`Leases::holder_gone`]). Nothing rings: [`Leases::next_look_ns`] says when somebody should look.
//!
//! All state is words ([`Word`]) that can lie anywhere; [`Leases`] has the room that a process needs to work on them, and
//! allocates nothing once it is made. Its transitions must not overlap, so a host has a lock around them. Only
//! a holder's [`begin_fill`], [`publish`] and [`filled`] need none.
//!
//! **Killed at any instruction.** Nothing is counted that the table says: what is in flight is added up from the leases at each transition.
//! What a lease is changes by one word, and everything else about it is written before that. The law's state is read with bounds, so that
//! it is never worse than wrong. So there is nothing to repair, whatever a process leaves behind.

mod fill;
mod look;
mod record;
mod rescue;
mod shape;
mod table;
mod word;

use std::hash::Hash;

use crate::placement::{Advice, Lane, Lanes, Placement, Timing, Waiting};
use crate::{Factor, Failure, TargetId};

pub use fill::{begin_fill, filled, is_superseded, publish};
pub use look::{Ended, Seen};
pub use record::{Holder, LeaseId, LeaseState, Place, Reserved, SealedLease};
pub use shape::{TableShape, TableShapeError};
pub use word::Word;

use record::LeaseRecord;

/// Words that a policy may keep of a node, and of each target.
pub const POLICY_NODE_WORDS: usize = 12;
/// See [`POLICY_NODE_WORDS`].
pub const POLICY_LANE_WORDS: usize = 4;

/// A policy whose state is kept in shared words between two transitions.
pub trait KeptPlacement: Placement {
    /// Returns what it keeps of the node.
    fn node_words(&self) -> [u64; POLICY_NODE_WORDS];

    /// Returns what it keeps of a target.
    fn lane_words(&self, lane: usize) -> [u64; POLICY_LANE_WORDS];

    /// Takes over what was kept. Every word may be anything.
    fn restore(
        &mut self,
        writers: u32,
        node: [u64; POLICY_NODE_WORDS],
        lanes: impl Iterator<Item = [u64; POLICY_LANE_WORDS]>,
    );

    /// How long a lease that has data may stay unsealed while nobody writes to it.
    fn seal_after_ns(&self) -> u64;
}

/// What a process reserves for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Who asks.
    pub holder: Holder,
    /// The most that it could fill: a program that will go on writing says [`u64::MAX`], so that small writes are gathered.
    pub length_bytes: u64,
    /// What it has at hand now, and waits for a place.
    pub waiting_bytes: u64,
}

/// What one process needs to work on the table. See the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Leases<P> {
    policy: P,
    shape: TableShape,
    factor: Factor,
    lanes: Box<[Lane]>,
    /// Those that this process does not want leases on.
    shunned: Box<[bool]>,
    totals: Totals,
}

/// What was added up of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Totals {
    in_flight_bytes: u64,
    idle_lanes: usize,
    /// Leases that will end by themselves: sealed, or old enough soon.
    moving: usize,
    most_placed_bytes: u64,
    waiting_bytes: u64,
    is_last: bool,
    now_ns: u64,
}

impl<P: KeptPlacement> Leases<P> {
    /// For tables of this shape. `policy` is as it is at the start.
    pub fn new(shape: TableShape, factor: Factor, policy: P) -> Self {
        let lanes = (0..shape.lanes()).map(|lane| Lane::new(TargetId(lane as u16))).collect();
        let shunned = vec![false; shape.lanes()].into();
        Leases { policy, shape, factor, lanes, shunned, totals: Totals::default() }
    }

    /// From now on, this process gets leases on these targets only, as if all others had failed.
    pub fn keep_to(&mut self, is_wanted: impl Fn(usize) -> bool) {
        self.shunned.iter_mut().enumerate().for_each(|(lane, it)| *it = !is_wanted(lane));
    }

    /// Fills new words, all of which are 0, with the state at the start.
    pub fn begin<W: Word>(&self, words: &[W]) {
        self.keep_policy(words);
    }

    /// Returns the policy, to look at.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// Returns the policy, for a checker that lets it choose anything.
    pub fn policy_mut(&mut self) -> &mut P {
        &mut self.policy
    }

    /// Returns the shape of the tables.
    pub fn shape(&self) -> &TableShape {
        &self.shape
    }

    /// Returns the targets as they were at the last transition.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// A process takes a place among the holders that is free, or whose process is known to be dead: its leases are sealed.
    pub fn join<W: Word>(&mut self, words: &[W], now_ns: u64, place: usize) -> Holder {
        self.holder_gone(words, now_ns, place);
        self.shape.join(words, place)
    }

    /// A process leaves. What it had open is sealed.
    pub fn leave<W: Word>(&mut self, words: &[W], now_ns: u64, holder: Holder) {
        if self.shape.is_member(words, holder) {
            self.holder_gone(words, now_ns, holder.place());
        }
    }

    /// Returns a lease, if there is room for one. Else the holder counts as waiting, until it gets one or gives up
    /// ([`Leases::give_up`]). Also nothing, if the holder has left.
    pub fn reserve<W: Word>(&mut self, words: &[W], now_ns: u64, need: Need) -> Option<Reserved> {
        if !self.shape.is_member(words, need.holder) || need.length_bytes == 0 {
            return None;
        }
        self.shape.set_waiting(words, need.holder, need.waiting_bytes.max(1));
        self.load(words, now_ns);
        let slot = self.shape.free_slot(words)?;
        self.bound_placed(words, need.length_bytes.min(need.waiting_bytes.max(1)));
        let advice = self.sound_place(need);
        self.keep_policy(words);
        let Advice { lane, length_bytes } = advice?;
        let length_bytes = length_bytes.min(need.length_bytes).min(u64::from(u32::MAX));
        self.shape.set_waiting(words, need.holder, 0);
        Some(self.open(words, slot, lane, length_bytes as u32, need.holder, None))
    }

    /// A holder waits no longer for a lease.
    pub fn give_up<W: Word>(&self, words: &[W], holder: Holder) {
        if self.shape.is_member(words, holder) {
            self.shape.set_waiting(words, holder, 0);
        }
    }

    /// A holder says where the data of its lease will lie, before it writes any. Returns false if the lease is gone.
    pub fn set_place<W: Word>(&self, words: &[W], id: LeaseId, place: Place) -> bool {
        let Some(record) = LeaseRecord::of(&self.shape, words, id) else { return false };
        record.set_place(place);
        true
    }

    /// The data of a lease is on its way from now on. Returns it, or nothing if it is empty, or was sealed already, or is gone.
    pub fn seal<W: Word>(&mut self, words: &[W], now_ns: u64, id: LeaseId) -> Option<SealedLease> {
        let record = LeaseRecord::of(&self.shape, words, id)?;
        self.seal_record(words, now_ns, record)
    }

    /// A target takes no more data, or takes it again. What is in flight there ends, well or badly.
    pub fn set_failure<W: Word>(&mut self, words: &[W], lane: usize, failure: Option<Failure>) {
        if lane < self.shape.lanes() {
            self.shape.set_failure(words, lane, failure);
        }
    }

    /// A holder waits for all that it wrote (an fsync), and writes nothing meanwhile: where all holders do, the end is near. What it has open is sealed.
    pub fn flush<W: Word>(&mut self, words: &[W], now_ns: u64, holder: Holder) {
        if self.shape.is_member(words, holder) {
            self.shape.set_flushing(words, holder, true);
            self.seal_all_of(words, now_ns, holder.place(), false);
        }
    }

    /// Returns whether nothing of a holder is on its way. It no longer counts as one that flushes then.
    pub fn is_flushed<W: Word>(&self, words: &[W], holder: Holder) -> bool {
        let is_under_way = |record: &LeaseRecord<'_, W>| {
            record.holder_place() == holder.place() && record.state() == LeaseState::Sealed
        };
        let is_flushed = !LeaseRecord::all(&self.shape, words).any(|it| is_under_way(&it));
        if is_flushed && self.shape.is_member(words, holder) {
            self.shape.set_flushing(words, holder, false);
        }
        is_flushed
    }

    /// A process is known to be dead. Its leases are sealed where its last published data ends, and its copies dropped.
    pub fn holder_gone<W: Word>(&mut self, words: &[W], now_ns: u64, place: usize) {
        self.seal_all_of(words, now_ns, place, true);
        self.shape.vacate(words, place);
    }

    /// Returns whether no target holds more than its fair share and allowance by more than one lease of `largest_bytes`.
    pub fn is_throttle_kept<W: Word>(&mut self, words: &[W], largest_bytes: u64) -> bool {
        self.load(words, self.totals.now_ns);
        self.bound_placed(words, 0);
        let most = self.totals.most_placed_bytes.saturating_add(largest_bytes);
        self.lanes.iter().all(|lane| lane.failure.is_some() || lane.placed_bytes <= most)
    }

    /// The policy's advice if it can be followed; something sound if nothing would move.
    fn sound_place(&mut self, need: Need) -> Option<Advice> {
        let Totals { waiting_bytes, is_last, moving, .. } = self.totals;
        let waiting = Waiting {
            writer: need.holder.place() as u32,
            length_bytes: need.length_bytes,
            offset_bytes: 0,
            submission_bytes: need.length_bytes,
            is_retry: false,
            node_bytes: waiting_bytes.max(1),
            is_last,
            only_lane: None,
        };
        let advice = self.ask(|policy, lanes| {
            let is_sound = |it: &Advice| lanes.admits(it.lane) && it.length_bytes > 0;
            policy.place(waiting, lanes).filter(is_sound)
        });
        if advice.is_some() || moving > 0 {
            return advice;
        }
        let lane = self.ask(|_, lanes| lanes.least_loaded())?;
        Some(Advice { lane, length_bytes: need.length_bytes.min(need.waiting_bytes.max(1)) })
    }

    /// Asks the policy, which sees the lanes.
    fn ask<R>(&mut self, question: impl FnOnce(&mut P, Lanes<'_>) -> R) -> R {
        let Totals { in_flight_bytes, idle_lanes, most_placed_bytes, now_ns, .. } = self.totals;
        let lanes = Lanes {
            lanes: &self.lanes,
            in_flight_bytes,
            idle: idle_lanes,
            most_placed_bytes,
            now_ns,
        };
        question(&mut self.policy, lanes)
    }

    fn timing<W: Word>(&self, record: &LeaseRecord<'_, W>, at_least_ns: u64) -> Timing {
        let at_most_ns = self.totals.now_ns.saturating_sub(record.started_ns());
        let lane = record.lane();
        Timing {
            lane,
            length_bytes: u64::from(record.bytes()),
            at_least_ns: at_least_ns.min(at_most_ns),
            at_most_ns,
            older_bytes: self.lanes[lane].older_bytes(self.totals.now_ns),
        }
    }
}
