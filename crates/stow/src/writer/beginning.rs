//! Where a writer begins its next segment.

use std::ops::Range;
use std::sync::Arc;

use rustix::io::Errno;

use super::Writer;
use super::refusals::require_there;
use crate::alignment::alignment;
use crate::error::Attempt;
use crate::header::{SEGMENT_BYTES_MAX, SegmentHeader};
use crate::log_pool::LogPool;
use crate::pieces::Stamp;
use crate::segment::OpenSegment;
use crate::watch::{Begun, Deed, Done};
use crate::word::PAGE_BYTES;
use crate::{Berth, Placement, Reach, StowError};

/// Segments begin small, for small files, and each is twice as long as the one before.
const SEGMENT_BYTES_FIRST: u32 = 256 << 10;
const SEGMENT_BYTES_LAST: u32 = 4 << 20;

/// Least room for which a segment is begun on a target that is nearly full.
const SEGMENT_BYTES_LEAST: u32 = 16 << 10;

impl Writer {
    /// Begins a segment for this part of the file: where the router says, or on the first target that takes one.
    ///
    /// # Errors
    /// If none does.
    pub(super) fn begin_segment(
        &mut self,
        stamp: Stamp,
        next: Range<u64>,
    ) -> Result<OpenSegment, StowError> {
        self.make_room_for_nodes();
        let wished = u32::try_from(next.end - next.start).unwrap_or(u32::MAX / 2);
        if let Some(segment) = self.begin_routed(stamp, &next) {
            return Ok(segment);
        }
        let size = SEGMENT_BYTES_FIRST << self.begun.min(8);
        let size = size.max(wished.saturating_add(2 << 12)).min(SEGMENT_BYTES_LAST);
        for place in self.placement.order(self.number, self.begun, self.used) {
            let index = self.reach.order()[place];
            if self.reaches(place)
                && let Some(segment) = self.try_on(index, (stamp, &next), size)
            {
                return Ok(segment);
            }
        }
        // None of them takes it: then any that does.
        for place in 0..self.lanes.len() {
            if let Some(segment) = self.try_on(self.reach.order()[place], (stamp, &next), size) {
                return Ok(segment);
            }
        }
        Err(self.no_target())
    }

    /// Begins a segment where the router says; nothing if there is none, or it knows no target that takes one.
    fn begin_routed(&mut self, stamp: Stamp, next: &Range<u64>) -> Option<OpenSegment> {
        // Each target may refuse once.
        for _ in 0..=self.lanes.len() {
            let Placement::Routed(router) = &mut self.placement else { return None };
            let begun = Begun::now();
            let Berth { lane, length } = router.place(next.end - next.start)?;
            if let (Some(begun), Some(lane)) = (begun, self.lanes.get(lane)) {
                let (deed, path) = (Deed::Wait, lane.target.path.as_path());
                begun.end(&Done { deed, path, position: 0, length: 0, moved: Ok(0) });
            }
            // What it says of the segment it says of the bytes in it, which begin behind its page and what is left free.
            let size = length.saturating_add(alignment(length, next)).min(SEGMENT_BYTES_MAX);
            let place = self.place_of(lane);
            if place.is_some_and(|place| !self.reaches(place)) {
                // It has just been told so.
                continue;
            }
            let segment = place.and_then(|_| self.try_on(lane, (stamp, next), size));
            let Placement::Routed(router) = &mut self.placement else { return None };
            if let Some(segment) = segment {
                router.begin(segment.log(), segment.payload_position());
                return Some(segment);
            }
            let refusal = self.lanes.get(lane).and_then(|it| it.refusal.as_ref());
            router.refuse(lane, refusal.map_or(Errno::IO, |it| it.0));
        }
        None
    }

    /// Begins a segment on a target, unless that refuses or has refused.
    fn try_on(
        &mut self,
        index: usize,
        first: (Stamp, &Range<u64>),
        size: u32,
    ) -> Option<OpenSegment> {
        if self.lanes[index].refusal.is_some() {
            return None;
        }
        match self.begin_on(index, first, size) {
            Ok(segment) => {
                self.begun += 1;
                self.lane = index;
                self.note_taken(segment.length());
                Some(segment)
            }
            Err(error) => {
                self.lanes[index].refusal = Some((error.errno(), error.to_string()));
                self.lanes[index].log = None;
                self.set_used();
                None
            }
        }
    }

    fn begin_on(
        &mut self,
        index: usize,
        (stamp, next): (Stamp, &Range<u64>),
        size: u32,
    ) -> Result<OpenSegment, StowError> {
        let to = match &self.lanes[index].log {
            Some(to) => {
                require_there(&self.container, &to.log).attempt("write to", to.log.path())?;
                to.clone()
            }
            None => {
                let (container, state) = (&*self.container, &self.state);
                let per_target = Reach::logs_per_target(self.lanes.len());
                let pool = LogPool { container, state, per_target };
                Arc::new(pool.obtain(&self.lanes[index].target, self.number)?)
            }
        };
        self.lanes[index].log = Some(to.clone());
        let size = size.next_multiple_of(PAGE_BYTES as u32).max(SEGMENT_BYTES_LEAST);
        let header = SegmentHeader {
            container: self.container.id(),
            log: to.log.number(),
            position: 0,
            length: size,
            seat: stamp.seat,
            stamp: stamp.sequence,
            node: self.container.node(),
        };
        let header = to.log.append_segment(header, SEGMENT_BYTES_LEAST);
        let segment = header.and_then(|header| OpenSegment::begin(to.clone(), header, next));
        segment.attempt("begin a segment in", to.log.path())
    }
}
