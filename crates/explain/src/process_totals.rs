//! What is added up for each process.

use plimsoll_trace::Class;

use crate::sieving::Sieving;
use crate::totals::{Direction, OpTable, seconds};
use plimsoll_stored::stored;

const CLASSES: usize = Class::ALL.len();

/// Calls that a program made itself, not from within another recorded call: no time counts
/// twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnCalls {
    calls: [u64; CLASSES],
    nanos: [u64; CLASSES],
    bytes: [u64; 2],
}

impl OwnCalls {
    #[inline]
    pub(crate) fn add(&mut self, class: Class, bytes: u64, nanos: u64) {
        let index = class as usize;
        self.calls[index] += 1;
        self.nanos[index] = self.nanos[index].saturating_add(nanos);
        if let Some(direction) = Direction::of(class) {
            let sum = &mut self.bytes[direction as usize];
            *sum = sum.saturating_add(bytes);
        }
    }

    /// Returns the time in calls of a class, in seconds.
    pub fn seconds(&self, class: Class) -> f64 {
        seconds(self.nanos[class as usize])
    }

    /// Returns the time in calls of all classes, in seconds: the I/O time.
    pub fn total_seconds(&self) -> f64 {
        seconds(self.total_nanos())
    }

    pub(crate) fn total_nanos(&self) -> u64 {
        self.nanos.iter().fold(0, |sum, nanos| sum.saturating_add(*nanos))
    }

    /// Bytes moved.
    pub fn bytes(&self, direction: Direction) -> u64 {
        self.bytes[direction as usize]
    }

    /// Takes back time that was added twice.
    pub(crate) fn take_back_time(&mut self, other: &OwnCalls) {
        let pairs = self.nanos.iter_mut().zip(&other.nanos);
        pairs.for_each(|(own, other)| *own = own.saturating_sub(*other));
    }

    /// Returns the calls of all classes.
    pub fn total_calls(&self) -> u64 {
        self.calls.iter().fold(0, |sum, calls| sum.saturating_add(*calls))
    }

    pub(crate) fn merge(&mut self, other: &OwnCalls) {
        let add = |own: &mut [u64], other: &[u64]| crate::add_all::add_all(own, other);
        add(&mut self.calls, &other.calls);
        add(&mut self.nanos, &other.nanos);
        add(&mut self.bytes, &other.bytes);
    }
}

/// What one process did.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessTotals {
    /// Index in the recording.
    pub process: usize,
    pub ops: OpTable,
    pub own: OwnCalls,
    /// Calls on files of the runtime, which are in none of the others.
    pub runtime: OwnCalls,
    /// Time in which at least one thread was inside a call of `own`.
    pub busy_nanos: u64,
    /// Files that it made calls on.
    pub files: u64,
    pub events: u64,
    pub undecodable_bytes: u64,
    pub sieving: Sieving,
    /// Time in lock calls outside data sieving.
    pub lock_nanos: u64,
}

stored! {
    OwnCalls { calls, nanos, bytes }
    ProcessTotals {
        process, ops, own, runtime, busy_nanos, files, events, undecodable_bytes, sieving,
        lock_nanos,
    }
}
