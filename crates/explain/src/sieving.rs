//! Data sieving: MPI writes that read, lock and write back whole blocks.

use plimsoll_trace::Op;

use crate::nesting::{Inside, is_collective};
use plimsoll_stored::stored;

/// Cycles of lock, (read,) write and unlock inside MPI writes: data sieving.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sieving {
    /// Cycles.
    pub cycles: u64,
    /// MPI writes that had any.
    pub calls: u64,
    /// Those of them that were independent, not collective.
    pub independent_calls: u64,
    /// Time in reads, locks and unlocks inside those writes.
    pub overhead_nanos: u64,
    /// The part of it in locks and unlocks.
    pub lock_nanos: u64,
    /// Bytes read in order to write.
    pub read_bytes: u64,
    /// Bytes written to the file.
    pub written_bytes: u64,
    /// Bytes that the program gave to those MPI writes.
    pub asked_bytes: u64,
    /// Processes in which there were any.
    pub processes: u64,
}

stored! { Sieving {
    cycles, calls, independent_calls, overhead_nanos, lock_nanos, read_bytes, written_bytes,
    asked_bytes, processes,
} }

impl Sieving {
    /// What one MPI write had inside, for this many bytes.
    pub(crate) fn in_call(op: Op, asked_bytes: u64, inside: &Inside) -> Sieving {
        let time = &inside.time;
        let lock_nanos = time.lock_nanos.saturating_add(time.unlock_nanos);
        Sieving {
            cycles: inside.cycles,
            calls: 1,
            independent_calls: u64::from(!is_collective(op)),
            overhead_nanos: lock_nanos.saturating_add(time.read_nanos),
            lock_nanos,
            read_bytes: inside.read_bytes,
            written_bytes: inside.written_bytes,
            asked_bytes,
            processes: 0,
        }
    }

    pub(crate) fn merge(&mut self, other: &Sieving) {
        let add = |own: &mut u64, other: u64| *own = own.saturating_add(other);
        add(&mut self.cycles, other.cycles);
        add(&mut self.calls, other.calls);
        add(&mut self.independent_calls, other.independent_calls);
        add(&mut self.overhead_nanos, other.overhead_nanos);
        add(&mut self.lock_nanos, other.lock_nanos);
        add(&mut self.read_bytes, other.read_bytes);
        add(&mut self.written_bytes, other.written_bytes);
        add(&mut self.asked_bytes, other.asked_bytes);
        add(&mut self.processes, other.processes);
    }
}
