//! The table as a whole: what it adds up to, and how leases come into it and are sealed.

use super::record::LeaseRecord;
use super::{
    Holder, KeptPlacement, LeaseId, LeaseState, Leases, POLICY_LANE_WORDS, POLICY_NODE_WORDS,
    Reserved, SealedLease, Totals, Word,
};
use crate::placement::Lane;
use crate::{Failure, TargetId};

/// How often a change of a word is tried again that its holder changes at the same time: it has to happen in the few instructions
/// between a look and the change.
const TRIES: usize = 64;

impl<P: KeptPlacement> Leases<P> {
    /// Reads everything that the policy decides by.
    pub(super) fn load<W: Word>(&mut self, words: &[W], now_ns: u64) {
        let shape = self.shape;
        let holders = shape.count_holders(words);
        let node: [u64; POLICY_NODE_WORDS] =
            std::array::from_fn(|at| shape.policy_words(words)[at].get());
        let of_lane = |lane| {
            let kept = shape.policy_lane_words(words, lane);
            std::array::from_fn::<u64, POLICY_LANE_WORDS, _>(|at| kept[at].get())
        };
        self.policy.restore(holders.joined.max(1), node, (0..shape.lanes()).map(of_lane));
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            *lane = Lane::new(TargetId(at as u16));
            let shunned = self.shunned[at].then_some(Failure::Stopped);
            lane.failure = shape.failure(words, at).or(shunned);
            lane.placed_bytes = shape.placed(words, at).get();
            lane.set_newest(shape.newest(words, at).get());
        }
        self.totals = Totals {
            most_placed_bytes: u64::MAX,
            waiting_bytes: holders.waiting_bytes,
            is_last: holders.are_all_flushing,
            now_ns,
            ..Totals::default()
        };
        for record in LeaseRecord::all(&shape, words) {
            self.count(&record);
        }
        self.totals.idle_lanes = self.lanes.iter().filter(|lane| lane.attempts == 0).count();
    }

    fn count<W: Word>(&mut self, record: &LeaseRecord<'_, W>) {
        let state = record.state();
        if state == LeaseState::Free {
            return;
        }
        let (lane, bytes) = (&mut self.lanes[record.lane()], u64::from(record.bytes()));
        lane.in_flight_bytes += bytes;
        lane.attempts += 1;
        self.totals.in_flight_bytes += bytes;
        // Who stopped in the middle of a write may never go on.
        self.totals.moving += usize::from(state != LeaseState::Filling);
    }

    /// Takes a lease that has ended out of what was added up.
    pub(super) fn discount<W: Word>(&mut self, record: &LeaseRecord<'_, W>) {
        let (lane, bytes) = (&mut self.lanes[record.lane()], u64::from(record.bytes()));
        lane.in_flight_bytes = lane.in_flight_bytes.saturating_sub(bytes);
        lane.attempts = lane.attempts.saturating_sub(1);
        let totals = &mut self.totals;
        totals.idle_lanes += usize::from(lane.attempts == 0);
        totals.in_flight_bytes = totals.in_flight_bytes.saturating_sub(bytes);
        totals.moving = totals.moving.saturating_sub(1);
    }

    /// Keeps what the policy has learnt.
    pub(super) fn keep_policy<W: Word>(&self, words: &[W]) {
        let node = self.policy.node_words();
        for (word, value) in self.shape.policy_words(words).iter().zip(node) {
            word.set(value);
        }
        for lane in 0..self.shape.lanes() {
            let kept = self.shape.policy_lane_words(words, lane);
            for (word, value) in kept.iter().zip(self.policy.lane_words(lane)) {
                word.set(value);
            }
        }
    }

    /// The most that a lane may hold when there is so much more to place: its fair share of all that was placed, and the factor more.
    pub(super) fn bound_placed<W: Word>(&mut self, words: &[W], more_bytes: u64) {
        let live = self.lanes.iter().filter(|lane| lane.failure.is_none()).count() as u64;
        if self.factor.bounds() && live > 0 {
            let placed = self.placed(words).saturating_add(more_bytes);
            let share = placed.max(self.shape.granted(words).get()).div_ceil(live);
            self.totals.most_placed_bytes = share.saturating_add(self.factor.of(share));
        }
    }

    /// Makes a lease in a free slot. What bounds others is counted before: who is killed in between has bounded them a
    /// little more or less for nothing. What leases were given for and did not take is there for the next ones: it was once added to
    /// all shares for good, which then were a twelfth too large where records leave that much of their leases.
    pub(super) fn open<W: Word>(
        &mut self,
        words: &[W],
        slot: u32,
        lane: usize,
        length_bytes: u32,
        holder: Holder,
        of: Option<LeaseId>,
    ) -> Reserved {
        let placed = self.shape.placed(words, lane);
        placed.set(placed.get().saturating_add(u64::from(length_bytes)));
        let granted = self.shape.granted(words);
        granted.set(granted.get().max(self.placed(words)));
        let mut record = LeaseRecord::at(&self.shape, words, slot);
        record.set_started(self.totals.now_ns);
        record.open(lane, length_bytes, holder, of);
        self.count(&record);
        Reserved { id: record.id(), lane, length_bytes }
    }

    pub(super) fn seal_record<W: Word>(
        &mut self,
        words: &[W],
        now_ns: u64,
        mut record: LeaseRecord<'_, W>,
    ) -> Option<SealedLease> {
        if !matches!(record.state(), LeaseState::Open | LeaseState::Filling) {
            return None;
        }
        let (filled, length) = (record.status.filled_bytes, record.length_bytes());
        // Part of a copy is of no use.
        let is_empty = filled == 0 || record.is_copy() && filled < length;
        if is_empty {
            if record.change(LeaseState::Free, 0) {
                self.unplace(words, record.lane(), u64::from(length));
            }
            return None;
        }
        record.set_started(now_ns);
        if !record.change(LeaseState::Sealed, filled) {
            return None;
        }
        self.unplace(words, record.lane(), u64::from(length - filled));
        let newest = self.shape.newest(words, record.lane());
        newest.set(Lane::newest_with(newest.get(), now_ns, filled));
        Some(record.sealed())
    }

    /// Seals what a holder has open, in whichever state if it is dead.
    pub(super) fn seal_all_of<W: Word>(
        &mut self,
        words: &[W],
        now_ns: u64,
        place: usize,
        is_dead: bool,
    ) {
        let shape = self.shape;
        for slot in 0..shape.leases() as u32 {
            for _ in 0..TRIES {
                let record = LeaseRecord::at(&shape, words, slot);
                let is_open = record.state() == LeaseState::Open
                    || is_dead && record.state() == LeaseState::Filling;
                if record.holder_place() != place || !is_open {
                    break;
                }
                self.seal_record(words, now_ns, record);
            }
        }
    }

    /// Frees a lease whose holder may be at work on it. Returns false if it could not.
    pub(super) fn drop_open<W: Word>(&mut self, words: &[W], id: LeaseId) -> bool {
        let shape = self.shape;
        for _ in 0..TRIES {
            let Some(mut record) = LeaseRecord::of(&shape, words, id) else { return true };
            if !matches!(record.state(), LeaseState::Open | LeaseState::Filling) {
                return false;
            }
            if record.change(LeaseState::Free, 0) {
                self.unplace(words, record.lane(), u64::from(record.length_bytes()));
                return true;
            }
        }
        false
    }

    /// What all lanes hold, and what is leased there.
    fn placed<W: Word>(&self, words: &[W]) -> u64 {
        let lanes = 0..self.shape.lanes();
        lanes.fold(0, |all: u64, lane| all.saturating_add(self.shape.placed(words, lane).get()))
    }

    /// So many bytes on a lane no longer count.
    pub(super) fn unplace<W: Word>(&self, words: &[W], lane: usize, bytes: u64) {
        let placed = self.shape.placed(words, lane);
        placed.set(placed.get().saturating_sub(bytes));
    }
}
