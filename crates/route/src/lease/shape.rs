//! Where everything lies in the words that processes share.

use super::record::{COLD_WORDS, HOT_WORDS, Holder, LeaseRecord, LeaseState};
use super::{POLICY_LANE_WORDS, POLICY_NODE_WORDS, Word};
use crate::Failure;

/// How large a table is. The node's words come first, then those of the lanes, the holders and the leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableShape {
    lanes: u16,
    holders: u16,
    leases: u16,
}

/// A table that is too large, or for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a table for {lanes} targets, {holders} processes and {leases} leases; hint: 1 to {LANES_MAX}, {HOLDERS_MAX} and {LEASES_MAX}"
)]
pub struct TableShapeError {
    lanes: usize,
    holders: usize,
    leases: usize,
}

const LANES_MAX: usize = 1024;
const HOLDERS_MAX: usize = 4096;
const LEASES_MAX: usize = 8192;

/// Words of the node beside the policy's.
const GRANTED: usize = POLICY_NODE_WORDS;
const COPIED: usize = GRANTED + 1;
const LOOKED: usize = GRANTED + 2;
const NODE_WORDS: usize = GRANTED + 4;

/// Words of a lane beside the policy's.
const PLACED: usize = POLICY_LANE_WORDS;
const FAILURE: usize = PLACED + 1;
const NEWEST: usize = PLACED + 2;
const LANE_WORDS: usize = PLACED + 4;

const HOLDER_WORDS: usize = 2;

/// Bits of a holder's first word.
const JOINED: u64 = 1;
const FLUSHING: u64 = 2;

/// What holders say of themselves, added up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Holders {
    pub joined: u32,
    pub waiting_bytes: u64,
    pub are_all_flushing: bool,
}

impl TableShape {
    /// For so many targets, processes at a time, and leases at a time.
    ///
    /// # Errors
    /// Fails if one of them is 0 or too many.
    pub fn new(lanes: usize, holders: usize, leases: usize) -> Result<Self, TableShapeError> {
        let is_good = (1..=LANES_MAX).contains(&lanes)
            && (1..=HOLDERS_MAX).contains(&holders)
            && (1..=LEASES_MAX).contains(&leases);
        if !is_good {
            return Err(TableShapeError { lanes, holders, leases });
        }
        Ok(TableShape { lanes: lanes as u16, holders: holders as u16, leases: leases as u16 })
    }

    /// Returns how many targets there are.
    pub fn lanes(&self) -> usize {
        usize::from(self.lanes)
    }

    /// Returns how many processes may take part at a time.
    pub fn holders(&self) -> usize {
        usize::from(self.holders)
    }

    /// Returns how many leases there may be at a time.
    pub fn leases(&self) -> usize {
        usize::from(self.leases)
    }

    /// Returns how many words a table has.
    pub fn words(&self) -> usize {
        self.hot_at() + self.leases() * (HOT_WORDS + COLD_WORDS)
    }

    fn holders_at(&self) -> usize {
        NODE_WORDS + self.lanes() * LANE_WORDS
    }

    fn hot_at(&self) -> usize {
        self.holders_at() + self.holders() * HOLDER_WORDS
    }

    pub(super) fn lease_words<'a, W>(&self, words: &'a [W], slot: u32) -> (&'a [W], &'a [W]) {
        let (slot, hot_at) = (slot as usize, self.hot_at());
        let cold_at = hot_at + self.leases() * HOT_WORDS;
        let part = |at: usize, each: usize| &words[at + slot * each..][..each];
        (part(hot_at, HOT_WORDS), part(cold_at, COLD_WORDS))
    }

    pub(super) fn policy_words<'a, W>(&self, words: &'a [W]) -> &'a [W] {
        &words[..POLICY_NODE_WORDS]
    }

    pub(super) fn policy_lane_words<'a, W>(&self, words: &'a [W], lane: usize) -> &'a [W] {
        &words[NODE_WORDS + lane * LANE_WORDS..][..POLICY_LANE_WORDS]
    }

    fn lane_word<'a, W>(&self, words: &'a [W], lane: usize, which: usize) -> &'a W {
        &words[NODE_WORDS + lane * LANE_WORDS + which]
    }

    fn holder_words<'a, W>(&self, words: &'a [W], place: usize) -> &'a [W] {
        &words[self.holders_at() + place * HOLDER_WORDS..][..HOLDER_WORDS]
    }

    pub(super) fn free_slot<W: Word>(&self, words: &[W]) -> Option<u32> {
        let is_free = |record: &LeaseRecord<'_, W>| record.state() == LeaseState::Free;
        LeaseRecord::all(self, words).find(is_free).map(|record| record.slot)
    }

    /// The most bytes that were ever placed or leased at once: never less, so that what is a fair share never shrinks.
    pub(super) fn granted<'a, W>(&self, words: &'a [W]) -> &'a W {
        &words[GRANTED]
    }

    /// Bytes that were written a second time.
    pub(super) fn copied<'a, W>(&self, words: &'a [W]) -> &'a W {
        &words[COPIED]
    }

    /// When somebody last looked at what is on its way.
    pub(super) fn looked<'a, W>(&self, words: &'a [W]) -> &'a W {
        &words[LOOKED]
    }

    /// Bytes that were placed on a lane and count.
    pub(super) fn placed<'a, W>(&self, words: &'a [W], lane: usize) -> &'a W {
        self.lane_word(words, lane, PLACED)
    }

    /// What began last on a lane, and when, in the lane's own words.
    pub(super) fn newest<'a, W>(&self, words: &'a [W], lane: usize) -> &'a W {
        self.lane_word(words, lane, NEWEST)
    }

    pub(super) fn failure<W: Word>(&self, words: &[W], lane: usize) -> Option<Failure> {
        match self.lane_word(words, lane, FAILURE).get() {
            1 => Some(Failure::Stopped),
            2 => Some(Failure::Full),
            3 => Some(Failure::ReadOnly),
            _ => None,
        }
    }

    pub(super) fn set_failure<W: Word>(&self, words: &[W], lane: usize, failure: Option<Failure>) {
        let bits = match failure {
            None => 0,
            Some(Failure::Stopped) => 1,
            Some(Failure::Full) => 2,
            Some(Failure::ReadOnly) => 3,
        };
        self.lane_word(words, lane, FAILURE).set(bits);
    }

    pub(super) fn join<W: Word>(&self, words: &[W], place: usize) -> Holder {
        let word = &self.holder_words(words, place)[0];
        let generation = ((word.get() >> 32) as u32).wrapping_add(1);
        word.set(u64::from(generation) << 32 | JOINED);
        Holder { place: place as u16, generation }
    }

    pub(super) fn vacate<W: Word>(&self, words: &[W], place: usize) {
        let [word, waiting] = self.holder_words(words, place) else { return };
        waiting.set(0);
        word.set(word.get() >> 32 << 32);
    }

    /// Returns whether a place is taken, and by which generation.
    pub fn occupant<W: Word>(&self, words: &[W], place: usize) -> Option<u32> {
        let bits = self.holder_words(words, place)[0].get();
        (bits & JOINED != 0).then_some((bits >> 32) as u32)
    }

    /// Returns whether a holder still takes part: it has not left, and nobody took it for dead.
    pub fn is_member<W: Word>(&self, words: &[W], holder: Holder) -> bool {
        holder.place() < self.holders()
            && self.occupant(words, holder.place()) == Some(holder.generation)
    }

    pub(super) fn set_waiting<W: Word>(&self, words: &[W], holder: Holder, bytes: u64) {
        self.holder_words(words, holder.place())[1].set(bytes);
    }

    pub(super) fn set_flushing<W: Word>(&self, words: &[W], holder: Holder, flushes: bool) {
        let bits = if flushes { JOINED | FLUSHING } else { JOINED };
        self.holder_words(words, holder.place())[0].set(u64::from(holder.generation) << 32 | bits);
    }

    pub(super) fn count_holders<W: Word>(&self, words: &[W]) -> Holders {
        let mut all = Holders { are_all_flushing: true, ..Holders::default() };
        for place in 0..self.holders() {
            let [word, waiting] = self.holder_words(words, place) else { continue };
            let bits = word.get();
            if bits & JOINED != 0 {
                all.joined += 1;
                all.waiting_bytes = all.waiting_bytes.saturating_add(waiting.get());
                all.are_all_flushing &= bits & FLUSHING != 0;
            }
        }
        all
    }
}
