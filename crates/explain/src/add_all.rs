//! Adding up counters of parts.

/// Adds each of the others to its own. Stays at the largest number where the sum is larger.
pub(crate) fn add_all(own: &mut [u64], other: &[u64]) {
    own.iter_mut().zip(other).for_each(|(own, other)| *own = own.saturating_add(*other));
}
