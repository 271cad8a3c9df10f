//! What all processes of a node must agree on.

use plimsoll_route::lease::{TableShape, TableShapeError};
use plimsoll_route::{Factor, WindowSettings};

/// What a node is made of. Processes that open the same file with another plan are refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodePlan {
    /// How many targets there are.
    pub targets: usize,
    /// Stands for which targets these are, in which order.
    pub fingerprint: u64,
    /// The law's constants.
    pub window: WindowSettings,
    /// What a target may hold beyond its fair share.
    pub factor: Factor,
    /// The most processes at a time.
    pub members: usize,
    /// The most leases at a time.
    pub leases: usize,
}

impl NodePlan {
    /// For so many targets, as they usually are.
    pub fn new(targets: usize, fingerprint: u64) -> Self {
        let (window, factor) = (WindowSettings::default(), Factor::NONE);
        NodePlan { targets, fingerprint, window, factor, members: 256, leases: 512 }
    }

    pub(crate) fn shape(&self) -> Result<TableShape, TableShapeError> {
        TableShape::new(self.targets, self.members, self.leases)
    }

    /// Returns one number for several words, in their order.
    pub fn fingerprint<'a>(words: impl Iterator<Item = &'a [u8]>) -> u64 {
        // Each ends with a byte that is in none of them.
        words.fold(FNV_BASIS, |digest, word| fnv(fnv(digest, word), &[0xff]))
    }

    /// Returns one number for all of it.
    pub fn digest(&self) -> u64 {
        fnv(FNV_BASIS, format!("{self:?}").as_bytes())
    }
}

/// FNV-1a, 64 bits.
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(digest: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
