//! Reads bytes of a container.

use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::ops::Range;

use rustix::io::Errno;

use super::Reader;
use crate::StowError;
use crate::findings::Record;
use crate::index_entry::Extent;
use crate::index_file::{DamagedIndex, Lay};
use crate::log::Log;
use crate::pieces::Source;
use crate::strands::PART_BYTES_MAX;

/// Most parts that one system call fills (IOV_MAX, limits.h).
const PARTS_MAX: usize = 1024;

/// From so many parts on, they are told apart by log before they are put in order.
const MANY_PARTS: usize = 32;

impl Reader {
    /// Reads from this offset on, until the bytes are full or the file ends; returns how many there are.
    ///
    /// # Errors
    /// If a part cannot be read: nothing else is returned in its place.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize, StowError> {
        self.ask_ahead(offset..offset.saturating_add(bytes.len() as u64));
        if self.read_within_part(bytes, offset).is_some() {
            return Ok(bytes.len());
        }
        let most = self.index.as_ref().map_or(usize::MAX, |it| it.bytes_at_a_time());
        let mut length = 0;
        for some in bytes.chunks_mut(most) {
            let wanted = some.len();
            let got = self.read_some_at(some, offset + length as u64)?;
            length += got;
            if got < wanted {
                break;
            }
        }
        Ok(length)
    }

    fn read_some_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize, StowError> {
        let Some((parts, length)) = self.parts(bytes, offset)? else {
            return self.scanned()?.read_at(bytes, offset);
        };
        self.fill(parts)?;
        Ok(length)
    }

    /// Reads as [`Reader::read_at`] does, and compares every record that is touched with its checksum; one of which only a part is read,
    /// if that was not done before. These are in the logs
    /// only, so that a reader with an index reads all slot pages when this is first called.
    ///
    /// # Errors
    /// As there, and if a checksum differs.
    pub fn read_verified_at(&self, bytes: &mut [u8], offset: u64) -> Result<usize, StowError> {
        if self.index.is_ok() {
            return self.scanned()?.read_verified_at(bytes, offset);
        }
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
            // Whoever reads small parts of a long record would otherwise read all of it each time.
            if self.compared.has(number) {
                continue;
            }
            let record = &self.records[number as usize];
            if !record.is_of(&self.record_bytes(record)?) {
                return Err(self.differs(record, range));
            }
            self.compared.add(number);
        }
        Ok(length)
    }

    /// Returns how the file goes on from an offset: until where it is data, or a hole; `None` at its end. What cannot be read is
    /// data.
    ///
    /// # Errors
    /// If the manifest cannot be read.
    pub fn stretch_from(&self, offset: u64) -> Result<Option<Stretch>, StowError> {
        let reader = self.scanned()?;
        // The index may know of more than can be read.
        let end = reader.size().max(self.size());
        let mut stretch: Option<Stretch> = None;
        for (range, piece) in reader.pieces.of(offset..end.max(offset)) {
            let is_data = matches!(piece.map(|it| it.source), Some(Source::Record(_)));
            let is_hole = !is_data && !reader.is_doubtful(piece);
            let so_far = stretch.get_or_insert(Stretch { end: range.end, is_hole });
            if so_far.is_hole != is_hole {
                break;
            }
            so_far.end = range.end;
        }
        Ok(stretch)
    }

    /// Reads what lies in one place with one system call and no memory; `None` if it does not, or anything is in the way.
    fn read_within_part(&self, bytes: &mut [u8], offset: u64) -> Option<()> {
        if self.doubt.is_some() || bytes.is_empty() {
            return None;
        }
        let range = offset..offset.checked_add(bytes.len() as u64)?;
        if range.end > self.size() {
            return None;
        }
        let extent = self.extent_around(&range)?;
        let got = self.log_of(&extent)?.read_once(bytes, extent.position).ok()?;
        (got == bytes.len()).then_some(())
    }

    /// Returns where all bytes of a range lie that is not empty, if they lie in one place; no memory is needed for it.
    pub(super) fn extent_around(&self, range: &Range<u64>) -> Option<Extent> {
        match (self.pieces.around(range).map(|it| it.source), &self.index) {
            (Some(Source::Record(number)), _) => Some(self.records[number as usize].cut(range)),
            (None, Ok(index)) if self.pieces.is_gap(range) => index.around(range).ok()?,
            _ => None,
        }
    }

    /// Fills the bytes with one system call, and nothing else that waits, locks or needs memory, if all of them lie in one place that is known already. Returns
    /// false where that cannot be, or the call gives less: [`Reader::read_at`] finds out why.
    pub fn read_at_once(&self, bytes: &mut [u8], offset: u64) -> bool {
        let length = bytes.len();
        if self.doubt.is_some() || length == 0 {
            return false;
        }
        let Some(end) = offset.checked_add(length as u64) else { return false };
        let (range, size) = (offset..end, self.size());
        if end > size || self.ahead.to_look_at(&range, size).is_some() {
            return false;
        }
        let extent = match (self.pieces.around(&range).map(|it| it.source), &self.index) {
            (Some(Source::Record(number)), _) => {
                self.records.get(number as usize).map(|it| it.cut(&range))
            }
            (None, Ok(index)) if self.pieces.is_gap(&range) => index.around_known(&range),
            _ => None,
        };
        let Some(extent) = extent else { return false };
        let Some(log) = self.log_of(&extent) else { return false };
        self.ahead.note(&range, size);
        log.read_once(bytes, extent.position).is_ok_and(|got| got == length)
    }

    /// Returns the log that an extent lies in, if it can be read.
    pub(super) fn log_of(&self, extent: &Extent) -> Option<&Log> {
        Some(self.logs.get(extent.log as usize)?.scan.as_ref().ok()?.log())
    }

    /// Divides the buffer by where its parts come from; holes are filled at once. `None` if the index is damaged.
    fn parts<'a>(
        &self,
        bytes: &'a mut [u8],
        offset: u64,
    ) -> Result<Option<(Vec<Part<'a>>, usize)>, StowError> {
        let end = offset.saturating_add(bytes.len() as u64);
        // Where something is missing, nobody may know that the file ends here: what is behind is neither its end nor zeros.
        let known = if self.doubt_of_end().is_some() { u64::MAX } else { self.size() };
        let end = end.min(known);
        let length = end.saturating_sub(offset) as usize;
        let mut rest = &mut bytes[..length];
        let mut parts: Vec<Part> = Vec::new();
        for (range, piece) in self.pieces.of(offset..offset + length as u64) {
            let (part, behind) = rest.split_at_mut((range.end - range.start) as usize);
            rest = behind;
            if let Some(doubt) = &self.doubt {
                if self.is_doubtful(piece) {
                    return Err(self.unreadable(range, doubt.why.clone()));
                }
                if range.end > self.size() {
                    let behind = range.start.max(self.size())..range.end;
                    return Err(self.unreadable(behind, doubt.why.clone()));
                }
            }
            match (piece.map(|it| it.source), &self.index) {
                (Some(Source::Record(number)), _) => {
                    parts.push(Part {
                        extent: self.records[number as usize].cut(&range),
                        bytes: part,
                    });
                }
                (None, Ok(index)) => match index.lay_of(range.clone()) {
                    Ok(Lay::Strands(strands)) => {
                        strands.fill(part, |from, bytes| self.fill_from(from, bytes))?;
                    }
                    Ok(Lay::Parts(extents)) => divide(part, range.start, &extents, &mut parts),
                    Err(DamagedIndex) => return Ok(None),
                },
                (Some(Source::Hole), _) | (None, Err(_)) => part.fill(0),
            }
        }
        Ok(Some((parts, length)))
    }

    /// Reads the parts, with one system call for those that lie side by side in a log, wherever they are in the file.
    fn fill(&self, mut parts: Vec<Part>) -> Result<(), StowError> {
        if parts.len() < MANY_PARTS {
            parts.sort_unstable_by_key(|it| (it.extent.log, it.extent.position));
            return self.fill_in_order(&mut parts);
        }
        // Writers' strides have the parts of each log in order: sorting all of them would take longer than reading them.
        let mut by_log: Vec<Vec<Part>> = (0..=self.logs.len()).map(|_| Vec::new()).collect();
        for part in parts {
            // An index may name a log that is not there: those parts come last.
            by_log[(part.extent.log as usize).min(self.logs.len())].push(part);
        }
        for parts in &mut by_log {
            if !parts.is_sorted_by_key(|it| it.extent.position) {
                parts.sort_unstable_by_key(|it| it.extent.position);
            }
            self.fill_in_order(parts)?;
        }
        Ok(())
    }

    fn fill_in_order(&self, parts: &mut [Part]) -> Result<(), StowError> {
        let joins = |before: &Part, next: &Part| {
            let (before, next) = (before.extent, next.extent);
            before.log == next.log && before.position + before.length == next.position
        };
        for group in parts.chunk_by_mut(joins) {
            for some in group.chunks_mut(PARTS_MAX) {
                self.fill_side_by_side(some)?;
            }
        }
        Ok(())
    }

    fn fill_side_by_side(&self, parts: &mut [Part]) -> Result<(), StowError> {
        let Some(Extent { log, position, .. }) = parts.first().map(|it| it.extent) else {
            return Ok(());
        };
        let starts = parts.iter().map(|it| it.extent.start);
        let start = starts.min().unwrap_or_default();
        let end = parts.iter().map(|it| it.extent.end()).max().unwrap_or_default();
        let from = Extent { start, length: end - start, log, position };
        let bytes: usize = parts.iter().map(|it| it.bytes.len()).sum();
        if bytes > PART_BYTES_MAX as usize * parts.len() || parts.len() == 1 {
            let mut slices: Vec<IoSliceMut> =
                parts.iter_mut().map(|it| IoSliceMut::new(it.bytes)).collect();
            return self.fill_slices(from, &mut slices);
        }
        // Short parts take the kernel longer than reading them together and spreading them.
        let mut together = vec![0; bytes];
        self.fill_from(from, &mut together)?;
        let mut rest = &together[..];
        for part in parts {
            let (bytes, behind) = rest.split_at(part.bytes.len());
            part.bytes.copy_from_slice(bytes);
            rest = behind;
        }
        Ok(())
    }

    /// Fills the bytes with what is in a log from a place on.
    fn fill_from(&self, from: Extent, bytes: &mut [u8]) -> Result<(), StowError> {
        self.fill_slices(from, &mut [IoSliceMut::new(bytes)])
    }

    /// Fills all slices, one behind the other, with what is in a log from a place on: bytes of this range of the file.
    fn fill_slices(&self, from: Extent, mut left: &mut [IoSliceMut<'_>]) -> Result<(), StowError> {
        let failed =
            |why: &str| self.unreadable(from.range(), format!("{}: {why}", self.name_of(from.log)));
        let log = match self.logs.get(from.log as usize).map(|it| &it.scan) {
            Some(Ok(scan)) => scan.log(),
            Some(Err(why)) => return Err(failed(why)),
            None => return Err(failed("it is not listed")),
        };
        let mut position = from.position;
        while !left.is_empty() {
            match log.read_slices(left, position) {
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

    pub(crate) fn differs(&self, record: &Record, range: Range<u64>) -> StowError {
        let why = format!("{}: its checksum differs", self.name_of(record.log));
        self.unreadable(range, why)
    }

    fn unreadable(&self, range: Range<u64>, why: String) -> StowError {
        StowError::Unreadable { path: self.container.path().into(), range, why }
    }

    /// Reads all bytes of a record.
    ///
    /// # Errors
    /// If its log cannot be read.
    pub fn record_bytes(&self, record: &Record) -> Result<Vec<u8>, StowError> {
        let mut bytes = vec![0; record.length as usize];
        self.fill(vec![Part { extent: record.cut(&record.range()), bytes: &mut bytes }])?;
        Ok(bytes)
    }
}

/// A part of a file that is all data, or all a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Where it ends.
    pub end: u64,
    /// Whether nothing was written there.
    pub is_hole: bool,
}

/// A part of a buffer, and where its bytes are.
struct Part<'a> {
    extent: Extent,
    bytes: &'a mut [u8],
}

/// Divides a buffer that begins at an offset of the file; what is between the extents are holes.
fn divide<'a>(bytes: &'a mut [u8], offset: u64, extents: &[Extent], parts: &mut Vec<Part<'a>>) {
    let (mut rest, mut next) = (bytes, offset);
    for extent in extents {
        let (hole, behind) = rest.split_at_mut((extent.start - next) as usize);
        hole.fill(0);
        let (part, behind) = behind.split_at_mut(extent.length as usize);
        parts.push(Part { extent: *extent, bytes: part });
        (rest, next) = (behind, extent.end());
    }
    rest.fill(0);
}
