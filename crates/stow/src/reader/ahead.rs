//! Asks the kernel for what comes next in a file that is read in order, on all its targets at once.
//!
//! What lies side by side in the file lies on several targets. Whoever reads it in order waits for one of them at a time, and the kernel reads
//! ahead on that one only: the others idle. What is in memory already is not asked for, which is found out by reading single bytes without waiting.

use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use super::Reader;
use crate::index_entry::Extent;
use crate::pieces::Source;

/// How far ahead is asked for, at first and at most: so much that each of several targets has something to do.
const DISTANCE_FIRST: u64 = 4 << 20;
const DISTANCE_MAX: u64 = 16 << 20;

/// How far is gone on without a look where all was in memory, at first and at most.
const SKIP_FIRST: u64 = 1 << 20;
const SKIP_MAX: u64 = 64 << 20;

/// How far ahead is asked for where nobody can look without waiting.
const NEVER: u64 = u64::MAX;

/// Bytes of a range that are looked for in memory.
const PROBES: u64 = 4;

/// What is so near in a log is asked for together: between records are slot pages.
const GAP_MAX: u64 = 32 << 10;

/// The kernel takes no more of one request than a device does (force_page_cache_ra, mm/readahead.c).
const REQUEST_BYTES: u64 = 1 << 20;

/// How far a file that is read in order was asked for. Threads that read at once may ask too much or too little, and nothing else.
#[derive(Debug)]
pub struct Ahead {
    /// Where the last read ended.
    next: AtomicU64,
    /// Until where was asked, or looked.
    asked: AtomicU64,
    /// How far ahead; 0 as long as it is of no use, and `NEVER`.
    distance: AtomicU64,
    /// How far is gone on without a look.
    skip: AtomicU64,
}

impl Ahead {
    /// Returns one that never asks, until [`Ahead::set_useful`].
    pub fn new() -> Self {
        let [next, asked, distance, skip] = [u64::MAX, 0, 0, SKIP_FIRST].map(AtomicU64::new);
        Ahead { next, asked, distance, skip }
    }

    /// From now on it asks.
    pub fn set_useful(&self) {
        let (from, to) = (0, DISTANCE_FIRST);
        let _ = self.distance.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Notes that a range is read; returns which one should be looked at before, if the file is read in order.
    pub fn note(&self, range: &Range<u64>, size: u64) -> Option<Range<u64>> {
        let behind = self.to_look_at(range, size);
        let is_in_order = self.next.load(Ordering::Relaxed) == range.start;
        self.next.store(range.end, Ordering::Relaxed);
        if !is_in_order {
            self.asked.store(range.end, Ordering::Relaxed);
        }
        behind
    }

    /// Returns which range should be looked at before another one is read; notes nothing.
    pub fn to_look_at(&self, range: &Range<u64>, size: u64) -> Option<Range<u64>> {
        let distance = self.distance.load(Ordering::Relaxed);
        let is_in_order = self.next.load(Ordering::Relaxed) == range.start;
        if distance == 0 || distance == NEVER || !is_in_order {
            return None;
        }
        let asked = self.asked.load(Ordering::Relaxed).max(range.end);
        let end = range.end.saturating_add(distance).min(size);
        (asked - range.end <= distance / 2 && asked < end).then_some(asked..end)
    }

    fn was_in_memory(&self, range: &Range<u64>) {
        let skip = self.skip.load(Ordering::Relaxed);
        self.asked.store(range.end.saturating_add(skip), Ordering::Relaxed);
        self.skip.store((2 * skip).min(SKIP_MAX), Ordering::Relaxed);
    }

    fn was_asked_for(&self, range: &Range<u64>) {
        self.asked.store(range.end, Ordering::Relaxed);
        let distance = self.distance.load(Ordering::Relaxed);
        self.distance.store((2 * distance).min(DISTANCE_MAX), Ordering::Relaxed);
        self.skip.store(SKIP_FIRST, Ordering::Relaxed);
    }
}

impl Reader {
    /// Asks for what comes behind a range that is read now, if the file is read in order and that is not in memory.
    pub(super) fn ask_ahead(&self, range: Range<u64>) {
        if let Some(behind) = self.ahead.note(&range, self.size()) {
            match self.is_in_memory(&behind) {
                Ok(true) => self.ahead.was_in_memory(&behind),
                Ok(false) => {
                    self.ask_for(&behind);
                    self.ahead.was_asked_for(&behind);
                }
                Err(_) => self.ahead.distance.store(NEVER, Ordering::Relaxed),
            }
        }
    }

    /// Returns whether some bytes of a range are in memory, holes included.
    fn is_in_memory(&self, range: &Range<u64>) -> Result<bool, Errno> {
        let step = ((range.end - range.start) / PROBES).max(1);
        let last = range.end - 1;
        for at in (range.start..range.end).step_by(step as usize) {
            let at = (at + step - 1).min(last);
            let extent = self.extent_around(&(at..at + 1));
            let Some((log, extent)) = extent.and_then(|it| Some((self.log_of(&it)?, it))) else {
                continue;
            };
            let mut byte = [0];
            let slices = &mut [IoSliceMut::new(&mut byte)];
            match preadv2(log, slices, extent.position, ReadWriteFlags::NOWAIT) {
                Ok(_) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(errno),
            }
        }
        Ok(true)
    }

    fn ask_for(&self, range: &Range<u64>) {
        let mut extents: Vec<Extent> = Vec::new();
        for (range, piece) in self.pieces.of(range.clone()) {
            match (piece.map(|it| it.source), &self.index) {
                (Some(Source::Record(number)), _) => {
                    extents.push(self.records[number as usize].cut(&range));
                }
                // Whoever reads it finds out what is wrong with it.
                (None, Ok(index)) => extents.extend(index.of(range).unwrap_or_default()),
                (Some(Source::Hole), _) | (None, Err(_)) => {}
            }
        }
        extents.sort_unstable_by_key(|it| (it.log, it.position));
        let is_near = |a: &Extent, b: &Extent| {
            a.log == b.log && b.position.saturating_sub(a.position + a.length) <= GAP_MAX
        };
        for near in extents.chunk_by(is_near) {
            let (Some(first), Some(last)) = (near.first(), near.last()) else { continue };
            let Some(log) = self.log_of(first) else { continue };
            let end = last.position + last.length;
            for begin in (first.position..end).step_by(REQUEST_BYTES as usize) {
                let length = (end - begin).min(REQUEST_BYTES);
                // A wish: what does not come is read when it is needed.
                let _ = fadvise(log, begin, std::num::NonZeroU64::new(length), Advice::WillNeed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const SIZE: u64 = 1 << 30;

    fn read(ahead: &Ahead, mib: u64) -> Option<Range<u64>> {
        let range = ahead.note(&(mib * MIB..(mib + 1) * MIB), SIZE)?;
        Some(range.start / MIB..range.end / MIB)
    }

    #[test]
    fn only_what_is_read_in_order_is_asked_for() {
        let ahead = Ahead::new();
        assert_eq!([0, 1, 2].map(|it| read(&ahead, it)), [None, None, None], "it was not told to");
        ahead.set_useful();
        assert_eq!([9, 7, 100, 3].map(|it| read(&ahead, it)), [None, None, None, None]);
        assert_eq!(read(&ahead, 4), Some(5..9));
        assert_eq!(ahead.note(&(SIZE - MIB..SIZE), SIZE), None);
        assert_eq!(ahead.note(&(SIZE..SIZE + MIB), SIZE), None, "there is no more");
    }

    #[test]
    fn each_byte_is_asked_for_once_and_further_ahead_as_it_goes_on() {
        let ahead = Ahead::new();
        ahead.set_useful();
        let (mut asked, mut furthest) = (1, 0);
        read(&ahead, 0);
        for mib in 1..200 {
            if let Some(range) = read(&ahead, mib) {
                assert_eq!(range.start, asked.max(mib + 1));
                asked = range.end;
                ahead.was_asked_for(&(range.start * MIB..range.end * MIB));
            }
            furthest = furthest.max(asked - mib);
        }
        assert_eq!(furthest, DISTANCE_MAX / MIB + 1);
    }

    #[test]
    fn where_all_is_in_memory_it_looks_less_and_less() {
        let ahead = Ahead::new();
        ahead.set_useful();
        let mut looks = 0;
        for mib in 0..1000 {
            if let Some(range) = read(&ahead, mib) {
                looks += 1;
                ahead.was_in_memory(&(range.start * MIB..range.end * MIB));
            }
        }
        assert!(looks < 25, "{looks}");
    }
}
