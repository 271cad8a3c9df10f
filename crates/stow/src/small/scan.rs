//! Reads what the entries of a small file say.

use rustix::io::Errno;

use super::MARKER_BYTES_MAX;
use super::entry::{EntryKind, HEADER_BYTES, SmallEntry};
use super::head::{Head, RECORDS_FROM};
use crate::findings::{Change, Findings, Note, Record, Trouble};
use crate::log::Log;
use crate::pieces::Stamp;

/// The log that a marker is to those who read it: the only one.
const LOG: u32 = 0;
/// Small files are of one node.
const SEAT: u32 = 1;

/// How far the entries of a marker were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Where the next one begins.
    pub position: u64,
    /// The number of the last one.
    pub sequence: u64,
}

impl Default for Place {
    fn default() -> Self {
        Place { position: RECORDS_FROM, sequence: 0 }
    }
}

/// Adds what was written since, and moves on.
///
/// # Errors
/// If the marker cannot be read.
pub fn look(log: &Log, place: &mut Place, findings: &mut Findings) -> Result<(), Errno> {
    let size = usize::try_from(log.size()?.min(MARKER_BYTES_MAX)).unwrap_or(0);
    let mut bytes = vec![0; size];
    let count = log.read(&mut bytes, 0)?;
    bytes.truncate(count);
    match Head::decode(&bytes) {
        Some(head) => read(&bytes, head.durable, place, findings),
        // It is one that became large meanwhile, or somebody damaged it.
        None => findings.troubles.push(Trouble::Damaged { log: LOG, position: 0 }),
    }
    Ok(())
}

/// Reads the entries of a whole marker from a place on. What is not whole at the end is not there yet, or was never written.
pub fn read(marker: &[u8], durable: u64, place: &mut Place, findings: &mut Findings) {
    while let Some(entry) = entry_at(marker, *place) {
        let position = place.position + HEADER_BYTES as u64;
        let stamp = Stamp { sequence: entry.sequence, seat: SEAT };
        let (log, word_at) = (LOG, place.position);
        let bytes = bytes_of(marker, &entry, position);
        let Some(bytes) = bytes else { break };
        match entry.kind {
            EntryKind::Void => {}
            _ if !entry.is_of(bytes) && word_at < durable => {
                findings.troubles.push(Trouble::Damaged { log, position: word_at });
            }
            _ if !entry.is_of(bytes) => {
                let range = entry.offset..entry.offset + u64::from(entry.length);
                findings.troubles.push(Trouble::Dropped { log, range: Some(range), word_at });
            }
            EntryKind::Write => findings.records.push(Record {
                log,
                position,
                offset: entry.offset,
                length: entry.length,
                stamp,
                checksum: entry.checksum,
                word_at,
            }),
            EntryKind::Truncate => {
                let change = Change::Truncate(entry.offset);
                findings.notes.push(Note { stamp, change, log, word_at });
            }
        }
        *place = Place { position: place.position + entry.room(), sequence: entry.sequence };
    }
    if place.position < durable {
        findings.troubles.push(Trouble::Damaged { log: LOG, position: place.position });
    }
}

fn entry_at(marker: &[u8], place: Place) -> Option<SmallEntry> {
    let header = marker.get(usize::try_from(place.position).ok()?..)?;
    let entry = SmallEntry::decode(header, place.position)?;
    (Some(entry.sequence) == place.sequence.checked_add(1)).then_some(entry)
}

fn bytes_of<'a>(marker: &'a [u8], entry: &SmallEntry, position: u64) -> Option<&'a [u8]> {
    marker.get(usize::try_from(position).ok()?..)?.get(..entry.length as usize)
}

/// Returns the size of a file after what was found, in the order of its stamps.
pub fn size_after(size: u64, findings: &Findings) -> u64 {
    let truncated = findings.notes.iter().filter_map(|it| match it.change {
        Change::Truncate(size) => Some((it.stamp, size)),
        Change::Punch(..) => None,
    });
    let last = truncated.max_by_key(|it| it.0);
    let written = findings.records.iter();
    let later = written.filter(|it| last.is_none_or(|(stamp, _)| it.stamp > stamp));
    later.map(|it| it.range().end).fold(last.map_or(size, |it| it.1), u64::max)
}
