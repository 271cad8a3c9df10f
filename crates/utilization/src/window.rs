//! What targets did in one window of 5 s.

use plimsoll_history::Measure;
use plimsoll_stored::stored;

use crate::costs::UNITS_PER_SECOND;

/// Milliseconds of a window.
pub(crate) const WINDOW_MILLIS: u64 = plimsoll_history::WINDOW_MILLIS;

/// Of a window, this share must be known: four of five seconds.
const KNOWN_SHARE: f64 = 0.8;

/// What utilization is worked out from.
pub(crate) const MEASURES: [Measure; 6] = [
    Measure::ReadBytes,
    Measure::WrittenBytes,
    Measure::ReadOperations,
    Measure::WriteOperations,
    Measure::ReadSizes,
    Measure::WriteSizes,
];

/// Sums over the targets of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Window {
    /// Targets of which anything is known.
    pub targets: u32,
    /// Whether only bytes are known, and no operations: then nobody knows how busy they kept anything.
    pub is_bytes_only: bool,
    /// Milliseconds that are known, added up over targets.
    pub covered: u64,
    /// Time that transactions take, and that of their bytes alone, in attoseconds.
    pub cost: u128,
    pub byte_cost: u128,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Operations whose size is known, and those of them that are of at least the optimal size.
    pub sized: u64,
    pub optimal: u64,
}

stored! {
    Window { targets, is_bytes_only, covered, cost, byte_cost, read_bytes, written_bytes, sized, optimal }
}

impl Window {
    /// Adds what was known of this window before.
    pub fn plus_earlier(&mut self, earlier: &Window) {
        // Who counted last says what it is.
        let is_bytes_only = match self.covered > 0 || self.targets > 0 {
            true => self.is_bytes_only,
            false => earlier.is_bytes_only,
        };
        self.add(earlier);
        self.is_bytes_only = is_bytes_only;
    }

    /// Adds what other targets did, or the same one at another time.
    pub fn add(&mut self, other: &Window) {
        self.targets = self.targets.saturating_add(other.targets);
        self.is_bytes_only |= other.is_bytes_only;
        self.covered = self.covered.saturating_add(other.covered);
        self.cost = self.cost.saturating_add(other.cost);
        self.byte_cost = self.byte_cost.saturating_add(other.byte_cost);
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
        self.sized = self.sized.saturating_add(other.sized);
        self.optimal = self.optimal.saturating_add(other.optimal);
    }

    /// Returns whether enough of it is known.
    pub fn is_known(&self) -> bool {
        let whole = f64::from(self.targets) * WINDOW_MILLIS as f64;
        self.targets > 0 && self.covered as f64 >= KNOWN_SHARE * whole
    }

    /// Returns the file system utilization in percent (equation 7), the mean over targets.
    pub fn fsu(&self) -> f64 {
        self.percent(self.cost)
    }

    /// Returns what it would be if only bytes cost anything: what bandwidth alone says.
    pub fn bandwidth_only(&self) -> f64 {
        self.percent(self.byte_cost)
    }

    fn percent(&self, cost: u128) -> f64 {
        100.0 * (cost as f64 / UNITS_PER_SECOND) / (self.covered as f64 / 1000.0)
    }
}
