//! What the checker's system is made of, and what can happen to it.

use std::collections::BTreeMap;

use plimsoll_route::Factor;
use plimsoll_route::lease::{Holder, LeaseId, Reserved, SealedLease};

use super::words::Shared;

/// What may happen, and how often.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Writes of one byte that each process has to do.
    pub writes: &'static [u8],
    pub lanes: usize,
    pub leases: usize,
    pub factor: Factor,
    pub deaths: u8,
    pub stops: u8,
    pub lane_failures: u8,
    pub copies: bool,
    /// Leases that are given altogether: an empty one may be sealed and reserved again for ever.
    pub reservations: u8,
}

/// What a process knows itself; gone when it dies.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct Process {
    pub holder: Holder,
    /// Writes that it still has to do.
    pub left: u8,
    pub lease: Option<Held>,
    pub copy: Option<Held>,
    pub doing: Doing,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub struct Held {
    pub reserved: Reserved,
    pub filled: u32,
    pub is_filling: bool,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Doing {
    Write,
    Flush,
    Stopped,
    Dead,
    Left,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct State {
    pub words: Vec<Shared>,
    pub processes: Vec<Process>,
    /// What was published in each lease.
    pub published: BTreeMap<LeaseId, u32>,
    /// How often its data was found to be durable.
    pub ended: BTreeMap<LeaseId, u8>,
    /// Which lease each copy is of.
    pub copies: BTreeMap<LeaseId, LeaseId>,
    pub deaths: u8,
    pub stops: u8,
    pub lane_failures: u8,
    pub reservations: u8,
}

/// What a process does, or somebody sees; always with the advice that the policy gives meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    Reserve(usize),
    BeginFill,
    Publish,
    Seal,
    Flush,
    Settle,
    Copy(usize),
    BeginCopy,
    EndCopy,
    SealCopy,
    Durable(SealedLease),
    Pending(SealedLease),
    SealOld,
    Reap(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    Do(usize, Step),
    /// It does so, and is killed after that many stores.
    DieDoing(usize, Step, u32),
    Stop(usize),
    /// A new process takes the place of one that died.
    Replace(usize),
    FailLane,
}
