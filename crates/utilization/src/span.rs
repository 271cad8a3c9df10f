//! What a target did between two readings of it: data or, of a target of metadata, operations by name.

use std::collections::BTreeMap;

use plimsoll_history::{ComponentKind, Measure};

use crate::TargetCosts;
use crate::costs::FixedCost;
use crate::window::{WINDOW_MILLIS, Window};

/// Counters of one direction, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Direction {
    /// Bytes and operations of requests.
    pub bytes: Option<u64>,
    pub operations: Option<u64>,
    /// Operations between server and disk, and their bytes by the size that each had at most.
    disk_operations: u64,
    disk_bytes: u128,
}

/// What happened in some milliseconds up to a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub end: u64,
    pub length: u64,
    pub read: Direction,
    pub write: Direction,
    /// Reads and writes by size.
    pub sizes: BTreeMap<u64, (u64, u64)>,
    pub has_sizes: bool,
    /// Operations of metadata by name.
    pub metadata: BTreeMap<Measure, u64>,
}

impl Direction {
    fn cost(&self, cost: FixedCost, by_sizes: bool) -> (u128, u128) {
        let (operations, bytes) = match by_sizes {
            true => (self.disk_operations, self.disk_bytes),
            false => (self.operations.unwrap_or(0), u128::from(self.bytes.unwrap_or(0))),
        };
        (cost.of(operations, bytes), cost.of(0, bytes))
    }
}

impl Span {
    pub fn new(end: u64, length: u64) -> Self {
        Span { end, length, ..Span::default() }
    }

    /// Returns whether the measure of a component of this kind is one of those that are followed.
    pub fn uses(kind: ComponentKind, measure: Measure) -> bool {
        match kind {
            ComponentKind::Mdt => measure.is_metadata(),
            _ => direction_of(measure).is_some(),
        }
    }

    /// Adds what a series counted.
    pub fn add(&mut self, measure: Measure, bin: u64, value: u64) {
        let Some(is_read) = direction_of(measure) else {
            if measure.is_metadata() {
                self.metadata.insert(measure, value);
            }
            return;
        };
        let direction = if is_read { &mut self.read } else { &mut self.write };
        match measure {
            Measure::ReadBytes | Measure::WrittenBytes => direction.bytes = Some(value),
            Measure::ReadOperations | Measure::WriteOperations => {
                direction.operations = Some(value);
            }
            _ => {
                direction.disk_operations = direction.disk_operations.saturating_add(value);
                let bytes = u128::from(value) * u128::from(bin);
                direction.disk_bytes = direction.disk_bytes.saturating_add(bytes);
                self.has_sizes = true;
                self.count_size(bin, is_read, value);
            }
        }
    }

    fn count_size(&mut self, bin: u64, is_read: bool, value: u64) {
        if value == 0 {
            return;
        }
        let (reads, writes) = self.sizes.entry(bin).or_default();
        let sum = if is_read { reads } else { writes };
        *sum = sum.saturating_add(value);
    }

    /// Returns the windows that it lies in, with the milliseconds that it covers of each.
    pub fn windows(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (start, end) = (self.end.saturating_sub(self.length), self.end);
        (start / WINDOW_MILLIS..=end.saturating_sub(1) / WINDOW_MILLIS).map(move |number| {
            let (from, until) = (number * WINDOW_MILLIS, (number + 1) * WINDOW_MILLIS);
            (number, until.min(end).saturating_sub(from.max(start)))
        })
    }

    /// Returns what it cost the target. Where sizes between server and disk are known, they count, and not what clients
    /// asked for. Nothing where only bytes are known: what operations cost is then not.
    pub fn window(&self, costs: &TargetCosts, by_sizes: bool) -> Option<Window> {
        let has_operations = self.read.operations.or(self.write.operations).is_some();
        if !(by_sizes && self.has_sizes || !by_sizes && has_operations) {
            return None;
        }
        let (read, read_bytes) = self.read.cost(costs.read, by_sizes);
        let (write, written_bytes) = self.write.cost(costs.write, by_sizes);
        Some(Window {
            targets: 1,
            covered: self.length,
            cost: read + write,
            byte_cost: read_bytes + written_bytes,
            ..Window::default()
        })
    }
}

/// Returns whether a measure counts reads; nothing if it is not about data.
fn direction_of(measure: Measure) -> Option<bool> {
    match measure {
        Measure::ReadBytes | Measure::ReadOperations | Measure::ReadSizes => Some(true),
        Measure::WrittenBytes | Measure::WriteOperations | Measure::WriteSizes => Some(false),
        _ => None,
    }
}
