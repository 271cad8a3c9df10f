//! What somebody sees who looks at the leases: some are durable, some are late, some were left open.

use super::record::{LeaseRecord, SealedLease};
use super::{KeptPlacement, LeaseId, LeaseState, Leases, Word};

/// How long after a look the next one is due, while data is on its way.
const LOOK_EVERY_NS: u64 = 1_000_000;

/// What was seen of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Seen {
    /// All its data is on the target.
    Durable,
    /// Not yet.
    Pending,
}

/// The data of a lease is durable. Each lease with data comes to this once, by itself or by its copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ended {
    /// The lease whose data it is.
    pub id: LeaseId,
    /// What is durable: that lease, or its copy.
    pub lease: SealedLease,
}

impl<P: KeptPlacement> Leases<P> {
    /// Calls `each` with every lease whose data is on its way, and notes that somebody looks.
    pub fn on_their_way<W: Word>(
        &self,
        words: &[W],
        now_ns: u64,
        mut each: impl FnMut(SealedLease),
    ) {
        self.shape.looked(words).set(now_ns);
        for record in LeaseRecord::all(&self.shape, words) {
            if matches!(record.state(), LeaseState::Sealed | LeaseState::Superseded) {
                each(record.sealed());
            }
        }
    }

    /// Somebody saw, at `now_ns`, that a lease is durable or that it is not. The policy learns, and if the data is durable for the first
    /// time, it is returned.
    pub fn saw<W: Word>(
        &mut self,
        words: &[W],
        now_ns: u64,
        id: LeaseId,
        seen: Seen,
    ) -> Option<Ended> {
        let mut ended = None;
        self.saw_all(words, now_ns, now_ns, [(id, seen)], |end| ended = Some(end));
        ended
    }

    /// The same for many leases, at which somebody began to look at `looked_ns`: what was not durable was not at that time. It may be by now, if other programs had the processor meanwhile.
    pub fn saw_all<W: Word>(
        &mut self,
        words: &[W],
        looked_ns: u64,
        now_ns: u64,
        all: impl IntoIterator<Item = (LeaseId, Seen)>,
        mut ended: impl FnMut(Ended),
    ) {
        let shape = self.shape;
        let mut is_loaded = false;
        for (id, seen) in all {
            let Some(record) = LeaseRecord::of(&shape, words, id) else { continue };
            if !matches!(record.state(), LeaseState::Sealed | LeaseState::Superseded) {
                continue;
            }
            if !is_loaded {
                self.load(words, now_ns);
                is_loaded = true;
            }
            match seen {
                Seen::Durable => {
                    self.durable_record(words, record).into_iter().for_each(&mut ended);
                }
                Seen::Pending => self.pending_record(&record, looked_ns),
            }
        }
        if is_loaded {
            self.keep_policy(words);
        }
    }

    /// The same for a lease that is durable.
    pub fn durable<W: Word>(&mut self, words: &[W], now_ns: u64, id: LeaseId) -> Option<Ended> {
        self.saw(words, now_ns, id, Seen::Durable)
    }

    fn durable_record<W: Word>(
        &mut self,
        words: &[W],
        mut record: LeaseRecord<'_, W>,
    ) -> Option<Ended> {
        self.discount(&record);
        let pending_ns = record.pending_ns().saturating_sub(record.started_ns());
        let timing = self.timing(&record, pending_ns);
        self.ask(|policy, lanes| policy.ended(timing, lanes));
        let (lease, was) = (record.sealed(), record.state());
        let twin = record.twin();
        if was == LeaseState::Sealed {
            twin.into_iter().for_each(|twin| self.supersede(words, twin));
        }
        // The last word: who is killed before it leaves the lease to be seen again.
        if !record.change(LeaseState::Free, 0) || was == LeaseState::Superseded {
            return None;
        }
        let id = if record.is_copy() { twin.unwrap_or(lease.id) } else { lease.id };
        Some(Ended { id, lease })
    }

    /// The other lease with the same data is of no use any more.
    fn supersede<W: Word>(&mut self, words: &[W], id: LeaseId) {
        let shape = self.shape;
        if self.drop_open(words, id) {
            return;
        }
        let Some(mut record) = LeaseRecord::of(&shape, words, id) else { return };
        let filled = record.status.filled_bytes;
        if record.state() == LeaseState::Sealed && record.change(LeaseState::Superseded, filled) {
            self.unplace(words, record.lane(), u64::from(filled));
        }
    }

    fn pending_record<W: Word>(&mut self, record: &LeaseRecord<'_, W>, looked_ns: u64) {
        let age_ns = looked_ns.saturating_sub(record.started_ns());
        let timing = self.timing(record, age_ns);
        let before = record.reactions();
        let after = self.ask(|policy, lanes| policy.overdue(timing, before, lanes));
        if after != before {
            record.set_reactions(after);
        }
        // Who looked earlier may tell it later.
        record.set_pending(looked_ns.max(record.pending_ns()));
    }

    /// Seals what nobody has written to for a while, so that it gets on its way and makes room.
    pub fn seal_old<W: Word>(&mut self, words: &[W], now_ns: u64) {
        let shape = self.shape;
        let mut is_loaded = false;
        for slot in 0..shape.leases() as u32 {
            let record = LeaseRecord::at(&shape, words, slot);
            if record.state() != LeaseState::Open {
                continue;
            }
            if !is_loaded {
                self.load(words, now_ns);
                is_loaded = true;
            }
            let age_ns = now_ns.saturating_sub(record.started_ns());
            if age_ns >= self.policy.seal_after_ns() {
                self.seal_record(words, now_ns, record);
            }
        }
    }

    /// Returns when somebody should look next; nothing if nothing is on its way or left open.
    pub fn next_look_ns<W: Word>(&self, words: &[W]) -> Option<u64> {
        let looked_ns = self.shape.looked(words).get();
        let due = |record: LeaseRecord<'_, W>| match record.state() {
            LeaseState::Sealed | LeaseState::Superseded => {
                Some(looked_ns.saturating_add(LOOK_EVERY_NS))
            }
            LeaseState::Open => {
                Some(record.started_ns().saturating_add(self.policy.seal_after_ns()))
            }
            LeaseState::Free | LeaseState::Filling => None,
        };
        LeaseRecord::all(&self.shape, words).filter_map(due).min()
    }
}
