//! Reads a container.

use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::{Errno, pread, preadv};

use crate::container::MANIFEST;
use crate::pieces::{Piece, Pieces, Source};
use crate::read_log::{LogUse, ReadLog};
use crate::scan::{Findings, LogScan, Record, Said, Trouble};
use crate::{Container, StateCopy, StowError};

/// Most parts that one system call fills (IOV_MAX, limits.h).
const PARTS_MAX: usize = 1024;

/// From so many parts on, they are told apart by log before they are put in order.
const MANY_PARTS: usize = 32;

/// A reader of a container. It sees what was written until it was opened, or until [`Reader::refresh`].
pub struct Reader {
    container: Arc<Container>,
    logs: Vec<ReadLog>,
    records: Vec<Record>,
    pieces: Pieces,
    troubles: Vec<Trouble>,
    doubt: Option<Doubt>,
}

/// Something may be missing: only what is later than all of it can be told.
struct Doubt {
    last: u64,
    why: String,
}

impl Doubt {
    fn covers(&self, piece: Option<Piece>) -> bool {
        piece.is_none_or(|it| it.stamp.sequence <= self.last)
    }
}

impl Reader {
    /// Opens a container for reading.
    ///
    /// # Errors
    /// If its manifest cannot be read. Logs that cannot be read fail only those reads that need them.
    pub fn open(container: Arc<Container>) -> Result<Self, StowError> {
        let mut reader = Reader {
            container,
            logs: Vec::new(),
            records: Vec::new(),
            pieces: Pieces::default(),
            troubles: Vec::new(),
            doubt: None,
        };
        reader.refresh()?;
        Ok(reader)
    }

    /// Adds what was written since.
    ///
    /// # Errors
    /// If the manifest cannot be read.
    pub fn refresh(&mut self) -> Result<(), StowError> {
        // Looked at first: what was published by then must be found.
        let state = self.container.state();
        let listed = self.container.logs()?;
        let is_here = state.as_ref().is_some_and(|it| it.node() == self.container.node());
        let must_be = state.as_ref().map_or(0, |it| it.logs(is_here));
        if (listed.len() as u64) < must_be {
            let why = format!("it lists {} of {must_be} logs", listed.len());
            return Err(StowError::Damaged { path: self.container.path().join(MANIFEST), why });
        }
        for listed in listed.into_iter().skip(self.logs.len()) {
            let scan = Err("it was not looked for".into());
            self.logs.push(ReadLog { listed, scan, is_short: false });
        }
        let mut findings = Findings::default();
        for log in &mut self.logs {
            if log.scan.is_err() {
                let opened = self.container.open_log(&log.listed, OFlags::RDONLY);
                log.scan = opened.map(LogScan::new).map_err(|cause| cause.to_string());
            }
            if let Ok(scan) = &mut log.scan
                && let Err(errno) = scan.look(self.container.node(), &mut findings)
            {
                log.scan = Err(errno.to_string());
            }
            let last = state.as_ref().and_then(|it| it.last(log.listed.number));
            let must_have = last.map_or(0, |it| if is_here { it.published } else { it.durable });
            log.is_short = log.scan.as_ref().is_ok_and(|it| it.highest() < must_have);
        }
        self.add(findings);
        self.doubt = self.doubt(state.as_ref());
        Ok(())
    }

    fn add(&mut self, findings: Findings) {
        self.troubles.extend(findings.troubles);
        for said in findings.said {
            match said {
                Said::Record(record) => {
                    let Ok(number) = u32::try_from(self.records.len()) else { return };
                    self.pieces.write(record.range(), record.stamp, number);
                    self.records.push(record);
                }
                Said::Truncate(stamp, size) => self.pieces.truncate(size, stamp),
                Said::Punch(stamp, offset, length) => {
                    self.pieces.punch(offset..offset + length, stamp);
                }
            }
        }
    }

    /// What cannot be read may have been written over anything that is older.
    fn doubt(&self, state: Option<&StateCopy>) -> Option<Doubt> {
        let missing = self
            .logs
            .iter()
            .filter_map(|log| Some((log.listed.number, log.problem()?.to_string())));
        let damaged = self.troubles.iter().filter_map(|trouble| match trouble {
            Trouble::Damaged { log, position } => {
                Some((*log, format!("it is damaged at byte {position}")))
            }
            Trouble::Dropped { .. } | Trouble::Headless { .. } => None,
        });
        let mut doubt: Option<Doubt> = None;
        for (log, cause) in missing.chain(damaged) {
            let last = state.and_then(|it| it.last(log));
            let last = last.map_or(u64::MAX, |it| it.intended);
            let why = || format!("{}: {cause}", self.name_of(log));
            let so_far = doubt.get_or_insert_with(|| Doubt { last, why: why() });
            so_far.last = so_far.last.max(last);
        }
        doubt
    }

    /// Returns the size of the file, as far as its logs can be read.
    pub fn size(&self) -> u64 {
        self.pieces.size()
    }

    /// Reads from this offset on, until the bytes are full or the file ends; returns how many there are.
    ///
    /// # Errors
    /// If a part cannot be read: nothing else is returned in its place.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize, StowError> {
        if self.read_within_record(bytes, offset).is_some() {
            return Ok(bytes.len());
        }
        let (parts, length) = self.parts(bytes, offset)?;
        self.fill(parts)?;
        Ok(length)
    }

    /// Reads as [`Reader::read_at`] does, and compares every record that is touched with its checksum.
    ///
    /// # Errors
    /// As there, and if a checksum differs.
    pub fn read_verified_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize, StowError> {
        let length = self.read_at(bytes, offset)?;
        let mut in_parts: BTreeMap<u32, Range<u64>> = BTreeMap::new();
        for (range, piece) in self.pieces.of(offset..offset + length as u64) {
            let Some(Source::Record(number)) = piece.map(|it| it.source) else { continue };
            let record = &self.records[number as usize];
            if range != record.range() {
                in_parts.entry(number).or_insert(range);
                continue;
            }
            let (start, end) = (range.start - offset, range.end - offset);
            if !record.is_of(&bytes[start as usize..end as usize]) {
                return Err(self.differs(record, range));
            }
        }
        for (number, range) in in_parts {
            let record = &self.records[number as usize];
            if !record.is_of(&self.record_bytes(record)?) {
                return Err(self.differs(record, range));
            }
        }
        Ok(length)
    }

    /// Reads what comes of one record with one system call and no memory; `None` if it does not, or anything is in the way.
    fn read_within_record(&self, bytes: &mut [u8], offset: u64) -> Option<()> {
        let piece = self.pieces.around(offset, bytes.len() as u64)?;
        let Source::Record(number) = piece.source else { return None };
        let record = &self.records[number as usize];
        let log = self.logs.get(record.log as usize)?.scan.as_ref().ok()?.log();
        if self.doubt.is_some() {
            return None;
        }
        let got = pread(log, &mut *bytes, record.position + (offset - record.offset)).ok()?;
        (got == bytes.len()).then_some(())
    }

    /// Divides the buffer by where its parts come from; holes are filled at once.
    fn parts<'a>(
        &'a self,
        bytes: &'a mut [u8],
        offset: u64,
    ) -> Result<(Vec<Part<'a>>, usize), StowError> {
        let end = offset.saturating_add(bytes.len() as u64);
        // Where something is missing, nobody knows that the file ends here.
        let end = if self.doubt.is_some() { end } else { end.min(self.size()) };
        let length = end.saturating_sub(offset) as usize;
        let mut rest = &mut bytes[..length];
        let mut parts: Vec<Part> = Vec::new();
        for (range, piece) in self.pieces.of(offset..offset + length as u64) {
            let (part, behind) = rest.split_at_mut((range.end - range.start) as usize);
            rest = behind;
            if let Some(doubt) = &self.doubt
                && doubt.covers(piece)
            {
                return Err(self.unreadable(range, doubt.why.clone()));
            }
            match piece.map(|it| it.source) {
                Some(Source::Record(number)) => {
                    let record = &self.records[number as usize];
                    parts.push(Part { record, from: range.start - record.offset, bytes: part });
                }
                Some(Source::Hole) | None => part.fill(0),
            }
        }
        Ok((parts, length))
    }

    /// Reads the parts, with one system call for those that lie side by side in a log, wherever they are in the file.
    fn fill(&self, mut parts: Vec<Part>) -> Result<(), StowError> {
        if parts.len() < MANY_PARTS {
            parts.sort_unstable_by_key(|it| (it.record.log, it.position()));
            return self.fill_in_order(&mut parts);
        }
        // Writers' strides have the parts of each log in order: sorting all of them would take longer than reading them.
        let mut by_log: Vec<Vec<Part>> = (0..self.logs.len()).map(|_| Vec::new()).collect();
        for part in parts {
            by_log[part.record.log as usize].push(part);
        }
        for parts in &mut by_log {
            if !parts.is_sorted_by_key(Part::position) {
                parts.sort_unstable_by_key(Part::position);
            }
            self.fill_in_order(parts)?;
        }
        Ok(())
    }

    fn fill_in_order(&self, parts: &mut [Part]) -> Result<(), StowError> {
        let joins = |before: &Part, next: &Part| {
            before.record.log == next.record.log
                && before.position() + before.bytes.len() as u64 == next.position()
        };
        for group in parts.chunk_by_mut(joins) {
            for some in group.chunks_mut(PARTS_MAX) {
                self.fill_side_by_side(some)?;
            }
        }
        Ok(())
    }

    fn fill_side_by_side(&self, parts: &mut [Part]) -> Result<(), StowError> {
        let Some(first) = parts.first() else { return Ok(()) };
        let (number, mut position) = (first.record.log, first.position());
        let (start, last) = (first.range(), parts.last().map(|it| it.range()));
        let failed = |why: &str| {
            let end = last.as_ref().map_or(start.end, |it| it.end.max(start.end));
            let begin = last.as_ref().map_or(start.start, |it| it.start.min(start.start));
            self.unreadable(begin..end, format!("{}: {why}", self.name_of(number)))
        };
        let scan = self.logs.get(number as usize).map(|it| &it.scan);
        let log = match scan {
            Some(Ok(scan)) => scan.log(),
            Some(Err(why)) => return Err(failed(why)),
            None => return Err(failed("it is not listed")),
        };
        let mut slices: Vec<IoSliceMut> =
            parts.iter_mut().map(|it| IoSliceMut::new(it.bytes)).collect();
        let mut left = &mut slices[..];
        while !left.is_empty() {
            match preadv(log, left, position) {
                Ok(0) => return Err(failed("the log is cut short")),
                Ok(count) => {
                    position += count as u64;
                    IoSliceMut::advance_slices(&mut left, count);
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(&errno.to_string())),
            }
        }
        Ok(())
    }

    fn differs(&self, record: &Record, range: Range<u64>) -> StowError {
        let why = format!("{}: its checksum differs", self.name_of(record.log));
        self.unreadable(range, why)
    }

    fn unreadable(&self, range: Range<u64>, why: String) -> StowError {
        StowError::Unreadable { path: self.container.path().into(), range, why }
    }

    fn name_of(&self, log: u32) -> String {
        let target = self.logs.get(log as usize).map_or("?", |it| it.listed.target.as_str());
        format!("log {log} on target {target}")
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
            if !doubt.covers(piece) {
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

    /// Returns all records, also those that others have covered.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the pieces of which the file consists.
    pub fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// Returns what does not count, and why.
    pub fn troubles(&self) -> &[Trouble] {
        &self.troubles
    }

    /// Returns what is in each log.
    pub fn logs(&self) -> Vec<LogUse<'_>> {
        let mut live = vec![0; self.logs.len()];
        for (range, piece) in self.pieces.of(0..self.size()) {
            if let Some(Source::Record(number)) = piece.map(|it| it.source)
                && let Some(bytes) = live.get_mut(self.records[number as usize].log as usize)
            {
                *bytes += range.end - range.start;
            }
        }
        self.logs.iter().zip(live).map(|(log, live)| log.used(live)).collect()
    }

    /// Reads all bytes of a record.
    ///
    /// # Errors
    /// If its log cannot be read.
    pub fn record_bytes(&self, record: &Record) -> Result<Vec<u8>, StowError> {
        let mut bytes = vec![0; record.length as usize];
        self.fill(vec![Part { record, from: 0, bytes: &mut bytes }])?;
        Ok(bytes)
    }
}

/// A part of a buffer that comes from a record.
struct Part<'a> {
    record: &'a Record,
    /// How many bytes of the record are before it.
    from: u64,
    bytes: &'a mut [u8],
}

impl Part<'_> {
    fn position(&self) -> u64 {
        self.record.position + self.from
    }

    fn range(&self) -> Range<u64> {
        let start = self.record.offset + self.from;
        start..start + self.bytes.len() as u64
    }
}
