//! What was read of a component at a moment.

use crate::{Component, Measure};

/// Counters and levels of one component, read at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Whose they are.
    pub component: Component,
    /// Who reports them: a host name. When it changes, somebody else counts, and from another number.
    pub server: String,
    /// Nanoseconds since 1970: when the numbers were true, by whoever counts if that is told.
    pub time: u64,
    /// Anything that changes whenever the counters begin anew: a start time, a boot. 0 if nothing tells.
    pub epoch: u64,
    /// The numbers as they were read.
    pub values: Vec<Value>,
}

/// One number of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// What it measures.
    pub measure: Measure,
    /// The bin of a histogram; 0 where there is none.
    pub bin: u64,
    /// The counter or level.
    pub value: u64,
}

impl Value {
    /// Returns the number of a measure without bins.
    pub fn new(measure: Measure, value: u64) -> Self {
        Value { measure, bin: 0, value }
    }

    /// Returns the number of a bin of a histogram.
    pub fn of_bin(measure: Measure, bin: u64, value: u64) -> Self {
        Value { measure, bin, value }
    }
}
