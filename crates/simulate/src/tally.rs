//! What a run counts while it goes on.

use plimsoll_route::Message;

/// Kinds of messages, in the order of the tally by kind.
pub const MESSAGE_KINDS: [&str; 22] = [
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

/// Counts of one run.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Messages sent, by kind.
    pub by_kind: [u64; MESSAGE_KINDS.len()],
    /// Messages that each actor sent or received.
    pub by_actor: Vec<u32>,
    /// Messages that were lost on their way.
    pub lost: u64,
    /// Inputs that machines handled.
    pub inputs: u64,
    /// Bytes of attempts that ended well.
    pub done_bytes: u64,
    /// Bytes that were committed.
    pub committed_bytes: u64,
    /// The same by target.
    pub target_bytes: Vec<u64>,
    /// When something was last committed on each target.
    pub target_end_ns: Vec<u64>,
}

impl Tally {
    /// Nothing yet.
    pub fn new(actors: usize, targets: usize) -> Self {
        Tally {
            by_actor: vec![0; actors],
            target_bytes: vec![0; targets],
            target_end_ns: vec![0; targets],
            ..Tally::default()
        }
    }

    /// A message was sent.
    pub fn sent(&mut self, from: u32, to: u32, message: &Message) {
        self.by_kind[kind(message)] += 1;
        self.by_actor[from as usize] += 1;
        self.by_actor[to as usize] += 1;
    }
}

fn kind(message: &Message) -> usize {
    match message {
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
