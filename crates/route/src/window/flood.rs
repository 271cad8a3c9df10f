//! Where others flood the storage, who has more in flight gets more.

use super::state::Law;

/// Of what waits, the part that may be in flight for a flood.
const WAITING_PART: u64 = 2;

/// No writer counts for more, however large its blocks are.
const BLOCK_BYTES_MOST: u64 = 64 << 20;

impl Law<'_> {
    /// Returns whether there is nowhere to go: all lanes are slow, and not because very many of the program's nodes are there.
    #[inline]
    pub fn is_flooded(&self) -> bool {
        let are_all_slow = usize::from(self.node.slow_lanes) == self.controls.len();
        are_all_slow && !self.settings.is_crowded()
    }

    /// Returns what a program that writes without a router has in flight: a whole block for each writer, as far as
    /// there is so much.
    #[inline]
    pub fn blocks_bytes(&self) -> u64 {
        let block_bytes = self.node.block_bytes.min(BLOCK_BYTES_MOST);
        let blocks = block_bytes.saturating_mul(u64::from(self.node.writers));
        blocks.min((self.node.waiting_bytes / WAITING_PART).max(self.every_lane_bytes()))
    }
}
