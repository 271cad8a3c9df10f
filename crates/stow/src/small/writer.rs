//! Writes to a small file. A change looks first what others have written, and whether the file is still small.

use rustix::fs::{fdatasync, fsync, ftruncate};
use rustix::io::{Errno, pread, pwrite};

use super::MARKER_BYTES_MAX;
use super::entry::{EntryKind, HEADER_BYTES, SmallEntry};
use super::head::{Head, RECORDS_FROM};
use super::held::{Held, errno_of};
use super::scan::{Place, read, size_after};
use super::told_size::tell;
use crate::copies::{Copy, copied};
use crate::findings::Findings;
use crate::first_sync::sync_above;
use crate::fresh;
use crate::home::Made;
use crate::{Container, StowError, marker};

/// Whether a small file took what was to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// It is there, from this offset on.
    At(u64),
    /// It is no small file any more, or would be none with this: a [`crate::Writer`] takes it.
    Outgrown,
}

/// A writer of a small file.
#[derive(Debug)]
pub struct SmallWriter {
    marker: Held,
    place: Place,
    size: u64,
    /// Bytes that the marker may have.
    most: u64,
    copy: Copy,
    /// The marker's times tell the size.
    is_told: bool,
}

impl SmallWriter {
    /// Begins to write to a container that is small; `None` if it is not, or may be changed by other nodes.
    ///
    /// # Errors
    /// If somebody keeps writers out for too long, or the container is another user's.
    pub fn open(container: &Container, most: u64) -> Result<Option<Self>, StowError> {
        if !container.may_be_small() || !fresh::is_of_one_node(container.directory()) {
            return Ok(None);
        }
        Ok(Held::open(container)?.map(|marker| Self::of(marker, most)))
    }

    pub(crate) fn of(marker: Held, most: u64) -> Self {
        let most = most.min(MARKER_BYTES_MAX);
        SmallWriter { marker, place: Place::default(), size: 0, most, copy: copied, is_told: false }
    }

    /// Has what is written copied in another way: what is stored must be what its checksum is of, and the memory of a program may change meanwhile, or not be there.
    pub fn copy_by(&mut self, copy: Copy) {
        self.copy = copy;
    }

    /// Writes all of these bytes at an offset.
    ///
    /// # Errors
    /// If somebody else changes the file for too long, or it cannot be read.
    pub fn write_at(
        &mut self,
        container: &Container,
        bytes: &[u8],
        offset: u64,
    ) -> Result<Stored, Errno> {
        self.change(container, |writer, _| writer.put(bytes, offset))
    }

    /// Writes all of these bytes at the end of the file.
    ///
    /// # Errors
    /// As [`SmallWriter::write_at`].
    pub fn append(&mut self, container: &Container, bytes: &[u8]) -> Result<Stored, Errno> {
        self.change(container, |writer, _| writer.put(bytes, writer.size))
    }

    /// Gives the file another size.
    ///
    /// # Errors
    /// As [`SmallWriter::write_at`].
    pub fn truncate(&mut self, container: &Container, size: u64) -> Result<Stored, Errno> {
        if size > i64::MAX as u64 {
            return Ok(Stored::Outgrown);
        }
        self.change(container, |writer, _| {
            let entry = SmallEntry::truncate(size, writer.place.sequence + 1);
            if !writer.fits(&entry) {
                return Ok(Stored::Outgrown);
            }
            writer.publish(&entry)
        })
    }

    /// Makes all durable that was written, with the names that lead to it.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn sync(&mut self, container: &Container) -> Result<Stored, Errno> {
        self.change(container, |writer, head| {
            let marker = writer.marker.file();
            let made = Made::of_file(marker).map_err(|it| errno_of(&it))?;
            // Of a copy, what says that it was durable is the other one's.
            if head.durable == 0 || !head.is_of(&made) {
                fsync(marker)?;
                container.directory().sync().map_err(|it| errno_of(&it))?;
                sync_above(container.directory()).map_err(|it| errno_of(&it))?;
            } else {
                fdatasync(marker)?;
            }
            // Only now: it would be told if something before it were missing. Should it not be there after a power failure, nothing is.
            let (at, words) = Head { durable: writer.place.position, ..head }.durable_words();
            pwrite(marker, &words, at)?;
            Ok(Stored::At(0))
        })
    }

    /// Ends writing: also of a file that nobody has written to, the size is told by the marker's times.
    pub fn close(mut self, container: &Container) {
        if !self.is_told {
            // Whoever cannot do that leaves a marker that has to be read.
            let _ = self.change(container, |_, _| Ok(Stored::At(0)));
        }
    }

    /// Does something while nobody else changes the file, after what they have written.
    fn change(
        &mut self,
        container: &Container,
        work: impl FnOnce(&mut Self, Head) -> Result<Stored, Errno>,
    ) -> Result<Stored, Errno> {
        self.marker.begin_change(container.directory())?;
        let done = match self.catch_up() {
            Ok(Some(head)) => work(self, head),
            Ok(None) => Ok(Stored::Outgrown),
            Err(errno) => Err(errno),
        };
        if let Ok(Stored::At(_)) = done {
            // Where it is not told, whoever wants to know reads.
            self.is_told = tell(&self.marker, self.size).is_ok();
        }
        // What was done is there, whatever becomes of the lock.
        let _ = self.marker.end_change();
        done
    }

    /// Reads what others have written; `None` if the file is not small any more, or cannot be told: then nothing is added to it here.
    fn catch_up(&mut self) -> Result<Option<Head>, Errno> {
        let mut start = [0; RECORDS_FROM as usize];
        let count = pread(self.marker.file(), &mut start, 0)?;
        let start = start.get(..count).unwrap_or(&[]);
        let (true, Some(head)) = (marker::is_small(start), Head::decode(start)) else {
            return Ok(None);
        };
        let size = self.marker.size()?;
        if !(RECORDS_FROM..=MARKER_BYTES_MAX).contains(&size) {
            return Ok(None);
        }
        if size <= self.place.position {
            return Ok(Some(head));
        }
        let mut findings = Findings::default();
        let bytes = self.marker.all(size)?;
        read(&bytes, head.durable, &mut self.place, &mut findings);
        if !findings.troubles.is_empty() {
            return Ok(None);
        }
        self.size = size_after(self.size, &findings);
        if size > self.place.position {
            // Somebody was killed before it was whole.
            ftruncate(self.marker.file(), self.place.position)?;
        }
        Ok(Some(head))
    }

    fn fits(&self, entry: &SmallEntry) -> bool {
        self.place.position + entry.room() <= self.most
    }

    fn put(&mut self, bytes: &[u8], offset: u64) -> Result<Stored, Errno> {
        if bytes.is_empty() {
            return Ok(Stored::At(offset));
        }
        let room = HEADER_BYTES as u64 + bytes.len() as u64;
        let end = offset.checked_add(bytes.len() as u64).filter(|it| *it <= i64::MAX as u64);
        if self.place.position + room > self.most || end.is_none() {
            return Ok(Stored::Outgrown);
        }
        let mut copy = Vec::new();
        (self.copy)(bytes, &mut copy)?;
        let bytes = copy;
        let position = self.place.position + HEADER_BYTES as u64;
        match pwrite(self.marker.file(), &bytes, position) {
            Ok(count) if count == bytes.len() => {}
            // There may be room on the targets.
            _ => return Ok(Stored::Outgrown),
        }
        match SmallEntry::write(&bytes, offset, self.place.sequence + 1) {
            Some(entry) => self.publish(&entry),
            None => Ok(Stored::Outgrown),
        }
    }

    /// Writes the header of an entry, by which it is there.
    fn publish(&mut self, entry: &SmallEntry) -> Result<Stored, Errno> {
        let header = entry.encode(self.place.position);
        match pwrite(self.marker.file(), &header, self.place.position) {
            Ok(count) if count == header.len() => {}
            _ => return Ok(Stored::Outgrown),
        }
        self.place.position += entry.room();
        self.place.sequence = entry.sequence;
        self.size = match entry.kind {
            EntryKind::Write => self.size.max(entry.offset + u64::from(entry.length)),
            EntryKind::Truncate => entry.offset,
            EntryKind::Void => self.size,
        };
        Ok(Stored::At(entry.offset))
    }
}
