//! What the writers of all nodes share, for those who only read it: the first page of each seat, and the lines of the logs that are listed. A file with holes can
//! have lines for all logs that there could be.

use std::collections::HashMap;
use std::fs::File;
use std::io;

use rustix::io::{Errno, pread};

use crate::header::SEQUENCE_MAX;
use crate::state::{
    DURABLE, DURABLE_LOGS_AT, INTENDED, LINE_BYTES, LOGS_AT, MAGIC, NODE_AT, PUBLICATIONS,
    PUBLISHED, RESERVED_AT, SEQUENCE_AT, STATE_BYTES_MAX,
};
use crate::word::PAGE_BYTES;
use crate::{Id, ListedLog};

/// Most nodes that write a container at the same time.
pub const SEATS_MAX: u32 = 256;

/// Files of seats that stay open while the manifest is read.
const FILES_MAX: usize = 8;

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
    seats: Vec<Option<SeatHead>>,
    /// The last stamps of logs, by seat and number.
    logs: HashMap<(u32, u32), LastStamps>,
}

/// The first page of a seat's file.
#[derive(Debug)]
struct SeatHead {
    node: Id,
    logs: u64,
    durable_logs: u64,
    sequence: u64,
    /// The file, of the first seats: more of them would take too many descriptors.
    file: Option<File>,
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
    /// Reads the first pages of all seats, as they are seen from this node.
    pub fn read(node: Id, open: impl Fn(&str) -> io::Result<File>) -> Self {
        let read = |seat| match open(&state_name(seat)) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(_) => Some(None),
            Ok(file) => Some(SeatHead::read(file)),
        };
        let mut seats: Vec<Option<SeatHead>> = Vec::new();
        for mut seat in (1..=SEATS_MAX).map_while(read) {
            if let Some(seat) = seat.as_mut().filter(|_| seats.len() >= FILES_MAX) {
                seat.file = None;
            }
            seats.push(seat);
        }
        States { node, seats, logs: HashMap::new() }
    }

    /// Reads the lines of these logs as well. A seat whose file is another one by now counts as damaged.
    pub fn with_logs<'a>(
        mut self,
        listed: impl Iterator<Item = &'a ListedLog>,
        open: impl Fn(&str) -> io::Result<File>,
    ) -> Self {
        let mut by_seat: Vec<(u32, u32)> = listed.map(|it| (it.seat, it.number)).collect();
        by_seat.sort_unstable();
        for logs in by_seat.chunk_by(|(one, _), (other, _)| one == other) {
            let number = logs[0].0;
            let at = number.checked_sub(1).and_then(|it| usize::try_from(it).ok());
            let Some(seat) = at.and_then(|it| self.seats.get_mut(it)) else { continue };
            let Some(known) = seat else { continue };
            let file = known.file.take().map_or_else(|| open(&state_name(number)), Ok);
            let Ok(file) = file else {
                *seat = None;
                continue;
            };
            let is_here = known.node == self.node;
            let mut lines = Lines::of(&file);
            for (_, log) in logs {
                if let Some(stamps) = lines.stamps(*log, is_here) {
                    self.logs.insert((number, *log), stamps);
                }
            }
        }
        self
    }

    /// Returns those of a small container: nobody shares anything.
    pub(crate) fn none(node: Id) -> Self {
        States { node, seats: Vec::new(), logs: HashMap::new() }
    }

    /// Returns how many logs must be listed.
    pub fn logs(&self) -> u64 {
        let of = |it: &SeatHead| if it.node == self.node { it.logs } else { it.durable_logs };
        self.seats.iter().flatten().map(of).max().unwrap_or(0)
    }

    /// Returns a stamp that is later than all that was written.
    pub fn next(&self) -> u64 {
        self.seats.iter().flatten().map(|it| it.sequence).max().unwrap_or_default()
    }

    /// Returns whether there are no more stamps, so that nobody can write.
    pub fn are_used_up(&self) -> bool {
        self.next() >= SEQUENCE_MAX
    }

    /// Returns the last stamps of a log of this seat; `None` if there are none, so that nothing is known of the log, or if they were not read.
    pub fn last(&self, seat: u32, log: u32) -> Option<LastStamps> {
        self.logs.get(&(seat, log)).copied()
    }
}

impl SeatHead {
    /// Reads the first page; `None` if it is not whole.
    fn read(file: File) -> Option<Self> {
        let mut page = [0; PAGE_BYTES as usize];
        let is_whole = read_page(&file, &mut page, 0).ok()? == page.len();
        let is_too_long = file.metadata().ok()?.len() > STATE_BYTES_MAX;
        let copy = StateCopy::decode(&page).filter(|_| is_whole && !is_too_long)?;
        let word = |at: usize| copy.words.get(at / 8).copied();
        Some(SeatHead {
            node: copy.node(),
            logs: word(LOGS_AT)?,
            durable_logs: word(DURABLE_LOGS_AT)?,
            sequence: copy.sequence(),
            file: Some(file),
        })
    }
}

/// The lines of logs in a file, of which a page is kept: those of a node's logs are mostly side by side.
struct Lines<'a> {
    file: &'a File,
    page: [u8; PAGE_BYTES as usize],
    /// Where the page is in the file, and how much of it there is.
    kept: Option<(u64, usize)>,
}

impl<'a> Lines<'a> {
    fn of(file: &'a File) -> Self {
        Lines { file, page: [0; PAGE_BYTES as usize], kept: None }
    }

    /// Returns the last stamps of a log; `None` if the file ends before.
    fn stamps(&mut self, log: u32, is_here: bool) -> Option<LastStamps> {
        let line = PAGE_BYTES + LINE_BYTES as u64 * u64::from(log);
        let begin = line - line % PAGE_BYTES;
        if self.kept.is_none_or(|(at, _)| at != begin) {
            self.kept = None;
            let got = read_page(self.file, &mut self.page, begin).ok()?;
            self.kept = Some((begin, got));
        }
        let (_, got) = self.kept?;
        let line = (line - begin) as usize;
        let word = |at: usize| -> Option<u64> {
            let bytes = self.page.get(..got)?.get(line + at..)?.first_chunk()?;
            Some(u64::from_le_bytes(*bytes))
        };
        Some(LastStamps {
            intended: word(INTENDED)?,
            published: word(PUBLISHED)?,
            durable: word(DURABLE)?,
            is_here,
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

fn read_page(file: &File, page: &mut [u8], begin: u64) -> Result<usize, Errno> {
    let mut got = 0;
    while got < page.len() {
        match pread(file, &mut page[got..], begin + got as u64) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attack: hundreds of files that are nearly all hole, each with lines for all logs that there could be.
    #[test]
    fn only_the_lines_of_logs_that_are_listed_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for seat in 1..=SEATS_MAX {
            let file = File::create(folder.path().join(state_name(seat))).unwrap();
            std::io::Write::write_all(&mut &file, &MAGIC.to_le_bytes()).unwrap();
            file.set_len(STATE_BYTES_MAX).unwrap();
        }
        let open = |name: &str| File::open(folder.path().join(name));
        let states = States::read(Id::from_bytes([0; 16]), open);
        assert_eq!(states.seats.len(), SEATS_MAX as usize);
        let held =
            |states: &States| states.seats.iter().flatten().filter(|it| it.file.is_some()).count();
        assert_eq!(held(&states), FILES_MAX);
        let log = |number, seat| ListedLog { number, target: "t".into(), path: "/t".into(), seat };
        let listed = [log(0, 1), log(4095, 200), log(4096, 1), log(1, 257), log(2, 0)];
        let states = states.with_logs(listed.iter(), open);
        let none = LastStamps { intended: 0, published: 0, durable: 0, is_here: true };
        let last = listed.each_ref().map(|it| states.last(it.seat, it.number));
        assert_eq!(last, [Some(none), Some(none), None, None, None]);
        assert_eq!(states.logs.len(), 2);
    }
}
