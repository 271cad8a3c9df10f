//! What the writers of a container share: the next stamp, and the last ones in each log.
//!
//! It is a small file of the container that writers map. Whoever writes holds a shared lock beside it; whoever has that alone may
//! begin anew. A stamp is taken by one atomic addition, so that writes are ordered without a clock of the wall. What each log
//! must hold is here as well, so that one that lost its end is told from one that never had it.

use std::fs::File;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_guarded::Directory;
use rustix::fs::{OFlags, fstat};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::Attempt;
use crate::header::FORMAT_VERSION;
use crate::lock::{self, Hold, WAIT_MAX, WRITERS_LOCK};
use crate::manifest::LOGS_MAX;
use crate::word::PAGE_BYTES;
use crate::{Id, StowError};

/// Its name in the container.
pub const STATE: &str = "state";

/// Largest file: a page for all, and lines of 64 bytes for all logs.
pub const STATE_BYTES_MAX: u64 = PAGE_BYTES + LINE_BYTES as u64 * LOGS_MAX as u64;

/// Each log has a cache line to itself.
const LINE_BYTES: usize = 64;
const LINES_PER_PAGE: usize = PAGE_BYTES as usize / LINE_BYTES;

const MAGIC: u64 = u64::from_le_bytes(*b"plimstat");
const NODE_AT: usize = 16;
const SEQUENCE_AT: usize = 64;
const INDEXED_AT: usize = 72;
const WRITERS_AT: usize = 128;
const LOGS_AT: usize = 192;
const DURABLE_LOGS_AT: usize = 200;
const TAKEN_AT: usize = 256;
const KEPT_AT: usize = 264;
const END_AT: usize = 272;

/// Words of a log's line.
const INTENDED: usize = 0;
const PUBLISHED: usize = 8;
const DURABLE: usize = 16;
const PUBLICATIONS: usize = 24;

/// Stamps that are skipped when another node, or the same one after a restart, goes on: more than anybody takes between two
/// moments at which the kernel writes the file out by itself (30 s).
const SKIPPED: u64 = 1 << 32;

/// Bytes that are not worth looking for.
const SPACE_TO_WASTE: u64 = 32 << 20;

/// The shared memory of a container's writers.
pub struct SharedState {
    file: File,
    /// Held as long as this lives.
    lock: File,
    page: SharedPage,
}

/// What writers share about one log.
pub struct LogMark {
    page: SharedPage,
    /// Where the log's line begins in the page.
    line: usize,
}

/// What the file says, for those who only read.
#[derive(Debug, Clone)]
pub struct StateCopy {
    words: Vec<u64>,
}

/// The last stamps of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastStamps {
    /// Nothing in it is later.
    pub intended: u64,
    /// It has something of this stamp, unless its node went down before that was durable.
    pub published: u64,
    /// It has something of this stamp.
    pub durable: u64,
}

impl SharedState {
    /// Returns the bytes of a new file.
    pub fn new_file(node: Id) -> Vec<u8> {
        let mut bytes = vec![0; PAGE_BYTES as usize];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[NODE_AT..NODE_AT + 16].copy_from_slice(&node.bytes());
        bytes[SEQUENCE_AT] = 1;
        bytes
    }

    /// Joins the writers of a container.
    ///
    /// # Errors
    /// If another node writes, if the container was removed just now, if the file is damaged, or if others could exchange what is in
    /// the directory.
    pub fn join(directory: &Directory, node: Id) -> Result<Self, StowError> {
        let path = || directory.path().join(STATE);
        let is_own = directory.require_served_by_none_else().and_then(|()| directory.require_own());
        is_own.attempt("write to", directory.path())?;
        let file = directory.open_own_file(STATE, OFlags::RDWR).attempt("open", path())?;
        let lock = lock::open(directory, WRITERS_LOCK)?;
        let is_alone = lock::is_taken(&lock, Hold::Alone).attempt("lock", path())?;
        let damaged = |why: &str| StowError::Damaged { path: path(), why: why.into() };
        if fstat(&file).attempt("look at", path())?.st_size < PAGE_BYTES as i64 {
            return Err(damaged("it is cut short"));
        }
        let page = SharedPage::map(&file, 0).attempt("map", path())?;
        let state = SharedState { file, lock, page };
        if state.word(0).load(Ordering::Relaxed) != MAGIC {
            return Err(damaged("it does not begin as it should"));
        }
        if is_alone && state.node() != node {
            state.take_over(node).attempt("take over", path())?;
        }
        lock::take(&state.lock, Hold::Shared, directory.path())?;
        let is_there = directory.require_same(STATE, &state.file);
        let is_there = is_there.and_then(|()| directory.require_same(WRITERS_LOCK, &state.lock));
        is_there.attempt("write to", directory.path())?;
        if state.node() == node {
            Ok(state)
        } else {
            Err(StowError::OtherNode { path: directory.path().into() })
        }
    }

    /// Goes on after another node, or after a restart: of what was published there, only what was durable must be in the logs.
    fn take_over(&self, node: Id) -> Result<(), Errno> {
        let size = u64::try_from(fstat(&self.file)?.st_size).unwrap_or(0).min(STATE_BYTES_MAX);
        for begin in (PAGE_BYTES..size).step_by(PAGE_BYTES as usize) {
            let page = SharedPage::map(&self.file, begin)?;
            for line in (0..PAGE_BYTES as usize).step_by(LINE_BYTES) {
                let durable = page.word(line + DURABLE).load(Ordering::Acquire);
                page.word(line + PUBLISHED).store(durable, Ordering::Release);
            }
        }
        let durable = self.word(DURABLE_LOGS_AT).load(Ordering::Acquire);
        self.word(LOGS_AT).store(durable, Ordering::Release);
        self.word(SEQUENCE_AT).fetch_add(SKIPPED, Ordering::Relaxed);
        self.set_node(node);
        Ok(())
    }

    /// Returns whether nobody else writes, and keeps others from beginning until it is dropped.
    ///
    /// # Errors
    /// If the system does not lock.
    pub fn is_alone(&self) -> Result<bool, Errno> {
        if lock::is_taken(&self.lock, Hold::Alone)? {
            return Ok(true);
        }
        // A lock that could not be converted may be gone.
        lock::take_within(WAIT_MAX, &self.lock, Hold::Shared)?;
        Ok(false)
    }

    /// Lets others write again.
    ///
    /// # Errors
    /// If the system does not lock.
    pub fn share(&self) -> Result<(), Errno> {
        lock::take_within(WAIT_MAX, &self.lock, Hold::Shared)
    }

    /// Takes the next stamp.
    pub fn next_stamp(&self) -> u64 {
        self.word(SEQUENCE_AT).fetch_add(1, Ordering::AcqRel)
    }

    /// Returns how many stamps were taken since the index was written.
    pub fn writes_since_index(&self) -> u64 {
        let next = self.word(SEQUENCE_AT).load(Ordering::Acquire);
        next.saturating_sub(self.word(INDEXED_AT).load(Ordering::Acquire))
    }

    /// Notes that the index is written.
    pub fn note_indexed(&self) {
        let next = self.word(SEQUENCE_AT).load(Ordering::Acquire);
        self.word(INDEXED_AT).store(next, Ordering::Release);
    }

    /// Returns the number of a new writer.
    pub fn next_writer(&self) -> u64 {
        self.word(WRITERS_AT).fetch_add(1, Ordering::Relaxed)
    }

    /// Returns what writers share about a log. Room for it is made by whoever lists the log.
    ///
    /// # Errors
    /// If there is no room for more logs.
    pub fn mark(&self, log: u32) -> Result<LogMark, Errno> {
        let (page, line) = (1 + log as usize / LINES_PER_PAGE, log as usize % LINES_PER_PAGE);
        if log as usize >= LOGS_MAX {
            return Err(Errno::NFILE);
        }
        let begin = page as u64 * PAGE_BYTES;
        let size = u64::try_from(fstat(&self.file)?.st_size).unwrap_or(0);
        if size < begin + PAGE_BYTES {
            // A hole in a mapping would end the program on a full disk.
            let count = rustix::io::pwrite(&self.file, &[0; PAGE_BYTES as usize], begin)?;
            if count < PAGE_BYTES as usize {
                return Err(Errno::NOSPC);
            }
        }
        Ok(LogMark { page: SharedPage::map(&self.file, begin)?, line: line * LINE_BYTES })
    }

    /// Notes that a segment of so many bytes was begun, and that the file reaches to this end by now. Returns whether more than half
    /// of all that was taken must be of no use any more.
    pub fn note_taken(&self, bytes: u64, end: u64) -> bool {
        let taken = self.word(TAKEN_AT).fetch_add(bytes, Ordering::AcqRel).saturating_add(bytes);
        let end = self.word(END_AT).fetch_max(end, Ordering::AcqRel).max(end);
        let kept = self.word(KEPT_AT).load(Ordering::Acquire);
        taken > end.max(kept).saturating_mul(2).saturating_add(SPACE_TO_WASTE)
    }

    /// Returns the bytes of all segments, as far as they were noted.
    pub fn taken(&self) -> u64 {
        self.word(TAKEN_AT).load(Ordering::Acquire)
    }

    /// Notes that the file ends here, and that so many bytes are in use.
    pub fn note_kept(&self, bytes: u64, end: u64) {
        self.word(TAKEN_AT).store(bytes, Ordering::Release);
        self.word(KEPT_AT).store(bytes, Ordering::Release);
        self.word(END_AT).store(end, Ordering::Release);
    }

    /// Notes how many logs are listed.
    pub fn note_logs(&self, count: u64) {
        self.word(LOGS_AT).fetch_max(count, Ordering::AcqRel);
    }

    /// Notes that so many logs are listed and that this is durable.
    pub fn note_durable_logs(&self, count: u64) {
        self.word(DURABLE_LOGS_AT).fetch_max(count, Ordering::AcqRel);
    }

    /// Makes it durable.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn sync(&self) -> Result<(), Errno> {
        rustix::fs::fdatasync(&self.file)
    }

    fn node(&self) -> Id {
        let halves = [NODE_AT, NODE_AT + 8].map(|at| self.word(at).load(Ordering::Acquire));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&halves[0].to_le_bytes());
        bytes[8..].copy_from_slice(&halves[1].to_le_bytes());
        Id::from_bytes(bytes)
    }

    fn set_node(&self, node: Id) {
        let (first, second) = halves(node);
        self.word(NODE_AT).store(first, Ordering::Release);
        self.word(NODE_AT + 8).store(second, Ordering::Release);
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        self.page.word(at)
    }
}

impl LogMark {
    /// Notes that something with this stamp will be written, before it is.
    pub fn intend(&self, stamp: u64) {
        self.page.word(self.line + INTENDED).fetch_max(stamp, Ordering::AcqRel);
    }

    /// Notes that something with this stamp was published.
    pub fn publish(&self, stamp: u64) {
        self.page.word(self.line + PUBLISHED).fetch_max(stamp, Ordering::AcqRel);
        // Writers of one log may publish in another order than that of their stamps.
        self.page.word(self.line + PUBLICATIONS).fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the last stamp that was published.
    pub fn published(&self) -> u64 {
        self.page.word(self.line + PUBLISHED).load(Ordering::Acquire)
    }

    /// Notes that all up to this stamp is durable.
    pub fn note_durable(&self, stamp: u64) {
        self.page.word(self.line + DURABLE).fetch_max(stamp, Ordering::AcqRel);
    }
}

/// A page of the file in memory.
struct SharedPage(NonNull<u8>);

// SAFETY: the memory is shared between processes anyway; it is used by atomic operations only.
unsafe impl Send for SharedPage {}
// SAFETY: as above.
unsafe impl Sync for SharedPage {}

impl SharedPage {
    fn map(file: &File, position: u64) -> Result<Self, Errno> {
        let (length, protection) = (PAGE_BYTES as usize, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let memory = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                protection,
                MapFlags::SHARED,
                file.as_fd(),
                position,
            )?
        };
        NonNull::new(memory.cast()).map(SharedPage).ok_or(Errno::NOMEM)
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at < PAGE_BYTES as usize);
        // SAFETY: inside of the mapping, which lives as long as this value, aligned, and used by atomic operations only.
        unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(at).cast()) }
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nothing refers to it any more.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), PAGE_BYTES as usize) };
    }
}

impl StateCopy {
    /// Reads the file; `None` if it is not whole.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|it| it.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
            .collect();
        let is_whole = bytes.len() >= PAGE_BYTES as usize && words[0] == MAGIC;
        is_whole.then_some(StateCopy { words })
    }

    /// Returns the last stamps of a log; `None` if there are none, so that nothing is known of the log.
    pub fn last(&self, log: u32) -> Option<LastStamps> {
        let line = PAGE_BYTES as usize + LINE_BYTES * log as usize;
        let word = |at: usize| self.words.get((line + at) / 8).copied();
        Some(LastStamps {
            intended: word(INTENDED)?,
            published: word(PUBLISHED)?,
            durable: word(DURABLE)?,
        })
    }

    /// Returns how often something was published in each log.
    pub fn publications(lines: &[u8]) -> impl Iterator<Item = u64> {
        let word = |line: &[u8]| line.get(PUBLICATIONS..)?.first_chunk().copied();
        lines
            .chunks_exact(LINE_BYTES)
            .map(move |line| u64::from_le_bytes(word(line).unwrap_or_default()))
    }

    /// Returns how many logs must be listed, on the node that wrote last (`here`) or wherever that is durable.
    pub fn logs(&self, is_here: bool) -> u64 {
        self.words[if is_here { LOGS_AT } else { DURABLE_LOGS_AT } / 8]
    }

    /// Returns the node that wrote last.
    pub fn node(&self) -> Id {
        let number =
            u128::from(self.words[NODE_AT / 8 + 1]) << 64 | u128::from(self.words[NODE_AT / 8]);
        Id::from_bytes(number.to_le_bytes())
    }
}

fn halves(id: Id) -> (u64, u64) {
    let number = u128::from_le_bytes(id.bytes());
    (number as u64, (number >> 64) as u64)
}
