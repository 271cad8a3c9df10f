//! What happens inside MPI-IO calls (Wright, figures 4.8 to 4.10).

use std::cmp::Reverse;

use plimsoll_trace::{Class, Layer, Op};

use crate::file_table::FileId;
use crate::stored_op::StoredOp;
use crate::totals::{Direction, seconds};
use plimsoll_stored::{Malformed, Reader, Stored, get_at_most, stored};

/// Where the time of MPI-IO calls goes, added up over calls and ranks. Only calls that the
/// program itself made count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MpiTime {
    /// Calls.
    pub calls: u64,
    /// Sum of their durations.
    pub nanos: u64,
    /// Part of it inside POSIX reads.
    pub read_nanos: u64,
    /// Inside POSIX writes.
    pub write_nanos: u64,
    /// Taking locks, and waiting for them.
    pub lock_nanos: u64,
    /// Giving locks back.
    pub unlock_nanos: u64,
    /// Inside any other POSIX or stdio call.
    pub other_nanos: u64,
}

impl MpiTime {
    /// Returns the rest: exchanging data, and waiting for other ranks.
    pub fn waiting_nanos(&self) -> u64 {
        self.nanos.saturating_sub(self.inside_nanos())
    }

    /// Returns the sum of durations in seconds.
    pub fn seconds(&self) -> f64 {
        seconds(self.nanos)
    }

    fn inside_nanos(&self) -> u64 {
        [self.read_nanos, self.write_nanos, self.lock_nanos, self.unlock_nanos, self.other_nanos]
            .iter()
            .fold(0, |sum, part| sum.saturating_add(*part))
    }

    pub(crate) fn merge(&mut self, other: &MpiTime) {
        let add = |own: &mut u64, other: u64| *own = own.saturating_add(other);
        add(&mut self.calls, other.calls);
        add(&mut self.nanos, other.nanos);
        add(&mut self.read_nanos, other.read_nanos);
        add(&mut self.write_nanos, other.write_nanos);
        add(&mut self.lock_nanos, other.lock_nanos);
        add(&mut self.unlock_nanos, other.unlock_nanos);
        add(&mut self.other_nanos, other.other_nanos);
    }
}

/// True for MPI data calls that all ranks of a file make together.
#[inline]
pub const fn is_collective(op: Op) -> bool {
    matches!(
        op,
        Op::MpiReadAll
            | Op::MpiReadAtAll
            | Op::MpiReadOrdered
            | Op::MpiIreadAll
            | Op::MpiIreadAtAll
            | Op::MpiReadAllBegin
            | Op::MpiReadAtAllBegin
            | Op::MpiReadOrderedBegin
            | Op::MpiWriteAll
            | Op::MpiWriteAtAll
            | Op::MpiWriteOrdered
            | Op::MpiIwriteAll
            | Op::MpiIwriteAtAll
            | Op::MpiWriteAllBegin
            | Op::MpiWriteAtAllBegin
            | Op::MpiWriteOrderedBegin
    )
}

/// Returns the direction of the calls that end a split collective call: the data moves in them,
/// though its bytes count where the call began.
#[inline]
pub(crate) const fn completes(op: Op) -> Option<Direction> {
    match op {
        Op::MpiReadAllEnd | Op::MpiReadAtAllEnd | Op::MpiReadOrderedEnd => Some(Direction::Read),
        Op::MpiWriteAllEnd | Op::MpiWriteAtAllEnd | Op::MpiWriteOrderedEnd => {
            Some(Direction::Write)
        }
        _ => None,
    }
}

/// A call inside an MPI call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NestedCall {
    /// The operation.
    pub op: Op,
    /// Where; `None` for operations that move no data.
    pub offset: Option<u64>,
    /// Bytes asked for.
    pub length: u64,
    /// When it began, since the beginning of the recording.
    pub start_ns: u64,
    /// How long it took.
    pub nanos: u64,
}

stored! {
    MpiTime { calls, nanos, read_nanos, write_nanos, lock_nanos, unlock_nanos, other_nanos }
    NestedCall { op as StoredOp, offset, length, start_ns, nanos }
    MpiCall {
        process, rank, thread, op as StoredOp, file, number, offset, length, start_ns, nanos, time,
        nested: NESTED_CALLS_MAX, nested_omitted,
    }
}

/// Calls inside one MPI call that are kept.
pub const NESTED_CALLS_MAX: usize = 256;

/// What calls inside a call add up to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Inside {
    pub time: MpiTime,
    pub cycles: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    is_locked: bool,
    has_written: bool,
}

impl Inside {
    #[inline]
    fn add(&mut self, class: Class, bytes: u64, nanos: u64) {
        let part = match class {
            Class::Read => &mut self.time.read_nanos,
            Class::Write => &mut self.time.write_nanos,
            Class::Lock => &mut self.time.lock_nanos,
            Class::Unlock => &mut self.time.unlock_nanos,
            _ => &mut self.time.other_nanos,
        };
        *part = part.saturating_add(nanos);
        match class {
            Class::Read => self.read_bytes = self.read_bytes.saturating_add(bytes),
            Class::Write => {
                self.written_bytes = self.written_bytes.saturating_add(bytes);
                self.has_written = self.is_locked;
            }
            Class::Lock => (self.is_locked, self.has_written) = (true, false),
            Class::Unlock => {
                self.cycles += u64::from(self.has_written);
                (self.is_locked, self.has_written) = (false, false);
            }
            _ => {}
        }
    }

    fn merge(&mut self, inner: &Inside) {
        self.time.merge(&inner.time);
        self.cycles = self.cycles.saturating_add(inner.cycles);
        self.read_bytes = self.read_bytes.saturating_add(inner.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(inner.written_bytes);
    }
}

/// Deepest nesting that the decoder lets through, and one for the call itself.
const LEVELS: usize = 66;

/// The calls of one thread that wait for the end of the call around them.
#[derive(Debug)]
pub(crate) struct Nesting {
    levels: [Inside; LEVELS],
    deepest: usize,
    calls: Vec<NestedCall>,
    omitted: u64,
}

impl Default for Nesting {
    fn default() -> Self {
        let calls = Vec::with_capacity(NESTED_CALLS_MAX);
        Nesting { levels: [Inside::default(); LEVELS], deepest: 0, calls, omitted: 0 }
    }
}

impl Nesting {
    /// Another thread begins.
    pub fn clear(&mut self) {
        self.end(0);
        self.forget_calls();
    }

    /// A call that another one contains.
    #[inline]
    pub fn inner(&mut self, depth: u32, call: NestedCall, bytes: u64) {
        let depth = (depth as usize).min(LEVELS - 2);
        if call.op.layer() == Layer::Mpi {
            let inside = self.levels[depth + 1];
            self.levels[depth].merge(&inside);
        } else {
            self.levels[depth].add(call.op.class(), bytes, call.nanos);
            if self.calls.len() < NESTED_CALLS_MAX {
                self.calls.push(call);
            } else {
                self.omitted += 1;
            }
        }
        self.end(depth);
        self.deepest = depth;
    }

    /// A call of the program itself: what was inside it.
    #[inline]
    pub fn outer(&mut self) -> Inside {
        if self.deepest == 0 {
            return Inside::default();
        }
        let inside = self.levels[1];
        self.end(0);
        inside
    }

    /// Returns the calls inside the last outer call, and how many more there were.
    pub fn calls(&self) -> (&[NestedCall], u64) {
        (&self.calls, self.omitted)
    }

    /// The last outer call is dealt with.
    #[inline]
    pub fn forget_calls(&mut self) {
        self.calls.clear();
        self.omitted = 0;
    }

    /// Forgets what is deeper than a call that ended.
    #[inline]
    fn end(&mut self, depth: usize) {
        while self.deepest > depth {
            self.levels[self.deepest] = Inside::default();
            self.deepest -= 1;
        }
    }
}

/// An MPI call with the calls inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiCall {
    /// Index of the process in the recording.
    pub process: usize,
    /// Its rank.
    pub rank: Option<u32>,
    /// The thread.
    pub thread: u32,
    /// The operation.
    pub op: Op,
    /// The file.
    pub file: FileId,
    /// It is the n-th call of this operation on this file by this process, from 1. Collective
    /// calls with equal operation, file and number belong together.
    pub number: u64,
    /// Where, in units of the file's view.
    pub offset: Option<u64>,
    /// Bytes asked for.
    pub length: u64,
    /// When it began, since the beginning of the recording.
    pub start_ns: u64,
    /// How long it took.
    pub nanos: u64,
    /// Where the time went.
    pub time: MpiTime,
    /// The first [`NESTED_CALLS_MAX`] calls inside it.
    pub nested: Vec<NestedCall>,
    /// Calls inside it that are not listed.
    pub nested_omitted: u64,
}

/// The slowest MPI calls so far. Of equally slow ones, those of the first process, and of that
/// the earliest in its file, so that the order of reading processes does not matter.
#[derive(Debug, Clone)]
pub(crate) struct SlowCalls {
    size: usize,
    /// With the place of each among the events of its process; slowest first.
    calls: Vec<(u64, MpiCall)>,
}

impl SlowCalls {
    pub fn new(size: usize) -> Self {
        SlowCalls { size, calls: Vec::new() }
    }

    /// True when a call that is the next of its process is among the slowest.
    #[inline]
    pub fn wants(&self, nanos: u64, process: usize) -> bool {
        let is_before =
            |last: &MpiCall| (Reverse(nanos), process) < (Reverse(last.nanos), last.process);
        self.calls.len() < self.size || self.calls.last().is_some_and(|(_, last)| is_before(last))
    }

    pub fn insert(&mut self, place: u64, call: MpiCall) {
        let order = |place: u64, call: &MpiCall| (Reverse(call.nanos), call.process, place);
        let new = order(place, &call);
        let at = self.calls.partition_point(|(place, other)| order(*place, other) < new);
        self.calls.insert(at, (place, call));
        self.calls.truncate(self.size);
    }

    pub fn merge(&mut self, other: SlowCalls) {
        other.calls.into_iter().for_each(|(place, call)| self.insert(place, call));
    }

    /// Appends the calls.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.calls.put(out);
    }

    /// Reads what was written of this many calls at most.
    pub fn get(from: &mut Reader<'_>, size: usize) -> Result<Self, Malformed> {
        Ok(SlowCalls { size, calls: get_at_most(from, size)? })
    }

    /// Returns the calls that are kept.
    pub fn iter(&self) -> impl Iterator<Item = &MpiCall> {
        self.calls.iter().map(|(_, call)| call)
    }

    /// Slowest first.
    pub fn into_calls(self) -> Vec<MpiCall> {
        self.calls.into_iter().map(|(_, call)| call).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collective_calls_are_those_with_such_names() {
        for &op in Op::ALL {
            let name = op.name();
            let is_named_so = name.contains("_all") || name.contains("ordered");
            let expected = op.layer() == Layer::Mpi && op.class().is_data() && is_named_so;
            assert_eq!(is_collective(op), expected, "{name}");
        }
    }

    #[test]
    fn every_call_that_begins_a_split_one_has_one_that_ends_it() {
        let begins = Op::ALL.iter().filter(|op| op.name().ends_with("_begin"));
        let ends = Op::ALL.iter().filter(|op| op.name().ends_with("_end"));
        let of = |direction| ends.clone().filter(|op| completes(**op) == Some(direction)).count();
        assert_eq!((of(Direction::Read), of(Direction::Write)), (3, 3));
        assert_eq!(begins.count(), ends.count());
    }

    #[test]
    fn calls_inside_calls_inside_calls() {
        let call = |op, nanos| NestedCall { op, offset: None, length: 0, start_ns: 0, nanos };
        let mut nesting = Nesting::default();
        nesting.inner(2, call(Op::Lock, 1), 0);
        nesting.inner(2, call(Op::Pwrite, 2), 10);
        nesting.inner(2, call(Op::Unlock, 4), 0);
        nesting.inner(1, call(Op::MpiWriteAt, 100), 10); // its own time is waiting
        nesting.inner(2, call(Op::Open, 50), 0); // inside a stdio call, which counts itself
        nesting.inner(1, call(Op::Fopen, 60), 0);
        let inside = nesting.outer();
        assert_eq!((inside.cycles, inside.written_bytes), (1, 10));
        assert_eq!((inside.time.lock_nanos, inside.time.write_nanos), (1, 2));
        assert_eq!(inside.time.other_nanos, 60);
        assert_eq!(nesting.calls().0.len(), 5);
        assert_eq!(nesting.outer().time, MpiTime::default(), "handed out once");
    }
}
