//! Counting calls.

use plimsoll_trace::{Class, Layer, Op};

use crate::call_kind::CallKind;
use crate::stored_op::StoredOp;
use plimsoll_stored::{Malformed, Reader, Stored, get_at_most, stored};

/// Calls of one kind, added up. All sums stop at the largest value instead of wrapping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Calls, failed ones included.
    pub calls: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Bytes that were moved.
    pub bytes: u64,
    /// Sum of durations, over all processes and threads.
    pub nanos: u64,
}

impl Totals {
    /// Returns the sum of durations in seconds.
    pub fn seconds(&self) -> f64 {
        seconds(self.nanos)
    }

    /// Adds one call.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64, nanos: u64, is_error: bool) {
        self.calls += 1;
        self.errors += u64::from(is_error);
        self.bytes = self.bytes.saturating_add(bytes);
        self.nanos = self.nanos.saturating_add(nanos);
    }

    /// Adds all calls of another.
    pub(crate) fn merge(&mut self, other: &Totals) {
        self.calls = self.calls.saturating_add(other.calls);
        self.errors = self.errors.saturating_add(other.errors);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.nanos = self.nanos.saturating_add(other.nanos);
    }
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(nanos: u64) -> f64 {
    nanos as f64 * 1e-9
}

/// Reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// From file to memory.
    Read,
    /// From memory to file.
    Write,
}

impl Direction {
    /// Both, in the order of their numbers.
    pub const ALL: [Direction; 2] = [Direction::Read, Direction::Write];

    /// Returns its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
        }
    }

    /// Returns the kind of the calls that move data in this direction.
    #[inline]
    pub const fn kind(self) -> CallKind {
        match self {
            Direction::Read => CallKind::Read,
            Direction::Write => CallKind::Write,
        }
    }

    /// Returns the direction of a class; `None` for classes that move no data.
    #[inline]
    pub const fn of(class: Class) -> Option<Direction> {
        match class {
            Class::Read => Some(Direction::Read),
            Class::Write => Some(Direction::Write),
            _ => None,
        }
    }
}

impl Stored for Direction {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u8).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Direction::ALL.get(usize::get(from)?).copied().ok_or(Malformed)
    }
}

/// Totals of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpTotals {
    /// The operation, which has a layer.
    pub op: Op,
    /// Its calls.
    pub totals: Totals,
}

/// Totals by operation. Few operations are used on one file, so a list is searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpTable {
    entries: Vec<OpTotals>,
}

stored! {
    Totals { calls, errors, bytes, nanos }
    OpTotals { op as StoredOp, totals }
}

/// In the order of `OpTable::sort`, whatever order it is in.
impl Stored for OpTable {
    fn put(&self, out: &mut Vec<u8>) {
        let mut sorted = self.clone();
        sorted.sort();
        sorted.entries.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(OpTable { entries: get_at_most(from, Op::ALL.len())? })
    }
}

impl OpTable {
    /// Adds one call and returns the totals of its operation.
    #[inline]
    pub(crate) fn add(&mut self, op: Op, bytes: u64, nanos: u64, is_error: bool) -> &Totals {
        let index = match self.entries.iter().position(|entry| entry.op == op) {
            Some(index) => index,
            None => {
                self.entries.push(OpTotals { op, totals: Totals::default() });
                self.entries.len() - 1
            }
        };
        let totals = &mut self.entries[index].totals;
        totals.add(bytes, nanos, is_error);
        totals
    }

    /// Adds all calls of another table.
    pub(crate) fn merge(&mut self, other: &OpTable) {
        for entry in &other.entries {
            match self.entries.iter_mut().find(|own| own.op == entry.op) {
                Some(own) => own.totals.merge(&entry.totals),
                None => self.entries.push(*entry),
            }
        }
    }

    /// Puts the operations into the order of their numbers, layer by layer.
    pub(crate) fn sort(&mut self) {
        self.entries.sort_by_key(|entry| (entry.op.layer(), entry.op));
    }

    /// Returns how many operations there are. From now on it takes no more memory than they need.
    pub(crate) fn settle(&mut self) -> usize {
        self.entries.shrink_to_fit();
        self.entries.len()
    }

    /// Operations with their totals, layer by layer.
    pub fn iter(&self) -> impl Iterator<Item = &OpTotals> {
        self.entries.iter()
    }

    /// Returns the sum over all operations that pass.
    pub fn sum(&self, mut passes: impl FnMut(Op) -> bool) -> Totals {
        let mut sum = Totals::default();
        self.entries.iter().filter(|e| passes(e.op)).for_each(|e| sum.merge(&e.totals));
        sum
    }

    /// Returns the sum over all operations.
    pub fn all(&self) -> Totals {
        self.sum(|_| true)
    }

    /// Returns the bytes that all data calls of a direction moved, whatever the layer: those inside
    /// MPI-IO calls count twice.
    pub fn bytes(&self, direction: Direction) -> u64 {
        self.sum(|op| Direction::of(op.class()) == Some(direction)).bytes
    }

    /// Returns the sum over data calls of a layer; both directions with `None`.
    pub fn data(&self, layer: Layer, direction: Option<Direction>) -> Totals {
        self.sum(|op| {
            op.layer() == layer
                && op.class().is_data()
                && direction.is_none_or(|wanted| Direction::of(op.class()) == Some(wanted))
        })
    }

    /// Returns the sum over calls of a class in a layer.
    pub fn class(&self, layer: Layer, class: Class) -> Totals {
        self.sum(|op| op.layer() == layer && op.class() == class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_add_up_in_any_order() {
        let mut a = OpTable::default();
        a.add(Op::Pwrite, 10, 5, false);
        a.add(Op::Open, 0, 7, true);
        let mut b = OpTable::default();
        b.add(Op::Pwrite, u64::MAX, 1, false);
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b);
        ba.merge(&a);
        ab.sort();
        ba.sort();
        assert_eq!(ab, ba);
        assert_eq!(ab.data(Layer::Posix, Some(Direction::Write)).bytes, u64::MAX);
        assert_eq!(ab.data(Layer::Posix, None).calls, 2);
        assert_eq!(ab.class(Layer::Posix, Class::Open).errors, 1);
    }
}
