//! Writes to a container.

mod beginning;
mod nodes;
mod reaching;
mod refusals;
mod size;
mod space;
mod syncing;
mod tail;

pub use space::Reclaimed;
use space::SpaceWatch;
use tail::Tail;

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::anchor::keep_private;
use crate::container::{MANIFEST, Target};
use crate::copies::{Copies, Copy};
use crate::error::Attempt;
use crate::index_write::write_when_last;
use crate::lock::LockFile;
use crate::pieces::Stamp;
use crate::promotion::Promotion;
use crate::segment::{MarkedLog, OpenSegment, Taken};
use crate::state::SharedState;
use crate::{Container, Placement, Reach, Reader, StowError, Tally};

/// A writer of a container. What it wrote is there when the call returns, even if the process is killed then.
pub struct Writer {
    container: Arc<Container>,
    state: SharedState,
    placement: Placement,
    number: u64,
    lanes: Vec<Lane>,
    reach: Reach,
    /// How many of the targets in its reach it goes to, those that refused included; 0 until it has looked.
    used: usize,
    /// How many nodes wrote when it looked last.
    nodes: usize,
    /// How many logs this one had then, and the others.
    own_logs: usize,
    logs_of_others: usize,
    segment: Option<OpenSegment>,
    /// Segments begun so far.
    begun: u64,
    /// Where its writes end.
    end: u64,
    /// What is there of its last write.
    last: Range<u64>,
    space: SpaceWatch,
    reader: Option<Reader>,
    /// The target of the segment.
    lane: usize,
    tally: Option<Box<dyn Tally>>,
    /// How often it has published something.
    published: u64,
    tail: Option<Tail>,
    copies: Copies,
    /// The lock that keeps the size as it is, once it was needed.
    size_lock: Option<LockFile>,
    /// How often something had been published in each log when this one made it durable.
    synced: BTreeMap<u32, u64>,
}

/// A target, as this writer has it.
struct Lane {
    target: Target,
    log: Option<Arc<MarkedLog>>,
    /// Why it is not written to any more.
    refusal: Option<(Errno, String)>,
}

impl Writer {
    /// Opens a container for writing.
    ///
    /// # Errors
    /// If too many nodes write, if there are no targets, or if the container is another user's.
    pub fn open(container: Arc<Container>, placement: Placement) -> Result<Self, StowError> {
        Self::open_counted(container, placement, None)
    }

    /// Does the same, and has what is written counted, with what a small file held until then.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open_counted(
        container: Arc<Container>,
        placement: Placement,
        tally: Option<Box<dyn Tally>>,
    ) -> Result<Self, StowError> {
        if let Some(promotion) = Promotion::begin(&container)? {
            return promotion.finish(container, placement, tally);
        }
        let mut writer = Self::join(container, placement)?;
        writer.tally = tally;
        Ok(writer)
    }

    /// Opens one whose bytes are in its logs.
    pub(crate) fn join(container: Arc<Container>, placement: Placement) -> Result<Self, StowError> {
        let state = container.join()?;
        // Only of one that may be written to.
        keep_private(container.directory());
        crate::standing::require_original(&container)?;
        let targets = container.targets()?;
        if targets.is_empty() {
            let (path, why) = (container.path().into(), "none was named".into());
            return Err(StowError::NoTarget { path, why, errno: Errno::INVAL });
        }
        let names = targets.iter().map(|it| it.name.as_str());
        let reach = Reach::new(container.id(), names, state.seat());
        let lane = |target| Lane { target, log: None, refusal: None };
        let lanes = targets.into_iter().map(lane).collect();
        let (number, segment, reader) = (state.next_writer(), None, None);
        let mut writer = Writer {
            container,
            state,
            placement,
            number,
            lanes,
            reach,
            used: 0,
            nodes: 1,
            own_logs: 0,
            logs_of_others: 0,
            segment,
            begun: 0,
            end: 0,
            last: 0..0,
            space: SpaceWatch::Enough,
            reader,
            lane: 0,
            tally: None,
            published: 0,
            tail: None,
            copies: Copies::default(),
            size_lock: None,
            synced: BTreeMap::new(),
        };
        writer.look_for_nodes();
        Ok(writer)
    }

    /// Has what is written from now on counted. What is only copied, to give room back, is not.
    pub fn set_tally(&mut self, tally: Box<dyn Tally>) {
        self.tally = Some(tally);
    }

    /// Has what is written from now on copied before: the memory of a program may change while it is written, and what is stored must be what its checksum is of.
    pub fn copy_by(&mut self, copy: Copy) {
        self.copies = Copies::by(copy);
    }

    /// Writes all of these bytes at an offset.
    ///
    /// # Errors
    /// If no target takes them: some of them may have been written.
    pub fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<(), StowError> {
        self.last = offset..offset;
        let length = bytes.len() as u64;
        if offset.checked_add(length).is_none_or(|end| end > i64::MAX as u64) {
            return Err(StowError::TooLarge { offset, length });
        }
        // All parts of a write have one stamp, so that they are later or earlier than another write as a whole.
        let stamp = self.next_stamp()?;
        self.end = self.end.max(offset + length);
        let (count, written) = self.write_stamped(bytes, offset, stamp);
        self.last = offset..offset + count as u64;
        match written {
            Ok(()) => self.note_end(offset + length),
            // A part of it may be there.
            Err(_) => self.tail = None,
        }
        written
    }

    /// Does the same with bytes that cannot change meanwhile, whatever [`Writer::copy_by`] said of others.
    ///
    /// # Errors
    /// As [`Writer::write_at`].
    pub fn write_kept_at(&mut self, bytes: &[u8], offset: u64) -> Result<(), StowError> {
        let copies = std::mem::take(&mut self.copies);
        let written = self.write_at(bytes, offset);
        self.copies = copies;
        written
    }

    /// Returns which bytes of the file its last write has written: all of that write, or those before it failed.
    pub fn last_write(&self) -> Range<u64> {
        self.last.clone()
    }

    /// Takes a stamp that is later than all that was seen.
    fn next_stamp(&self) -> Result<Stamp, StowError> {
        let stamp = self.state.next_stamp(self.container.seen());
        stamp.ok_or_else(|| StowError::UsedUp { path: self.container.path().into() })
    }

    /// Returns how many bytes it has written, and why no more.
    fn write_stamped(
        &mut self,
        bytes: &[u8],
        offset: u64,
        stamp: Stamp,
    ) -> (usize, Result<(), StowError>) {
        let mut written = 0;
        while written < bytes.len() {
            let (rest, from) = (&bytes[written..], offset + written as u64);
            let mut copies = std::mem::take(&mut self.copies);
            // As long as the whole write: the next ones will be, too.
            let taken = self
                .segment_for(stamp, from..from + bytes.len() as u64)
                .map(|it| it.write(rest, from, stamp.sequence, &mut copies));
            self.copies = copies;
            let taken = match taken {
                Ok(taken) => taken,
                Err(error) => return (written, Err(error)),
            };
            match taken {
                Ok(Taken::Bytes(count)) => {
                    if let (Some(tally), false) = (&mut self.tally, self.space.is_working()) {
                        tally.wrote(self.lane, count);
                    }
                    self.published += 1;
                    self.note_filled();
                    written += count;
                }
                Ok(Taken::Full) => self.end_segment(),
                Err(errno) if self.copies.is_of_memory(errno) => {
                    return (written, Err(errno).attempt("write to", self.container.path()));
                }
                Err(errno) => self.give_up_target(errno),
            }
        }
        (written, Ok(()))
    }

    /// Makes all durable that was written to the container on this node, by any process.
    ///
    /// # Errors
    /// If a log cannot be made durable.
    pub fn sync(&mut self) -> Result<(), StowError> {
        let first = self.container.begin_first_sync()?;
        self.leave_lost_logs();
        let mut listed = self.container.logs()?;
        let count = listed.len() as u64;
        // What other nodes write they make durable.
        listed.retain(|it| it.seat == self.state.seat());
        if let Some(segment) = &mut self.segment {
            segment.prepare_to_sync();
        }
        // All targets begin at once, and not each when the one before has ended.
        self.lanes.iter().filter_map(|it| it.log.as_ref()).for_each(|it| it.log.write_out());
        let logs = self.sync_logs(&listed)?;
        let directory = self.container.directory();
        let manifest = directory.open_file(MANIFEST, OFlags::RDONLY);
        let synced = manifest.and_then(|file| file.sync_all()).and_then(|()| directory.sync());
        synced.attempt("make durable", directory.path())?;
        // From now on it would be noticed if any of this were missing.
        self.state.note_durable_logs(count);
        logs.iter().for_each(|it| it.mark.note_durable(it.stamp));
        self.state.sync().attempt("make durable", directory.path())?;
        if let Some(first) = first {
            self.container.end_first_sync(first)?;
        }
        if let Placement::Routed(router) = &mut self.placement {
            router.look();
        }
        if let Some(segment) = &mut self.segment {
            segment.note_synced();
        }
        self.catch_up()
    }

    /// Ends its segment, and gives back what that did not use. The last writer to close writes the merged index. Where other nodes can
    /// be, all that this one wrote is made durable first, so that whoever opens it there finds it.
    ///
    /// # Errors
    /// If the target refuses; what was written stays.
    pub fn close(mut self) -> Result<(), StowError> {
        let ended = self.try_end_segment();
        ended.attempt("end a segment of", self.container.path())?;
        self.show_others()?;
        self.catch_up()?;
        // Whoever finds no index reads the slot pages.
        let _ = write_when_last(&self.container, &self.state);
        Ok(())
    }

    /// Returns a reader that sees what was written until now.
    ///
    /// # Errors
    /// If the manifest cannot be read.
    pub fn reader(&mut self) -> Result<&Reader, StowError> {
        match self.reader {
            Some(ref mut reader) => reader.refresh()?,
            None => self.reader = Some(Reader::open(self.container.clone())?),
        }
        self.reader.as_ref().ok_or(Errno::IO).attempt("read", self.container.path())
    }

    /// Returns the segment that the next record goes to; if one is begun, for this part of the file.
    fn segment_for(
        &mut self,
        stamp: Stamp,
        next: Range<u64>,
    ) -> Result<&mut OpenSegment, StowError> {
        if self.segment.as_ref().is_some_and(|it| it.seat() != stamp.seat) {
            self.end_segment();
        }
        if self.segment.is_none() {
            self.reclaim_if_due();
            self.segment = Some(self.begin_segment(stamp, next)?);
        }
        let segment = self.segment.as_mut().ok_or(Errno::IO);
        segment.attempt("write to", self.container.path())
    }

    /// Tells the router how far the segment is filled; ends it if the router wants to place what comes next.
    fn note_filled(&mut self) {
        if let (Placement::Routed(router), Some(segment)) = (&mut self.placement, &self.segment)
            && !router.fill(segment.payload())
        {
            self.end_segment();
        }
    }

    fn end_segment(&mut self) {
        // Room that cannot be given back is lost until the container is compacted.
        let _ = self.try_end_segment();
    }

    fn try_end_segment(&mut self) -> Result<(), Errno> {
        let Some(segment) = self.segment.take() else { return Ok(()) };
        let (to, payload) = (segment.to(), segment.payload());
        let ended = segment.end();
        if let Placement::Routed(router) = &mut self.placement {
            router.end(to.log.as_fd(), payload);
        }
        ended
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end_segment();
    }
}
