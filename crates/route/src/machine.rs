//! The one shape of every machine: `step(now, input, out)`.

use std::fmt;

use crate::{ActorId, AttemptId, Failure, Message, TargetId, WriteId};

/// A party of a router. It does nothing by itself: no I/O, no clock, no randomness.
///
/// The host calls [`step`](Machine::step) with what happened and does what the machine puts
/// into [`Outputs`]. The same inputs at the same times give the same outputs.
pub trait Machine {
    /// Something happened at `now_ns`, nanoseconds since any fixed moment; never goes back.
    fn step<O: Outputs>(&mut self, now_ns: u64, input: Input, out: &mut O);
}

/// What can happen to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// The first input of every machine, once.
    Begin,
    /// `writer` has `length_bytes` more to write. The machine numbers submissions of a writer
    /// from 0 in the order in which they come. A submission of nothing is ignored; one of a writer that
    /// has closed or is unknown is [refused](Outputs::refused).
    Submit {
        /// The process that has the data.
        writer: u32,
        /// Bytes of the submission.
        length_bytes: u64,
    },
    /// `writer` will submit no more. [`Outputs::closed`] follows when all is committed.
    Close {
        /// The process that closes.
        writer: u32,
    },
    /// A message arrived.
    Message {
        /// Who sent it.
        from: ActorId,
        /// What it says.
        message: Message,
    },
    /// A timer that was asked for is due. The host need not forget old ones: a machine
    /// ignores a generation that is not the newest of its timer.
    Timer {
        /// As it was set.
        id: TimerId,
        /// As it was set.
        generation: u32,
    },
    /// The attempt is durable on its target.
    AttemptDone {
        /// As it was started.
        attempt: AttemptId,
        /// The last moment at which it was known not to be durable: `now_ns` where the end
        /// is reported when it happens, the previous look where the host polls.
        pending_until_ns: u64,
    },
    /// The attempt ended without its data being durable.
    AttemptFailed {
        /// As it was started.
        attempt: AttemptId,
        /// What is wrong with the target.
        failure: Failure,
    },
    /// A process is gone, and with it the data that it had not written.
    WriterDied {
        /// Which process.
        writer: u32,
    },
    /// A target takes no more data.
    TargetFailed {
        /// Which target.
        target: TargetId,
        /// What is wrong with it.
        failure: Failure,
    },
    /// A target that failed takes data again.
    TargetBack {
        /// Which target.
        target: TargetId,
    },
}

/// What a machine wants done. The host implements it; nothing is returned to the machine.
pub trait Outputs {
    /// Deliver a message to another machine.
    fn send(&mut self, to: ActorId, message: Message);
    /// Give [`Input::Timer`] back at a time.
    fn timer(&mut self, timer: Timer);
    /// Begin to write. It cannot be taken back and never changes its target.
    fn start(&mut self, attempt: Attempt);
    /// An identity is durable: put it into the index. Once for every identity.
    fn committed(&mut self, commit: Commit);
    /// An attempt is of no use: another one of its identity was committed first.
    fn superseded(&mut self, attempt: AttemptId);
    /// A writer or a role is done.
    fn closed(&mut self, closed: Closed);
    /// A submission was not taken, and its data is nowhere: a defect of whoever submitted.
    fn refused(&mut self, refusal: Refusal);
}

/// A submission that was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// Whose.
    pub writer: u32,
    /// How much.
    pub length_bytes: u64,
    /// Why.
    pub reason: RefusalReason,
}

/// Why a submission was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// The writer has closed, or died.
    Closed,
    /// It is no writer of this machine.
    UnknownWriter,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { writer, length_bytes, reason } = self;
        let who = match reason {
            RefusalReason::Closed => "which has closed",
            RefusalReason::UnknownWriter => "which the router does not know",
        };
        write!(f, "the router refused {length_bytes} bytes of writer {writer}, {who}")
    }
}

/// Which timer of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimerId {
    /// A message may have been lost: say it again.
    Retry,
    /// Look at what is in flight for too long.
    Overdue,
}

/// A wish to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timer {
    /// Which timer; setting it again replaces it.
    pub id: TimerId,
    /// Rises with every setting.
    pub generation: u32,
    /// When, on the clock of `step`.
    pub at_ns: u64,
}

/// A write that the host must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// To be given back when it ends.
    pub attempt: AttemptId,
    /// What is written.
    pub write: WriteId,
    /// Where.
    pub target: TargetId,
    /// Where it begins within its submission.
    pub offset_bytes: u64,
    /// How much.
    pub length_bytes: u64,
}

/// The attempt of an identity that counts.
pub type Commit = Attempt;

/// Something came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Closed {
    /// All of a writer's submissions are committed, or were given up.
    Writer {
        /// Which process.
        writer: u32,
        /// Bytes that are durable.
        committed_bytes: u64,
        /// Bytes that are not: the writer died, or no target takes data.
        lost_bytes: u64,
    },
    /// A coordinator or sub-coordinator has nothing left to do.
    Role,
}
