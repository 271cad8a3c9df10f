//! What the writers of all nodes share, for those who only read it.

use std::fs::File;
use std::io;

use plimsoll_guarded::read_at_most;

use crate::Id;
use crate::header::SEQUENCE_MAX;
use crate::state::{
    DURABLE, DURABLE_LOGS_AT, INTENDED, LINE_BYTES, LOGS_AT, MAGIC, NODE_AT, PUBLICATIONS,
    PUBLISHED, RESERVED_AT, SEQUENCE_AT, STATE_BYTES_MAX,
};
use crate::word::PAGE_BYTES;

/// Most nodes that write a container at the same time.
pub const SEATS_MAX: u32 = 256;

/// The state of the first seat; the others have their number behind it.
pub const STATE: &str = "state";

/// What the writers of one node share, as it was at one moment.
#[derive(Debug, Clone)]
pub struct StateCopy {
    words: Vec<u64>,
}

/// What the writers of all nodes share; `None` for those whose file is damaged.
#[derive(Debug)]
pub struct States {
    node: Id,
    seats: Vec<Option<StateCopy>>,
}

/// The last stamps of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastStamps {
    /// Nothing in it is later.
    pub intended: u64,
    /// It has something of this stamp, unless its node went down before that was durable.
    pub published: u64,
    /// It has something of this stamp.
    pub durable: u64,
    /// Whether this node has written it.
    pub is_here: bool,
}

/// Returns the name of a seat's state.
pub fn state_name(seat: u32) -> String {
    if seat == 1 { STATE.into() } else { format!("{STATE}-{seat}") }
}

impl LastStamps {
    /// Returns the last stamp that must be found.
    pub fn must_have(&self) -> u64 {
        if self.is_here { self.published } else { self.durable }
    }
}

impl States {
    /// Reads those of all seats, as they are seen from this node.
    pub fn read(node: Id, open: impl Fn(&str) -> io::Result<File>) -> Self {
        let read = |seat| match open(&state_name(seat)) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(_) => Some(None),
            Ok(file) => Some(all_of(&file).and_then(|bytes| StateCopy::decode(&bytes))),
        };
        States { node, seats: (1..=SEATS_MAX).map_while(read).collect() }
    }

    /// Returns those of a small container: nobody shares anything.
    pub(crate) fn none(node: Id) -> Self {
        States { node, seats: Vec::new() }
    }

    /// Returns how many logs must be listed.
    pub fn logs(&self) -> u64 {
        let of = |it: &StateCopy| {
            let at = if it.node() == self.node { LOGS_AT } else { DURABLE_LOGS_AT };
            it.words[at / 8]
        };
        self.seats.iter().flatten().map(of).max().unwrap_or(0)
    }

    /// Returns a stamp that is later than all that was written.
    pub fn next(&self) -> u64 {
        self.seats.iter().flatten().map(StateCopy::sequence).max().unwrap_or_default()
    }

    /// Returns whether there are no more stamps, so that nobody can write.
    pub fn are_used_up(&self) -> bool {
        self.next() >= SEQUENCE_MAX
    }

    /// Returns the last stamps of a log of this seat; `None` if there are none, so that nothing is known of the log.
    pub fn last(&self, seat: u32, log: u32) -> Option<LastStamps> {
        let copy = self.seats.get(seat.checked_sub(1)? as usize)?.as_ref()?;
        let line = PAGE_BYTES as usize + LINE_BYTES * log as usize;
        let word = |at: usize| copy.words.get((line + at) / 8).copied();
        Some(LastStamps {
            intended: word(INTENDED)?,
            published: word(PUBLISHED)?,
            durable: word(DURABLE)?,
            is_here: copy.node() == self.node,
        })
    }
}

impl StateCopy {
    /// Reads the file, or its first page; `None` if it is not whole.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|it| it.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
            .collect();
        let is_whole = bytes.len() >= PAGE_BYTES as usize && words[0] == MAGIC;
        is_whole.then_some(StateCopy { words })
    }

    /// Returns the node that writes, or wrote last.
    pub fn node(&self) -> Id {
        let number =
            u128::from(self.words[NODE_AT / 8 + 1]) << 64 | u128::from(self.words[NODE_AT / 8]);
        Id::from_bytes(number.to_le_bytes())
    }

    /// Returns how often something was published in each log.
    pub fn publications(lines: &[u8]) -> impl Iterator<Item = u64> {
        let word = |line: &[u8]| line.get(PUBLICATIONS..)?.first_chunk().copied();
        lines
            .chunks_exact(LINE_BYTES)
            .map(move |line| u64::from_le_bytes(word(line).unwrap_or_default()))
    }

    /// Returns a stamp that is later than all that its node takes without telling.
    pub fn sequence(&self) -> u64 {
        self.words[SEQUENCE_AT / 8].max(self.words[RESERVED_AT / 8])
    }
}

fn all_of(file: &File) -> Option<Vec<u8>> {
    read_at_most(STATE_BYTES_MAX, file).ok().flatten()
}
