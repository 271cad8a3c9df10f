//! What machines say to each other: the messages of Huang's section 3, and four that a
//! transport that loses messages or a program that writes little by little needs.

use crate::{TargetId, WriteId};

/// A message. Small, `Copy`, and every reply echoes the request that it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Message {
    /// Client to its sub-coordinator: I have a block. `write.part` is 0.
    WriteSubmission {
        /// The block.
        write: WriteId,
        /// Its bytes.
        length_bytes: u64,
    },
    /// Client to its sub-coordinator: `count` submissions and no more.
    WriterClose {
        /// Who.
        writer: u32,
        /// Submissions that it made.
        count: u32,
    },
    /// Sub-coordinator to client, where messages get lost: I have everything before `next`.
    SubmissionAck {
        /// The client.
        writer: u32,
        /// The submission that is expected next; one more after the close.
        next: u32,
    },
    /// Sub-coordinator to client, its own or another group's: write this to my target.
    DoWrite {
        /// What.
        write: WriteId,
        /// Where.
        target: TargetId,
        /// How often this sub-coordinator granted before.
        request: u32,
        /// Bytes of this part.
        length_bytes: u64,
    },
    /// Client to the sub-coordinator that granted: it is durable, the target is free.
    WriteComplete {
        /// What.
        write: WriteId,
        /// Where.
        target: TargetId,
        /// Of the grant.
        request: u32,
        /// Bytes of this part.
        length_bytes: u64,
    },
    /// Client to the sub-coordinator that granted: the target did not take it.
    WriteFailed {
        /// What.
        write: WriteId,
        /// Where.
        target: TargetId,
        /// Of the grant.
        request: u32,
        /// Bytes of this part.
        length_bytes: u64,
    },
    /// Client to its own sub-coordinator: committed, counted for termination.
    WriteCommitted {
        /// What.
        write: WriteId,
        /// Where.
        target: TargetId,
        /// Of the grant.
        request: u32,
        /// Bytes of this part.
        length_bytes: u64,
    },
    /// Sub-coordinator to client, where messages get lost: the commit is counted.
    CommitAck {
        /// What.
        write: WriteId,
    },
    /// Sub-coordinator to coordinator: all my writes are done, I could take in this much.
    WriteIdle {
        /// Whose.
        target: TargetId,
        /// Rises with every offer.
        request: u32,
        /// What the throttle allows; 0 is idle but not to be used.
        allowance_bytes: u64,
    },
    /// Sub-coordinator to coordinator: I have a queue again (submissions came later).
    WriteBusy {
        /// Whose.
        target: TargetId,
        /// Rises with every notice; shares the count of `WriteIdle`.
        request: u32,
    },
    /// Coordinator to a busy sub-coordinator: give a write away.
    RerouteReq {
        /// Who would take it.
        taker: TargetId,
        /// Rises with every request of the coordinator.
        request: u32,
    },
    /// The answer: this one.
    RerouteAck {
        /// The taker, echoed.
        taker: TargetId,
        /// Echoed.
        request: u32,
        /// What is given away.
        write: WriteId,
        /// Bytes of this part.
        length_bytes: u64,
    },
    /// The answer: I have none to give.
    RerouteReject {
        /// The taker, echoed.
        taker: TargetId,
        /// Echoed.
        request: u32,
    },
    /// Coordinator to the idle sub-coordinator: this one is yours.
    WriteMore {
        /// The source, which is told when the write fails.
        source: TargetId,
        /// Of the offer that is taken up.
        request: u32,
        /// What.
        write: WriteId,
        /// Bytes of this part.
        length_bytes: u64,
    },
    /// Coordinator to the idle sub-coordinator: this one is yours although your allowance
    /// is used up, because its own target failed. It counts as your own data from now on.
    WriteAdopt {
        /// The source.
        source: TargetId,
        /// Of the offer that is taken up.
        request: u32,
        /// What.
        write: WriteId,
        /// Bytes of this part.
        length_bytes: u64,
    },
    /// Sub-coordinator to coordinator: my target failed, take everything from me.
    TargetLost {
        /// Whose.
        target: TargetId,
        /// How often the target failed or came back; shared with `TargetBack`.
        request: u32,
    },
    /// Coordinator to every sub-coordinator, once: how long is your queue?
    StatusInq {
        /// Rises with every request of the coordinator.
        request: u32,
    },
    /// The answer.
    StatusReply {
        /// Whose.
        target: TargetId,
        /// Echoed.
        request: u32,
        /// Bytes that wait.
        queued_bytes: u64,
    },
    /// Sub-coordinator to coordinator: all writes of my group are committed.
    GroupClose {
        /// Whose.
        target: TargetId,
    },
    /// Coordinator to every sub-coordinator: all groups are done, end.
    GroupCloseAck,
    /// Sub-coordinator to client: no target takes data, what is not committed is lost.
    GiveUp {
        /// The client.
        writer: u32,
    },
    /// Sub-coordinator to coordinator: my target takes data again.
    TargetBack {
        /// Whose.
        target: TargetId,
        /// How often the target failed or came back; shared with `TargetLost`.
        request: u32,
    },
}

impl Message {
    /// The paper's names and, where it has none, our own; a message's is at [`kind`](Self::kind).
    pub const NAMES: [&str; 22] = [
        "WRITE_SUBMISSION",
        "WRITER_CLOSE",
        "SUBMISSION_ACK",
        "DO_WRITE",
        "WRITE_COMPLETE",
        "WRITE_FAILED",
        "WRITE_COMMITTED",
        "COMMIT_ACK",
        "WRITE_IDLE",
        "WRITE_BUSY",
        "REROUTE_REQ",
        "REROUTE_ACK",
        "REROUTE_REJECT",
        "WRITE_MORE",
        "WRITE_ADOPT",
        "TARGET_LOST",
        "STATUS_INQ",
        "STATUS_REPLY",
        "GROUP_CLOSE",
        "GROUP_CLOSE_ACK",
        "GIVE_UP",
        "TARGET_BACK",
    ];

    /// Which kind of message this is, from 0, in the order of the encoding.
    pub fn kind(&self) -> usize {
        match self {
            Message::WriteSubmission { .. } => 0,
            Message::WriterClose { .. } => 1,
            Message::SubmissionAck { .. } => 2,
            Message::DoWrite { .. } => 3,
            Message::WriteComplete { .. } => 4,
            Message::WriteFailed { .. } => 5,
            Message::WriteCommitted { .. } => 6,
            Message::CommitAck { .. } => 7,
            Message::WriteIdle { .. } => 8,
            Message::WriteBusy { .. } => 9,
            Message::RerouteReq { .. } => 10,
            Message::RerouteAck { .. } => 11,
            Message::RerouteReject { .. } => 12,
            Message::WriteMore { .. } => 13,
            Message::WriteAdopt { .. } => 14,
            Message::TargetLost { .. } => 15,
            Message::StatusInq { .. } => 16,
            Message::StatusReply { .. } => 17,
            Message::GroupClose { .. } => 18,
            Message::GroupCloseAck => 19,
            Message::GiveUp { .. } => 20,
            Message::TargetBack { .. } => 21,
        }
    }

    /// The name of its kind.
    pub fn name(&self) -> &'static str {
        Self::NAMES[self.kind()]
    }
}
