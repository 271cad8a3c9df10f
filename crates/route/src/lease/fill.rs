//! What a holder does to its own lease without asking anybody.

use super::record::{LeaseRecord, LeaseState};
use super::{LeaseId, TableShape, Word};

/// The holder begins to write. Returns false if somebody has sealed the lease: then the holder needs another one.
pub fn begin_fill<W: Word>(shape: &TableShape, words: &[W], id: LeaseId) -> bool {
    LeaseRecord::of(shape, words, id).is_some_and(|mut record| {
        let filled_bytes = record.status.filled_bytes;
        match record.state() {
            LeaseState::Open => record.change(LeaseState::Filling, filled_bytes),
            LeaseState::Filling => true,
            _ => false,
        }
    })
}

/// The holder has written up to `filled_bytes` of the lease. Returns false if it was taken for dead, and what it
/// wrote since it published last is not in the lease.
pub fn publish<W: Word>(shape: &TableShape, words: &[W], id: LeaseId, filled_bytes: u32) -> bool {
    LeaseRecord::of(shape, words, id).is_some_and(|mut record| {
        let is_sound = (record.status.filled_bytes..=record.length_bytes()).contains(&filled_bytes);
        is_sound
            && record.state() == LeaseState::Filling
            && record.change(LeaseState::Open, filled_bytes)
    })
}

/// Returns how far a lease is filled, if it still lasts.
pub fn filled<W: Word>(shape: &TableShape, words: &[W], id: LeaseId) -> Option<u32> {
    Some(LeaseRecord::of(shape, words, id)?.status.filled_bytes)
}

/// Returns whether the copy of a lease was durable before the lease itself, which still lasts.
pub fn is_superseded<W: Word>(shape: &TableShape, words: &[W], id: LeaseId) -> bool {
    LeaseRecord::of(shape, words, id).is_some_and(|record| record.state() == LeaseState::Superseded)
}
