//! Names of things: small dense integers, so that a host can index arrays with them.

/// A party that receives messages: a coordinator, a sub-coordinator, a client or a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActorId(pub u32);

/// A place that stores data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TargetId(pub u16);

impl TargetId {
    /// As an index into arrays of targets.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What is written, independent of where: part `part` of submission `sequence` of `writer`.
///
/// Any number of attempts may be made for an identity; exactly one of them is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WriteId {
    /// The process that has the data.
    pub writer: u32,
    /// Which of its submissions, from 0.
    pub sequence: u32,
    /// Which part of the submission, from 0; a whole block is part 0.
    pub part: u32,
}

/// One try to make an identity durable on one target. The host gives it back unchanged.
///
/// Slots are reused; the generation tells a late answer from one that is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttemptId {
    /// Dense, so that a host can index an array with it: it stays near the number of attempts
    /// that the machine had in flight at once.
    pub slot: u32,
    /// How often the slot was used before.
    pub generation: u32,
}

/// Why a target takes no more data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// It does not answer: what is in flight there may never end.
    Stopped,
    /// No space left. What is in flight ends, well or badly.
    Full,
    /// It refuses writes. What is in flight ends, well or badly.
    ReadOnly,
}
