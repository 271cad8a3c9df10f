//! What a run counts while it goes on.

use plimsoll_route::Message;

/// Counts of one run.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Messages sent, by kind.
    pub by_kind: [u64; Message::NAMES.len()],
    /// Messages that each actor sent or received.
    pub by_actor: Vec<u32>,
    /// Messages that were lost on their way.
    pub lost: u64,
    /// Inputs that machines handled.
    pub inputs: u64,
    /// Bytes of attempts that ended well.
    pub done_bytes: u64,
    /// Attempts that ended well.
    pub ends: u64,
    /// Bytes that were committed.
    pub committed_bytes: u64,
    /// The same by target.
    pub target_bytes: Vec<u64>,
    /// The sum over all bytes of the time from being handed over until being committed, once all are.
    delays_ns: i128,
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

    /// A process handed over some bytes.
    pub fn submitted(&mut self, now_ns: u64, bytes: u64) {
        self.delays_ns -= i128::from(now_ns) * i128::from(bytes);
    }

    /// Some bytes were committed on a target.
    pub fn committed(&mut self, now_ns: u64, target: usize, bytes: u64) {
        self.delays_ns += i128::from(now_ns) * i128::from(bytes);
        self.committed_bytes += bytes;
        self.target_bytes[target] += bytes;
        self.target_end_ns[target] = now_ns;
    }

    /// The mean time from handing over a byte until it was committed, in nanoseconds, where all were committed.
    pub fn mean_delay_ns(&self) -> f64 {
        self.delays_ns as f64 / self.committed_bytes.max(1) as f64
    }

    /// A message was sent.
    pub fn sent(&mut self, from: u32, to: u32, message: &Message) {
        self.by_kind[message.kind()] += 1;
        self.by_actor[from as usize] += 1;
        self.by_actor[to as usize] += 1;
    }
}
