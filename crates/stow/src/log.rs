//! A log: a file on a target, cut into segments.

mod appending;
mod comparing;
mod told;

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

pub(crate) use comparing::RecordWindow;
use plimsoll_guarded::{Directory, Readers, Refusal, keep_writers_out};
use rustix::fs::{
    FallocateFlags, FlockOperation, OFlags, SeekFrom, fallocate, flock, fstat, fstatfs,
};
use rustix::io::{Errno, pread, pwrite};

use crate::Id;
use crate::fresh::{self, FileState};
use crate::header::{HEADER_BYTES, LogHeader, SegmentHeader};
use crate::lock::{Hold, WAIT_MAX, take_within};
use crate::marker::MARKER;
use crate::pinned::{self, Kernel};
use crate::watch::Deed;
use crate::word::{Entry, PAGE_BYTES, Stamped, freed_checksum};

/// File systems on which a writer may store into a mapping of a slot page (statfs(2)): what was stored is what others read
/// at once, and a page that was written before stays there.
const MAPPED_WELL: [i64; 3] = [EXT4, XFS, TMPFS];
/// Those that note in a journal what is written for the first time.
const WITH_JOURNAL: [i64; 2] = [EXT4, XFS];
const EXT4: i64 = 0xEF53;
const XFS: i64 = 0x5846_5342;
const TMPFS: i64 = 0x0102_1994;

/// Returns whether what is stored into a mapping is what others read at once, on file systems of this kind.
pub fn is_mapped_well(kind: i64) -> bool {
    MAPPED_WELL.contains(&kind)
}

/// An open log.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
    container: Id,
    number: u32,
    /// Of its file system, as statfs(2) tells it; 0 if it does not.
    pub(crate) kind: i64,
    /// Who may read it in its directory.
    readers: Readers,
    /// Whether this process has begun a segment here.
    has_appended: AtomicBool,
    /// How the kernel named it when it was opened, for those who write to it.
    named: Option<PathBuf>,
}

/// Returns the name of the directory on a target that has a container's logs.
pub fn directory_name(container: Id) -> String {
    format!("{DIRECTORY_PREFIX}{container}")
}

/// What the names of all such directories begin with.
pub const DIRECTORY_PREFIX: &str = "plimsoll-stow-";

/// What the names of all logs begin with.
pub const FILE_PREFIX: &str = "log-";

/// Returns the name of a log.
pub fn file_name(number: u32) -> String {
    format!("{FILE_PREFIX}{number:04}")
}

impl Log {
    /// Makes a log for the target of this name, which is empty.
    ///
    /// # Errors
    /// If there is one already, or the target refuses.
    pub fn create(
        directory: &Directory,
        container: Id,
        number: u32,
        target: &str,
    ) -> std::io::Result<Self> {
        let name = file_name(number);
        let file = pinned::create(directory, &name, target, &Kernel)?;
        let mut log = Log::of(file, directory, &name, LogHeader { container, log: number });
        log.named = log.name_by_descriptor();
        let mut page = [0; PAGE_BYTES as usize];
        page[..HEADER_BYTES].copy_from_slice(&LogHeader { container, log: number }.encode());
        if let Err(errno) = log.write_all(&page, 0) {
            let _ = directory.remove_file(&name);
            return Err(errno.into());
        }
        Ok(log)
    }

    /// Opens a log that is there.
    ///
    /// # Errors
    /// If it is not, if it is not this container's, or if it belongs to another user than the container (`owner`).
    pub fn open(
        directory: &Directory,
        container: Id,
        number: u32,
        flags: OFlags,
        owner: u32,
    ) -> std::io::Result<Self> {
        let name = file_name(number);
        let file = directory.open_file(&name, flags)?;
        let facts = fstat(&file)?;
        if facts.st_uid != owner {
            return Err(Refusal::Owner { owner: facts.st_uid, expected: owner }.into());
        }
        let mut log = Log::of(file, directory, &name, LogHeader { container, log: number });
        if flags.contains(OFlags::RDWR) {
            log.named = log.name_by_descriptor();
        }
        log.renew()?;
        let mut bytes = [0; HEADER_BYTES];
        let got = log.read(&mut bytes, 0)?;
        if LogHeader::decode(&bytes[..got]) != Some(LogHeader { container, log: number }) {
            return Err(std::io::Error::other("it does not begin as a log of the container does"));
        }
        keep_writers_out(&log.file, &facts);
        Ok(log)
    }

    /// Takes the marker of a small container as its only log.
    pub(crate) fn of_marker(marker: File, directory: &Directory, container: Id) -> Self {
        Log::of(marker, directory, MARKER, LogHeader { container, log: 0 })
    }

    /// Returns its file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    fn of(file: File, directory: &Directory, name: &str, header: LogHeader) -> Self {
        let kind = fstatfs(&file).map_or(0, |it| it.f_type);
        let readers = Readers::of(directory).and(Readers::of(&file));
        let (path, container) = (directory.path().join(name), header.container);
        let has_appended = AtomicBool::new(false);
        let number = header.log;
        Log { file, path, container, number, kind, readers, has_appended, named: None }
    }

    /// Does something while nobody else appends to the log, shortens or frees its segments.
    ///
    /// # Errors
    /// If the log is locked for too long, or the work fails.
    pub fn alone<T>(&self, work: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        take_within(WAIT_MAX, &self.file, Hold::Alone)?;
        let done = work();
        let unlocked = flock(&self.file, FlockOperation::Unlock);
        done.and_then(|done| unlocked.map(|()| done))
    }

    /// Returns the header of the segment at this position; `None` if there is none of this log.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn segment_at(&self, position: u64) -> Result<Option<SegmentHeader>, Errno> {
        let mut bytes = [0; HEADER_BYTES];
        let got = self.read(&mut bytes, position)?;
        Ok(self.header_in(&bytes[..got], position))
    }

    /// Returns where the next bytes are that are stored, from this position on; nothing if only a hole follows. Positions of the file are changed, which nobody uses.
    ///
    /// # Errors
    /// If the target refuses.
    pub(crate) fn data_from(&self, position: u64) -> Result<Option<u64>, Errno> {
        match rustix::fs::seek(&self.file, SeekFrom::Data(position)) {
            Ok(data) => Ok(Some(data)),
            Err(Errno::NXIO) => Ok(None),
            // File systems that do not know holes.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some(position)),
            Err(errno) => Err(errno),
        }
    }

    pub(crate) fn header_in(&self, bytes: &[u8], position: u64) -> Option<SegmentHeader> {
        let belongs = |it: &SegmentHeader| {
            (it.container, it.log, it.position) == (self.container, self.number, position)
        };
        SegmentHeader::decode(bytes.get(..HEADER_BYTES)?).filter(belongs)
    }

    /// Marks all that a header covers as one free segment, whose stamp is the last of all that was there.
    ///
    /// # Errors
    /// If the target refuses.
    pub fn mark_free(&self, header: &SegmentHeader) -> Result<(), Errno> {
        let freed = Stamped { delta: 0, checksum: freed_checksum(header.stamp) };
        // In one piece: a header without its mark would have nothing behind it.
        let mut bytes = header.encode().to_vec();
        bytes.extend(Entry::Freed(freed).encode().0[0].to_le_bytes());
        self.write_all(&bytes, header.position)
    }

    /// Gives back the room of a segment that is marked as free, but for the page with the mark.
    ///
    /// # Errors
    /// If the target refuses. Some cannot give back a part of a file.
    pub fn give_back(&self, header: &SegmentHeader) -> Result<(), Errno> {
        match u64::from(header.length) - PAGE_BYTES {
            0 => Ok(()),
            length => self.punch(header.position + PAGE_BYTES, length),
        }
    }

    /// Gives back the room of these bytes, where the file system can.
    fn punch(&self, begin: u64, length: u64) -> Result<(), Errno> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, hole, begin, length) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            punched => punched,
        }
    }

    /// Writes all of these bytes.
    ///
    /// # Errors
    /// If the target takes only a part.
    pub fn write_all(&self, bytes: &[u8], position: u64) -> Result<(), Errno> {
        let all = bytes.len();
        self.told(Deed::Write, position, all, || self.put(bytes, position).map(|()| all)).map(drop)
    }

    fn put(&self, mut bytes: &[u8], mut position: u64) -> Result<(), Errno> {
        while !bytes.is_empty() {
            match pwrite(&self.file, bytes, position) {
                Ok(0) => return Err(Errno::NOSPC),
                Ok(count) => {
                    bytes = &bytes[count..];
                    position += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Reads until these bytes are full or the log ends; returns how many there are.
    ///
    /// # Errors
    /// If the target does not answer.
    pub fn read(&self, bytes: &mut [u8], position: u64) -> Result<usize, Errno> {
        self.told(Deed::Read, position, bytes.len(), || self.get(bytes, position))
    }

    fn get(&self, bytes: &mut [u8], position: u64) -> Result<usize, Errno> {
        let mut got = 0;
        while got < bytes.len() {
            match pread(&self.file, &mut bytes[got..], position + got as u64) {
                Ok(0) => break,
                Ok(count) => got += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(got)
    }

    /// Returns its bytes.
    ///
    /// # Errors
    /// If the target does not answer.
    pub fn size(&self) -> Result<u64, Errno> {
        fresh::size(&self.file)
    }

    /// Returns what changes when it is written to.
    ///
    /// # Errors
    /// If the target does not answer.
    pub(crate) fn state(&self) -> Result<FileState, Errno> {
        FileState::of(&self.file)
    }

    /// Has what is read next come from where other nodes wrote it.
    ///
    /// # Errors
    /// If the target does not answer.
    pub fn renew(&self) -> Result<(), Errno> {
        if self.is_mapped_well() { Ok(()) } else { fresh::renew(&self.file) }
    }

    /// Returns when it was written to last, if its target tells.
    pub fn modified(&self) -> Option<SystemTime> {
        self.file.metadata().and_then(|it| it.modified()).ok()
    }

    /// Returns the bytes that it takes on its target.
    ///
    /// # Errors
    /// If the target does not answer.
    pub fn stored(&self) -> Result<u64, Errno> {
        Ok(u64::try_from(fstat(&self.file)?.st_blocks).unwrap_or(0).saturating_mul(512))
    }

    /// Has all that was written to it written out, without waiting for that. It is only sooner so: whoever needs it syncs.
    pub fn write_out(&self) {
        let (whole, file) = (0i64, self.file.as_raw_fd());
        // SAFETY: the call takes numbers only.
        unsafe {
            libc::syscall(
                libc::SYS_sync_file_range,
                file,
                whole,
                whole,
                libc::SYNC_FILE_RANGE_WRITE,
            )
        };
    }

    /// Makes all that was written to it durable, whoever wrote it.
    ///
    /// # Errors
    /// If the target could not.
    pub fn sync(&self) -> Result<(), Errno> {
        self.told(Deed::Sync, 0, 0, || rustix::fs::fdatasync(&self.file).map(|()| 0)).map(drop)
    }

    /// Returns whether slot pages can be stored into by a mapping here.
    pub fn is_mapped_well(&self) -> bool {
        is_mapped_well(self.kind)
    }

    /// Returns whether its file system notes in a journal what is written for the first time.
    pub fn has_journal(&self) -> bool {
        WITH_JOURNAL.contains(&self.kind)
    }

    /// Makes sure that this is still its name.
    ///
    /// # Errors
    /// If it is not.
    pub fn require_named(&self, directory: &Directory, name: &str) -> std::io::Result<()> {
        directory.require_same(name, &self.file)
    }

    /// Returns how the kernel names it now; `None` where it does not tell.
    fn name_by_descriptor(&self) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/self/fd/{}", self.file.as_raw_fd())).ok()
    }

    /// Returns whether it has the name that it had when it was opened to be written: no longer if it was removed, its target was
    /// unmounted, or something above it has another name.
    pub fn keeps_name(&self) -> bool {
        self.named.is_none() || self.name_by_descriptor() == self.named
    }

    /// Returns whether another one is the same file.
    pub fn is_same(&self, other: &Log) -> bool {
        let inode = |log: &Log| fstat(&log.file).map(|it| (it.st_dev, it.st_ino));
        matches!((inode(self), inode(other)), (Ok(one), Ok(another)) if one == another)
    }

    /// Returns who may read it.
    pub fn readers(&self) -> Readers {
        self.readers
    }

    /// Returns where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the container that it belongs to.
    pub fn container(&self) -> Id {
        self.container
    }

    /// Returns its number in the container.
    pub fn number(&self) -> u32 {
        self.number
    }
}

/// Reads the first page of a log, as far as it is there.
pub fn first_page(mut file: &File) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    std::io::Read::take(&mut file, PAGE_BYTES).read_to_end(&mut page)?;
    Ok(page)
}

impl AsFd for Log {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests;
