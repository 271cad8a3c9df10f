//! Writes to a container.

mod refusals;
mod size;
mod space;

pub use space::Reclaimed;
use space::SpaceWatch;

use std::fs::File;
use std::ops::RangeInclusive;
use std::sync::Arc;

use plimsoll_guarded::Directory;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::container::{MANIFEST, Target};
use crate::error::Attempt;
use crate::header::SegmentHeader;
use crate::index_write::write_when_last;
use crate::log::{self, Log};
use crate::manifest::ListedLog;
use crate::rights::PRIVATE_DIRECTORY;
use crate::segment::{MarkedLog, OpenSegment, Taken};
use crate::state::{LogMark, SharedState};
use crate::word::PAGE_BYTES;
use crate::{Container, Placement, Reader, StowError};

/// Logs that the writers of a node share: those of one log wait for each other's changes of its inode (four processes wrote 4 KiB to
/// logs of their own twice as fast as to one), and many logs are many files.
const LOGS_PER_NODE: u64 = 16;
const LOGS_PER_TARGET: RangeInclusive<u64> = 2..=8;

/// Segments begin small, for small files, and each is twice as long as the one before.
const SEGMENT_BYTES_FIRST: u32 = 256 << 10;
const SEGMENT_BYTES_LAST: u32 = 4 << 20;

/// Least room for which a segment is begun on a target that is nearly full.
const SEGMENT_BYTES_LEAST: u32 = 16 << 10;

/// The epoch of writers on one node.
const EPOCH: u32 = 1;

/// A writer of a container. What it wrote is there when the call returns, even if the process is killed then.
pub struct Writer {
    container: Arc<Container>,
    state: SharedState,
    placement: Placement,
    number: u64,
    lanes: Vec<Lane>,
    segment: Option<OpenSegment>,
    /// Segments begun so far.
    begun: u64,
    /// Where its writes end.
    end: u64,
    space: SpaceWatch,
    reader: Option<Reader>,
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
    /// If another node writes, if there are no targets, or if the container is another user's.
    pub fn open(container: Arc<Container>, placement: Placement) -> Result<Self, StowError> {
        let state = SharedState::join(container.directory(), container.node())?;
        let targets = container.targets()?;
        if targets.is_empty() {
            let (path, why) = (container.path().into(), "none was named".into());
            return Err(StowError::NoTarget { path, why, errno: Errno::INVAL });
        }
        let lane = |target| Lane { target, log: None, refusal: None };
        let lanes = targets.into_iter().map(lane).collect();
        let number = state.next_writer();
        let (segment, reader) = (None, None);
        Ok(Writer {
            container,
            state,
            placement,
            number,
            lanes,
            segment,
            begun: 0,
            end: 0,
            space: SpaceWatch::Enough,
            reader,
        })
    }

    /// Writes all of these bytes at an offset.
    ///
    /// # Errors
    /// If no target takes them: some of them may have been written.
    pub fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<(), StowError> {
        let length = bytes.len() as u64;
        if offset.checked_add(length).is_none_or(|end| end > i64::MAX as u64) {
            return Err(StowError::TooLarge { offset, length });
        }
        // All parts of a write have one stamp, so that they are later or earlier than another write as a whole.
        let stamp = self.state.next_stamp();
        self.end = self.end.max(offset + length);
        self.write_stamped(bytes, offset, stamp)
    }

    fn write_stamped(
        &mut self,
        mut bytes: &[u8],
        mut offset: u64,
        stamp: u64,
    ) -> Result<(), StowError> {
        while !bytes.is_empty() {
            let segment = self.segment_for(stamp, bytes.len())?;
            let count = match segment.write(bytes, offset, stamp) {
                Ok(Taken::Bytes(count)) => count,
                Ok(Taken::Full) => {
                    self.end_segment();
                    continue;
                }
                Err(errno) => {
                    self.give_up_target(errno);
                    continue;
                }
            };
            bytes = &bytes[count..];
            offset += count as u64;
        }
        Ok(())
    }

    /// Makes all durable that was written to the container on this node, by any process.
    ///
    /// # Errors
    /// If a log cannot be made durable.
    pub fn sync(&mut self) -> Result<(), StowError> {
        let listed = self.container.logs()?;
        let mut durable = Vec::new();
        for listed in &listed {
            let synced = self.sync_log(listed);
            let name = format!("log {} on target {}", listed.number, listed.target);
            durable.push(synced.attempt("make durable", name)?);
        }
        let directory = self.container.directory();
        let manifest = directory.open_file(MANIFEST, OFlags::RDONLY);
        let synced = manifest.and_then(|file| file.sync_all()).and_then(|()| directory.sync());
        synced.attempt("make durable", directory.path())?;
        // From now on it would be noticed if any of this were missing.
        self.state.note_durable_logs(listed.len() as u64);
        durable.iter().for_each(|(mark, stamp)| mark.note_durable(*stamp));
        self.state.sync().attempt("make durable", directory.path())?;
        if let Some(segment) = &mut self.segment {
            // That it is known to be durable only spares a later check.
            let _ = segment.note_synced();
        }
        Ok(())
    }

    /// Makes a log durable; returns its mark, and up to which stamp it is.
    fn sync_log(&self, listed: &ListedLog) -> std::io::Result<(LogMark, u64)> {
        let mark = self.state.mark(listed.number)?;
        let stamp = mark.published();
        let mut own = self.lanes.iter().filter_map(|it| it.log.as_ref());
        match own.find(|it| it.log.number() == listed.number) {
            Some(it) => it.log.sync()?,
            None => self.container.open_log(listed, OFlags::RDONLY)?.sync()?,
        }
        Ok((mark, stamp))
    }

    /// Ends its segment, and gives back what that did not use. The last writer to close writes the merged index.
    ///
    /// # Errors
    /// If the target refuses; what was written stays.
    pub fn close(mut self) -> Result<(), StowError> {
        let ended = self.segment.take().map_or(Ok(()), OpenSegment::end);
        ended.attempt("end a segment of", self.container.path())?;
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

    /// Returns the segment that the next record goes to.
    fn segment_for(&mut self, stamp: u64, length: usize) -> Result<&mut OpenSegment, StowError> {
        if self.segment.is_none() {
            self.reclaim_if_due();
            self.segment = Some(self.begin_segment(stamp, length)?);
        }
        let segment = self.segment.as_mut().ok_or(Errno::IO);
        segment.attempt("write to", self.container.path())
    }

    fn end_segment(&mut self) {
        if let Some(segment) = self.segment.take() {
            // Room that cannot be given back is lost until the container is compacted.
            let _ = segment.end();
        }
    }

    /// Writes no more to the target of the segment.
    fn give_up_target(&mut self, errno: Errno) {
        let Some(segment) = self.segment.take() else { return };
        let number = segment.log();
        let is_its =
            |lane: &&mut Lane| lane.log.as_ref().is_some_and(|it| it.log.number() == number);
        if let Some(lane) = self.lanes.iter_mut().find(is_its) {
            lane.refusal = Some((errno, errno.to_string()));
            lane.log = None;
        }
        let _ = segment.end();
    }

    /// Begins a segment on the first target that takes one.
    fn begin_segment(&mut self, stamp: u64, length: usize) -> Result<OpenSegment, StowError> {
        let order = self.placement.order(self.number, self.begun, self.lanes.len());
        for index in order {
            if self.lanes[index].refusal.is_some() {
                continue;
            }
            match self.begin_on(index, stamp, length) {
                Ok(segment) => {
                    self.begun += 1;
                    self.note_taken(segment.length());
                    return Ok(segment);
                }
                Err(error) => {
                    self.lanes[index].refusal = Some((error.errno(), error.to_string()));
                    self.lanes[index].log = None;
                }
            }
        }
        Err(self.no_target())
    }

    fn begin_on(
        &mut self,
        index: usize,
        stamp: u64,
        length: usize,
    ) -> Result<OpenSegment, StowError> {
        let to = match &self.lanes[index].log {
            Some(log) => log.clone(),
            None => Arc::new(self.obtain_log(&self.lanes[index].target)?),
        };
        self.lanes[index].log = Some(to.clone());
        let size = SEGMENT_BYTES_FIRST << self.begun.min(8);
        let wished = u32::try_from(length).unwrap_or(u32::MAX / 2).saturating_add(2 << 12);
        let size = size.max(wished.next_multiple_of(PAGE_BYTES as u32)).min(SEGMENT_BYTES_LAST);
        let header = SegmentHeader {
            container: self.container.id(),
            log: to.log.number(),
            position: 0,
            length: size,
            epoch: EPOCH,
            stamp,
            node: self.container.node(),
        };
        let header = to.log.append_segment(header, SEGMENT_BYTES_LEAST);
        let segment = header.and_then(|header| OpenSegment::begin(to.clone(), header));
        segment.attempt("begin a segment in", to.log.path())
    }

    /// Returns the log of a target that this writer uses, which is made and listed if it is not there.
    fn obtain_log(&self, target: &Target) -> Result<MarkedLog, StowError> {
        let directory = self.container.directory();
        let path = || directory.path().join(MANIFEST);
        let flags = OFlags::RDWR | OFlags::APPEND;
        let manifest = directory.open_own_file(MANIFEST, flags).attempt("open", path())?;
        flock(&manifest, FlockOperation::LockExclusive).attempt("lock", path())?;
        let listed = self.container.logs()?;
        let of_target: Vec<&ListedLog> =
            listed.iter().filter(|it| it.target == target.name).collect();
        let count = LOGS_PER_NODE / self.lanes.len() as u64;
        let count = count.clamp(*LOGS_PER_TARGET.start(), *LOGS_PER_TARGET.end());
        let wanted = (self.number % count) as usize;
        if let Some(listed) = of_target.get(wanted) {
            let name = format!("log {} on target {}", listed.number, listed.target);
            let log = self.container.open_log(listed, OFlags::RDWR).attempt("open", &name)?;
            let mark = self.state.mark(listed.number).attempt("open", name)?;
            return Ok(MarkedLog { log, mark });
        }
        let number = listed.len() as u32;
        let listed = ListedLog { number, target: target.name.clone(), path: target.path.clone() };
        let line = listed.line().ok_or(Errno::INVAL).attempt("list the target", &target.path)?;
        let mark = self.state.mark(number).attempt("list the target", &target.path)?;
        let log = self.make_log(target, number).attempt("make a log on", &target.path)?;
        self.cut_half_line(&manifest).attempt("write", path())?;
        let written = rustix::io::write(&manifest, line.as_bytes());
        match written.attempt("write", path())? {
            count if count == line.len() => {
                self.state.note_logs(u64::from(number) + 1);
                Ok(MarkedLog { log, mark })
            }
            _ => Err(Errno::NOSPC).attempt("write", path()),
        }
    }

    /// Half a line of somebody who was killed would spoil the next one.
    fn cut_half_line(&self, manifest: &File) -> std::io::Result<()> {
        let text = plimsoll_guarded::read_at_most(crate::manifest::MANIFEST_BYTES_MAX, manifest)?;
        let text = text.unwrap_or_default();
        let whole = text.iter().rposition(|it| *it == b'\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            rustix::fs::ftruncate(manifest, whole as u64)?;
        }
        Ok(())
    }

    fn make_log(&self, target: &Target, number: u32) -> std::io::Result<Log> {
        let name = log::directory_name(self.container.id());
        let target = Directory::open(&target.path)?;
        let directory = match target.make(&name, PRIVATE_DIRECTORY) {
            Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => {
                target.child(&name)?
            }
            made => made?,
        };
        directory.require_own()?;
        // One that is not listed was left by somebody who was killed, and never had a record.
        directory.remove_file_if_there(log::file_name(number))?;
        let log = Log::create(&directory, self.container.id(), number)?;
        // Durable before it is listed: a log that is listed and not there has lost something.
        log.sync()?;
        directory.sync()?;
        target.sync()?;
        Ok(log)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end_segment();
    }
}
