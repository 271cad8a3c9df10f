//! Gives back the room of segments that do not count any more, and copies what counts out of those that are mostly empty.
//!
//! Nothing is lost by a kill between any two steps. Copies have the stamps of what they are copies of, so that it does not matter
//! which of both is seen; they are durable before a segment is marked as free, and the mark is durable before the room is given
//! back. Positions in a log are never used again.

use std::collections::BTreeMap;

use rustix::fs::OFlags;

use super::Writer;
use crate::Reader;
use crate::StowError;
use crate::error::Attempt;
use crate::findings::{Change, Note, Record};
use crate::header::{SEGMENT_BYTES_MAX, SegmentHeader};
use crate::index::INDEX;
use crate::index_entry::Extent;
use crate::liveness::{LiveSegment, live_segments};
use crate::scan::SegmentSpan;

/// Least room for which a truncated file is looked through at once.
const WORTH_FREEING: u64 = 1 << 20;

/// Segments of which less than this is seen are copied when a writer takes too much room.
const HALF: f64 = 0.5;

/// What was given back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Bytes of segments that were freed.
    pub freed: u64,
    /// Bytes that were copied out of them first.
    pub copied: u64,
    /// Bytes of the segments that are left.
    pub kept: u64,
}

/// What a writer knows of the room that the container takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpaceWatch {
    /// Not much of it can be of no use.
    Enough,
    /// More than half of it must be of no use.
    Due,
    /// It is being given back.
    Working,
}

/// What is done with the segments of a container.
#[derive(Default)]
struct Plan {
    /// Segments that are freed, by log.
    freed: BTreeMap<u32, Vec<SegmentSpan>>,
    /// Those that were marked as free before: whoever did so may have been killed then.
    free: BTreeMap<u32, Vec<SegmentSpan>>,
    /// What is copied out of them.
    parts: Vec<(Record, Extent)>,
    notes: Vec<Note>,
    reclaimed: Reclaimed,
}

impl SpaceWatch {
    pub(super) fn is_working(self) -> bool {
        self == SpaceWatch::Working
    }
}

impl Writer {
    /// Frees all segments that do not count any more, and copies out what counts of those of which less than `below` is seen (0 to
    /// 1). Only while nobody else writes.
    ///
    /// # Errors
    /// If somebody reads, if something is damaged or missing, or if a target refuses. Everything written stays as it was.
    pub fn reclaim(&mut self, below: f64) -> Result<Reclaimed, StowError> {
        self.space = SpaceWatch::Working;
        let reclaimed = self.reclaim_watched(below);
        // Others may begin to write again.
        let shared = self.state.share().attempt("lock", self.container.path());
        self.space = SpaceWatch::Enough;
        shared.and(reclaimed)
    }

    fn reclaim_watched(&mut self, below: f64) -> Result<Reclaimed, StowError> {
        self.end_segment();
        self.reader = None;
        // Asked for first: nothing is copied for nothing.
        drop(self.container.keep_readers_out()?);
        // Segments that a killed writer left open are ended if nobody else writes: asked before they are looked at.
        let is_alone = self.state.is_alone().attempt("lock", self.container.path())?;
        if !is_alone {
            // Two who copy at once would each take the other's copies, of the same stamps, for those that count.
            return Err(StowError::Busy { path: self.container.path().into() });
        }
        let reader = Reader::open_scanned(self.container.clone())?;
        if reader.has_doubts() || !reader.troubles().is_empty() {
            let why = "not all of it can be told; plimsoll stow check tells more".into();
            return Err(StowError::Damaged { path: self.container.path().into(), why });
        }
        let mut plan = Plan::of(live_segments(&reader), below, is_alone);
        let size = reader.size();
        if plan.freed.is_empty() {
            self.state.note_kept(plan.reclaimed.kept, size);
            return Ok(plan.reclaimed);
        }
        self.copy(&reader, &mut plan)?;
        drop(reader);
        // Whatever covers what is freed must be durable, also if nobody has counted it.
        self.synced.clear();
        self.sync()?;
        self.free(&plan)?;
        self.state.note_kept(plan.reclaimed.kept + plan.reclaimed.copied, size);
        Ok(plan.reclaimed)
    }

    /// Notes that a segment was begun.
    pub(super) fn note_taken(&mut self, bytes: u64) {
        let is_due = self.state.note_taken(bytes, self.end);
        if is_due && self.space == SpaceWatch::Enough {
            self.space = SpaceWatch::Due;
        }
    }

    /// Gives room back if more than half of it must be of no use. Called between segments.
    pub(super) fn reclaim_if_due(&mut self) {
        if self.space != SpaceWatch::Due {
            return;
        }
        match self.reclaim(HALF) {
            // Room that cannot be given back now is given back later.
            Ok(_) | Err(StowError::BeingRead { .. }) => {}
            // What cannot be read will not be so soon, and others who write now will for a while.
            Err(_) => self.state.note_kept(self.state.taken(), self.end),
        }
    }

    /// Frees what a file that was cut to nothing had.
    pub(super) fn reclaim_truncated(&mut self) {
        if self.state.taken() >= WORTH_FREEING {
            // Room that cannot be given back now is given back later.
            let _ = self.reclaim(0.0);
        }
    }

    /// Copies what counts, each with its own stamp, in the order of these.
    fn copy(&mut self, reader: &Reader, plan: &mut Plan) -> Result<(), StowError> {
        // Each segment has the stamps of one seat.
        plan.parts.sort_unstable_by_key(|(record, part)| {
            (record.stamp.seat, record.stamp.sequence, part.start)
        });
        let mut last: Option<(Record, Vec<u8>)> = None;
        for (record, part) in &plan.parts {
            let is_there = last.as_ref().is_some_and(|(it, _)| it == record);
            let bytes = match last.take() {
                Some((_, bytes)) if is_there => bytes,
                _ => reader.record_bytes(record)?,
            };
            if !is_there && !record.is_of(&bytes) {
                return Err(reader.differs(record, record.range()));
            }
            let begin = (part.start - record.offset) as usize;
            let bytes_of_part = &bytes[begin..begin + part.length as usize];
            self.write_stamped(bytes_of_part, part.start, record.stamp).1?;
            last = Some((*record, bytes));
        }
        for note in &plan.notes {
            self.note_stamped(note.stamp, |segment, stamp| match note.change {
                Change::Truncate(size) => segment.truncate(size, stamp),
                Change::Punch(offset, length) => segment.punch(offset, length, stamp),
            })?;
        }
        self.end_segment();
        Ok(())
    }

    /// Segments that are freed together are one: what is behind the end of a log that the index knows may be found no more.
    fn forget_index(&self) -> Result<(), StowError> {
        let directory = self.container.directory();
        if directory.kind_of(INDEX).is_err() {
            return Ok(());
        }
        let removed = directory.remove_file_if_there(INDEX).and_then(|()| directory.sync());
        removed.attempt("remove", directory.path().join(INDEX))?;
        self.state.note_without_index();
        Ok(())
    }

    fn free(&self, plan: &Plan) -> Result<(), StowError> {
        let _readers_out = self.container.keep_readers_out()?;
        self.forget_index()?;
        for listed in self.container.logs()? {
            let Some(spans) = plan.freed.get(&listed.number) else { continue };
            let name = format!("log {} on target {}", listed.number, listed.target);
            let log = self.container.open_log(&listed, OFlags::RDWR).attempt("open", &name)?;
            let before = plan.free.get(&listed.number).into_iter().flatten();
            // Since the plan was made, others may have freed segments with their neighbours, or shortened their last one, and new ones
            // may be where it ended: only what is as it was then is touched.
            let is_as_it_was =
                |it: &&SegmentSpan| log.segment_at(it.header.position) == Ok(Some(it.header));
            let freed = log.alone(|| {
                let free = joined(spans.iter().chain(before).filter(is_as_it_was));
                free.iter().try_for_each(|it| log.mark_free(it))?;
                log.sync()?;
                free.iter().try_for_each(|it| log.give_back(it))
            });
            freed.attempt("free segments of", &name)?;
        }
        Ok(())
    }
}

/// Returns one header for each row of segments, so that what is left of them are few pages.
fn joined<'a>(spans: impl Iterator<Item = &'a SegmentSpan>) -> Vec<SegmentHeader> {
    let mut headers: Vec<SegmentHeader> = spans
        .map(|it| SegmentHeader { stamp: it.highest.max(it.header.stamp), ..it.header })
        .collect();
    headers.sort_unstable_by_key(|it| it.position);
    headers.dedup_by(|next, last| {
        let is_next = last.position + u64::from(last.length) == next.position
            && last.length + next.length <= SEGMENT_BYTES_MAX;
        if is_next {
            last.length += next.length;
            last.stamp = last.stamp.max(next.stamp);
        }
        is_next
    });
    headers
}

impl Plan {
    fn of(logs: Vec<Vec<LiveSegment>>, below: f64, is_alone: bool) -> Self {
        let mut plan = Plan::default();
        for (log, segments) in (0..).zip(logs) {
            for it in segments {
                if it.span.is_free {
                    plan.free.entry(log).or_default().push(it.span);
                    continue;
                }
                let length = u64::from(it.span.header.length);
                let is_empty = it.is_dead()
                    || (!it.keeps_size && (it.seen_bytes() as f64) < below * length as f64);
                if !is_empty || !(it.span.has_ended || is_alone) {
                    plan.reclaimed.kept += length;
                    continue;
                }
                plan.reclaimed.freed += length;
                plan.reclaimed.copied += it.seen_bytes();
                plan.parts.extend(it.seen);
                plan.notes.extend(it.notes);
                plan.freed.entry(log).or_default().push(it.span);
            }
        }
        plan.notes.sort_unstable_by_key(|it| (it.stamp.seat, it.stamp.sequence));
        plan
    }
}
