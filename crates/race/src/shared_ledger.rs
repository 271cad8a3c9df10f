//! What writers that route themselves did, as far as they say.

use crate::ledger::Ledger;
use crate::order::Answer;

/// A ledger that is filled from what writers say when they are done.
pub(crate) struct SharedLedger {
    ledger: Ledger,
    windows: Option<Vec<u64>>,
}

impl SharedLedger {
    pub fn new(writers: usize) -> Self {
        SharedLedger { ledger: Ledger::new(writers), windows: None }
    }

    /// Hears a writer. Returns what it does not concern itself with.
    pub fn hear(&mut self, writer: u32, said: Answer) -> Option<Answer> {
        match said {
            Answer::Submit { length_bytes } => {
                self.ledger.submitted.get_mut(writer as usize)?.push(length_bytes);
            }
            Answer::Written(written) => {
                let (committed, durable_ns) = written.committed(writer);
                let last_ns = self.ledger.last_commit_ns.max(durable_ns);
                self.ledger.commit(committed, durable_ns);
                self.ledger.last_commit_ns = last_ns;
            }
            Answer::Shared { leases, copies, worst_ns, windows } => {
                self.ledger.attempts += leases + copies;
                self.ledger.superseded += copies;
                self.ledger.worst_latency_ns = self.ledger.worst_latency_ns.max(worst_ns);
                self.windows = Some(windows);
            }
            other => return Some(other),
        }
        None
    }

    /// Returns what is committed of a writer.
    pub fn committed_bytes(&self, writer: u32) -> u64 {
        let own = self.ledger.index.values().filter(|it| it.attempt.write.writer == writer);
        own.map(|it| it.attempt.length_bytes).sum()
    }

    /// Returns the windows as they were seen last, and everything else.
    pub fn into_parts(self) -> (Option<Vec<u64>>, Ledger) {
        (self.windows, self.ledger)
    }
}
