//! Which segments still say anything that counts.

use std::collections::{HashMap, HashSet};

use crate::Reader;
use crate::findings::{Note, Record};
use crate::index_entry::Extent;
use crate::pieces::{Source, Stamp};
use crate::scan::SegmentSpan;

/// A segment, with what of it counts.
#[derive(Debug)]
pub struct LiveSegment {
    /// Where it is.
    pub span: SegmentSpan,
    /// The parts of its records that are seen, and when they were written.
    pub seen: Vec<(Record, Extent)>,
    /// Its notes that hide something.
    pub notes: Vec<Note>,
    /// Whether the size of the file comes from it, although nothing of it is seen.
    pub keeps_size: bool,
}

impl LiveSegment {
    /// Returns whether nothing changes without it.
    pub fn is_dead(&self) -> bool {
        self.seen.is_empty() && self.notes.is_empty() && !self.keeps_size
    }

    /// Returns how many of its bytes are seen.
    pub fn seen_bytes(&self) -> u64 {
        self.seen.iter().map(|(_, part)| part.length).sum()
    }
}

/// Returns all segments of a container that are in use, log by log. The reader must have looked at all of them.
pub fn live_segments(reader: &Reader) -> Vec<Vec<LiveSegment>> {
    let live = |span: &SegmentSpan| LiveSegment {
        span: *span,
        seen: Vec::new(),
        notes: Vec::new(),
        keeps_size: false,
    };
    let spans = |scan: &crate::scan::LogScan| scan.segments().iter().map(live).collect();
    let logs = reader.read_logs().iter();
    let mut logs: Vec<Vec<LiveSegment>> =
        logs.map(|log| log.scan.as_ref().map_or_else(|_| Vec::new(), spans)).collect();
    let mut holes: HashSet<(u32, u64)> = HashSet::new();
    let mut reach = 0;
    for (range, piece) in reader.pieces().of(0..u64::MAX) {
        let Some(piece) = piece else { continue };
        match piece.source {
            Source::Record(number) => {
                let record = reader.records()[number as usize];
                reach = reach.max(range.end);
                if let Some(it) = segment_of(&mut logs, record.log, record.position) {
                    it.seen.push((record, record.cut(&range)));
                }
            }
            Source::Hole => drop(holes.insert(key(piece.stamp))),
        }
    }
    for note in last_notes(reader.notes()).into_values().filter(|it| holes.contains(&key(it.stamp)))
    {
        if let Some(it) = segment_of(&mut logs, note.log, note.word_at) {
            it.notes.push(*note);
        }
    }
    let (_, truncated) = reader.pieces().truncated();
    if reach.max(truncated) < reader.size() {
        for record in reader.records().iter().filter(|it| it.range().end >= reader.size()) {
            if let Some(it) = segment_of(&mut logs, record.log, record.position) {
                it.keeps_size = true;
            }
        }
    }
    logs
}

/// Of notes that were copied, only the last one counts.
fn last_notes(notes: &[Note]) -> HashMap<(u32, u64), &Note> {
    let mut last: HashMap<(u32, u64), &Note> = HashMap::new();
    for note in notes {
        let place = |it: &Note| (it.log, it.word_at);
        let so_far = last.entry(key(note.stamp)).or_insert(note);
        if place(so_far) < place(note) {
            *so_far = note;
        }
    }
    last
}

fn key(stamp: Stamp) -> (u32, u64) {
    (stamp.seat, stamp.sequence)
}

fn segment_of(logs: &mut [Vec<LiveSegment>], log: u32, position: u64) -> Option<&mut LiveSegment> {
    let segments = logs.get_mut(log as usize)?;
    let behind = segments.partition_point(|it| it.span.header.position <= position);
    segments.get_mut(behind.checked_sub(1)?)
}
