//! Data that takes long on its target is written a second time elsewhere.

use super::record::LeaseRecord;
use super::{Holder, KeptPlacement, LeaseState, Leases, Reserved, SealedLease, Word};

/// Of what leases were given for, the part that may be written twice before it is much, and so many bytes in any case.
const RESCUE_PART: u64 = 24;
const RESCUE_BYTES: u64 = 2 << 20;

impl<P: KeptPlacement> Leases<P> {
    /// Returns a lease of the holder that takes long, and another one into which the holder should copy its data, if that is
    /// worth it. Never while somebody waits for room.
    pub fn second_attempt<W: Word>(
        &mut self,
        words: &[W],
        now_ns: u64,
        holder: Holder,
    ) -> Option<(SealedLease, Reserved)> {
        if !self.shape.is_member(words, holder) {
            return None;
        }
        self.load(words, now_ns);
        if self.totals.waiting_bytes > 0 {
            return None;
        }
        let shape = self.shape;
        let copy_slot = shape.free_slot(words)?;
        self.bound_placed(words, 0);
        for record in LeaseRecord::all(&shape, words) {
            if !is_alone(&record, holder, |id| LeaseRecord::of(&shape, words, id).is_some()) {
                continue;
            }
            let Some(lane) = self.better_lane(words, &record) else { continue };
            let lease = record.sealed();
            let copied = shape.copied(words);
            copied.set(copied.get().saturating_add(u64::from(lease.length_bytes)));
            let length = lease.length_bytes;
            let copy = self.open(words, copy_slot, lane, length, holder, Some(lease.id));
            record.set_twin(copy.id);
            return Some((lease, copy));
        }
        None
    }

    fn better_lane<W: Word>(&mut self, words: &[W], record: &LeaseRecord<'_, W>) -> Option<usize> {
        let age_ns = self.totals.now_ns.saturating_sub(record.started_ns());
        let timing = self.timing(record, age_ns);
        let most = self.shape.granted(words).get() / RESCUE_PART + RESCUE_BYTES;
        let copied = self.shape.copied(words).get();
        let is_much = copied.saturating_add(timing.length_bytes) > most;
        self.ask(|policy, lanes| {
            let is_sound = |lane: &usize| lanes.admits(*lane) && *lane != timing.lane;
            policy.rescue(timing, is_much, lanes).filter(is_sound)
        })
    }
}

/// Whether a lease of the holder is on its way and has no copy.
fn is_alone<W: Word>(
    record: &LeaseRecord<'_, W>,
    holder: Holder,
    lasts: impl Fn(super::LeaseId) -> bool,
) -> bool {
    record.state() == LeaseState::Sealed
        && record.holder_place() == holder.place()
        && !record.is_copy()
        && !record.twin().is_some_and(lasts)
}
