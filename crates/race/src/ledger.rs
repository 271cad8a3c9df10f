//! What a race did, kept by the host and not by the router that is being raced.

use std::collections::{BTreeMap, HashMap};

use plimsoll_route::{ActorId, Attempt, AttemptId, Message, WriteId};

/// An identity that was committed, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The attempt that counts.
    pub attempt: Attempt,
    /// Where it begins in the writer's file on the target.
    pub file_offset: u64,
}

/// An attempt under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub attempt: Attempt,
    pub started_ns: u64,
}

/// Everything that is counted during a race.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Blocks of each writer.
    pub submitted: Vec<Vec<u64>>,
    pub open: HashMap<(u32, AttemptId), Open>,
    pub index: HashMap<WriteId, Committed>,
    /// Commits of an identity that was committed already.
    pub committed_again: u64,
    pub attempts: u64,
    pub superseded: u64,
    pub failed_attempts: u64,
    pub messages: BTreeMap<&'static str, u64>,
    pub coordinator_messages: u64,
    pub worst_latency_ns: u64,
    pub last_commit_ns: u64,
    /// By target.
    pub last_commits_ns: BTreeMap<u16, u64>,
    /// Bytes of each writer on each target that has some.
    committed_on: BTreeMap<(u32, u16), u64>,
}

impl Ledger {
    pub fn new(writers: usize) -> Self {
        Ledger { submitted: vec![Vec::new(); writers], ..Ledger::default() }
    }

    pub fn submitted_bytes(&self) -> u64 {
        self.submitted.iter().flatten().sum()
    }

    pub fn committed_bytes(&self) -> u64 {
        self.index.values().map(|it| it.attempt.length_bytes).sum()
    }

    /// What a writer submitted and is not committed.
    pub fn lost_bytes(&self, writer: u32) -> u64 {
        let submitted: u64 = self.submitted[writer as usize].iter().sum();
        submitted.saturating_sub(self.on_targets(writer).map(|(_, bytes)| bytes).sum())
    }

    /// The targets on which a writer has committed data.
    pub fn targets_of(&self, writer: u32) -> Vec<u16> {
        self.on_targets(writer).map(|(target, _)| target).collect()
    }

    fn on_targets(&self, writer: u32) -> impl Iterator<Item = (u16, u64)> + '_ {
        let own = self.committed_on.range((writer, 0)..=(writer, u16::MAX));
        own.map(|((_, target), bytes)| (*target, *bytes))
    }

    pub fn message(&mut self, is_coordinators: bool, message: &Message) {
        *self.messages.entry(message.name()).or_default() += 1;
        self.coordinator_messages += u64::from(is_coordinators);
    }

    /// Takes what ended off the list of what is under way.
    pub fn end(&mut self, writer: u32, attempt: AttemptId, now_ns: u64) -> Option<Open> {
        let open = self.open.remove(&(writer, attempt))?;
        self.worst_latency_ns = self.worst_latency_ns.max(now_ns.saturating_sub(open.started_ns));
        Some(open)
    }

    pub fn commit(&mut self, committed: Committed, now_ns: u64) {
        self.last_commit_ns = now_ns;
        self.last_commits_ns.insert(committed.attempt.target.0, now_ns);
        let Attempt { write, target, length_bytes, .. } = committed.attempt;
        *self.committed_on.entry((write.writer, target.0)).or_default() += length_bytes;
        let before = self.index.insert(write, committed);
        self.committed_again += u64::from(before.is_some());
    }

    /// Blocks whose committed parts do not cover them exactly once; of `writers` that live.
    pub fn uncovered_blocks(&self, lives: impl Fn(u32) -> bool) -> u64 {
        let mut parts: HashMap<(u32, u32), Vec<(u64, u64)>> = HashMap::new();
        for committed in self.index.values() {
            for (sequence, offset_bytes, length_bytes) in self.of_blocks(&committed.attempt) {
                let block = parts.entry((committed.attempt.write.writer, sequence)).or_default();
                block.push((offset_bytes, length_bytes));
            }
        }
        let mut uncovered = 0;
        for (writer, blocks) in (0..).zip(&self.submitted) {
            for (sequence, length_bytes) in (0..).zip(blocks) {
                let found = parts.remove(&(writer, sequence)).unwrap_or_default();
                uncovered += u64::from(lives(writer) && !tiles(found, *length_bytes));
            }
        }
        // What nobody submitted cannot be covered either.
        uncovered + parts.len() as u64
    }
}

impl Ledger {
    /// The blocks that an attempt has data of, with offset and length in each: the router gathers small ones.
    fn of_blocks(&self, attempt: &Attempt) -> Vec<(u32, u64, u64)> {
        let blocks = self.submitted.get(attempt.write.writer as usize);
        let length_of = |sequence: u32| blocks.and_then(|blocks| blocks.get(sequence as usize));
        let (mut sequence, mut offset_bytes) = (attempt.write.sequence, attempt.offset_bytes);
        let mut left_bytes = attempt.length_bytes;
        let mut all = Vec::new();
        while left_bytes > 0 {
            // Of what nobody submitted, all that there is.
            let rest = length_of(sequence).map(|length| length.saturating_sub(offset_bytes));
            let length_bytes = rest.unwrap_or(left_bytes).min(left_bytes);
            all.push((sequence, offset_bytes, length_bytes));
            left_bytes -= length_bytes;
            (sequence, offset_bytes) = (sequence.saturating_add(1), 0);
        }
        all
    }
}

fn tiles(mut parts: Vec<(u64, u64)>, length_bytes: u64) -> bool {
    parts.sort_unstable();
    let end = parts.iter().try_fold(0, |end, (offset, length)| {
        (*offset == end && *length > 0).then_some(offset + length)
    });
    end == Some(length_bytes)
}

/// True if the message is one that the coordinator sends or receives.
pub(crate) fn concerns(coordinator: Option<ActorId>, from: ActorId, to: ActorId) -> bool {
    coordinator.is_some_and(|coordinator| from == coordinator || to == coordinator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_route::TargetId;

    fn committed(sequence: u32, part: u32, offset_bytes: u64, length_bytes: u64) -> Committed {
        let attempt = Attempt {
            attempt: AttemptId { slot: 0, generation: 0 },
            write: WriteId { writer: 0, sequence, part },
            target: TargetId(0),
            offset_bytes,
            length_bytes,
        };
        Committed { attempt, file_offset: 0 }
    }

    #[test]
    fn a_lease_of_several_blocks_covers_each_of_them() {
        let mut ledger = Ledger::new(1);
        ledger.submitted[0] = vec![10, 10, 10];
        ledger.commit(committed(0, 0, 0, 4), 1);
        ledger.commit(committed(0, 1, 4, 18), 1);
        assert_eq!(ledger.uncovered_blocks(|_| true), 1);
        ledger.commit(committed(2, 0, 2, 8), 1);
        assert_eq!(ledger.uncovered_blocks(|_| true), 0);
        ledger.commit(committed(2, 1, 10, 1), 1);
        assert_eq!(ledger.uncovered_blocks(|_| true), 2, "beyond the last block");
    }

    #[test]
    fn a_gap_an_overlap_a_repetition_and_a_stranger_are_noticed() {
        let mut ledger = Ledger::new(1);
        ledger.submitted[0] = vec![10, 10];
        ledger.commit(committed(0, 0, 0, 10), 1);
        assert_eq!(ledger.uncovered_blocks(|_| true), 1);
        assert_eq!(ledger.lost_bytes(0), 10);
        ledger.commit(committed(1, 0, 0, 4), 2);
        ledger.commit(committed(1, 1, 4, 6), 3);
        assert_eq!((ledger.uncovered_blocks(|_| true), ledger.committed_again), (0, 0));
        ledger.commit(committed(1, 1, 4, 6), 4);
        assert_eq!(ledger.committed_again, 1);
        ledger.commit(committed(1, 2, 6, 2), 5);
        assert_eq!(ledger.uncovered_blocks(|_| true), 1);
        assert_eq!(ledger.uncovered_blocks(|_| false), 0);
        ledger.commit(committed(2, 0, 0, 1), 6);
        assert_eq!(ledger.uncovered_blocks(|_| false), 1);
    }
}
