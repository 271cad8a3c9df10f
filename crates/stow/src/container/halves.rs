//! An id as two words, which processors change at once.

use std::sync::atomic::AtomicU64;

use crate::Id;

/// Returns both halves of an id.
pub(super) fn halves_of(id: Id) -> [AtomicU64; 2] {
    let number = u128::from_be_bytes(id.bytes());
    [AtomicU64::new((number >> 64) as u64), AtomicU64::new(number as u64)]
}
