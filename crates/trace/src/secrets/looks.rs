//! How much may be looked at, so that nobody's text takes longer than in proportion to its bytes.

use std::cell::Cell;

/// What a byte of a name costs that is compared with all telling ones.
pub(super) const OF_A_NAME: usize = 32;

/// What a byte costs of an argument in which the next secret is looked for.
pub(super) const OF_AN_ARGUMENT: usize = 16;

/// What a byte costs each time that stands before the last secret.
pub(super) const OF_WHAT_WAS_SEEN: usize = 2;

/// What may be looked at in any text, and for each byte of it: a hundred secrets in an argument of ordinary
/// length, and ten in the longest.
const AT_LEAST: usize = 4 << 20;
const FOR_A_BYTE: usize = 256;

/// What may still be looked at.
pub(super) struct Looks {
    left: Cell<usize>,
}

impl Looks {
    pub(super) fn for_bytes(bytes: usize) -> Self {
        let all = FOR_A_BYTE.saturating_mul(bytes).saturating_add(AT_LEAST);
        Looks { left: Cell::new(all) }
    }

    pub(super) fn take(&self, looks: usize) {
        self.left.set(self.left.get().saturating_sub(looks));
    }

    /// Returns true if nothing more may be looked at: what has not been looked at is taken for a secret.
    pub(super) fn are_spent(&self) -> bool {
        self.left.get() == 0
    }

    #[cfg(test)]
    pub(super) fn none() -> Self {
        Looks { left: Cell::new(0) }
    }
}
