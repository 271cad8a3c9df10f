//! What machines say to each other: the messages of Huang's section 3, and those that a
//! transport that loses messages, a target that fails or a program that writes little by
//! little needs.

use crate::encoding::messages;
use crate::{TargetId, WriteId};

// The one list of messages: what each is for, its number on the wire, its name, and where each
// of its fields lies in the encoding. Everything else about messages is made from it.
messages! {
    /// Client to its sub-coordinator: I have a block. `write.part` is 0.
    1 WriteSubmission "WRITE_SUBMISSION" {
        /// The block.
        write: WriteId = Write,
        /// Its bytes.
        length_bytes: u64 = Length,
    }
    /// Client to its sub-coordinator: `count` submissions and no more.
    2 WriterClose "WRITER_CLOSE" {
        /// Who.
        writer: u32 = Writer,
        /// Submissions that it made.
        count: u32 = Sequence,
    }
    /// Sub-coordinator to client, where messages get lost: I have everything before `next`.
    3 SubmissionAck "SUBMISSION_ACK" {
        /// The client.
        writer: u32 = Writer,
        /// The submission that is expected next; one more after the close.
        next: u32 = Sequence,
    }
    /// Sub-coordinator to client, its own or another group's: write this to my target.
    4 DoWrite "DO_WRITE" {
        /// What.
        write: WriteId = Write,
        /// Where.
        target: TargetId = Target,
        /// How often this sub-coordinator granted before.
        request: u32 = Request,
        /// Bytes of this part.
        length_bytes: u64 = Length,
    }
    /// Client to the sub-coordinator that granted: it is durable, the target is free.
    5 WriteComplete "WRITE_COMPLETE" {
        /// What.
        write: WriteId = Write,
        /// Where.
        target: TargetId = Target,
        /// Of the grant.
        request: u32 = Request,
        /// Bytes of this part.
        length_bytes: u64 = Length,
    }
    /// Client to the sub-coordinator that granted: the target did not take it.
    6 WriteFailed "WRITE_FAILED" {
        /// What.
        write: WriteId = Write,
        /// Where.
        target: TargetId = Target,
        /// Of the grant.
        request: u32 = Request,
        /// Bytes of this part.
        length_bytes: u64 = Length,
    }
    /// Client to its own sub-coordinator: committed, counted for termination.
    7 WriteCommitted "WRITE_COMMITTED" {
        /// What.
        write: WriteId = Write,
        /// Where.
        target: TargetId = Target,
        /// Of the grant.
        request: u32 = Request,
        /// Bytes of this part.
        length_bytes: u64 = Length,
    }
    /// Sub-coordinator to client, where messages get lost: the commit is counted.
    8 CommitAck "COMMIT_ACK" {
        /// What.
        write: WriteId = Write,
    }
    /// Sub-coordinator to coordinator: all my writes are done, I could take in this much.
    9 WriteIdle "WRITE_IDLE" {
        /// Whose.
        target: TargetId = Target,
        /// Rises with every offer.
        request: u32 = Request,
        /// What the throttle allows; 0 is idle but not to be used.
        allowance_bytes: u64 = Length,
    }
    /// Sub-coordinator to coordinator: I have a queue again (submissions came later).
    10 WriteBusy "WRITE_BUSY" {
        /// Whose.
        target: TargetId = Target,
        /// Rises with every notice; shares the count of `WriteIdle`.
        request: u32 = Request,
    }
    /// Coordinator to a busy sub-coordinator: give a write away.
    11 RerouteReq "REROUTE_REQ" {
        /// Who would take it.
        taker: TargetId = Target,
        /// Rises with every request of the coordinator.
        request: u32 = Request,
    }
    /// The answer: this one.
    12 RerouteAck "REROUTE_ACK" {
        /// The taker, echoed.
        taker: TargetId = Target,
        /// Echoed.
        request: u32 = Request,
        /// What is given away.
        write: WriteId = Write,
        /// Bytes of this part.
        length_bytes: u64 = Length,
    }
    /// The answer: I have none to give.
    13 RerouteReject "REROUTE_REJECT" {
        /// The taker, echoed.
        taker: TargetId = Target,
        /// Echoed.
        request: u32 = Request,
    }
    /// Coordinator to the idle sub-coordinator: this one is yours.
    14 WriteMore "WRITE_MORE" {
        /// The source, which is told when the write fails.
        source: TargetId = Target,
        /// Of the offer that is taken up.
        request: u32 = Request,
        /// What.
        write: WriteId = Write,
        /// Bytes of this part.
        length_bytes: u64 = Length,
    }
    /// Coordinator to the idle sub-coordinator: this one is yours although your allowance
    /// is used up, because its own target failed. It counts as your own data from now on.
    15 WriteAdopt "WRITE_ADOPT" {
        /// The source.
        source: TargetId = Target,
        /// Of the offer that is taken up.
        request: u32 = Request,
        /// What.
        write: WriteId = Write,
        /// Bytes of this part.
        length_bytes: u64 = Length,
    }
    /// Sub-coordinator to coordinator: my target failed, take everything from me.
    16 TargetLost "TARGET_LOST" {
        /// Whose.
        target: TargetId = Target,
        /// How often the target failed or came back; shared with `TargetBack`.
        request: u32 = Request,
    }
    /// Coordinator to every sub-coordinator, once: how long is your queue?
    17 StatusInq "STATUS_INQ" {
        /// Rises with every request of the coordinator.
        request: u32 = Request,
    }
    /// The answer.
    18 StatusReply "STATUS_REPLY" {
        /// Whose.
        target: TargetId = Target,
        /// Echoed.
        request: u32 = Request,
        /// Bytes that wait.
        queued_bytes: u64 = Length,
    }
    /// Sub-coordinator to coordinator: all writes of my group are committed.
    19 GroupClose "GROUP_CLOSE" {
        /// Whose.
        target: TargetId = Target,
    }
    /// Coordinator to every sub-coordinator: all groups are done, end.
    20 GroupCloseAck "GROUP_CLOSE_ACK"
    /// Sub-coordinator to client: no target takes data, what is not committed is lost.
    21 GiveUp "GIVE_UP" {
        /// The client.
        writer: u32 = Writer,
    }
    /// Sub-coordinator to coordinator: my target takes data again.
    22 TargetBack "TARGET_BACK" {
        /// Whose.
        target: TargetId = Target,
        /// How often the target failed or came back; shared with `TargetLost`.
        request: u32 = Request,
    }
}
