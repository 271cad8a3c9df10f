//! What came of a race.

use std::collections::BTreeMap;

use plimsoll_route::coordinated::Layout;

use crate::course::Course;
use crate::ledger::{Committed, Ledger};

/// A writer that died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Which.
    pub writer: u32,
    /// How it ended.
    pub why: String,
    /// What it had submitted and was not committed.
    pub lost_bytes: u64,
}

/// What reading everything back found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadBack {
    /// Committed bytes that were read.
    pub bytes: u64,
    /// Pages that are not what was written there.
    pub wrong_pages: u64,
    /// The first such place, for people.
    pub first_wrong: Option<String>,
}

/// One race, all times from its beginning.
#[derive(Debug, Clone)]
pub struct RaceOutcome {
    /// Until the last file was durable.
    pub makespan_ns: u64,
    /// Until the last write was durable.
    pub last_commit_ns: u64,
    /// Bytes that all writers submitted.
    pub submitted_bytes: u64,
    /// Bytes that are durable, each identity once.
    pub committed_bytes: u64,
    /// Durable bytes on each target.
    pub target_bytes: Vec<u64>,
    /// When the last write to each target was durable; `None` where there was none.
    pub target_ended_ns: Vec<Option<u64>>,
    /// Durable bytes on another target than the writer's own.
    pub moved_bytes: u64,
    /// Writes that were started.
    pub attempts: u64,
    /// Writes that another one of the same identity overtook.
    pub superseded: u64,
    /// Writes that failed.
    pub failed_attempts: u64,
    /// Identities that were committed more than once. Never.
    pub committed_again: u64,
    /// Blocks of living writers that are not covered exactly once by what was committed.
    pub uncovered_blocks: u64,
    /// Messages between the router's parties, by name.
    pub messages: BTreeMap<&'static str, u64>,
    /// Of them, to or from the one coordinator.
    pub coordinator_messages: u64,
    /// The longest write, from its start to durable.
    pub worst_latency_ns: u64,
    /// Written by the noise meanwhile.
    pub noise_bytes: u64,
    /// When each change was done; `None` for one whose time did not come.
    pub changed_ns: Vec<Option<u64>>,
    /// The windows at the end, where there are any.
    pub windows: Option<Vec<u64>>,
    /// Writers that died.
    pub losses: Vec<Loss>,
    /// If it was asked for.
    pub read_back: Option<ReadBack>,
    /// Everything that was committed.
    pub index: Vec<Committed>,
}

impl RaceOutcome {
    pub(crate) fn of(course: &Course, ledger: Ledger, began_ns: u64, losses: &[Loss]) -> Self {
        let targets = course.working.len();
        let layout = Layout { targets: targets as u16, writers: course.writers };
        let mut target_bytes = vec![0; targets];
        let mut moved_bytes = 0;
        for committed in ledger.index.values() {
            let attempt = committed.attempt;
            target_bytes[attempt.target.index()] += attempt.length_bytes;
            let own = layout.home(attempt.write.writer);
            moved_bytes += if own == attempt.target { 0 } else { attempt.length_bytes };
        }
        let ended = |target: u16| ledger.last_commits_ns.get(&target).map(|at| at - began_ns);
        let target_ended_ns = (0..targets as u16).map(ended).collect();
        let lives = |writer: u32| losses.iter().all(|loss| loss.writer != writer);
        RaceOutcome {
            makespan_ns: 0,
            last_commit_ns: ledger.last_commit_ns.saturating_sub(began_ns),
            submitted_bytes: ledger.submitted_bytes(),
            committed_bytes: ledger.committed_bytes(),
            target_bytes,
            target_ended_ns,
            moved_bytes,
            attempts: ledger.attempts,
            superseded: ledger.superseded,
            failed_attempts: ledger.failed_attempts,
            committed_again: ledger.committed_again,
            uncovered_blocks: ledger.uncovered_blocks(lives),
            messages: ledger.messages,
            coordinator_messages: ledger.coordinator_messages,
            worst_latency_ns: ledger.worst_latency_ns,
            noise_bytes: 0,
            changed_ns: Vec::new(),
            windows: None,
            losses: losses.to_vec(),
            read_back: None,
            index: ledger.index.into_values().collect(),
        }
    }

    /// Submitted and not committed.
    pub fn lost_bytes(&self) -> u64 {
        self.submitted_bytes.saturating_sub(self.committed_bytes)
    }

    /// Everything that was submitted is committed exactly once, no writer died, and what was read
    /// back is right.
    pub fn is_sound(&self) -> bool {
        let is_whole = self.lost_bytes() == 0 && self.uncovered_blocks == 0;
        let is_right = self.read_back.as_ref().is_none_or(|it| it.wrong_pages == 0);
        is_whole && self.losses.is_empty() && self.committed_again == 0 && is_right
    }
}
