//! Reads a container.

mod ahead;
mod compared_records;
mod copied;
mod end;
mod facts;
mod opening;
mod reading;
mod scanned;
mod settled;
mod small;
mod unstored;
mod usable_index;

pub use reading::Stretch;

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use crate::allowance::Allowance;
use crate::container::MANIFEST;
use crate::error::Attempt;
use crate::findings::{Change, Findings, Note, Record, Trouble};
use crate::index::IndexedLog;
use crate::index_entry::Extent;
use crate::index_file::{DamagedIndex, IndexFile};
use crate::lock::LockFile;
use crate::pieces::{Layer, Piece, Pieces, Source, Stamp};
use crate::read_log::{LogUse, ReadLog};
use crate::{Container, States, StowError};
use ahead::Ahead;
use compared_records::ComparedRecords;
use settled::Settled;
use usable_index::usable_index;

/// A reader of a container. It sees what was written until it was opened, or until [`Reader::refresh`].
pub struct Reader {
    container: Arc<Container>,
    logs: Vec<ReadLog>,
    /// What was there when the index was written.
    index: Result<IndexFile, String>,
    /// What was written since then, or everything.
    records: Vec<Record>,
    notes: Vec<Note>,
    pieces: Pieces,
    latest: Stamp,
    troubles: Vec<Trouble>,
    doubt: Option<Doubt>,
    allowance: Allowance,
    /// Looks that found something else than the one before.
    changes: u64,
    /// The same container without the index, once that is needed.
    scanned: OnceLock<Box<Reader>>,
    /// Held by who makes it: several at once would take so many times its memory.
    scanning: Mutex<()>,
    /// Records that were compared as a whole because parts of them were read.
    compared: ComparedRecords,
    /// How far the file was asked for that is read in order.
    ahead: Ahead,
    settled: Settled,
    /// While it is there, nobody gives room back.
    held: Option<LockFile>,
    /// Whether all is in the container's marker.
    is_small: bool,
}

/// Something may be missing: only what is later than all of it can be told.
#[derive(PartialEq, Eq)]
struct Doubt {
    last: u64,
    why: String,
}

impl Reader {
    /// Opens a container for reading. What its merged index says is not looked for in the logs, if it is that of the logs.
    ///
    /// # Errors
    /// If its manifest cannot be read. Logs that cannot be read fail only those reads that need them.
    pub fn open(container: Arc<Container>) -> Result<Self, StowError> {
        if let Some(reader) = Self::of_small(&container)? {
            return Ok(reader);
        }
        let held = container.hold_for_reading()?;
        let index = usable_index(&container);
        let mut reader = Self::new(container.clone(), index, held);
        reader.refresh()?;
        if let Ok(index) = &reader.index
            && let Some(why) = reader.contradiction(index)
        {
            let held = container.hold_for_reading()?;
            reader = Self::new(container, Err(why), held);
            reader.refresh()?;
        }
        Ok(reader)
    }

    /// Opens a container for reading, and looks for everything in the logs.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_scanned(container: Arc<Container>) -> Result<Self, StowError> {
        let memory = container.memory_max();
        Self::open_scanned_within(container, memory)
    }

    fn new(
        container: Arc<Container>,
        index: Result<IndexFile, String>,
        held: Option<LockFile>,
    ) -> Self {
        let (mut pieces, mut latest) = (Pieces::default(), Stamp::default());
        if let Ok(index) = &index {
            latest = index.head().stamp;
            pieces.begin_with_size(index.head().size, latest);
        }
        Reader {
            allowance: Allowance::of(container.memory_max()),
            container,
            logs: Vec::new(),
            index,
            records: Vec::new(),
            notes: Vec::new(),
            pieces,
            latest,
            troubles: Vec::new(),
            doubt: None,
            changes: 0,
            scanned: OnceLock::new(),
            scanning: Mutex::new(()),
            compared: ComparedRecords::default(),
            ahead: Ahead::new(),
            settled: Settled::default(),
            held,
            is_small: false,
        }
    }

    /// Adds what was written since.
    ///
    /// # Errors
    /// If the manifest cannot be read, or if all there is takes more memory than [`Container::within_memory`] allows.
    pub fn refresh(&mut self) -> Result<(), StowError> {
        if self.is_small {
            return self.refresh_small();
        }
        let has_troubles = !self.troubles.is_empty() && self.may_have_come();
        if has_troubles || self.allowance.used_up().is_some() {
            // Of what another node wrote, some may not have been there yet; or not all was kept that was found.
            let index = std::mem::replace(&mut self.index, Err(String::new()));
            let anew = Self::new(self.container.clone(), index, self.held.take());
            let settled = std::mem::take(&mut self.settled);
            *self = Reader { changes: self.changes, settled, ..anew };
        }
        // Looked at first: what was published by then must be found.
        self.allowance.begin_look(self.container.patience());
        let states = self.container.states();
        let listed = self.container.logs()?;
        let must_be = states.logs();
        if (listed.len() as u64) < must_be {
            let why = format!("it lists {} of {must_be} logs", listed.len());
            return Err(StowError::Damaged { path: self.container.path().join(MANIFEST), why });
        }
        self.container.require_within_logs(listed.len())?;
        let states = self.container.states_of(states, listed.iter());
        self.add_listed(listed)?;
        self.open_logs()?;
        let mut targets = self.logs.iter().map(|it| it.listed.target.as_str());
        if targets.next().is_some_and(|first| targets.any(|it| it != first)) {
            self.ahead.set_useful();
        }
        let mut findings = Findings::default();
        for log in &mut self.logs {
            if let Ok(scan) = &mut log.scan
                && let Err(errno) =
                    scan.look(self.container.node(), &mut self.allowance, &mut findings)
            {
                log.scan = Err(errno.to_string());
                // Not what is lost, but what may not be read here: the size would be wrong, which is told to whoever only looks.
                if let Some(why) = self.allowance.used_up() {
                    return Err(why).attempt("read all of", self.container.path());
                }
            }
            let last = states.last(log.listed.seat, log.listed.number);
            let must_have = last.map_or(0, |it| it.must_have());
            log.is_short = log.scan.as_ref().is_ok_and(|it| it.highest() < must_have);
        }
        let is_news = !findings.is_empty();
        self.add(findings);
        self.note_what_was_read();
        let doubt = self.doubt(&states);
        if is_news || doubt != self.doubt {
            self.changes += 1;
            self.scanned = OnceLock::new();
        }
        self.doubt = doubt;
        Ok(())
    }

    /// Returns why the index is not that of the logs; `None` if it is.
    fn contradiction(&self, index: &IndexFile) -> Option<String> {
        let logs = &index.head().logs;
        if logs.len() > self.logs.len() {
            return Some(format!(
                "it knows {} logs, and {} are listed",
                logs.len(),
                self.logs.len()
            ));
        }
        let mut logs = self.logs.iter().zip(logs);
        logs.find_map(|(log, known)| {
            let size = log.scan.as_ref().ok().and_then(|it| it.log().size().ok())?;
            (size < known.size)
                .then(|| format!("log {} is shorter than it says", log.listed.number))
        })
    }

    fn add(&mut self, findings: Findings) {
        self.troubles.extend(findings.troubles);
        let records = findings.records.iter().map(|it| it.stamp);
        let found = records.chain(findings.notes.iter().map(|it| it.stamp)).max();
        self.latest = self.latest.max(found.unwrap_or_default());
        // A container has less than this many: more would take hundreds of gigabytes here.
        let most = u32::MAX as usize - self.records.len();
        let (first, notes) = (self.records.len(), findings.notes);
        self.records.extend(findings.records.into_iter().take(most));
        let records = &self.records[first..];
        let layer = |number: usize| match records.get(number) {
            Some(it) => Layer::new(it.range(), it.stamp, Source::Record((first + number) as u32)),
            None => notes[number - records.len()].layer(),
        };
        let truncated = notes.iter().filter_map(|it| match it.change {
            Change::Truncate(size) => Some((it.stamp, size)),
            Change::Punch(..) => None,
        });
        self.pieces.add(records.len() + notes.len(), layer, truncated.max());
        self.notes.extend(notes);
    }

    /// What cannot be read may have been written over anything that is older.
    fn doubt(&self, states: &States) -> Option<Doubt> {
        let listed = |log: u32| self.logs.get(log as usize).map(|it| &it.listed);
        let last = |log: u32| listed(log).and_then(|it| states.last(it.seat, it.number));
        let intended = |log: u32| last(log).map_or(u64::MAX, |it| it.intended);
        // The index tells all that was in a log until then.
        let is_known =
            |log: u32| known_of(&self.index, log).is_some_and(|it| it.intended == intended(log));
        let missing = self
            .logs
            .iter()
            .filter_map(|log| Some((log.listed.number, log.problem()?.to_string())))
            .filter(|(log, _)| !is_known(*log));
        let damaged = self.troubles.iter().filter_map(|trouble| match trouble {
            Trouble::Damaged { log, position } => {
                Some((*log, format!("it is damaged at byte {position}")))
            }
            Trouble::Dropped { .. } | Trouble::Headless { .. } => None,
        });
        let mut doubt: Option<Doubt> = None;
        for (log, cause) in missing.chain(damaged) {
            let last = intended(log);
            let why = || format!("{}: {cause}", self.name_of(log));
            let so_far = doubt.get_or_insert_with(|| Doubt { last, why: why() });
            so_far.last = so_far.last.max(last);
        }
        doubt
    }

    /// Returns whether something that cannot be read may be later than a piece.
    fn is_doubtful(&self, piece: Option<Piece>) -> bool {
        let known = self.index.as_ref().ok().map(|it| it.head().stamp);
        let stamp = piece.map(|it| it.stamp).or(known);
        self.doubt.as_ref().is_some_and(|doubt| stamp.is_none_or(|it| it.sequence <= doubt.last))
    }

    /// Returns the bytes of the merged index that is used, or why none is.
    pub fn index(&self) -> Result<u64, &str> {
        self.index.as_ref().map(IndexFile::bytes).map_err(String::as_str)
    }

    /// Returns the container.
    pub fn container(&self) -> &Arc<Container> {
        &self.container
    }

    /// Returns the parts of the file that cannot be read, as far as its size is known, and why.
    pub fn lost(&self) -> Vec<(Range<u64>, &str)> {
        let Some(doubt) = &self.doubt else { return Vec::new() };
        let mut lost: Vec<(Range<u64>, &str)> = Vec::new();
        for (range, piece) in self.pieces.of(0..self.size()) {
            if !self.is_doubtful(piece) {
                continue;
            }
            match lost.last_mut() {
                Some((last, _)) if last.end == range.start => last.end = range.end,
                _ => lost.push((range, &doubt.why)),
            }
        }
        lost
    }

    /// Returns whether any byte of a record is still seen.
    pub fn shows(&self, record: &Record) -> bool {
        let is_it = |piece: &Piece| match piece.source {
            Source::Record(number) => self.records[number as usize] == *record,
            Source::Hole => false,
        };
        let end = record.range().end.min(self.size()).max(record.offset);
        self.pieces.of(record.offset..end).any(|(_, piece)| piece.as_ref().is_some_and(is_it))
    }

    /// Returns all records that were found in the logs, also those that others have covered: all there are, of a reader that
    /// was opened without an index.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the pieces of which the file consists, those in the index not included.
    pub fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// Returns what does not count, and why.
    pub fn troubles(&self) -> &[Trouble] {
        &self.troubles
    }

    /// Returns all that was found in the logs and has no bytes.
    pub(crate) fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Returns the logs, as they were read.
    pub(crate) fn read_logs(&self) -> &[ReadLog] {
        &self.logs
    }

    /// Returns the stamp of what was written last.
    pub(crate) fn latest(&self) -> Stamp {
        self.latest
    }

    /// Returns whether something is missing, so that not all can be told.
    pub(crate) fn has_doubts(&self) -> bool {
        self.doubt.is_some()
    }

    /// Returns where all bytes of the file lie that are not in holes, in the order of the file.
    ///
    /// # Errors
    /// If the index is not what was written.
    pub(crate) fn extents(&self) -> Result<Vec<Extent>, DamagedIndex> {
        let mut extents = Vec::new();
        for (range, piece) in self.pieces.of(0..self.size()) {
            match (piece.map(|it| it.source), &self.index) {
                (Some(Source::Record(number)), _) => {
                    extents.push(self.records[number as usize].cut(&range));
                }
                (None, Ok(index)) => extents.extend(index.of(range)?),
                (Some(Source::Hole), _) | (None, Err(_)) => {}
            }
        }
        Ok(extents)
    }

    /// Returns what is in each log. Segments that are in the index were not looked at and are not counted.
    pub fn logs(&self) -> Vec<LogUse<'_>> {
        let mut live = vec![0; self.logs.len()];
        for extent in self.extents().unwrap_or_default() {
            if let Some(bytes) = live.get_mut(extent.log as usize) {
                *bytes += extent.length;
            }
        }
        self.logs.iter().zip(live).map(|(log, live)| log.used(live)).collect()
    }
}

/// Returns what an index that is used knows of a log.
fn known_of(index: &Result<IndexFile, String>, log: u32) -> Option<IndexedLog> {
    index.as_ref().ok()?.head().logs.get(log as usize).copied()
}
